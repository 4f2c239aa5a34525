"""Store records to rows: every cell of the last plan with its runs. Pure; samples stay raw, nothing is averaged."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.errors import InputError
from runner.store import FINAL
from workloads.spec.cell import Cell, CellError, parse

Samples = NDArray[np.float64]
Facts = Mapping[str, Any]
Readings = Mapping[str, float | None]      # of the host; what was not measured is None or absent


@dataclass(frozen=True, eq=False, slots=True)
class Run:
    """One fresh start of a cell, as the store kept it."""

    name: str
    round: int
    attempt: int
    ending: str
    message: str
    wall_seconds: float                    # from start to stop, as the host saw it
    warm_seconds: Samples
    step_seconds: Samples                  # a sample a step; one for all steps with sync=end; one an epoch
    steps: int                             # that step_seconds cover
    load_seconds: Samples                  # of the timed steps, where the framework lets loading be seen
    losses: Samples                        # the finite ones
    drain_seconds: float                   # reading losses of steps that were said to be over
    accuracy: float | None                 # after the last epoch
    parameters: int | None
    facts: Facts
    place: Facts
    before: Readings
    after: Readings


@dataclass(frozen=True, eq=False, slots=True)
class Row:
    """A planned cell and its runs, a run a round, in order."""

    key: str
    experiment: str
    cell: Cell
    runs: tuple[Run, ...]

    @property
    def ok_runs(self) -> tuple[Run, ...]:
        """The runs whose samples count."""
        return tuple(run for run in self.runs if run.ending == "ok")

    @property
    def rates(self) -> dict[int, float]:
        """Samples a second and worker of every ok run that has timed steps, by round."""
        found = {run.round: rate_per_worker(self.cell.batch, run) for run in self.ok_runs}
        return {index: rate for index, rate in found.items() if rate is not None}


@dataclass(frozen=True, eq=False, slots=True)
class Skipped:
    """A cell that the plan left out."""

    experiment: str
    cell: Cell
    reason: str


@dataclass(frozen=True, eq=False, slots=True)
class Measurements:
    """A whole session."""

    session: Facts                         # its first record
    rounds: int
    baseline: str
    rows: tuple[Row, ...]
    skipped: tuple[Skipped, ...]
    is_done: bool                          # closed after its last run, not interrupted


def rate_per_worker(batch: int, run: Run) -> float | None:
    """Samples a second of one worker over its timed window: rate x seconds = samples. None without timed steps."""
    seconds = float(run.step_seconds.sum())
    return batch * run.steps / seconds if seconds > 0 and run.steps > 0 else None


def measurements(records: Iterable[Mapping[str, Any]]) -> Measurements:
    """The session in its records; record kinds that are unknown here are passed over.

    Raises InputError with the record's number where one has not the shape it must have.
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
            raise InputError(f"record {number} ({event}): key {error} is missing") from error
        except (TypeError, ValueError, AttributeError, OverflowError, CellError) as error:
            raise InputError(f"record {number} ({event}): {error}") from error
    if gathered.plan is None:
        raise InputError("the events hold no plan, so nothing was measured: give the command that made them again")
    return _measurements(gathered, gathered.plan)


@dataclass
class _Begun:
    """A run while its lines are read."""

    record: Mapping[str, Any]
    facts: Facts = field(default_factory=dict)
    parameters: int | None = None
    warm: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    steps: int = 0
    loads: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    drain_seconds: float = 0.0
    accuracy: float | None = None


@dataclass
class _Plan:
    rounds: int
    baseline: str
    cells: list[tuple[str, str, Cell]]     # key, experiment, cell
    skipped: tuple[Skipped, ...]


@dataclass
class _Gathered:
    """What the records said so far."""

    session: Facts = field(default_factory=dict)
    plan: _Plan | None = None
    begun: dict[str, _Begun] = field(default_factory=dict)
    runs: dict[tuple[str, int], Run] = field(default_factory=dict)     # by cell key and round
    is_done: bool = False


