"""Workers' lines to runs. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from runner.results import lines
from runner.results.records import Begin, Ending
from runner.results.runs import Run, Samples, Worker
from runner.results.turns import Turn

_KEPT = frozenset({"start", "warm", "values", "steps", "epoch", "weights", "operators", "kernels", "parts", "graph",
                   "max_batch", "compiled"})
One = TypeVar("One")
Kind = TypeVar("Kind", bound=lines.Event)


@dataclass
class Begun:
    """A run while its lines are read."""

    record: Begin
    said: list[lines.Event] = field(default_factory=list)

    def rewarm(self) -> None:
        """All turns so far belong to the warm-up."""
        self.said = [line for line in self.said if not isinstance(line, lines.Values)]

    def hear(self, line: Mapping[str, Any]) -> None:
        """Take what a line says; kinds of which nothing is kept are passed over. Raises ValueError."""
        if (name := str(line.get("event"))) in _KEPT:
            self.said.append(lines.EVENTS[name].read(line))


def ended(begun: Begun, record: Ending) -> Run:
    """The run, whose last record is this. Raises ValueError where its lines do not fit together."""
    head, said = begun.record, begun.said
    starts, epochs = _of(said, lines.Start), _of(said, lines.Epoch)
    by_worker: dict[str, list[lines.Told]] = {}
    for line in _of(said, lines.Told):
        by_worker.setdefault(line.teller, []).append(line)
    pass_tokens = {start.place: data["pass_tokens"] for start in starts
                   if "pass_tokens" in (data := start.facts.get("data") or {})}
    profiles = (dict(zip(line.operators, (spent / line.steps for _, spent in line.operators.values()), strict=True))
                for line in _of(said, lines.Operators) if line.steps)
    return Run(
        name=head.run, round=head.round, ending=record.ending, message=record.message,
        workers=tuple(_worker(name, told, pass_tokens.get(name, ())) for name, told in sorted(by_worker.items()))
        or (_worker("", (), ()),),
        accuracy=epochs[-1].accuracy if epochs else None, parameters=starts[-1].parameters if starts else None,
        facts=next((start.facts for start in starts if start.facts), {}), place=head.place or {},
        before=head.host or {}, after=record.host or {},
        usage={name: used or {} for name, used in sorted((record.places or {}).items())},
        digests={line.place: line.sha256 for line in _of(said, lines.Weights)},
        operators=next(filter(None, profiles), {}),
        epochs=tuple(epochs),
        kernels=_first(said, lines.Kernels), parts=_first(said, lines.Profiled), graph=_first(said, lines.Graph),
        max_batch=_first(said, lines.MaxBatch), compiled=_first(said, lines.Compiled), seed=head.seed)


def _of(said: Sequence[lines.Event], kind: type[Kind]) -> list[Kind]:
    return [line for line in said if isinstance(line, kind)]


def _first(said: Sequence[lines.Event], kind: type[Kind]) -> Kind | None:
    """The first line of a kind that all workers say alike."""
    return next(iter(_of(said, kind)), None)


def _worker(name: str, told: Sequence[lines.Told], pass_tokens: Sequence[int]) -> Worker:
    """What one worker's lines say that it measured. Raises ValueError where only some of its steps are turns."""
    values, epochs = _of(told, lines.Values), _of(told, lines.Epoch)
    timed = _of(values, lines.Steps)
    blocks, turns = [line.blocks for line in timed if line.blocks], [line for line in timed if line.turn]
    sample_steps = [*_joined(line.sample_steps for line in timed), *(epoch.steps for epoch in epochs)]
    turn_samples = tuple(len(line.seconds) for line in turns)
    if sum(turn_samples) not in (0, len(sample_steps)):
        raise ValueError("found steps in turns and others without, expected one or the other")
    warmup = _joined(line.seconds for line in _of(told, lines.Warm))
    losses = [*_losses(values, len(warmup)), *((index, epoch.loss) for index, epoch in enumerate(epochs))]
    return Worker(
        name=name, warmup_seconds=_array(warmup),
        sample_seconds=_array([*_joined(line.seconds for line in timed), *(epoch.train_seconds for epoch in epochs)]),
        sample_steps=tuple(sample_steps), block_seconds=_array(_joined(each.seconds for each in blocks)),
        block_steps=tuple(_joined(each.counts for each in blocks)),
        phases={phase: _array(_joined(line.phases.get(phase, ()) for line in values))
                for phase in dict.fromkeys(_joined(line.phases for line in values))},
        losses=_array([loss for _, loss in losses]), loss_steps=tuple(step for step, _ in losses),
        drain_seconds=sum((line.drain_seconds for line in timed), 0.0),
        device_seconds=_array(_joined((*(line.blocks.device_seconds if line.blocks else ()), *line.device_seconds)
                                      for line in timed)),
        pass_tokens=tuple(pass_tokens), is_part_of_pass=any(line.is_part_of_pass for line in timed),
        timed_compiled=sum(line.compiled for line in timed),
        turns=tuple(map(Turn.of, turns)), turn_samples=turn_samples)


def _losses(values: Sequence[lines.Values], warmup: int) -> Iterator[tuple[int, float]]:
    """Each finite loss after how many steps the run had taken before; lines ahead of a block tell of its steps, too."""
    ahead, taken = list[float | None](), warmup
    for line in values:
        ahead += line.loss
        if isinstance(line, lines.Steps):
            before = taken if line.before is None else line.before
            yield from ((step, loss) for step, loss in enumerate(ahead, before) if loss is not None)
            ahead, taken = [], taken + sum(line.sample_steps)


def _joined(parts: Iterable[Iterable[One]]) -> list[One]:
    return [*chain.from_iterable(parts)]


def _array(values: list[float]) -> Samples:
    return np.array(values, dtype=np.float64)
