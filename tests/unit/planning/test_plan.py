"""Plans: a pure function of study, stacks and machine."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from runner import paths
from runner.cells import comparison_key, comparisons, key, label
from runner.errors import InputError
from runner.machine import gpus
from runner.measuring.matrix_products import record
from runner.planning.plan import Plan, Planned, Wishes, estimate_seconds, plan, run_seconds, too_large
from runner.results.records import Product, Unit
from runner.stacks.definition import Stack
from runner.study.file import from_document, read
from tests.fakes import MACHINE, stack
from workloads.spec import tasks, turns
from workloads.spec.cell import Cell

STACKS = {name: stack(name) for name in "ab"}
TWO: list[dict[str, Any]] = [{"grid": {"task": ["lenet5", "vgg16"], "image": [32, 16]}},
                             {"task": "lenet5", "image": 32, "stacks": ["a"]}]
LENET: dict[str, Any] = {"task": "lenet5"}
GRID: dict[str, Any] = {**LENET, "grid": {"batch": [1, 2, 3, 4, 5, 6, 7, 8]}}


def planned(*experiments: dict[str, Any], wishes: Wishes = Wishes(), stacks: Mapping[str, Stack] = STACKS,  # noqa: B008
            missing: Mapping[str, str] = MappingProxyType({}), gpus_here: gpus.Gpus = gpus.NONE) -> Plan:
    """The plan of experiments e1, e2 ... that train in stacks a and b where they say nothing else."""
    tables = [{"id": f"e{index}", "stacks": ["a", "b"],
               **({} if "measure" in each.get("grid", {}) else {"measure": "train"}), **each}
              for index, each in enumerate(experiments, 1)]
    study = from_document({"study": {"id": "s", "title": "S", "baseline": "b"}, "experiment": tables}, "s.toml")
    return plan(study, stacks, MACHINE, wishes, lambda stack: missing.get(stack.name), gpus_here)


def test_cells_that_cannot_be_are_skipped_with_the_reason() -> None:
    reasons = {(s.cell.stack, s.cell.task, s.cell.image): s.reason for s in planned(*TWO).skipped}
    assert "lenet5 needs images of at least 32 pixels" == reasons["a", "lenet5", 16]
    assert 4 == len(reasons)


@pytest.mark.parametrize(("device", "own", "stacks"), [
    (None, "cpu", {"a", "b"}), ("gpu", "cpu", {"d"}), ("cpu", "gpu", {"a", "b"})])
def test_every_stack_is_each_of_the_device_that_the_study_or_the_user_says(
        device: str | None, own: str, stacks: set[str]) -> None:
    wishes = Wishes(settings={"device": device} if device else {})
    every = {**STACKS, "c": stack("c", framework="onednn"), "d": stack("d", devices=("gpu",))}
    found = planned({**LENET, "stacks": ["every"], "device": own}, wishes=wishes, stacks=every)
    assert stacks == {each.cell.stack for each in (*found.cells, *found.skipped)}


def test_a_stack_that_only_infers_is_of_every_one_that_infers_and_skipped_with_the_reason_elsewhere() -> None:
    every = {**LENET, "stacks": ["every"]}
    found = planned({**every, "grid": {"measure": ["train", "infer"]}}, {**every, "batch": 7},
                    stacks={**STACKS, "c": stack("c", framework="openvino")})

    assert ["infer"] == [each.cell.measure for each in found.cells if each.cell.stack == "c"]
    assert [("e1", "c only infers: it has no measure train")] == [(s.experiment, s.reason) for s in found.skipped]


@pytest.mark.parametrize(("node", "cpus", "memory_bytes"), [
    ("1 CPU, 4 GB", 1, 4 * 10**9), ("4 CPUs, 16 GB", MACHINE.cpus, MACHINE.limit_bytes), (None, 2, MACHINE.limit_bytes),
])
def test_a_cell_has_what_the_study_s_node_had_or_less_where_there_is_less(node: str | None, cpus: int,
                                                                         memory_bytes: int) -> None:
    made = planned({**LENET, "stacks": ["a"], **({"node": node} if node else {})})
    [found] = made.cells
    assert (cpus, memory_bytes) == (found.cell.cpus, found.cell.memory_bytes)
    [recorded] = made.record()["experiments"]
    assert bool(node) is ("node" in recorded) and (node != "4 CPUs, 16 GB" or recorded["node"] == {
        "cpus": 4, "memory_bytes": 16 * 10**9})


def test_figures_share_the_cells_that_are_equal_and_a_stack_that_the_launcher_lacks_is_skipped() -> None:
    made = planned(*TWO)
    cell = made.cells[0].cell
    assert (2, 6 * 2**30, 10) == (cell.cpus, cell.memory_bytes, cell.classes)     # the machine's, and the task's
    assert [("e1", "a"), ("e1", "b")] == [(p.experiment, p.cell.stack) for p in made.cells if p.cell.task == "lenet5"]
    lacking = planned(*TWO, missing={"a": "no Python 3.6 here"})
    assert {"b"} == {p.cell.stack for p in lacking.cells}
    assert "no Python 3.6 here" in {s.reason for s in lacking.skipped}


OF_CIFAR100 = [TWO[0], {**TWO[1], "data": "cifar100"}]
OF_GNMT = [{"stacks": ["a"], "grid": {"task": ["gnmt", "lenet5"]}}]


@pytest.mark.parametrize(("experiments", "given", "read"), [
    (OF_CIFAR100, ("cifar10", "cifar100"), {("e1", "lenet5"): "cifar10", ("e1", "vgg16"): "cifar10",
                                            ("e2", "lenet5"): "cifar100"}),
    (OF_CIFAR100, ("cifar10",), {("e1", "lenet5"): "cifar10", ("e1", "vgg16"): "cifar10"}),
    (OF_GNMT, ("cifar10", "wmt16"), {("e1", "gnmt"): "wmt16", ("e1", "lenet5"): "cifar10"}),
    (OF_GNMT, ("cifar10",), {("e1", "gnmt"): "cifar10", ("e1", "lenet5"): "cifar10"})])
def test_an_experiment_or_a_sequence_model_reads_its_own_set_where_it_is_given_and_else_that_of_all(
        experiments: list[dict[str, Any]], given: tuple[str, ...], read: dict[tuple[str, str], str]) -> None:
    made = planned(*experiments, wishes=Wishes(settings={"data": given[0]}, data=given))

    assert read == {(each.experiment, each.cell.task): each.cell.data for each in made.cells}


def test_the_baseline_falls_back_to_a_stack_that_runs_and_one_that_no_cell_has_is_refused() -> None:
    def baseline(wished: str = "", **missing: str) -> str:
        return planned(*TWO, wishes=Wishes(baseline=wished), missing=missing).baseline

    assert ["b", "a", "a"] == [baseline(), baseline(b="gone"), baseline("b", b="gone")]
    with pytest.raises(InputError, match='--baseline: stack "b" is in no cell of study s; these are: a'):
        planned(*TWO, wishes=Wishes(("a",), baseline="b"))
    with pytest.raises(InputError, match='--stack: stack "c" is unknown; known: a, b'):
        planned(*TWO, wishes=Wishes(("c",)))


@pytest.mark.parametrize("experiments", [
    [{**LENET, "grid": {"switches": ["layout=nhwc", "layout=nchw"]}}],
    [{**LENET, "switches": "layout=nhwc"}, {**LENET, "stacks": ["a"], "switches": "layout=nchw"}]])
def test_a_stack_is_in_a_comparison_once(experiments: list[dict[str, Any]]) -> None:
    with pytest.raises(InputError, match=r'^switches: found "layout=nhwc" and "layout=nchw" of a, expected'):
        planned(*experiments)


def test_a_key_is_of_the_content_alone_and_a_new_field_s_default_would_not_change_it() -> None:
    cell = Cell(stack="a", task="lenet5", measure="train")
    assert key(cell) == key(cell._replace(batch=42))
    assert key(cell) != key(cell._replace(batch=41))
    assert key(cell) != key(cell._replace(stack="b"))
    assert comparison_key(cell) == comparison_key(cell._replace(stack="b"))
    assert comparison_key(cell) == comparison_key(cell._replace(stack="b", switches="layout=nhwc"))
    # printf '{"measure":"train","stack":"a","task":"lenet5"}' | sha256sum
    assert "8d08a46f93ad265a" == key(cell)


def test_labels_name_the_switches_that_are_not_the_default_and_never_read_alike() -> None:
    one = Cell(stack="a", task="lenet5", measure="train", precision="amp")
    assert "LeNet-5 (tanh, 62 k parameters), training, batch 42, precision amp" == label(one)
    cell = Cell(stack="a", task="lenet5", measure="train", nodes=3, parallel="allreduce")
    cells = [cell, cell._replace(stack="b", parallel="horovod"), cell._replace(seed=2, cpus=4)]
    compared = list(comparisons(cells).values())

    assert compared[0] == compared[1]
    assert ["cpus 1, seed 1", "cpus 4, seed 2"] == [
        compared[index].label.split("parallel sync, ")[1] for index in (0, 2)]
    assert label(cell) == comparisons([cell])[cell].label


def test_the_record_has_every_experiment_with_its_cells_those_it_shares_too() -> None:
    made = planned(*TWO)
    record = made.record()
    keys = [item["key"] for item in record["cells"]]

    assert [each.id for each in made.study.experiments] == [item["id"] for item in record["experiments"]]
    assert {key for item in record["experiments"] for key in item["cells"]} == set(keys)
    assert 1 < sum(keys[0] in item["cells"] for item in record["experiments"])


def estimated(*, products: Mapping[Unit, Product] = MappingProxyType({}), **values: object) -> float:
    """Seconds of one run's steps; nothing is known of earlier ones."""
    cell = Cell(**{"stack": "a", "task": "lenet5", "measure": "train", "batch": 100, **values})  # type: ignore[arg-type]
    start = 1.5 if turns.may_take(cell) else 11.0 if cell.device == "gpu" else 4.0
    return run_seconds(cell, products) - start


