"""Flags: what a row is marked with, and what not."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from runner.analysis.flags import Flag, flags, is_not_falling
from runner.cells import lanes_key
from runner.results.contract import INTERRUPTED
from tests import made_rows as made

CELL = made.cell()
PROVED = {("lenet5", "torch"): True}


def found(rounds: int = 3, cell: Any = CELL, **values: Any) -> set[Flag]:
    lines = values.pop("lines", (made.steps([1.0, 1.0], loss=[2.0, 1.0]),))
    (row,) = made.measured(cell, *made.repeated(cell, rounds, *lines, **values)).rows
    return set(flags(row, 2, PROVED))


def with_part(name: str, **values: Any) -> dict[str, Any]:
    return {name: {**getattr(made, name.upper()), **values}}


facts, after, place = (partial(with_part, name) for name in ("facts", "after", "place"))


def clocks(*device: float) -> dict[str, Any]:
    return {"lines": (made.steps([1.0, 1.0], loss=[2.0, 1.0], device_seconds=list(device)),)}


def weights(*digests: str, parallel: str = "allreduce") -> dict[str, Any]:
    """Runs of workers that end with these weights."""
    ended = [{"event": "weights", "place": f"node{rank}", "sha256": each} for rank, each in enumerate(digests)]
    return {"cell": made.cell(nodes=2, parallel=parallel), "lines": (made.steps([1.0] * 2, loss=[2.0, 1.0]), *ended)}


LEVEL = (made.steps([1.0] * 8, loss=[1.0] * 8),)


@pytest.mark.parametrize(("values", "expected"), [
    ({}, set()), ({"rounds": 2}, {Flag.FEW_RUNS}), ({"ending": "oom"}, set()),
    ({part: {} for part in ("place", "facts", "before", "after")}, set()),      # what was not measured
    ({"cell": made.cell("tf")}, {Flag.UNPROVED}), ({"cell": made.cell(task="alexnet")}, {Flag.UNPROVED}),
    # bfloat16 by the CPU's own instructions, or by those that nobody tells
    *((facts(precision="amp", cpu_features=features), {Flag.OTHER_PRECISION})
      for features in (["avx512f", "avx512_bf16"], ["amx_bf16"], [])),
    (after(gpu_throttled_share=0.05), set()), (after(gpu_throttled_share=0.06), {Flag.GPU_THROTTLED}),
    # a CPU's run would not count; what others took in a whole run says nothing of its turns
    ({"cell": made.cell(device="gpu"), **after(foreign_cpu_share=0.11)}, {Flag.LOADED_HOST}),
    ({"lines": [made.turn([0.1])] * 3, **after(foreign_cpu_share=0.5)}, set()),
    *(({"cell": made.cell(onednn=asked), **facts(onednn=observed)}, {Flag.ONEDNN_DIFFERS} if differs else set())
      for asked, observed, differs in (("on", False, True), ("off", True, True), ("on", True, False),
                                       ("default", False, False), ("on", None, False))),
    ({"lines": (made.steps([1.0, 1.0], drain_seconds=0.2),)}, {Flag.TIMER_MISMATCH}),
    ({"lines": (made.steps([1.0, 1.0], drain_seconds=0.02),)}, set()),
    ({"lines": LEVEL}, {Flag.LOSS_NOT_FALLING}), ({"lines": LEVEL, "cell": made.cell(measure="infer")}, set()),
    # of 2 s by the host 2 % are 0.04; a time for one step of two is none of the other
    (clocks(1.0, 1.03), set()), (clocks(1.0, 1.05), {Flag.CLOCKS_DISAGREE}), (clocks(1.1, 0.9), set()),
    (clocks(0.9, 1.0), {Flag.CLOCKS_DISAGREE}), (clocks(3.0), set()),
    ({"lines": (made.steps([0.5] * 2, is_part_of_pass=True, compiled=1),)}, {Flag.PART_OF_PASS, Flag.COMPILED}),
    # workers that train in step end with the same weights
    (weights("a", "b"), {Flag.WEIGHTS_DIFFER}), (weights("a", "a"), set()),
    (weights("a", "b", parallel="ps-async"), set()),
    ({"cell": made.cell(cpus=3), **facts(threads=3)}, {Flag.TOO_FEW_CPUS}),
    ({"cell": made.cell(cpus=2), **facts(threads=2)}, set()),
    (place(base_is_default=False), {Flag.OTHER_BASE}),
    (place(isolation="venv", base_is_default=False), {Flag.VENV}),
    (place(pinned=False, base_is_default=None), {Flag.NOT_PINNED}),
    (facts(data={"name": "digits32", "stand_in": True}), {Flag.STAND_IN_DATA}),
    (facts(threads=1), {Flag.THREADS_DIFFER}), (facts(precision="amp"), {Flag.OTHER_PRECISION}),
    (facts(precision="amp", cpu_features=["avx2", "avx512f"]), {Flag.OTHER_PRECISION, Flag.CONVERTED}),
    (facts(left_off=["oneDNN (TF_ENABLE_ONEDNN_OPTS=1)"]), {Flag.LEFT_OFF}),
    (facts(framework="mxnet", loop="eager"), {Flag.WITHOUT_GRAPH}),
    (after(throttled_periods=1), {Flag.THROTTLED}),
    *(({"cell": made.cell(nodes=2, parallel="ps-sync"), "places": {
        "node0": {"throttled_periods": 0}, "server1": {"throttled_periods": periods}}}, expected)
      for periods, expected in ((0, set()), (2, {Flag.THROTTLED}))),
    (after(swap_used_bytes=2**24), {Flag.SWAPPING}),
])
def test_what_was_run_and_seen_is_flagged(values: dict[str, Any], expected: set[Flag]) -> None:
    assert expected == found(**values)


@pytest.mark.parametrize(("losses", "expected"), [
    ([8, 7, 6, 5, 4, 3, 2, 1], False), ([1, 2, 3, 4, 5, 6, 7, 8], True), ([1] * 8, True), ([1, 1, 1], False)])
def test_the_last_quarter_of_the_losses_is_held_against_the_first(losses: list[float], expected: bool) -> None:
    assert expected is is_not_falling(np.array(losses, dtype=float))


@pytest.mark.parametrize(("calm", "expected"), [(4, Flag.TURNS_REPEATED), (3, Flag.TURNS_REPEATED), (2, Flag.BUSY)])
def test_disturbed_turns_are_flagged_by_whether_their_round_counts(calm: int, expected: Flag) -> None:
    assert {expected} == found(lines=[made.turn([0.1], 0.0) for _ in range(calm)] + [made.turn([0.1], 0.3)])


def test_an_interrupted_round_was_not_busy_in_either_stack() -> None:
    other = made.cell("tf")
    lines = [record for cell in (CELL, other) for record in made.repeated(cell, 3, *[made.turn([0.1])] * 4)]
    cut = [*made.run(CELL, 3, made.turn([0.1])), *made.run(other, 3, made.turn([0.1]), ending="killed",
                                                           message=INTERRUPTED), *made.run(CELL, 4, made.turn([0.1]))]
    rows = made.measured(CELL, other, *lines, *cut).rows

    assert [set(), {Flag.UNPROVED}] == [set(flags(row, 2, PROVED)) for row in rows]


def test_runs_that_did_not_fit_into_memory_together_are_flagged() -> None:
    apart = {"event": "apart", "comparison": lanes_key(CELL), "why": "no room"}
    rows = made.measured(CELL, made.cell(batch=20), apart, *made.run(CELL, 0)).rows

    assert [True, False] == [Flag.APART in flags(row, 2, PROVED) for row in rows]
