"""What a run measured: its workers' samples, raw, and its facts. Pure."""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from runner.results import turns
from runner.results.lines import Compiled, Epoch, Facts, Graph, Kernels, MaxBatch, Profiled, Readings
from runner.results.turns import Turn
from workloads.spec.measures import UNIT
from workloads.spec.turns import TURNS

Samples = NDArray[np.float64]

_MOST_FOREIGN_SHARE = 0.1        # of a run's CPUs' time, by ticks


@dataclass(frozen=True, eq=False)
class Worker:
    """What one worker of a run measured; most runs have one."""

    name: str                              # its place, or its number where a coordinator tells of it
    warmup_seconds: Samples                # of each step of the warm-up
    sample_seconds: Samples                # a sample a step, or a block of steps, or all of them, or an epoch
    sample_steps: tuple[int, ...]          # how many steps each sample covers
    block_seconds: Samples                 # the parts of sync=end's one sample; empty elsewhere
    block_steps: tuple[int, ...]
    phases: Mapping[str, Samples]          # of the timed steps by name; "load" alone where nothing else was stamped
    losses: Samples                        # the finite ones
    loss_steps: tuple[int, ...]            # of each of them: how many steps the run had taken before, warm-up and all
    drain_seconds: float                   # reading losses of steps that were said to be over
    device_seconds: Samples                # of each sample or part by the device's own clock, where it has one
    pass_tokens: tuple[int, ...] = ()      # of each batch of a pass over sequences, padding included; () elsewhere
    is_part_of_pass: bool = False          # the timed steps are no whole passes, though the cell leaves open how many
    timed_compiled: int = 0                # programs that the framework compiled within the timed steps
    turns: tuple[Turn, ...] = ()           # that the timed steps were taken in; () where there were none
    turn_samples: tuple[int, ...] = ()     # how many of the samples each turn has

    @cached_property
    def counts(self) -> NDArray[np.bool_]:
        """Whether each sample counts: all but those of disturbed turns."""
        if not self.turns:
            return np.ones(len(self.sample_seconds), bool)
        return np.repeat(turns.counting(self.turns), self.turn_samples)

    @cached_property
    def rates(self) -> tuple[float, ...]:
        """Steps a second of each turn that counts, or of all timed steps where there are no turns; () of none."""
        counted = compress(self.turns, turns.counting(self.turns))
        of = ([(turn.steps, turn.seconds) for turn in counted] if self.turns else [(self.steps, self.timed_seconds)])
        rates = (steps / seconds for steps, seconds in of if seconds > 0)
        return tuple(rate for rate in rates if 0 < rate < math.inf)

    @property
    def seconds_a_step(self) -> float | None:
        """One over the geometric mean of the rates; None where there is none."""
        if len(self.rates) < 2:
            return 1 / self.rates[0] if self.rates else None
        return math.exp(-math.fsum(map(math.log, self.rates)) / len(self.rates))

    @property
    def trend(self) -> float:
        """turns.trend of the rates; where there are no turns, of those of as many parts of the timed steps."""
        if self.turns:
            return turns.trend(self.rates)
        counts = np.array(self.curve_steps, dtype=np.float64)
        if len(counts) != len(self.alike_seconds):
            return 0.0
        seconds = self.alike_seconds * counts
        parts = np.array_split(np.arange(len(counts)), min(TURNS, len(counts)) or 1)
        with np.errstate(all="ignore"):
            return turns.trend([float(counts[part].sum() / seconds[part].sum()) for part in parts])

    @cached_property
    def step_seconds(self) -> Samples:
        """The timed curve: seconds a step, in order. A point a step; a point a block, a part or an epoch elsewhere."""
        if len(self.block_seconds):
            # parts that nobody waited for are timed by the device
            is_by_device = len(self.device_seconds) == len(self.block_seconds)
            return np.divide(self.device_seconds if is_by_device else self.block_seconds, self.block_steps,
                             dtype=np.float64)
        return np.divide(self.sample_seconds, np.maximum(self.sample_steps, 1), dtype=np.float64)

    @cached_property
    def alike_seconds(self) -> Samples:
        """step_seconds as if all batches had as many tokens: what a trend is told by.

        As they are where batches are alike, nobody said, or dividing makes neighbours differ more.
        """
        own, tokens = self.step_seconds, self._relative_tokens()
        if tokens is None:
            return own
        with np.errstate(all="ignore"):
            by_token = own / tokens
            # how much neighbours differ, by the median, so that a slow step now and then does not matter
            scatter, plain = (np.median(np.abs(np.diff(np.log(each)))) if len(each) > 1 else 0.0
                              for each in (by_token, own))
        return by_token if scatter < plain else own

    def _relative_tokens(self) -> Samples | None:
        """Tokens of each point of step_seconds, a step, over a mean batch's; passes follow each other in one order.

        The first timed step has the batch after the warm-up's.
        """
        if len(set(self.pass_tokens)) < 2 or len(self.curve_steps) != len(self.step_seconds):
            return None
        before = np.concatenate([[0.0], np.cumsum(self.pass_tokens, dtype=np.float64)])
        counts = np.maximum(np.array(self.curve_steps, dtype=np.int64), 1)
        ends = len(self.warmup_seconds) + np.concatenate([[0], np.cumsum(counts)])
        passes, rest = np.divmod(ends, len(self.pass_tokens))
        spans = np.diff(passes * before[-1] + before[rest])
        return spans / counts / (before[-1] / len(self.pass_tokens)) if (spans > 0).all() else None

    @cached_property
    def curve_steps(self) -> tuple[int, ...]:
        """The number of steps that each point of step_seconds covers."""
        return self.block_steps or self.sample_steps

    @cached_property
    def steps(self) -> int:
        """The timed steps."""
        return sum(self.sample_steps)

    @cached_property
    def timed_seconds(self) -> float:
        """The seconds of all timed steps together."""
        return float(self.sample_seconds.sum())

    def rest_seconds(self, names: Collection[str]) -> float | None:
        """Mean seconds of a step less those of phases, of the steps that count; None where one was not stamped."""
        steps = int(np.repeat(self.counts, self.sample_steps).sum())
        phases = [self.phase_seconds(name) for name in names]
        if not steps or None in phases:
            return None
        return float(self.sample_seconds[self.counts].sum()) / steps - sum(filter(None, phases))

    def phase_seconds(self, name: str) -> float | None:
        """Mean seconds of a phase in a step, of the steps that count; None where it was not stamped."""
        seconds = self.phases.get(name)
        if seconds is None or not len(seconds) or not self.steps:
            return None
        if not self.turns:
            return float(seconds.sum()) / self.steps
        of_steps = np.repeat(self.counts, self.sample_steps)          # a phase has a value a step, or a sample
        is_counted = self.counts if len(seconds) == len(self.counts) else of_steps
        return float(seconds[is_counted].sum()) / int(of_steps.sum()) if len(seconds) == len(is_counted) else None


