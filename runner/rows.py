"""Store records to rows: every cell of the last plan with its runs. Pure; samples stay raw, nothing is averaged."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runner.errors import InputError
from runner.profiles import Graph, Kernels, MaxBatch
from runner.store import FINAL
from workloads.spec.cell import Cell, CellError, parse

Samples = NDArray[np.float64]
Facts = Mapping[str, Any]
Readings = Mapping[str, float | None]      # of the host; what was not measured is None or absent


class Epoch(NamedTuple):
    """One pass over the training data; None where it was not told."""

    train_seconds: float
    validation_seconds: float | None
    loss: float | None
    accuracy: float | None


@dataclass(frozen=True, eq=False, slots=True)
class Worker:
    """What one worker of a run measured; most runs have one."""

    name: str                              # its place, or its number where a coordinator tells of it
    warm_seconds: Samples
    step_seconds: Samples                  # a sample a step; one for all steps with sync=end; one an epoch
    steps: int                             # that step_seconds cover
    phases: Mapping[str, Samples]          # of the timed steps by name; "load" alone where nothing else was stamped
    losses: Samples                        # the finite ones
    drain_seconds: float                   # reading losses of steps that were said to be over
    device_seconds: Samples                # of each step by the device's own clock; empty where it was not asked

    def phase_seconds(self, name: str) -> float | None:
        """Mean seconds of a phase in a step; None where it was not stamped."""
        found = self.phases.get(name)
        return float(found.sum()) / self.steps if found is not None and len(found) and self.steps else None


@dataclass(frozen=True, eq=False, slots=True)
class Run:
    """One fresh start of a cell, as the store kept it."""

    name: str
    round: int
    attempt: int
    ending: str
    message: str
    wall_seconds: float                    # from start to stop, as the host saw it
    workers: tuple[Worker, ...]            # at least one, in order of their names
    accuracy: float | None                 # after the last epoch
    parameters: int | None
    facts: Facts
    place: Facts
    before: Readings
    after: Readings
    usage: Mapping[str, Readings]          # by place, where there are many
    digests: Mapping[str, str]             # of the weights after the last step, by place
    operators: Mapping[str, float]         # seconds a step by the framework's own names
    epochs: tuple[Epoch, ...] = ()         # in their order
    kernels: Kernels | None = None
    graph: Graph | None = None
    max_batch: MaxBatch | None = None

    @property
    def step_seconds(self) -> Samples:
        """Of every worker, one after the other."""
        return np.concatenate([worker.step_seconds for worker in self.workers])

    @property
    def framework(self) -> str:
        """As the worker named it, "" where it told nothing."""
        return str(self.facts.get("framework", ""))

    @property
    def first(self) -> Worker:
        """The worker that stands for all where one is enough: its warm-up, its losses."""
        return self.workers[0]

    def phase_seconds(self, name: str) -> float | None:
        """Mean seconds of a phase in a step, over the workers."""
        found = [seconds for worker in self.workers if (seconds := worker.phase_seconds(name)) is not None]
        return sum(found) / len(found) if found else None


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


class Experiment(NamedTuple):
    """A part of the study, as the plan kept it."""

    id: str
    title: str
    keys: tuple[str, ...]                  # of its cells, those that it shares with others too
    assumed: Mapping[str, str]             # where the study is silent
    scaled: tuple[str, ...]                # what the scale changes of the study's own sizes


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
    published: tuple[Facts, ...]           # records of the study's own numbers
    claims: tuple[Facts, ...]              # records of what it claims
    is_done: bool                          # closed after its last run, not interrupted
    title: str = ""                        # of the study
    experiments: tuple[Experiment, ...] = ()
    settings: Facts = field(default_factory=dict)      # that the user put over the study's
    stacks: tuple[str, ...] = ()           # that the user chose instead of the study's

    def made_of(self) -> dict[str, str]:
        """The fingerprint of what each stack's runs were made of, by the stack's name."""
        return {row.cell.stack: str(run.place.get("fingerprint", ""))
                for row in self.rows for run in row.runs if run.place}


def rate_per_worker(batch: int, run: Run) -> float | None:
    """Samples a second of a worker over its timed window: rate x seconds = samples; the mean over the workers.

    None where a worker has no timed steps.
    """
    rates = []
    for worker in run.workers:
        seconds = float(worker.step_seconds.sum())
        if seconds <= 0 or not worker.steps:
            return None
        rates.append(batch * worker.steps / seconds)
    return sum(rates) / len(rates)


def step_seconds(run: Run) -> float | None:
    """Mean seconds of a worker's timed step, over the workers; None where one has no timed steps."""
    means = [float(worker.step_seconds.sum()) / worker.steps for worker in run.workers if worker.steps]
    return sum(means) / len(means) if len(means) == len(run.workers) else None


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
class _Worker:
    """A worker while its lines are read."""

    warm: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    steps: int = 0
    phases: dict[str, list[float]] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)
    drain_seconds: float = 0.0
    device_seconds: list[float] = field(default_factory=list)


