"""Workers' lines to runs. Pure."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from runner.results import lines
from runner.results.lines import Compiled, Facts, Graph, Kernels, MaxBatch, Profiled
from runner.results.records import Begin, Ending
from runner.results.runs import Epoch, Run, Samples, Worker
from runner.results.turns import Turn

_NO_SAMPLES: Samples = np.empty(0)         # most lists of most runs


@dataclass
class Heard:
    """A Worker while its lines are read."""

    warmup_seconds: list[float] = field(default_factory=list)
    warmup_ended: str = ""
    sample_seconds: list[float] = field(default_factory=list)
    sample_steps: list[int] = field(default_factory=list)
    block_seconds: list[float] = field(default_factory=list)
    block_steps: list[int] = field(default_factory=list)
    phases: dict[str, list[float]] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)
    loss_steps: list[int] = field(default_factory=list)
    drain_seconds: float = 0.0
    device_seconds: list[float] = field(default_factory=list)
    is_part_of_pass: bool = False
    timed_compiled: int = 0
    turns: list[Turn] = field(default_factory=list)
    turn_samples: list[int] = field(default_factory=list)
    open_losses: list[float | None] = field(default_factory=list)      # of steps whose line is still to come

    def rewarmed(self) -> "Heard":
        """The worker as it goes on warming up: what it timed so far does not count."""
        return Heard(self.warmup_seconds, self.warmup_ended)

    def values(self, line: lines.Values) -> None:
        """Take losses and phases of steps; those that would make a line of "steps" too long come ahead of it."""
        for name, values in line.phases.items():
            self.phases.setdefault(name, []).extend(values)
        self.open_losses += line.loss

    def steps(self, line: lines.Steps) -> None:
        """Take a block of timed steps."""
        self.values(line)
        before = len(self.warmup_seconds) + sum(self.sample_steps) if line.before is None else line.before
        known = [(loss, step) for step, loss in enumerate(self.open_losses, before) if loss is not None]
        self.losses += [loss for loss, _ in known]
        self.loss_steps += [step for _, step in known]
        self.open_losses = []
        self.sample_seconds += line.seconds
        self.sample_steps += line.sample_steps
        if line.blocks:
            self.block_seconds += line.blocks.seconds
            self.block_steps += line.blocks.counts
            self.device_seconds += line.blocks.device_seconds
        if line.turn:
            self.turns.append(Turn.of(line))
            self.turn_samples.append(len(line.seconds))
        self.drain_seconds += line.drain_seconds
        self.device_seconds += line.device_seconds
        self.is_part_of_pass |= line.is_part_of_pass
        self.timed_compiled += line.compiled

    def epoch(self, line: lines.Epoch) -> None:
        """Take an epoch, which is one sample."""
        self.sample_seconds.append(line.train_seconds)
        self.sample_steps.append(line.steps)
        self.loss_steps.append(len(self.losses))
        self.losses.append(line.loss)

    def worker(self, name: str, pass_tokens: list[int]) -> Worker:
        """What it measured. Raises ValueError where only some of its steps are turns."""
        if sum(self.turn_samples) not in (0, len(self.sample_seconds)):
            raise ValueError("found steps in turns and others without, expected one or the other")
        told = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "open_losses"}
        for key, values in told.items():
            if isinstance(values, list):
                told[key] = _array(values) if key.endswith("_seconds") or key == "losses" else tuple(values)
        told["phases"] = {phase: _array(values) for phase, values in self.phases.items()}
        return Worker(name=name, pass_tokens=tuple(pass_tokens), **told)


def _array(values: list[float]) -> Samples:
    return np.asarray(values, dtype=np.float64) if values else _NO_SAMPLES


@dataclass
class Begun:
    """A run while its lines are read."""

    record: Begin
    facts: Facts = field(default_factory=dict)
    parameters: int | None = None
    workers: defaultdict[str, Heard] = field(default_factory=lambda: defaultdict(Heard))      # by their names
    accuracy: float | None = None
    digests: dict[str, str] = field(default_factory=dict)
    operators: dict[str, float] = field(default_factory=dict)
    epochs: list[Epoch] = field(default_factory=list)
    kernels: Kernels | None = None
    parts: Profiled | None = None
    graph: Graph | None = None
    max_batch: MaxBatch | None = None
    pass_tokens: dict[str, list[int]] = field(default_factory=dict)     # by place
    compiled: Compiled | None = None

    def rewarm(self) -> None:
        """All turns so far belong to the warm-up."""
        self.workers.update({name: heard.rewarmed() for name, heard in self.workers.items()})

    def hear(self, line: Mapping[str, Any]) -> None:
        """Take what a line says; kinds of which nothing is kept are passed over. Raises ValueError."""
        if (name := str(line.get("event"))) not in _KEPT:
            return
        match told := lines.EVENTS[name].read(line):
            case lines.Steps():
                self._of(told).steps(told)
            case lines.Values():
                self._of(told).values(told)
            case lines.Start():
                data = told.facts.get("data") or {}
                if "pass_tokens" in data:
                    self.pass_tokens[told.place] = data["pass_tokens"]
                self.facts, self.parameters = self.facts or told.facts, told.parameters
            case lines.Warm():
                self._of(told).warmup_seconds += told.seconds
                self._of(told).warmup_ended = told.ended or ""
            case lines.Epoch():
                self._of(told).epoch(told)
                self.accuracy = told.accuracy
                self.epochs.append(Epoch(told.train_seconds, told.validation_seconds, told.loss, told.accuracy))
            case lines.Weights():
                self.digests[told.place] = told.sha256
            case lines.Operators() if told.steps:
                self.operators = self.operators or {own: spent / told.steps
                                                    for own, (_, spent) in told.operators.items()}
            case Kernels() | Profiled() | Graph() | MaxBatch() | Compiled():       # all workers run the same
                setattr(self, name, getattr(self, name) or told)

    def _of(self, line: lines.Told) -> Heard:
        """The worker of a line."""
        return self.workers[line.teller]


_KEPT = frozenset({"start", "warm", "values", "steps", "epoch", "weights", "operators", "kernels", "parts", "graph",
                   "max_batch", "compiled"})


def ended(begun: Begun, record: Ending) -> Run:
    """The run, whose last record is this. Raises ValueError where its lines do not fit together."""
    head = begun.record
    workers = [heard.worker(name, begun.pass_tokens.get(name, [])) for name, heard in sorted(begun.workers.items())]
    return Run(
        name=head.run, round=head.round, attempt=head.attempt, ending=record.ending, message=record.message,
        wall_seconds=record.seconds or 0.0, workers=tuple(workers) or (Heard().worker("", []),),
        accuracy=begun.accuracy, parameters=begun.parameters, facts=begun.facts, place=head.place or {},
        before=head.host or {}, after=record.host or {},
        usage={name: used or {} for name, used in sorted((record.places or {}).items())},
        digests=begun.digests, operators=begun.operators, epochs=tuple(begun.epochs), kernels=begun.kernels,
        parts=begun.parts, graph=begun.graph, max_batch=begun.max_batch, compiled=begun.compiled, seed=head.seed)
