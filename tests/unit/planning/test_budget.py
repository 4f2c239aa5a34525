"""A plan within a budget of time."""

import pytest

from runner.errors import InputError
from runner.planning import budget
from runner.planning.plan import Plan, Wishes, plan
from runner.study.file import from_document
from tests.fakes import MACHINE, stack
from workloads.spec.cell import Cell

STACKS = {name: stack(name) for name in "ab"}


def made(**values: object) -> Plan:
    """A round of LeNet-5 and AlexNet in two stacks, 990 steps each after ten others; and of ten epochs in one stack."""
    found = from_document({"study": {"id": "s", "title": "S", "baseline": "b", "rounds": 2}, "experiment": [
        {"id": "steps", "measure": "train", "image": 64, "stacks": ["a", "b"], "steps": 990, "warmup": 10,
         "grid": {"task": ["lenet5", "alexnet"]}, **values},
        {"id": "epochs", "measure": "epochs", "task": "lenet5", "stacks": ["a"], "epochs": 10}]}, "s.toml")
    return plan(found, STACKS, MACHINE, Wishes(), lambda stack: None)


def guess(cell: Cell) -> float:
    """0.01 s a step of LeNet-5, 1 s of AlexNet, warm-up included; 10 s an epoch."""
    if cell.measure == "epochs":
        return 10.0 * cell.epochs
    return (0.01 if cell.task == "lenet5" else 1.0) * (cell.steps + cell.warmup)


def fitted(seconds: float, **values: object) -> Plan:
    return budget.fitted(made(**values), seconds, guess)


def counts(of: Plan) -> dict[tuple[str, str], tuple[int, int]]:
    """Steps and epochs of each cell."""
    return {(each.cell.task, each.cell.measure): (each.cell.steps, each.cell.epochs) for each in of.cells}


def test_a_plan_that_fits_stays_and_else_no_run_takes_longer_than_the_others_may() -> None:
    """2 x (2 x 10 + 2 x 1,000 + 100) s. A limit of 50 s: 2 x (2 x 10 + 2 x 50 + 50) s; LeNet-5 keeps its steps."""
    assert made() == fitted(4240.0)
    assert {("lenet5", "train"): (990, 1), ("alexnet", "train"): (40, 1), ("lenet5", "epochs"): (100, 5)} == counts(
        fitted(340.5))
    assert (4, 1) == counts(fitted(120.0, steps=4))["alexnet", "train"]                # few steps stay


def test_what_is_cut_is_told_and_cells_stay_in_their_experiments() -> None:
    cut = fitted(340.5)

    assert ["within the budget of 6 min, steps 40 for 990: steps",
            "within the budget of 6 min, epochs 5 for 10: epochs"] == budget.told(cut.record())
    assert {"steps": 4, "epochs": 1} == {name: len(keys) for name, keys in cut.keys.items()}
    assert {each.key for each in cut.cells} == {key for keys in cut.keys.values() for key in keys}


def test_the_comparisons_that_take_longest_are_left_out_whole() -> None:
    """The least of AlexNet is 2 x 2 x 20 s, of all else 2 x (2 x 0.2 + 20) s."""
    cut = fitted(100.0)

    assert {("lenet5", "train"), ("lenet5", "epochs")} == set(counts(cut))
    assert {("alexnet", "a"), ("alexnet", "b")} == {(each.cell.task, each.cell.stack) for each in cut.skipped}
    assert {"alexnet train is left out: the budget of 2 min has no room for 10 steps in each run"} == {
        each.reason for each in cut.skipped}


def test_a_budget_in_which_nothing_fits_is_refused_with_what_would() -> None:
    """LeNet-5's ten steps and as many before them, twice in two stacks."""
    with pytest.raises(InputError, match=r"--budget: found 500 ms, expected at least 1\.0 s.*--rounds"):
        fitted(0.5)
