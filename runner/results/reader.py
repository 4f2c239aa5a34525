"""The reader of measurements: a session's records to every cell of its last plan with its runs.

Pure. Samples stay raw; nothing is averaged.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from runner.cells import comparisons
from runner.errors import InputError
from runner.grouping import grouped
from runner.results import lines, records, turns
from runner.results.contract import FINAL, INTERRUPTED
from runner.results.lines import Facts, Line
from runner.results.looks import LEAST_ROUNDS, look
from runner.results.records import Begin, Ending, Product
from runner.results.rows import SAMPLES, STEPS, TOKENS, Measurements, Row, Skipped, blocks, by_comparison
from runner.results.runs import Run, Samples, Worker
from runner.results.turns import Turn
from workloads.spec.cell import CellError, parse

_KEPT = frozenset({"start", "warm", "values", "steps", "epoch", "weights", "operators", "kernels", "parts", "graph",
                   "max_batch", "compiled"})
One = TypeVar("One")
Kind = TypeVar("Kind", bound=lines.Event)
_OF_TOKENS = ("bert", "gpt2", "gnmt", "llama")


class RecordError(InputError):
    """A session's records are not what they must be; whoever knows the file says it."""


def measurements(stored: Iterable[Mapping[str, Any]]) -> Measurements:
    """The session in its records; unknown kinds are passed over. Raises RecordError with a broken one's number."""
    fold = Fold()
    for record in stored:
        fold.heard(record)
    return fold.measurements()


@dataclass
class Fold:
    """A session's records, read one after the other."""

    session: Facts = field(default_factory=dict)
    plan: records.Plan | None = None
    rows: tuple[Row, ...] = ()                         # without runs
    skipped: tuple[Skipped, ...] = ()
    begun: dict[str, tuple[Begin, list[lines.Event]]] = field(default_factory=dict)   # with what was said so far
    closed: str = ""                                   # why, if it was
    products: list[Product] = field(default_factory=list)
    apart: set[str] = field(default_factory=set)      # cells.lanes_key of those that are not by turns
    _read: int = 0                                     # records
    _runner: int = 0                                   # how many have written the session, each after the other's end
    _runs: dict[str, dict[int, tuple[int, Run]]] = field(default_factory=dict)     # with the runner; by key and round

    def heard(self, record: Mapping[str, Any]) -> None:
        """Take what a record says. Raises RecordError."""
        self._read += 1
        if record.get("event") == "session":
            self.session, self.closed, self._runner = self.session or dict(record), "", self._runner + 1
        try:
            self._hear(records.read(record))
        except (ValueError, OverflowError, CellError) as error:
            raise RecordError(f"record {self._read} ({record['event']}): {error}") from error

    def _hear(self, record: Line | None) -> None:
        match record:
            case records.Plan():
                self._planned(record)
            case records.Begin():
                self.begun[record.run] = record, []
            case records.OfRun() if run := self.begun.get(record.run):
                if (name := str(record.line.get("event"))) in _KEPT:
                    run[1].append(lines.EVENTS[name].read(record.line))
            case records.Ending() if run := self.begun.pop(record.run, None):
                self._ended(_run(*run, record), run[0].key)
            case records.Closed():
                self.closed = record.reason
            case Product():
                self.products.append(record)
            case records.Apart():
                self.apart.add(record.comparison)

    def _planned(self, plan: records.Plan) -> None:
        planned, left_out = [parse(each.cell) for each in plan.cells], [parse(each.cell) for each in plan.skipped]
        compared = comparisons((*planned, *left_out))
        self.plan = plan
        self.rows = tuple(Row(each.key, each.experiment, cell, compared[cell], ())
                          for each, cell in zip(plan.cells, planned, strict=True))
        self.skipped = tuple(Skipped(each.experiment, cell, compared[cell], each.reason)
                             for each, cell in zip(plan.skipped, left_out, strict=True))

    def _ended(self, run: Run, key: str) -> None:
        """Keep the run, unless the same one, begun earlier, was a result and this one is not."""
        of_cell = self._runs.setdefault(key, {})
        if run.ending in FINAL or run.round not in of_cell or of_cell[run.round][1].ending not in FINAL:
            of_cell[run.round] = self._runner, run

    def measurements(self) -> Measurements:
        """What was measured so far. Raises RecordError where no record is a plan."""
        if (plan := self.plan) is None:
            raise RecordError("there is no plan, so nothing was measured: give the command that made it again")
        filled = {row.key: row for block, rows in blocks(self.rows).items() for row in self._filled(block, rows, plan)}
        units = {key: _unit([filled[row.key] for row in rows]) for key, rows in by_comparison(self.rows).items()}
        is_short = any(row.counted_rounds < plan.rounds for row in filled.values())
        is_interrupted, least = is_short and self.closed not in ("done", "incomplete"), min(LEAST_ROUNDS, plan.rounds)
        cut = (key for key, row in filled.items() if is_interrupted or
               (self.closed == "incomplete" and row.counted_rounds < least and not row.lost))     # no time for more
        return Measurements(self.session, plan.rounds, plan.baseline,
                            tuple(replace(filled[row.key], unit=units[row.comparison.key]) for row in self.rows),
                            self.skipped,
                            tuple(plan.published), tuple(plan.claims), self.closed == "done",
                            frozenset(cut), plan.title, tuple(plan.index),
                            tuple(plan.experiments), plan.settings, tuple(plan.stacks), tuple(self.products))

    def _filled(self, block: str, rows: Sequence[Row], plan: records.Plan) -> Iterator[Row]:
        """The rows of a block with their runs, of which those of the rounds count that are whole."""
        of_cells, whole, counted = [self._runs.get(row.key, {}) for row in rows], set[int](), set[int]()
        for index in set.intersection(*map(set, of_cells)):
            runners, runs = zip(*(of_cell[index] for of_cell in of_cells), strict=True)
            if len({*runners}) == 1 and all(run.message != INTERRUPTED for run in runs):
                whole.add(index)
                # each ended, with enough turns
                if all(run.ending in FINAL and row.is_calm(run) for row, run in zip(rows, runs, strict=True)):
                    counted.add(index)
        for row, of_cell in zip(rows, of_cells, strict=True):
            yield replace(row, runs=tuple(
                run if index in counted else replace(run, counts=False, is_interrupted=index not in whole)
                for index, (_, run) in sorted(of_cell.items())),
                          look=look(plan.looks, len(counted)), is_apart=block in self.apart)


