"""What a study published beside what was measured here, its claims with verdicts, and means over comparisons."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from rich.console import RenderableType
from rich.table import Table

from runner import formatting
from runner.analysis.summary_format import Summary
from runner.report import claim_text
from runner.report.columns import Column, Form, of
from runner.report.published import CLAIMS, NUMBERS
from runner.screen.page import Page
from runner.study import claims

T = TypeVar("T")
_STYLES: dict[str, str] = {claims.Verdict.HOLDS: "green", claims.Verdict.DOES_NOT_HOLD: "red"}


def published(summary: Summary, page: Page) -> Iterator[RenderableType]:
    """The study's numbers beside ours."""
    if not summary.published:
        return
    yield ""
    yield page.text(f"What {summary.study} published, and the same here (another machine; seconds here are "
                    "of one step):", "bold")
    yield _table(page, NUMBERS, summary.published)


def _table(page: Page, columns: Sequence[Column[T]], lines: Sequence[T]) -> Table:
    """The columns that the terminal has, a row a line; verdicts are coloured."""
    shown = of(columns, Form.SCREEN)
    table = page.table([column.title for column in shown])
    for line in lines:
        texts = [column.shown(line, Form.SCREEN) for column in shown]
        table.add_row(*(page.text(text, _STYLES.get(text, "")) for text in texts))
    return table


def verdicts(summary: Summary, page: Page) -> Iterator[RenderableType]:
    """The claims with their verdicts, then the paper's own claims where ours are parts of those."""
    if not summary.claims:
        return
    tally = _tally([claim.verdict for claim in summary.claims], with_none=True)
    yield ""
    yield page.text(f"Claims of {summary.study}, on this machine: {tally}", "bold")
    yield _table(page, CLAIMS, summary.claims)
    if len(summary.paper_claims) < len(summary.claims):
        yield from _paper_claims(summary, page)
    yield page.text(claim_text.HOW_CLAIMS_ARE_JUDGED, "dim")


def _paper_claims(summary: Summary, page: Page) -> Iterator[RenderableType]:
    """One line a claim of the paper, where ours are parts of those."""
    verdicts = {claim.id: claim.verdict for claim in summary.claims}
    table = page.table(["paper's claim", "verdict", "its parts"])
    for claim in summary.paper_claims:
        table.add_row(page.text(claim.id), page.text(claim.verdict.value, _STYLES.get(claim.verdict, "")),
                      page.text(_tally([verdicts[part] for part in claim.parts])))
    yield page.text(f"The paper's own claims: {_tally([each.verdict for each in summary.paper_claims])}",
                    "bold")
    yield table


def means(summary: Summary, page: Page) -> Iterator[RenderableType]:
    """Geometric means of the ratios, a line a measure."""
    for mean in summary.geometric_means:
        ratios = ", ".join(f"{name} {formatting.ratio(ratio, None)}" for name, ratio in mean.ratios.items())
        yield ""
        yield page.text(f"Geometric mean over {mean.comparisons} comparisons of {mean.measure}: {ratios}")


def _tally(verdicts: Sequence[claims.Verdict], with_none: bool = False) -> str:
    """The number of each verdict."""
    counts = {verdict: verdicts.count(verdict) for verdict in claims.Verdict}
    return ", ".join(f"{verdict.value} {count}" for verdict, count in counts.items() if count or with_none)
