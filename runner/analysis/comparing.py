"""Two sessions beside each other: what differed around them, then how many times as fast each cell was. Pure.

The runs of two sessions share no rounds, so a ratio is taken over the runs of each (stats.unpaired): whatever changed
between the sessions is in it, the time of day included, and no repetition within them can tell it from the cells' own.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from runner import formatting
from runner.analysis import stats
from runner.analysis.flags import Flag, flags
from runner.analysis.stats import Ratio, Verdict
from runner.cells import key
from runner.results.rows import Measurements, Row
from runner.results.values import Facts
from workloads.spec.cell import DEFAULTS, Cell

ABSENT = "-"
# what the planner takes from the machine: cells that differ by nothing else are compared across machines
_OF_THE_MACHINE = ("cpus", "memory_bytes")
_SESSION = ("evenbench", "study", "scale", "launcher", "governor")
# told by the session already, and paths that say where but not what
_LEFT_OUT = frozenset({"launcher", "executable"})
_LONGEST = 26                # letters of a fact on the screen
_LISTED = 3                  # cells of a stack that were not compared for one reason; more are counted


class Difference(NamedTuple):
    """A fact that was another one in B than in A."""

    what: str
    a: str
    b: str


class Compared(NamedTuple):
    """A cell that both sessions measured: rates are medians, samples a second and worker."""

    key: str                     # of A's cell
    stack: str
    label: str
    rate_a: float
    rate_b: float
    runs_a: int
    runs_b: int
    ratio: Ratio                 # B over A
    verdict: Verdict             # of B
    other_resources: bool        # the cells have other CPUs or memory


class Alone(NamedTuple):
    """A cell that cannot be compared, and why."""

    stack: str
    label: str
    reason: str


class Comparison(NamedTuple):
    """All there is to say of two sessions."""

    a: str
    b: str
    differences: tuple[Difference, ...]
    rows: tuple[Compared, ...]
    alone: tuple[Alone, ...]

    def record(self) -> dict[str, Any]:
        """For programs."""
        rows = [{**row._asdict(), "ratio": row.ratio.value, "verdict": row.verdict.value,
                 "interval": row.ratio.interval and row.ratio.interval._asdict()} for row in self.rows]
        return {"a": self.a, "b": self.b, "differences": [each._asdict() for each in self.differences],
                "rows": rows, "alone": [each._asdict() for each in self.alone]}


def compare(a: Measurements, b: Measurements) -> Comparison:
    """B against A: differences of what was around the runs first, then a row a cell that both have."""
    names = (str(a.session.get("id", "A")), str(b.session.get("id", "B")))
    pairs = _pairs(a.rows, b.rows)
    found, alone = [], []
    for one, other in pairs:
        if one.rates and other.rates:
            found.append((one, other))
        else:
            alone.append(_unmeasured(one, other, names))
    ratios = stats.unpaired([(list(other.rates.values()), list(one.rates.values())) for one, other in found])
    rows = tuple(_compared(one, other, ratio) for (one, other), ratio in zip(found, ratios, strict=True))
    paired = {id(row) for pair in pairs for row in pair}
    for name, measured in zip(names, (a, b), strict=True):
        alone += [Alone(row.cell.stack, row.comparison.label, f"only in {name}") for row in measured.rows
                  if id(row) not in paired]
    return Comparison(*names, _differences(a, b), rows, tuple(alone))


def _pairs(one: Sequence[Row], other: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Rows of equal cells; then those that only differ by what the machine gave, where each side has one such."""
    theirs = {row.key: row for row in other}
    pairs = [(row, theirs[row.key]) for row in one if row.key in theirs]
    taken = {row.key for row, _ in pairs}
    ours_left, theirs_left = ({name: rows[0] for name, rows in _grouped(row for row in side if row.key not in taken)
                               if len(rows) == 1} for side in (one, other))
    return pairs + [(row, theirs_left[name]) for name, row in ours_left.items() if name in theirs_left]


