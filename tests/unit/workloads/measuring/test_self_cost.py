"""The framework's own first step, which ours is compared with; the adapter is a fake one."""

import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from workloads.measuring import measures, self_cost
from workloads.spec.cell import Cell


def test_a_bare_start_has_the_cell_s_switches_before_anything_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def loop(cell: Cell) -> Any:
        done.append("loop")
        return lambda: done.append("step"), lambda out: done.append("sync")

    for name, made in (("settings", {"apply": lambda cell: done.append("apply")}), ("bare", {"loop": loop})):
        monkeypatch.setitem(sys.modules, f"workloads.frameworks.made.{name}", SimpleNamespace(**made))
    monkeypatch.setattr(self_cost, "find_adapter", lambda stack: "made")
    monkeypatch.setattr(self_cost.emit, "take_over", lambda: lambda event, **values: done.append(event))
    monkeypatch.setattr(self_cost.environment, "enter", lambda cell: done.append("enter"))

    assert 0 == self_cost.main([json.dumps(Cell(stack="s", task="lenet5", measure="train")._asdict())])
    assert ["enter", "apply", "loop", "step", "sync", "end"] == done


def test_half_of_the_seeds_build_the_bare_loop_first_and_blocks_of_memory_differ() -> None:
    order: list[str] = []
    sizes = set()

    def builder(name: str) -> Any:
        return lambda: order.append(name) or name

    for seed in range(4):
        *loops, held = measures._scattered(seed, builder("ours"), builder("bare"))
        assert loops == ["ours", "bare"]
        sizes.add(tuple(map(len, held)))
    assert order == ["ours", "bare", "bare", "ours"] * 2
    assert len(sizes) == 4
