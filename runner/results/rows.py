"""What a session measured, as values: a row is a planned cell with its runs. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from runner.cells import Comparison, lanes_key
from runner.grouping import grouped
from runner.results.lines import Facts
from runner.results.looks import ONCE, Look
from runner.results.records import Experiment, Product
from runner.results.runs import Run, rate_per_worker
from runner.results.turns import counting
from workloads.spec.cell import Cell
from workloads.spec.turns import LEAST_TURNS

SAMPLES, TOKENS, STEPS = "samples/s", "tokens/s", "steps/s"


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
        return self.samples(run) if self.unit == SAMPLES else run.tokens("tokens") or 0.0

    def samples(self, run: Run) -> float:
        """Samples of a step of a model: a batch's, or of as many batches as its worker says are at once."""
        return run.units[0] if "units" in run.facts and self.cell.measure != "step" else self.cell.batch

    def is_calm(self, run: Run) -> bool:
        """Whether it had enough undisturbed turns, or without turns its CPUs to itself.

        Of runs that ended otherwise than ok, and of a GPU's without turns, that is not judged.
        """
        if run.ending != "ok":
            return True
        if run.turns:
            return sum(counting(run.turns)) >= LEAST_TURNS
        return not run.is_loaded or self.cell.device != "cpu"

    @property
    def lost(self) -> tuple[Run, ...]:
        """The runs of whole rounds that do not count."""
        return tuple(run for run in self.runs if not (run.counts or run.is_interrupted))

    @cached_property
    def counted_rounds(self) -> int:
        """How many of its rounds count."""
        return len({run.round for run in self.runs if run.counts})


def recorded(record: Facts, name: str) -> Facts:
    """The object that a record holds under a name; an empty one where it holds none, or something else."""
    facts = record.get(name)
    return facts if isinstance(facts, dict) else {}


def by_comparison(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each comparison by its key, in the order of their first rows."""
    return grouped(rows, lambda row: row.comparison.key)


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
    interrupted: frozenset[str] = frozenset()          # keys of rows whose session ended at a moment somebody chose,
                                                       # or before five rounds of theirs were begun
    title: str = ""                        # of the study
    index: tuple[Facts, ...] = ()          # records of the paper's figures and tables
    experiments: tuple[Experiment, ...] = ()
    settings: Facts = field(default_factory=dict)      # that the user put over the study's
    stacks: tuple[str, ...] = ()           # that the user chose instead of the study's
    products: tuple[Product, ...] = ()     # what matrix products reached, by stack
    name: str = ""                         # by which commands find it; "": its id
    sessions: Mapping[str, str] = field(default_factory=dict)     # by cell its session's name, where several are joined

    def of(self, experiment: str) -> "Measurements":
        """With the rows and skipped cells of one experiment alone, those that it shares too; "": with all."""
        if not experiment:
            return self
        keys = {key for one in self.experiments if one.id == experiment for key in one.cells}
        return replace(self, rows=tuple(row for row in self.rows if row.key in keys or row.experiment == experiment),
                       skipped=tuple(skip for skip in self.skipped if skip.experiment == experiment))

    def session_of(self, key: str) -> str:
        """By which name commands find the session that measured the cell of that key."""
        return self.sessions.get(key) or self.name or str(self.session.get("id", ""))

    def made_of(self) -> dict[str, str]:
        """The fingerprint of what each stack's runs were made of, by the stack's name."""
        return {row.cell.stack: str(run.place.get("fingerprint", ""))
                for row in self.rows for run in row.runs if run.place}


def blocks(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each block by its key (cells.lanes_key): what is measured together, both lanes of a comparison."""
    return grouped(rows, lambda row: lanes_key(row.cell))