def _grouped(rows: Iterable[Row]) -> Iterable[tuple[str, list[Row]]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(_key_anywhere(row.cell), []).append(row)
    return groups.items()


def _key_anywhere(cell: Cell) -> str:
    return key(cell._replace(**{name: DEFAULTS[name] for name in _OF_THE_MACHINE}))


def _compared(one: Row, other: Row, ratio: Ratio) -> Compared:
    a, b = (list(row.rates.values()) for row in (one, other))
    return Compared(one.key, one.cell.stack, one.comparison.label, stats.median(a) or 0.0, stats.median(b) or 0.0,
                    len(a), len(b), ratio, stats.verdict(ratio), one.key != other.key)


def _unmeasured(one: Row, other: Row, names: tuple[str, str]) -> Alone:
    reasons = [f"{_reason(row)} in {name}" for row, name in zip((one, other), names, strict=True) if not row.rates]
    return Alone(one.cell.stack, one.comparison.label, ", ".join(reasons))


def _reason(row: Row) -> str:
    """Why a row has no rate."""
    if row.ok_runs:
        return f"measure {row.cell.measure} has no rate"
    return "ended " + ", ".join(sorted({run.ending for run in row.runs})) if row.runs else "not run"


def _differences(a: Measurements, b: Measurements) -> tuple[Difference, ...]:
    """Machine and session first, then the stacks that both have, then what was to be mistrusted."""
    stacks = sorted({row.cell.stack for row in a.rows if row.runs} & {row.cell.stack for row in b.rows if row.runs})
    by_stack: dict[Difference, list[str]] = {}
    for name in stacks:
        for each in _differing(_of_stack(name, a.rows), _of_stack(name, b.rows)):
            by_stack.setdefault(each, []).append(name)
    told = [each._replace(what=f"{each.what} of {'all stacks' if names == stacks else ', '.join(names)}")
            for each, names in by_stack.items()]
    return (*_differing(_around(a), _around(b)), *told, *_differing(_mistrusted(a), _mistrusted(b)))


def _differing(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[Difference]:
    found = [Difference(what, ours.get(what, ABSENT), theirs.get(what, ABSENT)) for what in {**ours, **theirs}]
    return [each for each in found if each.a != each.b]


def _around(measured: Measurements) -> dict[str, str]:
    """What was around all runs, in words, by name."""
    session = measured.session
    machine = session.get("machine")
    found = {f"machine: {name}": _word(value) for name, value in (machine if isinstance(machine, dict) else {}).items()}
    found |= {name: _word(session[name]) for name in _SESSION if name in session}
    return found | {"rounds": _word(measured.rounds)}


def _of_stack(name: str, rows: Sequence[Row]) -> dict[str, str]:
    """What a stack's runs told of themselves, with every value that they had; and what its cells were given."""
    seen: dict[str, set[str]] = {}
    for row in rows:
        for run in row.runs if row.cell.stack == name else ():
            told: Mapping[str, Any] = {**_flat(run.place), **_flat(run.facts)}
            for what, value in told.items():
                if what not in _LEFT_OUT:
                    seen.setdefault(what, set()).add(_word(value))
        if row.cell.stack == name:
            for what in _OF_THE_MACHINE:
                seen.setdefault(f"{what} of a node", set()).add(_word(getattr(row.cell, what)))
    return {what: ", ".join(sorted(values)) for what, values in seen.items()}


def _flat(facts: Facts, before: str = "") -> dict[str, Any]:
    """Facts in facts as "outer inner"."""
    found: dict[str, Any] = {}
    for name, value in facts.items():
        found |= _flat(value, f"{before}{name} ") if isinstance(value, dict) else {before + name: value}
    return found


def _mistrusted(measured: Measurements) -> dict[str, str]:
    """For each flag, how many rows have it; whether checks had passed is not the sessions' own."""
    machine = measured.session.get("machine")
    cpus = machine.get("cpus") if isinstance(machine, dict) else None
    own = [flag for row in measured.rows for flag in flags(row, cpus, frozenset()) if flag is not Flag.UNPROVED]
    rows = len(measured.rows)
    return {f"flagged {flag.value.replace('_', ' ')}": f"{own.count(flag)} of {rows} cells"
            for flag in Flag if flag in own}


def _word(value: Any) -> str:
    match value:
        case None:
            return ABSENT
        case bool():
            return "yes" if value else "no"
        case list():
            return " ".join(map(_word, value)) or ABSENT
        case _:
            return str(value)


Table = list[dict[str, str]]


def lines(found: Comparison) -> list[str | Table | dict[str, Table]]:
    """The comparison as lines and tables for people, what differed first."""
    parts: list[str | Table | dict[str, Table]] = [f"A: {found.a}", f"B: {found.b}", ""]
    if found.differences:
        parts += ["What differed around them:", [{"": each.what, "A": _short(each.a), "B": _short(each.b)}
                                                 for each in found.differences]]
    else:
        parts.append("Nothing that was recorded around them differed.")
    if found.rows:
        parts += ["", "Samples a second of one worker (runs), and B's over A's:",
                  _by_label(found.rows), "", _READING]
    if any(row.other_resources for row in found.rows):
        parts.append("* The cells had other CPUs or another memory limit.")
    if found.alone:
        parts += ["", "Not compared:", *(f"  {line}" for line in formatting.by_reason(found.alone, _LISTED))]
    return parts


_READING = ("The interval is over the runs of both sessions, which share no rounds: what changed between the sessions "
            "is part of the ratio. Faster and slower are only said where the interval excludes 1.")


def _short(fact: str) -> str:
    return fact if len(fact) <= _LONGEST else f"{fact[:_LONGEST - 3]}..."


def _by_label(rows: Sequence[Compared]) -> dict[str, Table]:
    found: dict[str, Table] = {}
    for row in rows:
        found.setdefault(row.label, []).append(_line(row))
    return found


def _line(row: Compared) -> dict[str, str]:
    return {"": row.stack + ("*" if row.other_resources else ""),
            "A": f"{formatting.number(row.rate_a)} ({row.runs_a})",
            "B": f"{formatting.number(row.rate_b)} ({row.runs_b})",
            "B / A": formatting.ratio(row.ratio.value or 0.0, row.ratio.interval), "B is": row.verdict.value}
