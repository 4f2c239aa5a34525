"""What `evenbench why` found, as a section: parts side by side, switches that were tried, and a sentence a row. Pure.

Its records are Reason.record()'s of measuring.why, read from the file beside a result's events.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from runner import formatting
from runner.analysis.step_parts import KINDS
from runner.report.document import Dots, Mark, Section, fitted
from runner.report.tables import Part, Table, table, texts

FILE = "why.json"
_MOST_PARTS = 7                # of a chart, which has eight colours


def of(record: Mapping[str, Any]) -> tuple[str, str]:
    """Which row a reason is of."""
    return str(record.get("label")), str(record.get("stack"))


def section(records: Sequence[Mapping[str, Any]]) -> Iterator[Section]:
    """The section of reasons; none without any."""
    if not records:
        return
    made = Section("why", "Why rows are behind")
    try:
        notes = (" ".join(filter(None, [f"{each['label']}: {each['sentence']}", each.get("without_parts")]))
                 for each in records)
        yield made._replace(notes=tuple(notes), charts=tuple(_charts(records)),
                            tables=(*_parts(records), *_switches(records)))
    except (KeyError, TypeError, ValueError, AttributeError):
        yield made._replace(notes=(f"{FILE} is not as evenbench wrote it: `evenbench why` makes it anew.",))


def _charts(records: Sequence[Mapping[str, Any]]) -> Iterator[Dots]:
    """Bars of a comparison's rows; of the parts those that are the longest in one of them, which have a colour each."""
    for label in dict.fromkeys(each["label"] for each in records):
        of_rows = {name: parts for each in records if each["label"] == label for name, parts in each["parts"].items()}
        longest = _longest(of_rows.values())
        bars = tuple(_bar(name, parts, longest) for name, parts in of_rows.items())
        yield from fitted("Parts of a profiled step", "milliseconds a step", [(label, bars)], is_bars=True)


def _longest(rows: Collection[Mapping[str, Any]]) -> list[str]:
    """The parts that are the longest in one of the rows, in the order of all."""
    most = {kind: max((parts["by_kind"].get(kind, 0.0) for parts in rows), default=0.0) for kind in KINDS}
    longest = sorted(KINDS, key=lambda kind: -most[kind])[:_MOST_PARTS]
    return [kind for kind in KINDS if kind in longest]


def _bar(name: str, parts: Mapping[str, Any], longest: Sequence[str]) -> Mark:
    shown = {kind: parts["by_kind"][kind] * 1000 for kind in longest if parts["by_kind"].get(kind)}
    rest = sum(parts["by_kind"].values()) * 1000 - sum(shown.values())
    others = [("others", rest)] if rest > 1e-6 else []
    return Mark(name, 0, sum(shown.values()) + rest, formatting.milliseconds(parts["seconds"]),
                parts=(*shown.items(), *others))


def _parts(records: Sequence[Mapping[str, Any]]) -> Iterator[Table[Any]]:
    for each in records:
        if lines := _of_parts(each):
            yield from table(f"Parts of a profiled step, in milliseconds: {each['label']}", texts(*lines[0]),
                             {"": [tuple(line.values()) for line in lines]}, _cost(each))


def _of_parts(record: Mapping[str, Any]) -> list[dict[str, str]]:
    """A line a part: milliseconds of a step of both, and its share of the gap; [] where one was not profiled."""
    if len(record["parts"]) < 2:
        return []
    row, best = ({**record["parts"][record[name]]["by_kind"], "step": record["parts"][record[name]]["seconds"]}
                 for name in ("stack", "best"))
    gap, least = row["step"] - best["step"], min(row["step"], best["step"]) * 1000
    return [{"part": kind, **{record[name]: formatting.number(of[kind] * 1000, least) if of.get(kind) else ""
                              for name, of in (("stack", row), ("best", best))},
             "of the gap": formatting.share(more / gap) if kind != "step" and gap > 0 and (
                 more := row.get(kind, 0.0) - best.get(kind, 0.0)) > 0 else ""}
            for kind in (*KINDS, "step") if row.get(kind) or best.get(kind)]


def _cost(record: Mapping[str, Any]) -> str:
    costs = []
    for name in (record["stack"], record["best"]):
        if timed := (of := record["parts"][name])["timed_seconds"]:
            cost = of["seconds"] / timed - 1
            costs.append(f"{formatting.share(cost) if cost >= 0.0005 else 'no'} longer in {name}")
    return f"By each framework's own profiler, with which a step takes {' and '.join(costs)}." if costs else ""


def _switches(records: Sequence[Mapping[str, Any]]) -> list[Table[Any]]:
    return table("Switches tried by turns against the row as it is", texts("switch", "what", "showed"), {
        f"{each['label']}: {each['stack']}": [
            *((switch["sets"], switch["title"], switch["told"]) for switch in each["switches"]),
            *((name, "", "not tried for want of time") for name in each["untried"])] for each in records})


def told(records: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    """All reasons for the terminal: of each row tables of parts and of switches; at the end each row's sentence."""
    for each in records:
        yield f"{each['label']}: {each['stack']}"
        if lines := _of_parts(each):
            yield lines
            yield f"Parts are milliseconds. {_cost(each)}"
        elif each.get("without_parts"):
            yield each["without_parts"]
        if each["switches"]:
            yield [{"switch": switch["sets"], "what": switch["title"], "showed": switch["told"]}
                   for switch in each["switches"]]
        if each["untried"]:
            yield f"Not tried for want of time (--budget): {', '.join(each['untried'])}."
        yield ""
    yield from (f"{each['label']}: {each['sentence']}" for each in records)