@dataclass
class _Begun:
    """A run while its lines are read."""

    record: Mapping[str, Any]
    facts: Facts = field(default_factory=dict)
    parameters: int | None = None
    workers: dict[str, _Worker] = field(default_factory=dict)
    accuracy: float | None = None
    digests: dict[str, str] = field(default_factory=dict)
    operators: dict[str, float] = field(default_factory=dict)
    epochs: list[Epoch] = field(default_factory=list)
    kernels: Kernels | None = None
    graph: Graph | None = None
    max_batch: MaxBatch | None = None

    def worker(self, line: Mapping[str, Any]) -> _Worker:
        """Of a line: a coordinator numbers its workers, others are known by their place."""
        name = f"worker {_count(line['worker'])}" if "worker" in line else _text(line.get("place", ""))
        return self.workers.setdefault(name, _Worker())


@dataclass
class _Plan:
    rounds: int
    baseline: str
    cells: list[tuple[str, str, Cell]]     # key, experiment, cell
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
    published = tuple(_mapping(item) for item in record.get("published", ()))
    claims = tuple(_mapping(item) for item in record.get("claims", ()))
    gathered.plan = _Plan(_count(record["rounds"]), _text(record["baseline"]), cells, skipped, published, claims,
                          _text(record.get("title", "")), _experiments(record, cells, skipped),
                          _mapping(record.get("settings", {})), tuple(map(_text, record.get("stacks", ()))))


def _experiments(record: Mapping[str, Any], cells: list[tuple[str, str, Cell]],
                 skipped: tuple[Skipped, ...]) -> tuple[Experiment, ...]:
    """The record's experiments; of an older record, which has none, those that its cells name."""
    if "experiments" in record:
        return tuple(Experiment(_text(item["id"]), _text(item["title"]), tuple(map(_text, item["cells"])),
                                {name: _text(why) for name, why in _mapping(item["assumed"]).items()},
                                tuple(map(_text, item["scaled"])))
                     for item in record["experiments"])
    names = (*(name for _, name, _ in cells), *(skip.experiment for skip in skipped))
    keys: dict[str, list[str]] = {name: [] for name in names}
    for key, name, _ in cells:
        keys[name].append(key)
    return tuple(Experiment(name, "", tuple(found), {}, ()) for name, found in keys.items())


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


# what a summary tells of a stack and of its data; a worker may tell more
_FACTS = {"framework": str, "version": str, "python": str, "onednn": bool, "threads": int}
_DATA_FACTS = {"name": str, "images": int, "stand_in": bool, "sha256": str}


def _demand(facts: Mapping[str, Any], kinds: Mapping[str, type]) -> None:
    for name, kind in kinds.items():
        value = facts.get(name)
        if value is not None and type(value) is not kind:         # a bool is an int, too
            raise TypeError(f"found {name} {value!r:.40}, expected {kind.__name__}")


def _start(run: _Begun, line: Mapping[str, Any]) -> None:
    facts = _mapping(line["facts"])
    _demand(facts, _FACTS)
    if isinstance(facts.get("data"), dict):
        _demand(facts["data"], _DATA_FACTS)
    run.facts = run.facts or facts
    run.parameters = None if line.get("parameters") is None else _count(line["parameters"])


def _warm(run: _Begun, line: Mapping[str, Any]) -> None:
    run.worker(line).warm += line["seconds"]


def _steps(run: _Begun, line: Mapping[str, Any]) -> None:
    worker = run.worker(line)
    worker.seconds += line["seconds"]
    worker.steps += _count(line.get("count", len(line["seconds"])))
    for name, seconds in _mapping(line.get("phases", {})).items():
        worker.phases.setdefault(name, []).extend(seconds)
    worker.losses += [loss for loss in line.get("loss", []) if loss is not None]
    worker.drain_seconds += _number(line.get("drain_seconds")) or 0.0
    worker.device_seconds += line.get("device_seconds", [])


