"""Two sessions beside each other: what differed around them, then how each cell's ratio to the baseline moved. Pure.

The runs of two sessions share no rounds, and whatever changed between the sessions is in every raw rate: with a drift
of 1 to 5 % between them, 13 to 66 % of words on raw rates of equal stacks were false. So rates are shown without words.
A ratio to the baseline within a session cancels what the session did to both stacks: ratios of two sessions are held
against each other by Welch's t on their mean logarithms (stats.between), in intervals that allow for all of them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from runner import formatting
from runner.analysis import doubts, stats
from runner.analysis.doubts import Doubts
from runner.analysis.flags import Flag, flags
from runner.analysis.paired import Paired
from runner.analysis.stats import Ratio, Verdict
from runner.cells import key
from runner.grouping import grouped
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


_Pair = tuple[Row, Row]          # of one cell, in A and in B


class Difference(NamedTuple):
    """A fact that differs between A and B."""

    what: str
    a: str
    b: str


# of a ratio in B against the same in A; other verdicts in their own words
_MOVED = {Verdict.FASTER: "higher in B", Verdict.SLOWER: "lower in B", Verdict.AS_FAST: "unchanged",
          Verdict.NO_DATA: ""}


class Compared(NamedTuple):
    """A cell that both sessions measured: rates are geometric means."""

    key: str                     # of A's cell
    stack: str
    label: str
    rate_a: float                # of one worker
    rate_b: float
    runs_a: int
    runs_b: int
    other_resources: bool        # the cells have other CPUs or memory
    baseline: str                # that both sessions measured beside it; "" where there is none, or it is that itself
    ratio_a: Ratio               # to the baseline in the same rounds
    ratio_b: Ratio
    change: Ratio                # the ratio in B over that in A
    verdict: str                 # what may be said of it
    unit: str                    # of the rates


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


def plain(value: Any) -> Any:
    """A value of these as JSON has it: tuples with names by these."""
    if isinstance(value, Ratio):
        return {"value": value.value, "interval": value.interval and value.interval.record(), "rounds": value.pairs}
    if hasattr(value, "_asdict"):
        return {name: plain(each) for name, each in value._asdict().items()}
    return [*map(plain, value)] if isinstance(value, tuple) else value


def compare(a: Measurements, b: Measurements) -> Comparison:
    """B against A: first what differed around the runs, then a row for each cell that both have."""
    names = (str(a.session.get("id", "A")), str(b.session.get("id", "B")))
    pairs = _pairs(a.rows, b.rows)
    both = [pair for pair in pairs if all(row.rates for row in pair)]
    bases = _baselines(both, a.baseline)
    error, doubted = stats.error_of(sum(map(bool, bases))), [doubts.of(measured) for measured in (a, b)]
    alone = [Alone(pair[0].cell.stack, pair[0].comparison.label, ", ".join(
        f"{_reason(row)} in {name}" for row, name in zip(pair, names, strict=True) if not row.rates))
        for pair in pairs if pair not in both]
    paired = {row for pair in pairs for row in pair}
    left = [[row for row in measured.rows if row not in paired] for measured in (a, b)]
    for name, rows, others in zip(names, left, reversed(left), strict=True):
        alone += [Alone(row.cell.stack, row.comparison.label, f"only in {name}{_otherwise(row, others)}")
                  for row in rows]
    of_both = [replace(measured, rows=tuple(pair[side] for pair in both)) for side, measured in enumerate((a, b))]
    return Comparison(*names, _differences(*of_both), tuple(
        _compared(pair, base, doubted, error) for pair, base in zip(both, bases, strict=True)), tuple(alone))


def _otherwise(row: Row, others: Iterable[Row]) -> str:
    """The row's settings that its namesake in the other session has not; "" where there is none."""
    other = next((each.cell for each in others if (each.cell.stack, each.comparison.label)
                  == (row.cell.stack, row.comparison.label)), row.cell)
    settings = [f"{name} {getattr(row.cell, name)}" for name in Cell._fields
                if name not in _OF_THE_MACHINE and getattr(row.cell, name) != getattr(other, name)]
    return f" with {', '.join(settings)}" if settings else ""