def _unit(rows: Sequence[Row]) -> str:
    """What a comparison counts in: of code the unit of all its runs, of texts tokens where all runs tell them."""
    runs = [run for row in rows for run in row.ok_runs]
    if rows[0].cell.measure == "step":
        units = {run.units[1] for run in runs}
        return f"{units.pop()}/s" if len(units) == 1 else STEPS
    return TOKENS if rows[0].cell.task in _OF_TOKENS and all(run.tokens("tokens") for run in runs) else SAMPLES


def _run(head: Begin, said: Sequence[lines.Event], record: Ending) -> Run:
    """The run, whose last record is this. Raises ValueError where its lines do not fit together."""
    starts, epochs = _of(said, lines.Start), _of(said, lines.Epoch)
    # a coordinator numbers its workers; others are known by their node
    by_worker = grouped(_of(said, lines.Told), lambda one: one.place if one.worker is None else f"worker {one.worker}")
    pass_tokens = {start.place: data["pass_tokens"] for start in starts
                   if "pass_tokens" in (data := start.facts.get("data") or {})}
    profiles = (dict(zip(line.operators, (spent / line.steps for _, spent in line.operators.values()), strict=True))
                for line in _of(said, lines.Operators) if line.steps)
    workers = [_worker(name, told, pass_tokens.get(name, ())) for name, told in sorted(by_worker.items())]
    of_workers = turns.together([worker.turns for worker in workers])
    return Run(
        name=head.run, round=head.round, ending=record.ending, message=record.message,
        workers=tuple(replace(worker, turns=own) for worker, own in zip(workers, of_workers, strict=True))
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
