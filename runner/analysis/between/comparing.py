"""Two sessions beside each other: what differed around them, then how each cell's ratio to the baseline moved. Pure.

The runs of two sessions share no rounds, and whatever changed between the sessions is in every raw rate: with a drift
of 1 to 5 % between them, 13 to 66 % of words on raw rates of equal stacks were false. So rates are shown without words.
A ratio to the baseline within a session cancels what the session did to both stacks: ratios of two sessions are held
against each other by Welch's t on their mean logarithms (stats.between), in intervals that allow for all of them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from runner import formatting
from runner.analysis import doubts, stats
from runner.analysis.doubts import Doubts
from runner.analysis.flags import Flag, flags
from runner.analysis.stats import Ratio, Verdict
from runner.cells import key
from runner.results.lines import Facts
from runner.results.rows import Measurements, Row, recorded
from workloads.spec.cell import DEFAULTS, Cell

ABSENT = "-"
# what the planner takes from the machine: cells that differ by nothing else are compared across machines
_OF_THE_MACHINE = ("cpus", "memory_bytes")
_SESSION = ("evenbench", "study", "scale", "launcher", "governor")
# told by the session already, and paths that say where but not what: one of them is another folder in each run
_LEFT_OUT = frozenset({"launcher", "executable", "data pass_tokens", "environment TORCHINDUCTOR_CACHE_DIR"})
_LONGEST = 26                # letters of a fact on the screen
_LISTED = 3                  # cells of a stack that were not compared for one reason; more are counted


NO_RATIO = Ratio(None, None, 0)


class Difference(NamedTuple):
    """A fact that differs between A and B."""

    what: str
    a: str
    b: str


class Moved(StrEnum):
    """What may be said of a ratio in B against the same in A."""

    HIGHER = "higher in B"
    LOWER = "lower in B"
    NO_DIFFERENCE = "no difference shown"
    COMPILED = "compiled while timed"
    NOT_STEADY = "not steady"
    TOO_FEW = "needs five rounds"
    NONE = ""


_MOVED = {Verdict.FASTER: Moved.HIGHER, Verdict.SLOWER: Moved.LOWER, Verdict.NO_DATA: Moved.NONE,
          **{each: Moved(each.value) for each in Verdict if each.value in set(Moved)}}


class Compared(NamedTuple):
    """A cell that both sessions measured: rates are geometric means, samples a second and worker."""

    key: str                     # of A's cell
    stack: str
    label: str
    rate_a: float
    rate_b: float
    runs_a: int
    runs_b: int
    other_resources: bool        # the cells have other CPUs or memory
    baseline: str = ""           # that both sessions measured beside it; "" where there is none, or it is that itself
    ratio_a: Ratio = NO_RATIO    # to the baseline in the same rounds
    ratio_b: Ratio = NO_RATIO
    change: Ratio = NO_RATIO     # the ratio in B over that in A
    verdict: Moved = Moved.NONE


class Alone(NamedTuple):
    """A cell that cannot be compared, and why."""

    stack: str
    label: str
    reason: str


class Comparison(NamedTuple):
    """The comparison of two sessions."""

    a: str
    b: str
    differences: tuple[Difference, ...]
    rows: tuple[Compared, ...]
    alone: tuple[Alone, ...]

    def record(self) -> dict[str, Any]:
        """The same as JSON values."""
        rows = [{**row._asdict(), "verdict": row.verdict.value,
                 **{name: ratio_record(getattr(row, name)) for name in ("ratio_a", "ratio_b", "change")}}
                for row in self.rows]
        return {"a": self.a, "b": self.b, "differences": [each._asdict() for each in self.differences],
                "rows": rows, "alone": [each._asdict() for each in self.alone]}


def ratio_record(ratio: Ratio) -> dict[str, Any]:
    """The same as JSON values."""
    return {"value": ratio.value, "interval": ratio.interval and ratio.interval.record(), "rounds": ratio.pairs}


def compare(a: Measurements, b: Measurements) -> Comparison:
    """B against A: first what differed around the runs, then a row for each cell that both have."""
    names = (str(a.session.get("id", "A")), str(b.session.get("id", "B")))
    pairs = _pairs(a.rows, b.rows)
    both, alone = [], []
    for one, other in pairs:
        if one.rates and other.rates:
            both.append((one, other))
        else:
            alone.append(_unmeasured(one, other, names))
    rows = tuple(_worded([_compared(one, other) for one, other in both], _Ratios.of(a, b, both)))
    paired = {id(row) for pair in pairs for row in pair}
    left = [[row for row in measured.rows if id(row) not in paired] for measured in (a, b)]
    for name, rows_left, others in zip(names, left, reversed(left), strict=True):
        alone += [Alone(row.cell.stack, row.comparison.label, f"only in {name}{_otherwise(row, others)}")
                  for row in rows_left]
    return Comparison(*names, _differences(a, b), rows, tuple(alone))


def _otherwise(row: Row, others: Iterable[Row]) -> str:
    """The row's settings that its namesake in the other session has not; "" where there is none."""
    namesakes = (other.cell for other in others
                 if (other.cell.stack, other.comparison.label) == (row.cell.stack, row.comparison.label))
    other = next(namesakes, row.cell)
    settings = [f"{name} {getattr(row.cell, name)}" for name in Cell._fields
                if name not in _OF_THE_MACHINE and getattr(row.cell, name) != getattr(other, name)]
    return f" with {', '.join(settings)}" if settings else ""