def _pairs(one: Sequence[Row], other: Sequence[Row]) -> list[_Pair]:
    """Rows of equal cells; then rows that differ only in their share of the machine, if each side has exactly one."""
    theirs = {row.key: row for row in other}
    pairs = [(row, theirs[row.key]) for row in one if row.key in theirs]
    taken = {row.key for row, _ in pairs}
    ours, others = (grouped([row for row in rows if row.key not in taken], lambda row: key(row.cell._replace(
        **{name: DEFAULTS[name] for name in _OF_THE_MACHINE}))) for rows in (one, other))
    return pairs + [(rows[0], others[name][0]) for name, rows in ours.items()
                    if len(rows) == 1 == len(others.get(name, ()))]


def _baselines(pairs: Sequence[_Pair], baseline: str) -> list[_Pair | None]:
    """What each pair is held against: A's baseline if both sessions measured it there, else the first other stack."""
    def compared(pair: _Pair) -> tuple[str, ...]:
        return tuple(row.comparison.key for row in pair)

    groups = grouped(sorted(pairs, key=lambda pair: pair[0].cell.stack != baseline), compared)
    bases = [groups[compared(pair)][0] for pair in pairs]
    return [None if base is pair else base for pair, base in zip(pairs, bases, strict=True)]


def _compared(pair: _Pair, base: _Pair | None, doubted: Sequence[Doubts], error: float) -> Compared:
    a, b = pair
    in_a, in_b = (Paired.of(row, of, error, own) for row, of, own in zip(
        pair, base or (None, None), doubted, strict=True))
    change = stats.between(in_b.ratio, in_a.ratio, error * min(a.look.share, b.look.share))
    withheld = [doubt for doubt in (in_a.doubt, in_b.doubt, in_a.other_doubt, in_b.other_doubt) if doubt and base]
    said = withheld[0].verdict if withheld else stats.verdict(change)
    return Compared(a.key, a.cell.stack, a.comparison.label, in_a.rates[0] or 0.0, in_b.rates[0] or 0.0, len(a.rates),
                    len(b.rates), other_resources=a.key != b.key, baseline=base[0].cell.stack if base else "",
                    ratio_a=in_a.ratio, ratio_b=in_b.ratio, change=change, verdict=_MOVED.get(said, said.value),
                    unit=a.unit)


def _reason(row: Row) -> str:
    """Why a row has no rate."""
    if row.ok_runs:
        return f"measure {row.cell.measure} has no rate"
    return "ended " + ", ".join(sorted({run.ending for run in row.runs})) if row.runs else "not run"


def _differences(a: Measurements, b: Measurements) -> tuple[Difference, ...]:
    """What differs around compared rows: machine and session, then the stacks, then what was to be mistrusted."""
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
    return {**{f"{what}: {name}": _word(value) for what in ("machine", "hardware", "harness")
               for name, value in recorded(session, what).items()},
            **{name: _word(session[name]) for name in _SESSION if name in session}, "rounds": _word(measured.rounds)}


def _of_stack(name: str, rows: Sequence[Row]) -> dict[str, str]:
    """All values of each fact that a stack's runs reported, and the resources of its cells."""
    seen: dict[str, set[str]] = {}
    for row in (row for row in rows if row.cell.stack == name):
        resources = {f"{what} of a node": getattr(row.cell, what) for what in _OF_THE_MACHINE}
        for told in (*({**_flat(run.place), **_flat(run.facts)} for run in row.runs), resources):
            for what, value in told.items():
                seen.setdefault(what, set()).add(_word(value))
    return {what: ", ".join(sorted(values)) for what, values in seen.items() if what not in _LEFT_OUT}