def test_a_cell_is_guessed_by_its_data_set_its_seconds_or_its_turns() -> None:
    step, sequence = (estimated(task=task, steps=1, warmup=0) for task in ("lenet5", "lstm"))
    whole = math.ceil(2.0 / (64 * sequence)) * 64 * sequence           # with 64 batches two seconds are passes
    # a warm-up of at least 0.25 s, ten leads of 30 ms, and ten slices that end on a whole step
    turns = 0.25 + 0.3 + 10 * math.ceil(0.1 / step) * step
    for expected, values in (
            (500 * step, {"measure": "epochs", "data": "cifar10", "steps": 1, "warmup": 0}),
            (2 * 100 * step, {"measure": "epochs", "data": "digits32", "epochs": 2}),
            (step, {"measure": "epochs", "input": "synthetic"}),
            (3 * 7 * sequence, {"task": "lstm", "measure": "epochs", "epochs": 3, "steps": 5, "warmup": 2}),
            (64 * sequence, {"task": "lstm", "measure": "epochs", "steps": 100, "warmup": 10}),
            (0.5 + 2.0, {"sync": "end", "steps": 1, "warmup": 1, "warm": "steady", "seconds": 2.0}),
            (turns, {"steps": 1, "warmup": 1, "warm": "steady", "seconds": 0.5}),
            (whole, {"task": "lstm", "steps": 1, "warmup": 0, "seconds": 2.0, "sync": "end"})):
        assert pytest.approx(expected) == estimated(**values), values


