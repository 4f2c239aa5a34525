"""A product is one of the numbers that it is told as, inside a worker; the adapter is a fake one."""

import sys
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from workloads.measuring import matrix_products
from workloads.process.errors import Unsupported
from workloads.spec.cell import Cell

TF32 = Cell(stack="s", task="lenet5", measure="product", device="gpu", precision="tf32", memory_bytes=2**27)


def adapter(monkeypatch: pytest.MonkeyPatch, capability: str | None) -> Any:
    """One on a GPU of that compute capability, whose products take no time."""
    product = SimpleNamespace(made=lambda cell, size, numbers: (lambda: None, lambda: None))
    monkeypatch.setitem(sys.modules, "made_adapter.product", product)
    monkeypatch.setitem(sys.modules, "made_adapter.settings", SimpleNamespace(apply=lambda cell: None))
    return SimpleNamespace(__name__="made_adapter", facts=lambda cell: {"compute_capability": capability})


@pytest.mark.parametrize("capability", ["7.5", "8.0", None])
def test_a_gpu_without_tf32_alone_has_no_product_of_it(
        capability: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    events, seconds, made = list[str](), iter(range(1000)), adapter(monkeypatch, capability)
    with pytest.raises(Unsupported, match="no TF32") if capability == "7.5" else nullcontext():
        matrix_products.measure(TF32, made, lambda event, **values: events.append(event), clock=lambda: next(seconds))
        assert ["start", "product"] == events