def _pairs(one: Sequence[Row], other: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Rows of equal cells; then rows that differ only in their share of the machine, if each side has exactly one."""
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


def _compared(one: Row, other: Row) -> Compared:
    a, b = (list(row.rates.values()) for row in (one, other))
    return Compared(one.key, one.cell.stack, one.comparison.label, stats.geometric_mean(a) or 0.0,
                    stats.geometric_mean(b) or 0.0, len(a), len(b), one.key != other.key)


class _Ratios(NamedTuple):
    """For each cell, by index: its baseline, the ratios to it in A and in B, and what withholds a verdict."""

    error: float                 # of the intervals
    baselines: list[str]
    a: list[Ratio]
    b: list[Ratio]
    withheld: list[Verdict | None]

    @classmethod
    def of(cls, a: Measurements, b: Measurements, pairs: Sequence[tuple[Row, Row]]) -> "_Ratios":
        """The baseline is A's if both sessions measured it there, else the first other stack that both measured."""
        by_comparison: dict[tuple[str, str], list[tuple[Row, Row]]] = {}
        for pair in pairs:
            by_comparison.setdefault(_comparison_keys(pair), []).append(pair)
        bases = {}
        for keys, group in by_comparison.items():
            group = sorted(group, key=lambda pair: pair[0].cell.stack != a.baseline)
            bases[keys] = group[0] if len(group) > 1 else None
        based = [(pair, base if (base := bases[_comparison_keys(pair)]) is not pair else None) for pair in pairs]
        ratios = cls(stats.error_of(sum(base is not None for _, base in based)), [], [], [], [])
        doubted = [doubts.of_rows(measured.rows) for measured in (a, b)]
        for pair, base in based:
            ratios._add(pair, base, doubted)
        return ratios

    def _add(self, pair: tuple[Row, Row], base: tuple[Row, Row] | None, doubted: Sequence[Doubts]) -> None:
        self.baselines.append(base[0].cell.stack if base else "")
        for side, ratios in enumerate((self.a, self.b)):
            ratios.append(stats.ratios([(pair[side].rates, base[side].rates)], self.error)[0] if base else NO_RATIO)
        found = [doubted[side].get(row[side].key) for row in (pair, base) if row for side in (0, 1)]
        self.withheld.append(next((doubt.verdict for doubt in found if doubt), None))


def _comparison_keys(pair: tuple[Row, Row]) -> tuple[str, str]:
    return pair[0].comparison.key, pair[1].comparison.key


def _worded(rows: Sequence[Compared], ratios: _Ratios) -> Iterable[Compared]:
    """The rows with their ratios and verdicts."""
    for row, baseline, in_a, in_b, withheld in zip(rows, ratios.baselines, ratios.a, ratios.b, ratios.withheld,
                                                   strict=True):
        change = stats.between(in_b, in_a, ratios.error)
        said = withheld or stats.verdict(change) if baseline else Verdict.NO_DATA
        yield row._replace(baseline=baseline, ratio_a=in_a, ratio_b=in_b, change=change, verdict=_MOVED[said])


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
    differences = [Difference(what, ours.get(what, ABSENT), theirs.get(what, ABSENT)) for what in {**ours, **theirs}]
    return [each for each in differences if each.a != each.b]


def _around(measured: Measurements) -> dict[str, str]:
    """The facts about the whole session as texts, by name."""
    session = measured.session
    surroundings = {f"{what}: {name}": _word(value) for what in ("machine", "hardware", "harness")
             for name, value in recorded(session, what).items()}
    surroundings |= {name: _word(session[name]) for name in _SESSION if name in session}
    return surroundings | {"rounds": _word(measured.rounds)}


def _of_stack(name: str, rows: Sequence[Row]) -> dict[str, str]:
    """All values of each fact that a stack's runs reported, and the resources of its cells."""
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
    flat: dict[str, Any] = {}
    for name, value in facts.items():
        flat |= _flat(value, f"{before}{name} ") if isinstance(value, dict) else {before + name: value}
    return flat


def _mistrusted(measured: Measurements) -> dict[str, str]:
    """The number of rows with each flag, without UNPROVED: checks are not part of a session."""
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


def lines(compared: Comparison, is_detailed: bool = False) -> list[str | Table | dict[str, Table]]:
    """The comparison for people, the ratios first; is_detailed: with rates and all that differed.

    Rates also stand where there is no ratio.
    """
    parts: list[str | Table | dict[str, Table]] = []
    judged = [row for row in compared.rows if row.baseline]
    if judged:
        baselines = list(dict.fromkeys(row.baseline for row in judged))
        parts += [f"Times as fast as {' or '.join(baselines)} in each session:",
                  _by_label(judged, lambda row: _ratios(row, len(baselines) > 1)), "", _READING]
    if any(row.other_resources for row in compared.rows):
        parts.append("* The cells had other CPUs or another memory limit.")
    if compared.alone:
        parts += ["", "Not compared:", *(f"  {line}" for line in formatting.by_reason(compared.alone, _LISTED))]
    parts += ["", f"A: {compared.a}", f"B: {compared.b}"]
    if compared.rows and (is_detailed or not judged):
        parts += ["", "Samples a second of one worker (runs):", _by_label(compared.rows, _rates)]
    differ = formatting.count(len(compared.differences), "fact")
    if not is_detailed:
        return [*parts, "", f"{differ} around them differed: --details lists them, and rates."]
    return [*parts, "", f"{differ} around them differed{':' if compared.differences else '.'}",
            *([[{"": each.what, "A": _short(each.a), "B": _short(each.b)} for each in compared.differences]]
              if compared.differences else [])]


_READING = ("A word is said where the interval of the ratio in B over that in A (Welch's t, for all words here "
            "together) excludes 1. Rates get no word: whatever changed between the sessions is in them.")


def _short(fact: str) -> str:
    return fact if len(fact) <= _LONGEST else f"{fact[:_LONGEST - 3]}..."


def _by_label(rows: Iterable[Compared], line: Callable[[Compared], dict[str, str]]) -> dict[str, Table]:
    tables: dict[str, Table] = {}
    for row in rows:
        tables.setdefault(row.label, []).append({"": row.stack + ("*" if row.other_resources else ""), **line(row)})
    return tables


def _ratios(row: Compared, has_baseline: bool) -> dict[str, str]:
    in_a, in_b = ("" if ratio.value is None else formatting.ratio(ratio.value, ratio.interval)
                  for ratio in (row.ratio_a, row.ratio_b))
    to = {"to": row.baseline} if has_baseline else {}
    return {**to, "in A": in_a, "in B": in_b, "ratio is": row.verdict.value}


def _rates(row: Compared) -> dict[str, str]:
    return {side: f"{formatting.number(rate)} ({runs})" for side, rate, runs in (
        ("A", row.rate_a, row.runs_a), ("B", row.rate_b, row.runs_b))}