@dataclass(frozen=True, eq=False, slots=True)
class Run:
    """One fresh start of a cell, as the store kept it."""

    name: str
    round: int
    ending: str
    message: str
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
    parts: Profiled | None = None          # of a run that was profiled for them
    graph: Graph | None = None
    max_batch: MaxBatch | None = None
    seed: int | None = None                # of this round; None: not recorded, the cell's own
    compiled: Compiled | None = None       # where the framework tells of it
    counts: bool = True                    # whether its round does: made in one go, with enough undisturbed turns
    is_interrupted: bool = False           # whether its round was, or is not made whole yet

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Of its first worker, with which all others took theirs; () where there are none."""
        return self.first.turns

    @property
    def is_loaded(self) -> bool:
        """Whether others took much of its CPUs, as a run without turns can tell."""
        return not self.turns and (self.after.get("foreign_cpu_share") or 0.0) > _MOST_FOREIGN_SHARE

    @property
    def framework(self) -> str:
        """The worker's own name of it, "" where it gave none."""
        return str(self.facts.get("framework", ""))

    @property
    def first(self) -> Worker:
        """The first worker, whose warm-up and losses stand for all."""
        return self.workers[0]

    def tokens(self, name: str) -> float | None:
        """The tokens of a batch, or its padded_tokens; None where the run does not report them."""
        count = (self.facts.get("data") or {}).get(name)
        return float(count) if isinstance(count, int | float) and not isinstance(count, bool) else None

    @property
    def units(self) -> tuple[float, str]:
        """What a step of a user's code is, as its file says: 512 tokens, or other things; else one step."""
        match self.facts.get("units"):
            case [int() | float() as count, str() as unit] if 0 < count < math.inf and UNIT.match(unit):
                return float(count), unit
        return 1.0, "steps"

    def phase_seconds(self, name: str) -> float | None:
        """Mean seconds of a phase in a step, over the workers."""
        return _mean_of_known(worker.phase_seconds(name) for worker in self.workers)

    def rest_seconds(self, names: Collection[str]) -> float | None:
        """Mean seconds of a step less those of phases, over the workers."""
        return _mean_of_known(worker.rest_seconds(names) for worker in self.workers)


def _mean_of_known(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def rate_per_worker(amount: float, run: Run) -> float | None:
    """Mean samples or tokens a second of the workers, of an amount a step; None where one has no timed steps."""
    steps = [worker.seconds_a_step for worker in run.workers]
    return sum(amount / step for step in steps if step) / len(steps) if all(steps) else None


def step_seconds(run: Run) -> float | None:
    """Seconds of a worker's timed step, the mean over the workers; None where one has no timed steps."""
    steps = [worker.seconds_a_step for worker in run.workers]
    return sum(step for step in steps if step) / len(steps) if all(steps) else None
