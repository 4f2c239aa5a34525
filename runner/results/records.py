"""What the records of events.jsonl say, a model a kind, by which they are read. Pure."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NamedTuple, Self

from pydantic import AfterValidator, Field

from runner.results.lines import Block, Count, Line, Number, Object, Positive, Readings, Seconds, Text
from workloads.spec.cell import Cell


def _cell(cell: Object) -> Object:
    """A cell, whose fields are the reader's to judge, but for its stack."""
    if not isinstance(cell.get("stack"), str):
        raise ValueError(f"found the stack {cell.get('stack')!r:.40}, expected text")
    return cell


class Planned(Line):
    """A cell of the plan."""

    key: Text
    experiment: Text = ""
    cell: Annotated[Object, AfterValidator(_cell)]


class LeftOut(Line):
    """A cell that the plan left out."""

    experiment: Text
    cell: Object
    reason: Text


class Experiment(Line):
    """A part of the study, as the plan kept it."""

    id: Text
    title: Text
    cells: list[Text]                      # keys, of those that it shares with others too
    assumed: dict[Text, Text]              # where the study is silent
    scaled: list[Text]                     # what the scale changes of the study's own sizes
    node: dict[str, Count] = Field(default={})     # the CPUs and bytes that the study's nodes had, where it says so


class Plan(Line):
    """What the session is to do; of several the last one holds."""

    rounds: Count = 0
    looks: list[Positive] = Field(default=[])             # rounds after which words are judged; []: at the end alone
    baseline: Text = ""
    cells: list[Planned]
    skipped: list[LeftOut]
    published: list[Object] = Field(default=[])           # the study's own numbers
    claims: list[Object] = Field(default=[])              # what it claims
    index: list[Object] = Field(default=[])               # its figures and tables
    title: Text = ""
    experiments: list[Experiment] = Field(default=[])
    settings: Object = Field(default={})                  # that the user put over the study's
    stacks: list[Text] = Field(default=[])                # that the user chose instead of the study's


class Begin(Line):
    """A run begins."""

    run: Text
    key: Text
    round: Count
    seed: Count | None = None              # of this round; None: not recorded, the cell's own
    place: Object | None = None            # None where no worker was started
    host: Readings | None = None


class OfRun(Line):
    """A line of a worker."""

    run: Text
    line: Object
    at: Seconds | None = None              # since the run's launch


class Ending(Line):
    """How a run ended, and what it used."""

    run: Text
    ending: Text
    message: Text = ""
    seconds: Number | None = None
    host: Readings | None = None
    places: dict[Text, Readings | None] | None = None


class Apart(Line):
    """Workers of a comparison did not fit into memory together."""

    comparison: Text


class Closed(Line):
    """Why the session ended."""

    reason: Text


class Unit(NamedTuple):
    """The device, precision and threads of a product; cells with the same ones are compared with it."""

    device: str
    precision: str
    cpus: int

    @classmethod
    def of(cls, cell: Cell) -> Self:
        """The unit of a cell; 0 threads on a GPU."""
        return cls(cell.device, cell.precision, cell.cpus if cell.device == "cpu" else 0)


class Product(Line):
    """The matrix products of a stack, as its worker reported them."""

    stack: str
    device: str
    precision: str
    cpus: int
    ending: str
    message: str = ""
    device_name: str = ""                     # as the framework names it
    blocks: list[Block]

    @property
    def unit(self) -> Unit:
        """The unit of the product."""
        return Unit(self.device, self.precision, self.cpus)

    @property
    def flops_per_second(self) -> float:
        """The best of all sizes and numbers; 0 where the stack has no such product."""
        return max((block.flops_per_second for block in self.blocks), default=0.0)


def best(products: Iterable[Product]) -> Mapping[Unit, Product]:
    """The best product of all stacks for each device, precision and number of threads. No step can be faster."""
    chosen: dict[Unit, Product] = {}
    for product in products:
        earlier = chosen.get(product.unit)
        if product.flops_per_second > (earlier.flops_per_second if earlier else 0.0):
            chosen[product.unit] = product
    return chosen


_RECORDS: dict[str, type[Line]] = {
    "plan": Plan, "begin": Begin, "line": OfRun, "ending": Ending, "apart": Apart,
    "product": Product, "closed": Closed}


def read(record: Mapping[str, Any]) -> Line | None:
    """What a record says; None of other kinds. Raises ValueError where one has not the shape it must have."""
    kind = _RECORDS.get(str(record.get("event")))
    return kind.read(record) if kind else None
