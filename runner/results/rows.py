"""Store records to rows: every cell of the last plan with its runs. Pure; samples stay raw, nothing is averaged."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from runner.cells import Comparison, comparisons, lanes_key
from runner.errors import InputError
from runner.results import records, turns
from runner.results.contract import FINAL
from runner.results.lines import Facts, Line
from runner.results.looks import ONCE, Look, look
from runner.results.matrix_products import Product
from runner.results.records import Experiment
from runner.results.runs import Run, rate_per_worker
from runner.results.turns import Turn
from runner.results.worker_lines import Begun, ended
from workloads.spec.cell import Cell, CellError, parse

SAMPLES, TOKENS, STEPS = "samples/s", "tokens/s", "steps/s"
_OF_TOKENS = ("bert", "gpt2", "gnmt", "llama")


@dataclass(frozen=True, eq=False)
class Row:
    """A planned cell and its runs, in order of their rounds."""

    key: str
    experiment: str
    cell: Cell
    comparison: Comparison                 # that it is in
    runs: tuple[Run, ...]
    look: Look = ONCE
    is_apart: bool = False                 # the workers of its comparison could not be alive at once
    unit: str = SAMPLES                    # that its comparison counts in

    @cached_property
    def ok_runs(self) -> tuple[Run, ...]:
        """The runs whose samples count."""
        counted = [run for run in self.runs if run.counts]
        return tuple(run for run in counted[:self.look.rounds] if run.ending == "ok")

    @cached_property
    def rates(self) -> Mapping[int, float]:
        """Samples a second and worker, or tokens, of every ok run that has timed steps, by round."""
        rates = {run.round: rate_per_worker(self.amount(run), run) for run in self.ok_runs}
        return {index: rate for index, rate in rates.items() if rate is not None}

    def amount(self, run: Run) -> float:
        """Samples of a step, or its tokens without padding; of code what its file says, or 1."""
        if self.cell.measure == "step":
            return 1.0 if self.unit == STEPS else run.units[0]
        return self.cell.batch if self.unit == SAMPLES else run.tokens("tokens") or 0.0

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns, disturbed ones and those of rounds that do not count too."""
        return tuple(turn for run in self.runs for turn in run.turns)

    @cached_property
    def counted_rounds(self) -> int:
        """How many of its rounds count."""
        return len({run.round for run in self.runs if run.counts})


class RecordError(InputError):
    """A session's records are not what they must be; whoever knows the file says it."""


def recorded(record: Facts, name: str) -> Facts:
    """The object that a record holds under a name; an empty one where it holds none, or something else."""
    facts = record.get(name)
    return facts if isinstance(facts, dict) else {}


