"""Workers' lines to runs, and why a line cannot be read. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from runner.results.matrix_products import Block
from runner.results.profiles import Compiled, Graph, Kernels, MaxBatch
from runner.results.runs import Epoch, Run, Worker
from runner.results.turns import Turn
from runner.results.values import (
    Facts,
    count,
    counts_of,
    demand,
    least,
    mapping,
    number,
    one_of,
    readings,
    samples,
    seconds,
    text,
)

# what a summary tells of a stack and of its data; a worker may tell more
_FACTS = {"framework": str, "version": str, "python": str, "onednn": bool, "threads": int}
WARM_ENDED = ("fixed", "steady", "limit", "")       # why a warm-up ended; "": an earlier line of a long one
_DATA_FACTS = {"name": str, "images": int, "stand_in": bool, "sha256": str}


@dataclass
class Heard:
    """A worker while its lines are read."""

    warm: list[float] = field(default_factory=list)
    warm_ended: str = ""
    seconds: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)           # of the steps that each of the seconds covers
    block_seconds: list[float] = field(default_factory=list)
    block_counts: list[int] = field(default_factory=list)
    phases: dict[str, list[float]] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)
    loss_steps: list[int] = field(default_factory=list)
    open_losses: list[float | None] = field(default_factory=list)      # of steps whose line is still to come
    turns: list[Turn] = field(default_factory=list)
    turn_samples: list[int] = field(default_factory=list)
    drain_seconds: float = 0.0
    device_seconds: list[float] = field(default_factory=list)
    is_part_of_pass: bool = False
    timed_compiled: int = 0

    def rewarmed(self) -> "Heard":
        """The worker as it goes on warming up: what it timed so far does not count."""
        return Heard(self.warm, self.warm_ended)


@dataclass
class Begun:
    """A run while its lines are read."""

    record: Mapping[str, Any]
    facts: Facts = field(default_factory=dict)
    parameters: int | None = None
    workers: dict[str, Heard] = field(default_factory=dict)
    accuracy: float | None = None
    digests: dict[str, str] = field(default_factory=dict)
    operators: dict[str, float] = field(default_factory=dict)
    epochs: list[Epoch] = field(default_factory=list)
    kernels: Kernels | None = None
    graph: Graph | None = None
    max_batch: MaxBatch | None = None
    products: list[Block] = field(default_factory=list)
    pass_tokens: dict[str, tuple[int, ...]] = field(default_factory=dict)     # by place
    compiled: Compiled | None = None

    def worker(self, line: Mapping[str, Any]) -> Heard:
        """The worker of a line. A coordinator numbers its workers; others are known by their node."""
        name = f"worker {count(line['worker'])}" if "worker" in line else text(line.get("place", ""))
        return self.workers.setdefault(name, Heard())

    def rewarm(self) -> None:
        """All turns so far belong to the warm-up."""
        self.workers = {name: heard.rewarmed() for name, heard in self.workers.items()}

    def hear(self, line: Mapping[str, Any]) -> None:
        """Take what a line says; kinds that are unknown here are passed over."""
        if reader := _LINES.get(line["event"]):
            reader(self, line)


def _start(run: Begun, line: Mapping[str, Any]) -> None:
    facts = mapping(line["facts"])
    demand(facts, _FACTS)
    if isinstance(facts.get("data"), dict):
        demand(facts["data"], _DATA_FACTS)
        if "pass_tokens" in facts["data"]:
            run.pass_tokens[text(line.get("place", ""))] = _pass_tokens(facts["data"]["pass_tokens"])
    run.facts = run.facts or facts
    run.parameters = None if line.get("parameters") is None else count(line["parameters"])


def _pass_tokens(counts: Any) -> tuple[int, ...]:
    """The tokens of each batch of a pass."""
    return tuple(counts_of(counts, len(counts)))


def _warm(run: Begun, line: Mapping[str, Any]) -> None:
    worker = run.worker(line)
    worker.warm += line["seconds"]
    worker.warm_ended = one_of(line.get("ended", ""), WARM_ENDED)


def _steps(run: Begun, line: Mapping[str, Any]) -> None:
    worker = run.worker(line)
    counts, earlier = _counts(line), len(worker.warm) + sum(worker.counts)
    worker.seconds += line["seconds"]
    worker.counts += counts
    if "blocks" in line:
        _blocks(worker, mapping(line["blocks"]), sum(counts))
    _values(run, line)
    _keep_losses(worker, count(line.get("before", earlier)))
    if "turn" in line:
        worker.turns.append(Turn.read(line))
        worker.turn_samples.append(len(line["seconds"]))
    worker.drain_seconds += number(line.get("drain_seconds")) or 0.0
    worker.device_seconds += line.get("device_seconds", [])
    worker.is_part_of_pass = worker.is_part_of_pass or line.get("is_part_of_pass") is True
    worker.timed_compiled += count(line.get("compiled", 0))


def _values(run: Begun, line: Mapping[str, Any]) -> None:
    """Losses and phases of steps; those that would make a line of "steps" too long come ahead of it."""
    worker = run.worker(line)
    for name, values in mapping(line.get("phases", {})).items():
        worker.phases.setdefault(name, []).extend(values)
    worker.open_losses += line.get("loss", [])


def _keep_losses(worker: Heard, before: int) -> None:
    """The finite losses of a block of steps, each with its place; before: the steps that the run had taken by then."""
    known = [(loss, step) for step, loss in enumerate(worker.open_losses, before) if loss is not None]
    worker.losses += [loss for loss, _ in known]
    worker.loss_steps += [step for _, step in known]
    worker.open_losses = []


def _counts(line: Mapping[str, Any]) -> list[int]:
    """The number of steps in each of the line's samples: one each, all in one, or as "counts" says."""
    samples_there = len(line["seconds"])
    whole = count(line.get("count", samples_there))
    if "counts" in line:
        counts = counts_of(line["counts"], samples_there)
        if whole != sum(counts):
            raise ValueError(f"found count {whole}, expected {sum(counts)}, the sum of counts")
        return counts
    if whole == samples_there:
        return [1] * whole
    if samples_there != 1:
        raise ValueError(f"found {samples_there} seconds of {whole} steps, expected one, or counts")
    return [whole]