def _epoch(run: _Begun, line: Mapping[str, Any]) -> None:
    worker = run.worker(line)
    worker.seconds.append(line["train_seconds"])
    worker.steps += _count(line["steps"])
    worker.losses.append(line["loss"])
    run.accuracy = _number(line.get("accuracy"))
    run.epochs.append(Epoch(_least(line["train_seconds"], 0.0), _number(line.get("validation_seconds")),
                            _number(line["loss"]), run.accuracy))


def _weights(run: _Begun, line: Mapping[str, Any]) -> None:
    run.digests[_text(line.get("place", ""))] = _text(line["sha256"])


def _operators(run: _Begun, line: Mapping[str, Any]) -> None:
    """One worker's: the first that tells; all of them run the same operators."""
    steps = _count(line["steps"])
    if not run.operators and steps:
        run.operators = {_text(name): _least(seconds, 0.0) / steps
                         for name, (_, seconds) in _mapping(line["operators"]).items()}


def _kernels(run: _Begun, line: Mapping[str, Any]) -> None:
    run.kernels = run.kernels or Kernels.read(line)


def _graph(run: _Begun, line: Mapping[str, Any]) -> None:
    run.graph = run.graph or Graph.read(line)


def _max_batch(run: _Begun, line: Mapping[str, Any]) -> None:
    run.max_batch = run.max_batch or MaxBatch.read(line)


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
    workers = [_worker(name, found) for name, found in sorted(begun.workers.items())]
    return Run(
        name=head["run"], round=head["round"], attempt=head["attempt"], ending=_text(record["ending"]),
        message=_text(record["message"]), wall_seconds=_number(record["seconds"]) or 0.0,
        workers=tuple(workers) or (_worker("", _Worker()),), accuracy=begun.accuracy, parameters=begun.parameters,
        facts=begun.facts, place=_mapping(head.get("place") or {}), before=_readings(head.get("host")),
        after=_readings(record.get("host")),
        usage={name: _readings(used) for name, used in sorted(_mapping(record.get("places") or {}).items())},
        digests=begun.digests, operators=begun.operators, epochs=tuple(begun.epochs), kernels=begun.kernels,
        graph=begun.graph, max_batch=begun.max_batch,
    )


def _worker(name: str, found: _Worker) -> Worker:
    return Worker(name=name, warm_seconds=_seconds(found.warm), step_seconds=_seconds(found.seconds),
                  steps=found.steps, phases={phase: _samples(values) for phase, values in found.phases.items()},
                  losses=_samples(found.losses), drain_seconds=found.drain_seconds,
                  device_seconds=_seconds(found.device_seconds))


def _closed(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    gathered.is_done = record["reason"] == "done"


_READERS: dict[str, Callable[[_Gathered, Mapping[str, Any]], None]] = {
    "session": _session, "plan": _plan, "begin": _begin, "line": _line, "ending": _ending, "closed": _closed,
}
_LINES: dict[str, Callable[[_Begun, Mapping[str, Any]], None]] = {
    "start": _start, "warm": _warm, "steps": _steps, "epoch": _epoch, "weights": _weights, "operators": _operators,
    "kernels": _kernels, "graph": _graph, "max_batch": _max_batch,
}


def mistake(line: Mapping[str, Any]) -> str | None:
    """What of a worker's line no reader of the results could take, or None: one such line would spoil a session."""
    run = _Begun({})
    try:
        if reader := _LINES.get(line["event"]):
            reader(run, line)
        for found in run.workers.values():
            _worker("", found)
        for name in ("cpu_seconds", "peak_bytes", "group_peak_bytes"):
            _number(line.get(name))
        _readings(line.get("throttling"))
        if line["event"] == "end" and "places" in line:
            raise ValueError("found places, of which the host alone tells")
    except KeyError as error:
        return f"key {error} is missing"
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        return str(error)
    return None


def _measurements(gathered: _Gathered, plan: _Plan) -> Measurements:
    by_key: dict[str, list[Run]] = {}
    for (key, _), run in gathered.runs.items():
        by_key.setdefault(key, []).append(run)
    rows = tuple(Row(key, experiment, cell, tuple(sorted(by_key.get(key, ()), key=lambda run: run.round)))
                 for key, experiment, cell in plan.cells)
    return Measurements(gathered.session, plan.rounds, plan.baseline, rows, plan.skipped, plan.published,
                        plan.claims, gathered.is_done, plan.title, plan.experiments, plan.settings, plan.stacks)


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


def _least(value: Any, least: float) -> float:
    found = _number(value)
    if found is None or found < least:
        raise ValueError(f"found {value!r:.40}, expected a number from {least:g}")
    return found


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**62:
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
