"""Store records to rows: every cell of the last plan with its runs. Pure; samples stay raw, nothing is averaged."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from runner.cells import Comparison, comparisons
from runner.errors import InputError
from runner.results.contract import FINAL
from runner.results.products import Product
from runner.results.runs import Run, rate_per_worker
from runner.results.values import Facts, count, least, mapping, text
from runner.results.worker_lines import Begun, ended
from workloads.spec.cell import Cell, CellError, parse

_SPELL_SECONDS = 300.0         # of runs: in a longer session a wandering machine's spells average out


@dataclass(frozen=True, eq=False)
class Row:
    """A planned cell and its runs, a run a round, in order."""

    key: str
    experiment: str
    cell: Cell
    comparison: Comparison                 # that it is in
    runs: tuple[Run, ...]
    replaced: tuple[Run, ...] = ()         # of rounds that were made again: the runs that do not count

    @cached_property
    def ok_runs(self) -> tuple[Run, ...]:
        """The runs whose samples count."""
        return tuple(run for run in self.runs if run.ending == "ok")

    @cached_property
    def rates(self) -> Mapping[int, float]:
        """Samples a second and worker of every ok run that has timed steps, by round."""
        rates = {run.round: rate_per_worker(self.cell.batch, run) for run in self.ok_runs}
        return {index: rate for index, rate in rates.items() if rate is not None}


class RecordError(InputError):
    """A session's records are not what they must be; whoever knows the file says it."""