def test_workers_that_train_together_may_leave_the_number_of_their_steps_open() -> None:
    made = planned(*TWO, wishes=Wishes(settings={"warm": "steady", "nodes": 3, "parallel": "sync"}))
    assert made.cells and not any("steps" in each.reason for each in made.skipped)


def test_nodes_that_share_cpus_start_and_step_as_much_later() -> None:
    cell = Cell("a", "lenet5", "train", batch=100, nodes=3, parallel="allreduce", steps=100, warmup=0)
    one = planned(LENET)._replace(rounds=1, cells=(Planned(key(cell), "e", cell),))
    alone, shared = (estimate_seconds(one, {}, cpus=cpus) for cpus in (3, 2))
    steps = 100 * tasks.step_flops(cell) / 2e10

    assert pytest.approx(4.0 + steps + 0.2) == alone == estimate_seconds(one, {})
    assert pytest.approx(6.0 + 1.5 * steps + 0.2) == shared


H100 = gpus.Gpu("GPU-0", "NVIDIA H100 80GB HBM3", "9.0", None, "GPU-0")
TRAINING = {"task": "resnet50", "batch": 32, "image": 224, "classes": 1000, "steps": 100, "warmup": 0}


def test_a_cell_of_a_gpu_is_guessed_by_what_the_gpu_reached_here_else_as_for_any_gpu_and_not_by_the_cpus() -> None:
    block = {"numbers": "float32", "size": 1000, "count": 1, "seconds": [2e-5]}        # 100 TFLOP/s
    reached = Product.read(record("a", Unit("gpu", "float32", 0), "ok", blocks=[block]))
    flops = 100 * tasks.step_flops(Cell(stack="a", measure="train", **TRAINING))  # type: ignore[arg-type]

    assert pytest.approx(flops / 2e13 + 0.2) == estimated(device="gpu", products={reached.unit: reached}, **TRAINING)
    assert pytest.approx(flops / 2e12 + 0.2) == estimated(device="gpu", cpus=16, **TRAINING)