def _session(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    gathered.session = gathered.session or dict(record)
    gathered.is_done = False


def _plan(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    cells = [(_text(item["key"]), _text(item["experiment"]), parse(item["cell"])) for item in record["cells"]]
    skipped = tuple(Skipped(_text(item["experiment"]), parse(item["cell"]), _text(item["reason"]))
                    for item in record["skipped"])
    gathered.plan = _Plan(_count(record["rounds"]), _text(record["baseline"]), cells, skipped)


def _begin(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    _text(record["key"])
    _count(record["round"])
    _count(record["attempt"])
    gathered.begun[_text(record["run"])] = _Begun(record)


def _line(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    run, line = gathered.begun.get(record["run"]), record["line"]
    reader = _LINES.get(line["event"])
    if run and reader:
        reader(run, line)


def _start(run: _Begun, line: Mapping[str, Any]) -> None:
    run.facts = _mapping(line["facts"])
    run.parameters = None if line.get("parameters") is None else _count(line["parameters"])


def _warm(run: _Begun, line: Mapping[str, Any]) -> None:
    run.warm += line["seconds"]


def _steps(run: _Begun, line: Mapping[str, Any]) -> None:
    run.seconds += line["seconds"]
    run.steps += _count(line.get("count", len(line["seconds"])))
    run.loads += line.get("phases", {}).get("load", [])
    run.losses += [loss for loss in line.get("loss", []) if loss is not None]
    run.drain_seconds += _number(line.get("drain_seconds")) or 0.0


def _epoch(run: _Begun, line: Mapping[str, Any]) -> None:
    run.seconds.append(line["train_seconds"])
    run.steps += _count(line["steps"])
    run.losses.append(line["loss"])
    run.accuracy = _number(line.get("accuracy"))


def _ending(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    """Keep the run, unless an earlier attempt was a result and this one is not."""
    begun = gathered.begun.pop(record["run"], None)
    if begun is None:
        return
    run, key = _run(begun, record), begun.record["key"]
    earlier = gathered.runs.get((key, run.round))
    if earlier is None or run.ending in FINAL or earlier.ending not in FINAL:
        gathered.runs[key, run.round] = run


def _run(begun: _Begun, record: Mapping[str, Any]) -> Run:
    head = begun.record
    return Run(
        name=head["run"], round=head["round"], attempt=head["attempt"], ending=_text(record["ending"]),
        message=_text(record["message"]), wall_seconds=_number(record["seconds"]) or 0.0,
        warm_seconds=_seconds(begun.warm), step_seconds=_seconds(begun.seconds), steps=begun.steps,
        load_seconds=_seconds(begun.loads), losses=_samples(begun.losses), drain_seconds=begun.drain_seconds,
        accuracy=begun.accuracy, parameters=begun.parameters, facts=begun.facts,
        place=_mapping(head.get("place") or {}), before=_readings(head.get("host")),
        after=_readings(record.get("host")),
    )


def _closed(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    gathered.is_done = record["reason"] == "done"


_READERS: dict[str, Callable[[_Gathered, Mapping[str, Any]], None]] = {
    "session": _session, "plan": _plan, "begin": _begin, "line": _line, "ending": _ending, "closed": _closed,
}
_LINES: dict[str, Callable[[_Begun, Mapping[str, Any]], None]] = {
    "start": _start, "warm": _warm, "steps": _steps, "epoch": _epoch,
}


def _measurements(gathered: _Gathered, plan: _Plan) -> Measurements:
    by_key: dict[str, list[Run]] = {}
    for (key, _), run in gathered.runs.items():
        by_key.setdefault(key, []).append(run)
    rows = tuple(Row(key, experiment, cell, tuple(sorted(by_key.get(key, ()), key=lambda run: run.round)))
                 for key, experiment, cell in plan.cells)
    return Measurements(gathered.session, plan.rounds, plan.baseline, rows, plan.skipped, gathered.is_done)


def _samples(values: list[float]) -> Samples:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ValueError("expected a list of finite numbers")
    return array


def _seconds(values: list[float]) -> Samples:
    array = _samples(values)
    if (array < 0).any():
        raise ValueError("found negative seconds")
    return array


def _readings(values: Mapping[str, Any] | None) -> Readings:
    return {name: _number(value) for name, value in _mapping(values or {}).items()}


def _number(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise TypeError(f"found {value!r:.40}, expected a finite number")
    return float(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError(f"found {value!r:.40}, expected a count")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"found {value!r:.40}, expected text")
    return value


def _mapping(value: Any) -> Facts:
    if not isinstance(value, dict):
        raise TypeError(f"found {value!r:.40}, expected an object")
    return value