def by_comparison(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each comparison by its key, in the order of their first rows."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.comparison.key, []).append(row)
    return groups


class Experiment(NamedTuple):
    """A part of the study, as the plan kept it."""

    id: str
    title: str
    keys: tuple[str, ...]                  # of its cells, those that it shares with others too
    assumed: Mapping[str, str]             # where the study is silent
    scaled: tuple[str, ...]                # what the scale changes of the study's own sizes
    node: Mapping[str, int]                # the CPUs and bytes that the study's nodes had, where it says so


class SessionSpread(NamedTuple):
    """How far a log-ratio moves from session to session beyond its rounds, as standard deviations."""

    share: float                           # 0.03 is 3 %
    of_scatter: float                      # of its rounds' own standard deviation


NO_SPREAD = SessionSpread(0.0, 0.0)


@dataclass(frozen=True, eq=False, slots=True)
class Skipped:
    """A cell that the plan left out."""

    experiment: str
    cell: Cell
    comparison: Comparison
    reason: str


@dataclass(frozen=True, eq=False, slots=True)
class Measurements:
    """A whole session."""

    session: Facts                         # its first record
    rounds: int
    baseline: str
    rows: tuple[Row, ...]
    skipped: tuple[Skipped, ...]
    published: tuple[Facts, ...]           # records of the study's own numbers
    claims: tuple[Facts, ...]              # records of what it claims
    is_done: bool                          # closed after its last run, not interrupted
    title: str = ""                        # of the study
    experiments: tuple[Experiment, ...] = ()
    settings: Facts = field(default_factory=dict)      # that the user put over the study's
    stacks: tuple[str, ...] = ()           # that the user chose instead of the study's
    products: tuple[Product, ...] = ()     # what matrix products reached, by stack
    session_spread: SessionSpread = NO_SPREAD

    def made_of(self) -> dict[str, str]:
        """The fingerprint of what each stack's runs were made of, by the stack's name."""
        return {row.cell.stack: str(run.place.get("fingerprint", ""))
                for row in self.rows for run in row.runs if run.place}


def measurements(records: Iterable[Mapping[str, Any]]) -> Measurements:
    """The session in its records; record kinds that are unknown here are passed over.

    Raises RecordError with the record's number where one has not the shape it must have.
    """
    gathered = _Gathered()
    for number, record in enumerate(records, 1):
        event = record.get("event")
        reader = _READERS.get(event) if isinstance(event, str) else None
        if reader is None:
            continue
        try:
            reader(gathered, record)
        except KeyError as error:
            raise RecordError(f"record {number} ({event}): key {error} is missing") from error
        except (TypeError, ValueError, AttributeError, OverflowError, CellError) as error:
            raise RecordError(f"record {number} ({event}): {error}") from error
    if gathered.plan is None:
        raise RecordError("there is no plan, so nothing was measured: give the command that made it again")
    return _measurements(gathered, gathered.plan)


@dataclass
class _Plan:
    rounds: int
    baseline: str
    rows: tuple[Row, ...]                  # without runs
    skipped: tuple[Skipped, ...]
    published: tuple[Facts, ...]
    claims: tuple[Facts, ...]
    title: str
    experiments: tuple[Experiment, ...]
    settings: Facts
    stacks: tuple[str, ...]


@dataclass
class _Gathered:
    """What the records said so far."""

    session: Facts = field(default_factory=dict)
    plan: _Plan | None = None
    begun: dict[str, Begun] = field(default_factory=dict)
    runs: dict[tuple[str, int], Run] = field(default_factory=dict)     # by cell key and round
    is_done: bool = False
    products: list[Product] = field(default_factory=list)
    again: dict[tuple[str, int], Run] = field(default_factory=dict)    # what was made again, by the same


def _session(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    for name in ("session_spread", "session_scatter"):
        least(record.get(name, 0.0), 0.0)
    gathered.session = gathered.session or dict(record)
    gathered.is_done = False


def _plan(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    planned, left_out = ([(item, parse(item["cell"])) for item in record[name]] for name in ("cells", "skipped"))
    compared = comparisons(cell for _, cell in (*planned, *left_out))
    rows = tuple(Row(text(item["key"]), text(item["experiment"]), cell, compared[cell], ()) for item, cell in planned)
    skipped = tuple(Skipped(text(item["experiment"]), cell, compared[cell], text(item["reason"]))
                    for item, cell in left_out)
    published = tuple(mapping(item) for item in record.get("published", ()))
    claims = tuple(mapping(item) for item in record.get("claims", ()))
    gathered.plan = _Plan(count(record["rounds"]), text(record["baseline"]), rows, skipped, published, claims,
                          text(record.get("title", "")), _experiments(record, rows, skipped),
                          mapping(record.get("settings", {})), tuple(map(text, record.get("stacks", ()))))


def _experiments(record: Mapping[str, Any], rows: Sequence[Row], skipped: Sequence[Skipped]
                 ) -> tuple[Experiment, ...]:
    """The record's experiments, or in older records those that the cells name."""
    if "experiments" in record:
        return tuple(Experiment(text(item["id"]), text(item["title"]), tuple(map(text, item["cells"])),
                                {name: text(why) for name, why in mapping(item["assumed"]).items()},
                                tuple(map(text, item["scaled"])),
                                {name: count(value) for name, value in mapping(item.get("node", {})).items()})
                     for item in record["experiments"])
    names = (*(row.experiment for row in rows), *(skip.experiment for skip in skipped))
    keys: dict[str, list[str]] = {name: [] for name in names}
    for row in rows:
        keys[row.experiment].append(row.key)
    return tuple(Experiment(name, "", tuple(of_experiment), {}, (), {}) for name, of_experiment in keys.items())


def _begin(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    text(record["key"])
    count(record["round"])
    count(record["attempt"])
    gathered.begun[text(record["run"])] = Begun(record)


def _line(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    run, line = gathered.begun.get(record["run"]), record["line"]
    if run:
        run.hear(line)


def _ending(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    """Keep the run, unless an earlier attempt was a result and this one is not.

    What was made again is kept beside it: which of the two counts is known when all of a round is there.
    """
    begun = gathered.begun.pop(record["run"], None)
    if begun is None:
        return
    run, key = ended(begun, record), begun.record["key"]
    runs = gathered.again if run.repeats and (key, run.round) in gathered.runs else gathered.runs
    earlier = runs.get((key, run.round))
    if earlier is None or run.ending in FINAL or earlier.ending not in FINAL:
        runs[key, run.round] = run


def _is_whole(gathered: _Gathered, key: str, again: Run) -> bool:
    """Whether a run that was made again counts: where all that were made again with it ended ok and undisturbed.

    Until 2026-11-23 a run was made again by itself.
    """
    runs = [gathered.again.get((other, again.round)) for other in again.together or (key,)]
    return all(run is not None and run.ending == "ok" and not run.is_disturbed for run in runs)


def _product(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    gathered.products.append(Product.read(record))


def _closed(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    gathered.is_done = record["reason"] == "done"


_READERS: dict[str, Callable[[_Gathered, Mapping[str, Any]], None]] = {
    "session": _session, "plan": _plan, "begin": _begin, "line": _line, "ending": _ending, "closed": _closed,
    "product": _product,
}


def _measurements(gathered: _Gathered, plan: _Plan) -> Measurements:
    by_key: dict[str, list[Run]] = {}
    replaced: dict[str, list[Run]] = {}
    for (key, index), first in gathered.runs.items():
        again = gathered.again.get((key, index))
        takes_place = again is not None and _is_whole(gathered, key, again)
        by_key.setdefault(key, []).append(again if again is not None and takes_place else first)
        if again is not None:
            replaced.setdefault(key, []).append(first if takes_place else again)
    rows = tuple(replace(row, runs=tuple(sorted(by_key.get(row.key, ()), key=lambda run: run.round)),
                         replaced=tuple(sorted(replaced.get(row.key, ()), key=lambda run: run.round)))
                 for row in plan.rows)
    return Measurements(gathered.session, plan.rounds, plan.baseline, rows, plan.skipped, plan.published,
                        plan.claims, gathered.is_done, plan.title, plan.experiments, plan.settings, plan.stacks,
                        tuple(gathered.products), _session_spread(gathered.session, rows))


def _session_spread(session: Facts, rows: Iterable[Row]) -> SessionSpread:
    """What the session allowed for, nothing where it does not say it."""
    share, of_scatter = (float(session.get(name, 0.0)) for name in ("session_spread", "session_scatter"))
    seconds = math.fsum(run.wall_seconds for row in rows for run in (*row.runs, *row.replaced))
    return SessionSpread(share, of_scatter * math.sqrt(_SPELL_SECONDS / max(seconds, _SPELL_SECONDS)))
