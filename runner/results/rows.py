"""Store records to rows: every cell of the last plan with its runs. Pure; samples stay raw, nothing is averaged."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from runner.cells import Comparison, comparisons, lanes_key
from runner.errors import InputError
from runner.results.contract import FINAL
from runner.results.matrix_products import Product
from runner.results.runs import Run, rate_per_worker
from runner.results.turns import Turn
from runner.results.values import Facts, count, mapping, text
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


def by_comparison(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each comparison by its key, in the order of their first rows."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.comparison.key, []).append(row)
    return groups


class Experiment(NamedTuple):
    """A part of the study, as the plan kept it."""

    id: str
    title: str
    keys: tuple[str, ...]                  # of its cells, those that it shares with others too
    assumed: Mapping[str, str]             # where the study is silent
    scaled: tuple[str, ...]                # what the scale changes of the study's own sizes
    node: Mapping[str, int]                # the CPUs and bytes that the study's nodes had, where it says so


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

    def session_of(self, key: str) -> str:
        """The id of the session that measured the cell of that key."""
        return self.sessions.get(key) or str(self.session.get("id", ""))

    def made_of(self) -> dict[str, str]:
        """The fingerprint of what each stack's runs were made of, by the stack's name."""
        return {row.cell.stack: str(run.place.get("fingerprint", ""))
                for row in self.rows for run in row.runs if run.place}


def measurements(records: Iterable[Mapping[str, Any]]) -> Measurements:
    """The session in its records; record kinds that are unknown here are passed over.

    Raises RecordError with the record's number where one has not the shape it must have.
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
            raise RecordError(f"record {number} ({event}): key {error} is missing") from error
        except (TypeError, ValueError, AttributeError, OverflowError, CellError) as error:
            raise RecordError(f"record {number} ({event}): {error}") from error
    if gathered.plan is None:
        raise RecordError("there is no plan, so nothing was measured: give the command that made it again")
    return _measurements(gathered, gathered.plan)


@dataclass
class _Plan:
    rounds: int
    baseline: str
    rows: tuple[Row, ...]                  # without runs
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
    begun: dict[str, Begun] = field(default_factory=dict)
    runs: dict[tuple[str, int], Run] = field(default_factory=dict)     # by cell key and round
    is_done: bool = False
    products: list[Product] = field(default_factory=list)
    apart: set[str] = field(default_factory=set)      # cells.lanes_key of comparisons that did not fit into memory


def _session(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    gathered.session = gathered.session or dict(record)
    gathered.is_done = False


def _plan(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    planned, left_out = ([(item, parse(item["cell"])) for item in record[name]] for name in ("cells", "skipped"))
    compared = comparisons(cell for _, cell in (*planned, *left_out))
    rows = tuple(Row(text(item["key"]), text(item["experiment"]), cell, compared[cell], ()) for item, cell in planned)
    skipped = tuple(Skipped(text(item["experiment"]), cell, compared[cell], text(item["reason"]))
                    for item, cell in left_out)
    published = tuple(mapping(item) for item in record.get("published", ()))
    claims = tuple(mapping(item) for item in record.get("claims", ()))
    gathered.plan = _Plan(count(record["rounds"]), text(record["baseline"]), rows, skipped, published, claims,
                          text(record.get("title", "")), _experiments(record),
                          mapping(record.get("settings", {})), tuple(map(text, record.get("stacks", ()))))


def _experiments(record: Mapping[str, Any]) -> tuple[Experiment, ...]:
    return tuple(Experiment(text(item["id"]), text(item["title"]), tuple(map(text, item["cells"])),
                            {name: text(why) for name, why in mapping(item["assumed"]).items()},
                            tuple(map(text, item["scaled"])),
                            {name: count(value) for name, value in mapping(item.get("node", {})).items()})
                 for item in record["experiments"])


def _begin(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    text(record["key"])
    count(record["round"])
    count(record["attempt"])
    gathered.begun[text(record["run"])] = Begun(record)


def _line(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    run, line = gathered.begun.get(record["run"]), record["line"]
    if run:
        run.hear(line)


def _ending(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    """Keep the run, unless an earlier attempt was a result and this one is not."""
    begun = gathered.begun.pop(record["run"], None)
    if begun is None:
        return
    run, key = ended(begun, record), begun.record["key"]
    earlier = gathered.runs.get((key, run.round))
    if earlier is None or run.ending in FINAL or earlier.ending not in FINAL:
        gathered.runs[key, run.round] = run


def _rewarmed(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    if run := gathered.begun.get(record["run"]):
        run.rewarm()


def _apart(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    gathered.apart.add(text(record["comparison"]))


def _product(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    gathered.products.append(Product.read(record))


def _closed(gathered: _Gathered, record: Mapping[str, Any]) -> None:
    gathered.is_done = record["reason"] == "done"


_READERS: dict[str, Callable[[_Gathered, Mapping[str, Any]], None]] = {
    "session": _session, "plan": _plan, "begin": _begin, "line": _line, "ending": _ending, "closed": _closed,
    "product": _product, "rewarmed": _rewarmed, "apart": _apart,
}


def _measurements(gathered: _Gathered, plan: _Plan) -> Measurements:
    by_key: dict[str, list[Run]] = {}
    for (key, _), run in gathered.runs.items():
        by_key.setdefault(key, []).append(run)
    rows = tuple(replace(row, runs=tuple(sorted(by_key.get(row.key, ()), key=lambda run: run.round)),
                         is_apart=bool(gathered.apart) and lanes_key(row.cell) in gathered.apart)
                 for row in plan.rows)
    return Measurements(gathered.session, plan.rounds, plan.baseline, rows, plan.skipped, plan.published,
                        plan.claims, gathered.is_done, plan.title, plan.experiments, plan.settings, plan.stacks,
                        tuple(gathered.products))