def test_a_run_that_was_measured_is_not_guessed_and_one_of_a_gpu_starts_later_than_one_of_a_cpu() -> None:
    cells = [Cell(stack="a", task="lenet5", measure="train", device=device) for device in ("cpu", "gpu")]
    cpu, gpu = (planned(LENET)._replace(rounds=5, cells=(Planned(key(cell), "e", cell),)) for cell in cells)

    assert 5 * 7.0 == estimate_seconds(cpu, {key(cells[0]): 7.0})
    steps = [(each.steps + each.warmup) * (tasks.step_flops(each) / rate + 0.002)
             for each, rate in zip(cells, (2e10 * cells[0].cpus, 0.2 * 1e13), strict=True)]
    assert pytest.approx([5 * (4.0 + steps[0]), 5 * (11.0 + steps[1])]) == [
        estimate_seconds(each, {}) for each in (cpu, gpu)]


@pytest.mark.parametrize(("study", "stacks", "cells", "rounds", "least", "most"), [
    ("upgrade", ("old", "new"), 24, 5, 0, 600),
    ("quick", ("torch-2.13-cpu", "tf-2.21", "jax-0.10-cpu", "mxnet-1.9"), 12, 8, 240, 330)])
def test_an_upgrade_is_told_in_ten_minutes_and_today_s_stacks_are_compared_in_five_on_two_cores(
        study: str, stacks: tuple[str, ...], cells: int, rounds: int, least: float, most: float) -> None:
    own = {name: stack(name) for name in stacks}
    made = plan(read(study, paths.STUDIES), own, MACHINE, Wishes(stacks), lambda stack: None)

    assert (cells, rounds, 2) == (len(made.cells), made.rounds, MACHINE.cpus)
    assert least <= estimate_seconds(made, {}) <= most


@pytest.mark.parametrize(("settings", "sync"), [
    ({"device": "gpu"}, "blocks"), ({"device": "gpu", "sync": "each"}, "each"), ({"device": "cpu"}, "each"),
    ({"device": "gpu", "measure": "check"}, "each")])