def _flat(facts: Facts, before: str = "") -> dict[str, Any]:
    """Facts in facts as "outer inner"."""
    flat: dict[str, Any] = {}
    for name, value in facts.items():
        flat |= _flat(value, f"{before}{name} ") if isinstance(value, dict) else {before + name: value}
    return flat


def _mistrusted(measured: Measurements) -> dict[str, str]:
    """The number of rows with each flag, without UNPROVED: checks are not part of a session."""
    cpus = recorded(measured.session, "machine").get("cpus")
    own = [flag for row in measured.rows for flag in flags(row, cpus, {})]
    return {f"flagged {flag.value.replace('_', ' ')}": f"{own.count(flag)} of {len(measured.rows)} cells"
            for flag in Flag if flag in own and flag is not Flag.UNPROVED}


def _word(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(_word, value)) or ABSENT
    return ABSENT if value is None else {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


Table = list[dict[str, str]]


def lines(compared: Comparison, is_detailed: bool = False) -> list[str | Table | dict[str, Table]]:
    """The comparison for people, the ratios first; is_detailed: with rates and all that differed.

    Rates also stand where there is no ratio.
    """
    parts: list[str | Table | dict[str, Table]] = []
    if judged := [row for row in compared.rows if row.baseline]:
        baselines = list(dict.fromkeys(row.baseline for row in judged))
        parts += [f"Times as fast as {' or '.join(baselines)} in each session:",
                  _by_label(judged, lambda row: {
                      **({"to": row.baseline} if len(baselines) > 1 else {}), "in A": row.ratio_a.text(""),
                      "in B": row.ratio_b.text(""), "ratio is": row.verdict}), "", _READING]
    if any(row.other_resources for row in compared.rows):
        parts.append("* The cells had other CPUs or another memory limit.")
    if compared.alone and is_detailed:
        parts += ["", "Not compared:", *(f"  {line}" for line in formatting.by_reason(compared.alone, _LISTED))]
    elif compared.alone:
        parts += ["", f"Not compared: {formatting.count(len(compared.alone), 'cell')}, --details says which and why."]
    parts += ["", f"A: {compared.a}", f"B: {compared.b}{', the same session' if compared.a == compared.b else ''}"]
    if compared.rows and (is_detailed or not judged):
        parts += ["", "Rates of one worker (runs):", _by_label(compared.rows, lambda row: {
            "A": f"{formatting.number(row.rate_a)} ({row.runs_a})",
            "B": f"{formatting.number(row.rate_b)} ({row.runs_b})", "unit": row.unit})]
    listed = [{"": what, "A": _from_difference(a, b), "B": _from_difference(b, a)}
              for what, a, b in compared.differences] if is_detailed else []
    more = ":" if listed else "." if is_detailed else ": --details lists them, and rates."
    return [*parts, "", f"{formatting.count(len(compared.differences), 'fact')} around them differed{more}",
            *([listed] if listed else [])]


def _from_difference(fact: str, other: str) -> str:
    """A fact for the screen; a long one from the word on in which it differs from the other."""
    if len(fact) <= _LONGEST:
        return fact
    differs = next((at for at, (one, its) in enumerate(zip(fact, other, strict=False)) if one != its), len(other))
    begins = max(fact.rfind(mark, 0, differs) for mark in " /") + 1
    shown = f"...{fact[begins:]}" if begins else fact
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST - 3]}..."


_READING = ("A ratio has moved where the interval of its value in B over that in A (Welch's t, for all verdicts here "
            "together) excludes 1. Rates get no verdict: whatever changed between the sessions is in them.")


def _by_label(rows: Iterable[Compared], line: Callable[[Compared], dict[str, str]]) -> dict[str, Table]:
    return {label: [{"": row.stack + ("*" if row.other_resources else ""), **line(row)} for row in of_label]
            for label, of_label in grouped(rows, lambda row: row.label).items()}
