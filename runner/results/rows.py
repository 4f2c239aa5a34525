"""Store records to rows: every cell of the last plan with its runs. Pure; samples stay raw, nothing is averaged."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from runner.cells import Comparison, comparisons, lanes_key
from runner.errors import InputError
from runner.results import records
from runner.results.contract import FINAL
from runner.results.lines import Facts, Line
from runner.results.matrix_products import Product
from runner.results.records import Experiment
from runner.results.runs import Run, rate_per_worker
from runner.results.turns import Turn
from runner.results.worker_lines import Begun, ended
from workloads.spec.cell import Cell, CellError, parse


@dataclass(frozen=True, eq=False)
class Row:
    """A planned cell and its runs, a run a round, in order."""

    key: str
    experiment: str
    cell: Cell
    comparison: Comparison                 # that it is in
    runs: tuple[Run, ...]
    is_apart: bool = False                 # the workers of its comparison did not fit into memory together

    @cached_property
    def ok_runs(self) -> tuple[Run, ...]:
        """The runs whose samples count."""
        return tuple(run for run in self.runs if run.ending == "ok")

    @cached_property
    def rates(self) -> Mapping[int, float]:
        """Samples a second and worker of every ok run that has timed steps, by round."""
        rates = {run.round: rate_per_worker(self.cell.batch, run) for run in self.ok_runs}
        return {index: rate for index, rate in rates.items() if rate is not None}

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns of the ok runs, disturbed ones too."""
        return tuple(turn for run in self.ok_runs for turn in run.turns)


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


def measurements(stored: Iterable[Mapping[str, Any]]) -> Measurements:
    """The session in its records; record kinds that are unknown here are passed over.

    Raises RecordError with the record's number where one has not the shape it must have.
    """
    gathered = _Gathered()
    for number, record in enumerate(stored, 1):
        event = str(record.get("event"))
        if event == "session":
            gathered.session, gathered.is_done = gathered.session or dict(record), False
        elif event in records.RECORDS:
            try:
                gathered.hear(records.RECORDS[event].read(record))
            except (ValueError, OverflowError, CellError) as error:
                raise RecordError(f"record {number} ({event}): {error}") from error
    return gathered.measurements()


@dataclass
class _Gathered:
    """What the records said so far."""

    session: Facts = field(default_factory=dict)
    plan: records.Plan | None = None
    rows: tuple[Row, ...] = ()                         # without runs
    skipped: tuple[Skipped, ...] = ()
    begun: dict[str, Begun] = field(default_factory=dict)
    runs: dict[str, dict[int, Run]] = field(default_factory=dict)      # by cell key and round
    is_done: bool = False
    products: list[Product] = field(default_factory=list)
    apart: set[str] = field(default_factory=set)      # cells.lanes_key of comparisons that did not fit into memory

    def hear(self, record: Line) -> None:
        """Take what a record says. Raises ValueError, OverflowError, CellError."""
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
                self.is_done = record.reason == "done"
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
        """Keep the run, unless an earlier attempt was a result and this one is not."""
        of_cell = self.runs.setdefault(key, {})
        if run.ending in FINAL or run.round not in of_cell or of_cell[run.round].ending not in FINAL:
            of_cell[run.round] = run

    def measurements(self) -> Measurements:
        """What was measured. Raises RecordError where no record is a plan."""
        if (plan := self.plan) is None:
            raise RecordError("there is no plan, so nothing was measured: give the command that made it again")
        rows = tuple(replace(row, runs=tuple(run for _, run in sorted(self.runs.get(row.key, {}).items())),
                             is_apart=bool(self.apart) and lanes_key(row.cell) in self.apart) for row in self.rows)
        return Measurements(self.session, plan.rounds, plan.baseline, rows, self.skipped, tuple(plan.published),
                            tuple(plan.claims), self.is_done, plan.title, tuple(plan.experiments), plan.settings,
                            tuple(plan.stacks), tuple(self.products))