def by_comparison(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each comparison by its key, in the order of their first rows."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.comparison.key, []).append(row)
    return groups


def _in_unit(rows: Sequence[Row]) -> Iterator[Row]:
    """The rows, in tokens where all runs of a comparison of texts say how many a step has."""
    plain = {of[0].comparison.key for of in by_comparison(rows).values() if of[0].cell.task not in _OF_TOKENS
             or not all(run.tokens("tokens") for row in of for run in row.ok_runs)}
    of_code = {key: _unit_of_code(of) for key, of in by_comparison(rows).items() if of[0].cell.measure == "step"}
    return (replace(row, unit=unit) if (unit := of_code.get(row.comparison.key)) else
            row if row.comparison.key in plain else replace(row, unit=TOKENS) for row in rows)


def _unit_of_code(rows: Sequence[Row]) -> str:
    """That all of a comparison's runs count a step in; else steps."""
    units = {run.units[1] for row in rows for run in row.ok_runs}
    return f"{units.pop()}/s" if len(units) == 1 else STEPS


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
    interrupted: frozenset[str] = frozenset()          # keys of rows whose session ended at a moment somebody chose
    title: str = ""                        # of the study
    index: tuple[Facts, ...] = ()          # records of the paper's figures and tables
    experiments: tuple[Experiment, ...] = ()
    settings: Facts = field(default_factory=dict)      # that the user put over the study's
    stacks: tuple[str, ...] = ()           # that the user chose instead of the study's
    products: tuple[Product, ...] = ()     # what matrix products reached, by stack
    sessions: Mapping[str, str] = field(default_factory=dict)       # by cell its session's id, where several are joined

    def of(self, experiment: str) -> "Measurements":
        """With the rows and skipped cells of one experiment alone, those that it shares too; "": with all."""
        if not experiment:
            return self
        keys = {key for one in self.experiments if one.id == experiment for key in one.cells}
        return replace(self, rows=tuple(row for row in self.rows if row.key in keys or row.experiment == experiment),
                       skipped=tuple(skip for skip in self.skipped if skip.experiment == experiment))

    def session_of(self, key: str) -> str:
        """The id of the session that measured the cell of that key."""
        return self.sessions.get(key) or str(self.session.get("id", ""))

    def made_of(self) -> dict[str, str]:
        """The fingerprint of what each stack's runs were made of, by the stack's name."""
        return {row.cell.stack: str(run.place.get("fingerprint", ""))
                for row in self.rows for run in row.runs if run.place}


def blocks(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each block by its key (cells.lanes_key): what is measured together, both lanes of a comparison."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(lanes_key(row.cell), []).append(row)
    return found


def measurements(stored: Iterable[Mapping[str, Any]]) -> Measurements:
    """The session in its records; record kinds that are unknown here are passed over.

    Raises RecordError with the record's number where one has not the shape it must have.
    """
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
    begun: dict[str, Begun] = field(default_factory=dict)
    closed: str = ""                                   # why, if it was
    products: list[Product] = field(default_factory=list)
    apart: set[str] = field(default_factory=set)      # cells.lanes_key of those that are not by turns
    _read: int = 0                                     # records
    _runner: int = 0                                   # how many have written the session, each after the other's end
    _runs: dict[str, dict[int, tuple[int, Run]]] = field(default_factory=dict)     # with the runner; by key and round

    def heard(self, record: Mapping[str, Any]) -> None:
        """Take what a record says. Raises RecordError."""
        event, self._read = str(record.get("event")), self._read + 1
        if event == "session":
            self.session, self.closed, self._runner = self.session or dict(record), "", self._runner + 1
        elif event in records.RECORDS:
            try:
                self._hear(records.RECORDS[event].read(record))
            except (ValueError, OverflowError, CellError) as error:
                raise RecordError(f"record {self._read} ({event}): {error}") from error

    def _hear(self, record: Line) -> None:
        match record:
            case records.Plan():
                self._planned(record)
            case records.Begin():
                self.begun[record.run] = Begun(record)
            case records.OfRun() if run := self.begun.get(record.run):
                run.hear(record.line)
            case records.Rewarmed() if run := self.begun.get(record.run):
                run.rewarm()
            case records.Ending() if run := self.begun.pop(record.run, None):
                self._ended(ended(run, record), run.record.key)
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
        is_short = any(row.counted_rounds < plan.rounds for row in filled.values())
        is_interrupted = is_short and self.closed not in ("done", "incomplete")
        return Measurements(self.session, plan.rounds, plan.baseline,
                            tuple(_in_unit([filled[row.key] for row in self.rows])), self.skipped,
                            tuple(plan.published), tuple(plan.claims), self.closed == "done",
                            frozenset(filled if is_interrupted else ()), plan.title, tuple(plan.index),
                            tuple(plan.experiments), plan.settings, tuple(plan.stacks), tuple(self.products))

    def _filled(self, block: str, rows: Sequence[Row], plan: records.Plan) -> Iterator[Row]:
        """The rows of a block with their runs."""
        counted = self._counted(rows)
        for row in rows:
            runs = sorted(self._runs.get(row.key, {}).items())
            yield replace(row, runs=tuple(run if index in counted else replace(run, counts=False)
                                          for index, (_, run) in runs),
                          look=look(plan.looks, len(counted)) if plan.looks else ONCE, is_apart=block in self.apart)

    def _counted(self, block: Sequence[Row]) -> frozenset[int]:
        """The rounds of a block that count: one runner made all of its runs, each ended, with enough turns."""
        runs = [self._runs.get(row.key, {}) for row in block]
        return frozenset(index for index in set.intersection(*map(set, runs))
                         if len({of_cell[index][0] for of_cell in runs}) == 1
                         and all(_is_whole(of_cell[index][1]) for of_cell in runs))


def _is_whole(run: Run) -> bool:
    return run.ending in FINAL and (run.ending != "ok" or turns.are_enough(run.turns))
