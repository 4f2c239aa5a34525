"""What a stack's matrix product reached on this machine: raw blocks, and the best rate that they show. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self

from runner.results.lines import Block, Line
from workloads.spec.cell import Cell


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


def record(stack: str, unit: Unit, ending: str, **values: Any) -> dict[str, Any]:
    """The store's record of a product."""
    return {"event": "product", "stack": stack, **unit._asdict(), "ending": ending, **values}