def _blocks(worker: Heard, blocks: Mapping[str, Any], steps: int) -> None:
    """The parts of the one sample of sync=end."""
    counts = counts_of(blocks["counts"], len(blocks["seconds"]))
    if sum(counts) != steps:
        raise ValueError(f"found blocks of {sum(counts)} steps, expected {steps}")
    worker.block_seconds += blocks["seconds"]
    worker.block_counts += counts
    worker.device_seconds += blocks.get("device_seconds", [])


def _epoch(run: Begun, line: Mapping[str, Any]) -> None:
    worker = run.worker(line)
    worker.seconds.append(line["train_seconds"])
    worker.counts.append(count(line["steps"]))
    worker.loss_steps.append(len(worker.losses))
    worker.losses.append(line["loss"])
    run.accuracy = number(line.get("accuracy"))
    run.epochs.append(Epoch(least(line["train_seconds"], 0.0), number(line.get("validation_seconds")),
                            number(line["loss"]), run.accuracy))


def _weights(run: Begun, line: Mapping[str, Any]) -> None:
    run.digests[text(line.get("place", ""))] = text(line["sha256"])


def _operators(run: Begun, line: Mapping[str, Any]) -> None:
    """Keep one worker's operators, the first's: all workers run the same."""
    steps = count(line["steps"])
    if not run.operators and steps:
        run.operators = {text(name): least(spent, 0.0) / steps
                         for name, (_, spent) in mapping(line["operators"]).items()}


