"""Plans, lists, and lines with tables under each other."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import RenderableType

from runner import formatting
from runner.cells import comparisons
from runner.planning import budget
from runner.screen.page import Page, View, skips
from workloads.spec.cell import parse

_GRADES = {"good": "green", "note": "yellow", "fails": "bold red"}

Part = str | Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Mapping[str, Any]]]


class PlanView(View):
    """A plan's record: what is compared, what is skipped, how long it takes."""

    def __init__(self, record: Mapping[str, Any], seconds: float) -> None:
        self._record, self._seconds = record, seconds

    def parts(self, page: Page) -> Iterable[RenderableType]:
        """The sum, the cells by comparison, the skipped ones."""
        cells, rounds = self._record["cells"], self._record["rounds"]
        many = (f"{formatting.count(len(cells), 'cell')} x {formatting.count(rounds, 'round')} = "
                f"{formatting.count(len(cells) * rounds, 'run')}, about {formatting.seconds(self._seconds)}; "
                f"baseline {self._record['baseline']}")
        yield page.text(many if cells else "Nothing of it can run here.", "bold")
        yield from map(page.text, budget.told(self._record))
        planned, skipped = ([(item, parse(item["cell"])) for item in items]
                            for items in (cells, self._record["skipped"]))
        compared = comparisons(cell for _, cell in (*planned, *skipped))
        rows: dict[tuple[str, str], list[str]] = {}
        for item, cell in planned:
            rows.setdefault((item["experiment"], compared[cell].label), []).append(cell.stack)
        if rows:
            yield ""
            yield from page.ruled(["experiment", "cell", "stacks"], [
                [page.cell(experiment), page.cell(label), page.cell(", ".join(stacks))]
                for (experiment, label), stacks in rows.items()])
        yield from skips(page, [(cell.stack, compared[cell].label, item["reason"]) for item, cell in skipped])


def plan_view(record: Mapping[str, Any], seconds: float) -> RenderableType:
    """The plan in its store record; seconds: how long it is thought to take."""
    return PlanView(record, seconds)


class ListView(View):
    """Mappings with equal keys as a table."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = rows

    def parts(self, page: Page) -> Iterable[RenderableType]:
        """The table, or a word where there is nothing."""
        if not self._rows:
            yield page.text("nothing yet")
            return
        yield from page.ruled([title.replace("_", " ") for title in self._rows[0]], [
            [page.cell("-" if value is None else value, _GRADES.get(value, "") if name == "grade" else "")
             for name, value in row.items()] for row in self._rows])


def list_view(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Mappings with equal keys as a table."""
    return ListView(rows)


class PartsView(View):
    """Lines and tables under each other. A table is a list of mappings with equal keys, or such lists by label."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts

    def parts(self, page: Page) -> Iterable[RenderableType]:
        """The parts in their order."""
        for part in self._parts:
            if isinstance(part, str):
                yield page.text(part)
            elif isinstance(part, Mapping):
                titles = list(next(iter(part.values()))[0])
                yield from page.blocks(titles, [(label, [[page.cell(fact) for fact in row.values()] for row in rows])
                                                for label, rows in part.items()])
            else:
                yield from ListView(part).parts(page)


def parts_view(parts: Sequence[Part]) -> RenderableType:
    """Lines and tables under each other. A table is a list of mappings with equal keys, or such lists by label."""
    return PartsView(parts)
