"""Flags: what a row is marked with, and what not."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from runner.analysis.flags import FOOTNOTES, Flag, flags, is_not_falling
from runner.cells import lanes_key
from runner.results.rows import measurements
from tests import made_rows as made

CELL = made.cell()
PROVED = {("lenet5", "torch")}


def found(rounds: int = 3, cell: Any = CELL, **values: Any) -> set[Flag]:
    lines = values.pop("lines", (made.steps([1.0, 1.0], loss=[2.0, 1.0]),))
    records = [record for index in range(rounds) for record in made.run(cell, index, *lines, **values)]
    (row,) = measurements([made.session(), made.plan(cell), *records]).rows
    return set(flags(row, 2, PROVED))


def test_a_run_as_it_should_be_has_no_flag() -> None:
    assert set() == found()


def test_every_flag_has_a_footnote() -> None:
    assert set(Flag) == set(FOOTNOTES)


@pytest.mark.parametrize(("flag", "part", "values"), [
    (Flag.OTHER_BASE, "place", {"base_is_default": False}),
    (Flag.VENV, "place", {"isolation": "venv", "base_is_default": False}),
    (Flag.NOT_PINNED, "place", {"pinned": False, "base_is_default": None}),
    (Flag.GPUS_IN_PARALLEL, "place", {"gpus_in_parallel": True}),
    (Flag.STAND_IN_DATA, "facts", {"data": {"name": "digits32", "stand_in": True}}),
    (Flag.THREADS_DIFFER, "facts", {"threads": 1}),
    (Flag.OTHER_PRECISION, "facts", {"precision": "amp"}),
    (Flag.CONVERTED, "facts", {"precision": "amp", "cpu_features": ["avx2", "avx512f"]}),
    (Flag.LEFT_OFF, "facts", {"left_off": ["oneDNN (TF_ENABLE_ONEDNN_OPTS=1)"]}),
    (Flag.WITHOUT_GRAPH, "facts", {"framework": "mxnet", "loop": "eager"}),
    (Flag.THROTTLED, "after", {"throttled_periods": 1}),
    (Flag.LOADED_HOST, "after", {"foreign_cpu_share": 0.11}),
    (Flag.SWAPPING, "after", {"swap_used_bytes": 2**24}),
])
def test_what_the_host_or_the_worker_observed_is_flagged(flag: Flag, part: str, values: Mapping[str, Any]) -> None:
    usual = {"place": made.PLACE, "facts": made.FACTS, "after": made.AFTER}[part]

    assert {flag} == found(**{part: {**usual, **values}}) - ({Flag.OTHER_PRECISION} - {flag})


@pytest.mark.parametrize("features", [["avx512f", "avx512_bf16"], ["amx_bf16"], []])
def test_bfloat16_by_the_cpu_s_own_instructions_or_by_those_that_nobody_tells_is_not_flagged(features: list[str]
                                                                                            ) -> None:
    facts = {**made.FACTS, "precision": "amp", "cpu_features": features}
    assert {Flag.OTHER_PRECISION} == found(facts=facts)


@pytest.mark.parametrize(("digests", "parallel", "expected"), [
    (("a", "b"), "allreduce", {Flag.WEIGHTS_DIFFER}), (("a", "a"), "allreduce", set()),
    (("a", "b"), "ps-async", set())])
def test_workers_that_train_in_step_end_with_the_same_weights(digests: tuple[str, str], parallel: str,
                                                              expected: set[Flag]) -> None:
    weights = [{"event": "weights", "place": f"node{rank}", "sha256": digest} for rank, digest in enumerate(digests)]
    lines = (made.steps([1.0, 1.0], loss=[2.0, 1.0]), *weights)

    assert expected == found(cell=made.cell(nodes=2, parallel=parallel), lines=lines)


@pytest.mark.parametrize(("share", "expected"), [(0.05, set()), (0.06, {Flag.GPU_THROTTLED})])
def test_a_gpu_that_was_slowed_down_for_more_than_a_twentieth_of_the_samples_is_flagged(share: float,
                                                                                        expected: set[Flag]) -> None:
    assert expected == found(after={**made.AFTER, "gpu_throttled_share": share})


@pytest.mark.parametrize(("periods", "expected"), [(0, set()), (2, {Flag.THROTTLED})])
def test_the_limit_of_any_place_of_a_run_throttles_it(periods: int, expected: set[Flag]) -> None:
    cell = made.cell(nodes=2, parallel="ps-sync")
    records = [record for index in range(3)
               for record in made.run(cell, index, made.steps([1.0, 1.0], loss=[2.0, 1.0]))]
    for record in records:
        if record["event"] == "ending":
            record["places"] = {"node0": {"throttled_periods": 0}, "server1": {"throttled_periods": periods}}
    (row,) = measurements([made.session(), made.plan(cell), *records]).rows

    assert expected == set(flags(row, 2, PROVED))


def test_the_load_counts_where_the_others_share_is_not_known() -> None:
    after = {**made.AFTER, "foreign_cpu_share": None}

    assert {Flag.LOADED_HOST} == found(after=after, before={**made.BEFORE, "load_1m": 1.1})
    assert set() == found(after=after, before={**made.BEFORE, "load_1m": 0.9})


def test_many_nodes_raise_the_load_themselves() -> None:
    after = {**made.AFTER, "foreign_cpu_share": None}

    assert set() == found(cell=made.cell(nodes=3, parallel="sync"), after=after, before={**made.BEFORE, "load_1m": 9.0})


def test_the_load_that_the_run_before_left_is_nobody_s_fault() -> None:
    assert set() == found(before={**made.BEFORE, "load_1m": 2.0})


def test_what_was_not_measured_is_not_flagged() -> None:
    nothing: dict[str, Any] = {}

    assert set() == found(place=nothing, facts=nothing, before=nothing, after=nothing)


@pytest.mark.parametrize(("asked", "observed", "is_flagged"), [
    ("on", False, True), ("off", True, True), ("on", True, False), ("default", False, False), ("on", None, False)])
def test_onednn_against_what_the_cell_asks(asked: str, observed: bool | None, is_flagged: bool) -> None:
    cell = made.cell(onednn=asked)

    assert is_flagged is (Flag.ONEDNN_DIFFERS in found(cell=cell, facts={**made.FACTS, "onednn": observed}))


def test_work_left_after_the_last_sync_is_flagged() -> None:
    assert {Flag.TIMER_MISMATCH} == found(lines=(made.steps([1.0, 1.0], drain_seconds=0.2),))
    assert set() == found(lines=(made.steps([1.0, 1.0], drain_seconds=0.02),))


def test_two_runs_are_few() -> None:
    assert {Flag.FEW_RUNS} == found(rounds=2)


def test_a_cell_without_an_ok_run_has_no_flag() -> None:
    assert set() == found(ending="oom")


def test_a_stack_that_no_check_has_proved_for_the_task_is_flagged() -> None:
    assert {Flag.UNPROVED} == found(cell=made.cell("tf"))
    assert {Flag.UNPROVED} == found(cell=made.cell(task="alexnet"))


def test_inference_needs_no_falling_loss() -> None:
    lines = (made.steps([1.0] * 8, loss=[1.0] * 8),)

    assert {Flag.LOSS_NOT_FALLING} == found(lines=lines)
    assert set() == found(cell=made.cell(measure="infer"), lines=lines)


@pytest.mark.parametrize(("losses", "expected"), [
    ([8, 7, 6, 5, 4, 3, 2, 1], False), ([1, 2, 3, 4, 5, 6, 7, 8], True), ([1] * 8, True), ([1, 1, 1], False)])
def test_the_last_quarter_of_the_losses_is_held_against_the_first(losses: list[float], expected: bool) -> None:
    assert expected is is_not_falling(np.array(losses, dtype=float))


@pytest.mark.parametrize(("device", "expected"), [
    ([1.0, 1.03], set()), ([1.0, 1.05], {Flag.CLOCKS_DISAGREE}), ([0.9, 1.0], {Flag.CLOCKS_DISAGREE}),
    ([1.1, 0.9], set()), ([3.0], set())])
def test_two_clocks_that_differ_by_more_than_2_per_cent_over_the_steps_are_flagged(device: Any, expected: Any) -> None:
    """Of 2 s by the host 2 % are 0.04; a time for one step of two is none of the other."""
    assert expected == found(lines=(made.steps([1.0, 1.0], loss=[2.0, 1.0], device_seconds=device),))


def test_a_part_of_a_pass_and_compiling_are_flagged() -> None:
    assert {Flag.PART_OF_PASS, Flag.COMPILED} == found(lines=(made.steps([0.5] * 2, is_part_of_pass=True, compiled=1),))


@pytest.mark.parametrize(("calm", "expected"), [(4, Flag.TURNS_REPEATED), (3, Flag.TURNS_REPEATED), (2, Flag.BUSY)])
def test_disturbed_turns_are_flagged_by_whether_they_count(calm: int, expected: Flag) -> None:
    lines = [made.turn([0.1], 0.0) for _ in range(calm)] + [made.turn([0.1], 0.3)]

    assert {expected} == found(lines=lines) and set() == found(lines=lines[:calm])


def test_the_share_that_others_took_in_a_whole_run_says_nothing_of_its_turns() -> None:
    after = {**made.AFTER, "foreign_cpu_share": 0.5}

    assert set() == found(lines=[made.turn([0.1])] * 3, after=after)


def test_runs_that_did_not_fit_into_memory_together_are_flagged() -> None:
    apart = {"event": "apart", "comparison": lanes_key(CELL), "why": "no room"}
    rows = measurements([made.session(), made.plan(CELL, made.cell(batch=20)), apart, *made.run(CELL, 0)]).rows

    assert [True, False] == [Flag.APART in flags(row, 2, PROVED) for row in rows]


def test_a_cell_of_more_threads_than_the_session_had_cpus_is_flagged() -> None:
    assert {Flag.TOO_FEW_CPUS} == found(cell=made.cell(cpus=3), facts={**made.FACTS, "threads": 3})
    assert set() == found(cell=made.cell(cpus=2), facts={**made.FACTS, "threads": 2})