def _kernels(run: Begun, line: Mapping[str, Any]) -> None:
    run.kernels = run.kernels or Kernels.read(line)


def _graph(run: Begun, line: Mapping[str, Any]) -> None:
    run.graph = run.graph or Graph.read(line)


def _max_batch(run: Begun, line: Mapping[str, Any]) -> None:
    run.max_batch = run.max_batch or MaxBatch.read(line)


def _product(run: Begun, line: Mapping[str, Any]) -> None:
    run.products.append(Block.read(line))


def _compiled(run: Begun, line: Mapping[str, Any]) -> None:
    run.compiled = run.compiled or Compiled.read(line)


def ended(begun: Begun, record: Mapping[str, Any]) -> Run:
    """The run, whose last record is this."""
    head = begun.record
    workers = [_worker(name, heard, begun.pass_tokens.get(name, ())) for name, heard in sorted(begun.workers.items())]
    return Run(
        name=head["run"], round=head["round"], attempt=head["attempt"], ending=text(record["ending"]),
        message=text(record["message"]), wall_seconds=number(record["seconds"]) or 0.0,
        workers=tuple(workers) or (_worker("", Heard()),), accuracy=begun.accuracy, parameters=begun.parameters,
        facts=begun.facts, place=mapping(head.get("place") or {}), before=readings(head.get("host")),
        after=readings(record.get("host")),
        usage={name: readings(used) for name, used in sorted(mapping(record.get("places") or {}).items())},
        digests=begun.digests, operators=begun.operators, epochs=tuple(begun.epochs), kernels=begun.kernels,
        graph=begun.graph, max_batch=begun.max_batch, compiled=begun.compiled,
        seed=None if head.get("seed") is None else count(head["seed"]),
    )


def _worker(name: str, heard: Heard, pass_tokens: tuple[int, ...] = ()) -> Worker:
    return Worker(name=name, warmup_seconds=seconds(heard.warm), warmup_ended=heard.warm_ended,
                  sample_seconds=seconds(heard.seconds), sample_steps=tuple(heard.counts),
                  block_seconds=seconds(heard.block_seconds), block_steps=tuple(heard.block_counts),
                  phases={phase: samples(values) for phase, values in heard.phases.items()},
                  losses=samples(heard.losses), loss_steps=tuple(heard.loss_steps), drain_seconds=heard.drain_seconds,
                  device_seconds=seconds(heard.device_seconds), pass_tokens=pass_tokens,
                  is_part_of_pass=heard.is_part_of_pass, timed_compiled=heard.timed_compiled,
                  turns=tuple(heard.turns) if _has_turns(heard) else (),
                  turn_samples=tuple(heard.turn_samples))


def _has_turns(heard: Heard) -> bool:
    """Whether its timed steps are turns. Raises ValueError where only some are."""
    if sum(heard.turn_samples) not in (0, len(heard.seconds)):
        raise ValueError("found steps in turns and others without, expected one or the other")
    return bool(heard.turns)


_LINES: dict[str, Callable[[Begun, Mapping[str, Any]], None]] = {
    "start": _start, "warm": _warm, "values": _values, "steps": _steps, "epoch": _epoch, "weights": _weights,
    "operators": _operators, "kernels": _kernels, "graph": _graph, "max_batch": _max_batch, "product": _product,
    "compiled": _compiled,
}


def mistake(line: Mapping[str, Any]) -> str | None:
    """Why a worker's line cannot be read as a result, or None. One such line would spoil its session."""
    run = Begun({})
    try:
        run.hear(line)
        for heard in run.workers.values():
            _worker("", heard)
        for name in ("cpu_seconds", "peak_bytes", "group_peak_bytes"):
            number(line.get(name))
        readings(line.get("throttling"))
        if line["event"] == "end" and "places" in line:
            raise ValueError("found places, of which the host alone tells")
    except KeyError as error:
        return f"key {error} is missing"
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        return str(error)
    return None