def test_a_gpu_s_rates_are_of_steps_issued_ahead_where_nobody_says_another_sync(
        settings: dict[str, str], sync: str) -> None:
    made = planned({**LENET, "stacks": ["a"], **settings}, stacks={**STACKS, "a": stack("a", devices=("cpu", "gpu"))},
                   gpus_here=gpus.Gpus((H100,)))

    assert [sync] == [each.cell.sync for each in (*made.cells, *made.skipped)]


def ordered(round_index: int, seed: int = 1) -> list[tuple[int, str]]:
    made = planned(GRID, wishes=Wishes(seed=seed))
    return [(each.cell.batch, each.cell.stack) for each in made.order(round_index)]


@pytest.mark.parametrize("lanes", [["native"], ["native", "tuned"]])
def test_the_stacks_and_lanes_of_a_comparison_follow_each_other_in_every_round(lanes: list[str]) -> None:
    made = planned({**LENET, "grid": {"loop": lanes, **GRID["grid"]}})
    size = 2 * len(lanes)
    for index in range(20):
        cells = [each.cell for each in made.order(index)]
        blocks = [cells[first:first + size] for first in range(0, len(cells), size)]
        assert [1] * 8 == [len({cell.batch for cell in block}) for block in blocks]
        assert [size] * 8 == [len({(cell.stack, cell.loop) for cell in block}) for block in blocks]


def test_rounds_draw_the_order_of_comparisons_and_of_the_stacks_in_each() -> None:
    assert len({tuple(batch for batch, _ in ordered(index)) for index in range(20)}) > 10
    assert {"a", "b"} == {stack for index in range(20) for batch, stack in ordered(index)[:1]}
    assert ordered(3) == ordered(3) != ordered(3, seed=2)


def planned_cell(**values: object) -> Planned:
    cell = Cell(**{"stack": "a", "task": "lenet5", "measure": "train", **values})  # type: ignore[arg-type]
    return Planned(key(cell), "e", cell)


def test_a_round_has_a_seed_of_its_own_under_one_key_but_for_measures_that_look_at_the_model() -> None:
    of_three = planned_cell(seed=3)
    assert [3, 4, 5] == [of_three.cell_of(index).seed for index in range(3)]
    assert of_three.cell_of(0) == of_three.cell
    assert 0 == planned_cell(seed=2**62 - 1).cell_of(1).seed
    assert {1} == {planned_cell(measure=name).cell_of(4).seed
                   for name in ("check", "operators", "kernels", "graph", "max_batch", "harness")}


def test_a_seed_that_a_study_or_the_user_says_stays_and_the_record_says_so() -> None:
    by_study, free = planned({**GRID, "seed": 1}), planned(GRID)
    by_user = planned(GRID, wishes=Wishes(settings={"seed": 9}))

    assert [{1}, {9}, {3}] == [{each.cell_of(2).seed for each in plan.cells} for plan in (by_study, by_user, free)]
    assert all(item["is_seed_fixed"] for item in by_user.record()["cells"])
    assert not any("is_seed_fixed" in item for item in free.record()["cells"])
    assert [each.key for each in by_study.cells] == [each.key for each in free.cells]


def test_a_seed_that_is_said_for_one_stack_stays_for_all_that_it_is_compared_with() -> None:
    made = planned({**LENET, "stacks": ["a"], "seed": 1}, {**LENET, "cases": [{"batch": 42}, {"batch": 8}]})

    assert {("a", 42, True), ("b", 42, True), ("a", 8, False), ("b", 8, False)} == {
        (each.cell.stack, each.cell.batch, each.is_seed_fixed) for each in made.cells}


def test_more_cpus_or_memory_than_there_are_get_a_word() -> None:
    def told(**settings: int) -> list[str]:
        return too_large(planned(*TWO, wishes=Wishes(settings=settings)), MACHINE)

    assert [] == told() == told(cpus=2, memory_bytes=8 * 2**30)
    assert ["a run asks for 64 CPUs, and 2 can be used: its threads take turns on them"] == told(cpus=64)
    assert ["a run may hold 16.0 GB, and 8.6 GB can be used: beyond them the kernel ends it"] == told(
        memory_bytes=16 * 10**9)
