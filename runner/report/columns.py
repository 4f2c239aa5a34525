"""The columns of a stack's result, for the terminal, the page (and Markdown), the CSV and LaTeX. Pure.

All values are read from the Summary, so that no two forms can say different numbers. CONTRIBUTING.md, "Add a column",
shows a new one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any

from runner import formatting
from runner.analysis import doubts
from runner.analysis.result_numbers import BESIDE, ENERGY, EPOCHS, NUMBERS, RATES, SEQUENCES
from runner.analysis.stats import Interval, Verdict
from runner.analysis.summary_format import Comparison, PublishedNumber, Summary
from runner.report.claims import wording
from runner.report.document import Standing
from runner.report.tables import EVERY, READ, Column, Form, Texts

_ALL_BUT_LATEX = READ | Form.CSV


def fastest_first(summary: Summary, comparison: Comparison) -> tuple[Standing, ...]:
    """The stacks of a comparison, the fastest first; those without a rate last."""
    standings = (Standing(summary, comparison, result) for result in comparison.results)
    return tuple(sorted(standings, key=lambda standing: -(standing.rate or 0.0)))


def endings(counts: Mapping[str, int]) -> str:
    """How runs ended, such as "ok, oom ×3", or that there was none."""
    return ", ".join(f"{ending} ×{count}" if count > 1 else ending for ending, count in counts.items()) or "not run"


def word(line: Standing) -> str:
    """FASTEST, slower, why there is neither, without details, or how runs ended; "" of an ordinary baseline."""
    if line.rate is None and not line.result.withheld:
        return endings(line.result.endings)
    doubt = next((each.value for each in doubts.REMEDIES if line.result.withheld.startswith(each.value)), "")
    return doubt or wording.word(line.comparison, line.result, wording.WINNER)


def rounds(summary: Summary, comparisons: Iterable[Comparison]) -> str:
    """"8 rounds"; "5 of 8 rounds", "4–5 of 8 rounds" where fewer count in these comparisons."""
    counted = {each.runs for one in comparisons for each in one.results if each.rate_per_worker is not None} or {0}
    ends, planned = dict.fromkeys((min(counted), max(counted))), formatting.count(summary.rounds, "round")
    return planned if counted == {summary.rounds} else f"{formatting.DASH.join(map(str, ends))} of {planned}"


def marks(line: Standing) -> str:
    """The numbers of the footnotes that the result has."""
    numbers = {note.flag: str(number) for number, note in enumerate(line.summary.footnotes, 1)}
    return f"[{','.join(numbers[flag] for flag in line.result.flags)}]" if line.result.flags else ""


def commands(summary: Summary) -> dict[str, list[Texts]]:
    """By label the stack and the command that measures it again, of every result and profile."""
    profiled: Iterable[Any] = (*summary.operators, *summary.kernels, *summary.graphs, *summary.largest_batches)
    found: dict[str, list[Texts]] = {}
    for label, stack, told in (*((each.label, one.stack, one) for each in summary.comparisons for one in each.results),
                               *((each.label, *item) for each in profiled for item in each.stacks.items())):
        if told.rerun:
            found.setdefault(label, []).append((stack, told.rerun))
    return found


def verdict(line: Standing) -> str:
    """The verdict on a stack, as page, Markdown and LaTeX have it."""
    return wording.word(line.comparison, line.result) or wording.said(line.result.verdict)


def _rate(line: Standing) -> str:
    if line.rate is None:
        return endings(line.result.endings)
    return formatting.rate(line.rate, line.result.rate_interval)


def _ratio(line: Standing) -> str:
    if line.rate is None:
        return ""
    if line.result.ratio is None:
        return line.ratio_texts[0]
    return formatting.ratio(line.result.ratio, line.result.ratio_interval)


def _turns(line: Standing) -> str | None:
    turns, disturbed = line.result.turns, line.result.disturbed_turns
    return f"disturbed {disturbed} of {turns}" if disturbed else f"{turns}" if turns else None


def _loss(line: Standing) -> str | None:
    first, last = line.result.loss_first, line.result.loss_last
    if first is None or last is None:
        return None
    steps = line.result.loss_steps
    return f"{first:.3g}" if steps and steps[0] == steps[1] else f"{first:.3g} to {last:.3g}"


def _ends_of(name: str) -> Iterator[Column[Standing]]:
    """The ends of an interval, for the CSV."""
    return (_csv(f"{name}_{end}", lambda line, end=end: getattr(                                 # type: ignore[misc]
        getattr(line.result, f"{name}_interval"), end, None)) for end in ("low", "high"))


def _csv(name: str, value: Callable[[Standing], Any]) -> Column[Standing]:
    return Column(name, value, forms=Form.CSV)


def _fields(of: str, *names: str) -> Iterator[Column[Standing]]:
    """Columns of the CSV alone, each an attribute of a part of the line."""
    return (_csv(name, attrgetter(f"{of}.{name}")) for name in names)


def _numbers(*names: str, part: str = "") -> Iterator[Column[Standing]]:
    """The columns of those numbers, or of all that a table has."""
    for name in names or (name for name, each in NUMBERS.items() if each.part == part):
        each = NUMBERS[name]
        yield Column(each.title, attrgetter(f"result.{name}"), each.text,
                     _ALL_BUT_LATEX if each.title else Form.CSV, name, each.part)


def _with_interval(title: str, name: str, interval: str, text: Callable[[float, Interval | None], str], part: str,
                   forms: Form = READ, unless: str = "") -> tuple[Column[Standing], ...]:
    """A geometric mean with its brackets, unless another that people read equals it, and for the CSV three numbers."""
    def shown(line: Standing) -> str | None:
        value = getattr(line.result, name)
        is_told = bool(unless) and value == getattr(line.result, unless)
        return None if value is None or is_told else text(value, getattr(line.result, f"{interval}_interval"))

    return Column(title, shown, forms=forms, part=part), _csv(name, attrgetter(f"result.{name}")), *_ends_of(interval)


def _published(name: str) -> Column[Standing]:
    """Of the paper's numbers about the result's own cell, several as "one; other"; of ratios there are none."""
    def text(number: PublishedNumber) -> str:
        value = wording.differs(number) if name == "differs" else getattr(number, name)
        return "" if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)

    title = {"id": "published_id", "value": "published", "ours": "published_here"}.get(name, f"published_{name}")
    return _csv(title, lambda line: "; ".join(text(number) for number in line.summary.published
                                              if number.to is None and line.result.key in number.keys))


SETTINGS = ("batch", "image", "steps", "nodes", "cpus", "device", "parallel", "precision")

RESULTS: tuple[Column[Standing], ...] = (
    *_fields("summary", "id", "study", "scale", "began", "launcher"),
    *_fields("comparison", "experiment", "label", "task", "measure", "unit"),
    *(_csv(name, lambda line, name=name: line.comparison.settings.get(name)) for name in SETTINGS),  # type: ignore[misc]
    Column("stack", attrgetter("result.stack"), forms=_ALL_BUT_LATEX, part=EVERY),
    *_fields("result", "key"),
    Column("rate", _rate),
    Column("Rate", attrgetter("result.rate_per_worker"), formatting.number, Form.CSV | Form.LATEX,
           "rate_per_worker", is_number=True),
    Column("95 %", lambda line: formatting.ends(line.result.rate_interval, lambda end: formatting.number(
        end, line.result.rate_per_worker)), forms=Form.LATEX),
    Column("to {baseline}", _ratio, forms=Form.PAGE),
    Column("Ratio", attrgetter("result.ratio"), "{:.3f}".format, Form.CSV | Form.LATEX, "ratio", is_number=True),
    Column("Interval", lambda line: formatting.ends(line.result.ratio_interval, "{:.3f}".format), forms=Form.LATEX),
    *_fields("result", "pairs"),
    Column("verdict", lambda line: verdict(line) if line.rate is not None or line.result.withheld
           else wording.said(Verdict.NO_DATA), forms=Form.PAGE),
    Column("Verdict", verdict, forms=Form.LATEX),
    _csv("verdict", lambda line: line.result.verdict.value),
    Column("notes", marks),
    Column("rounds", lambda line: f"{line.result.runs} of {line.summary.rounds}" if line.rate is not None else None),
    Column("turns", _turns),
    *_fields("result", "workers"),
    *_with_interval("step", "step_seconds", "step", formatting.step, RATES, Form.PAGE),
    *_numbers("step_p50", "step_p95", "step_p99", "first_step_seconds", "compile_seconds", "compiled_programs"),
    *_numbers("load_share"),
    Column("of machine", attrgetter("result.machine_share"), formatting.share, _ALL_BUT_LATEX, "machine_share", BESIDE),
    *_numbers("peak_bytes"),
    Column("loss", _loss, part=BESIDE),
    Column("at steps", attrgetter("result.loss_steps"), lambda steps: formatting.DASH.join(
        map(str, dict.fromkeys(steps))), part=BESIDE),
    *_fields("result", "loss_first", "loss_last"),
    *_numbers("accuracy"), *_fields("result", "parameters"),
    *_with_interval("tokens/s", "tokens_per_second", "tokens", formatting.rate, SEQUENCES,
                    unless="rate_per_worker"),
    *_with_interval("with padding", "padded_tokens_per_second", "padded_tokens", formatting.rate, SEQUENCES,
                    unless="tokens_per_second"),
    Column("epochs", attrgetter("result.epochs"), "{:,}".format, _ALL_BUT_LATEX, "epochs", EPOCHS),
    *_numbers(part=EPOCHS), *_numbers(part=ENERGY),
    *_fields("result", "turns", "disturbed_turns", "ran_precision"),
    *_ends_of("rate"), *_ends_of("ratio"),
    *_fields("result", "runs"),
    _csv("endings", lambda line: " ".join(f"{name}:{count}" for name, count in line.result.endings.items())),
    _csv("is_winner", lambda line: int(line.is_fastest)),
    _csv("flags", lambda line: " ".join(line.result.flags)),
    _csv("other_settings", lambda line: " ".join(
        f"{name}:{value}" for name, value in line.comparison.settings.items()
        if name not in (*SETTINGS, "task", "measure"))),
    Column("again", attrgetter("result.rerun"), forms=Form.PAGE | Form.CSV, name="rerun"),
    *map(_published, ("id", "quantity", "value", "unit", "ours", "differs")),
)
