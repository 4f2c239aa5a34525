"""How far loss curves lie apart."""
from typing import Any

import pytest

from runner.analysis import curves
from runner.analysis.curves import Pair
from runner.analysis.summary import summary_of
from runner.report.document import Curves
from runner.report.within_run import loss_charts
from runner.report.writers import charts
from runner.results import rows
from tests import made_rows as made

TORCH, TF = (made.cell(name, precision="float64", warm="steady") for name in ("torch", "tf"))


def session(*curved: tuple[dict[str, Any], list[float]]) -> rows.Measurements:
    return made.told({made.cell(**{"precision": "float64", "steps": len(losses), **values}): [
        made.steps([0.1] * len(losses), loss=losses)] for values, losses in curved}, rounds=1)


def compared(*curved: tuple[dict[str, Any], list[float]]) -> list[Pair]:
    return curves.compared(session(*curved))


def test_a_curve_is_compared_with_the_baseline_s_step_by_step() -> None:
    (found,) = compared(({}, [2.0, 4.0, 1.0]), ({"stack": "tf"}, [2.0, 4.002, 1.0001]))
    told = found.record()

    assert ("tf", "torch", 3, 4) == (told["stack"], told["to"], told["steps"], told["at_step"])   # after two of warm-up
    assert 0.0 == told["first_apart"] and 0.0005 == pytest.approx(told["most_apart"])


def test_curves_within_a_millionth_agree() -> None:
    near, far = compared(({}, [2.0, 1.0]), ({"stack": "near"}, [2.0, 1.0 + 9e-7]), ({"stack": "far"}, [2.0, 1.00001]))

    assert near.does_agree and not far.does_agree
    assert [("9.0e-07 at 4", "yes"), ("1.0e-05 at 4", "no")] == [
        (row["most apart"], row["agrees"]) for row in (near.line(), far.line())]


@pytest.mark.parametrize(("values", "should"), [
    ({}, True), ({"init": "framework"}, False), ({"order": "framework"}, False), ({"precision": "float32"}, False)])
def test_only_equal_weights_orders_and_float64_should_agree(values: dict[str, Any], should: bool) -> None:
    (found,) = compared((values, [1.0]), ({"stack": "tf", **values}, [1.0]))

    assert should == (not found.why_apart)


def test_cells_of_one_training_are_compared_with_the_baseline_or_the_first_as_far_as_they_go() -> None:
    assert [] == compared(({}, [1.0]), ({"stack": "tf", "init": "framework"}, [1.0]))
    (found,) = compared(({"stack": "a"}, [1.0]), ({"stack": "b"}, [1.0]))
    (short,) = compared(({}, [1.0, 2.0]), ({"stack": "tf", "steps": 2}, [1.0]))
    assert ("b", "a") == (found.row.cell.stack, found.to.cell.stack) and [0.0] == list(short.distances())


def after_warm_ups(own: int, other: int) -> rows.Measurements:
    """Two stacks that compute the same losses at the same steps, told after warm-ups of unequal lengths."""
    curve = [2.0 / step for step in range(1, 100)]
    runs = [record for cell, warmup in ((TORCH, own), (TF, other)) for record in made.run(cell, 0, made.steps(
        [0.1] * 40, loss=curve[warmup:warmup + 40]), warm=[0.1] * warmup)]
    return made.measured(TORCH, TF, *runs, rounds=1)


def test_after_unequal_warm_ups_equal_trainings_agree() -> None:
    (found,) = curves.compared(after_warm_ups(10, 38))

    assert (12, [*range(39, 51)], [0.0] * 12) == (len(found.own), list(found.steps), list(found.distances()))
    assert ("39 to 50", "yes") == (found.line()["steps"], found.line()["agrees"])


def test_stacks_that_share_no_step_are_named_and_neither_curves_nor_losses_compared() -> None:
    measured = after_warm_ups(2, 60)

    assert [] == curves.compared(measured)
    (told,) = curves.apart(measured)
    assert told.startswith("tf, ") and "no step in common with torch" in told
    assert {None} == {each.loss_steps for each in summary_of(measured).comparisons[0].results}


CALM = [made.turn([0.1], before=100)] * 2           # so that the round counts


def test_losses_are_of_the_first_round_in_which_all_stacks_told_the_same_steps() -> None:
    told = {(TORCH, 0): 3, (TF, 0): 9, (TORCH, 1): 5, (TF, 1): 6}        # steps before the only turn, of three
    runs = [record for (cell, index), before in told.items() for record in made.run(cell, index, made.turn(
        [0.1] * 3, before=before, loss=[100.0 - before - step for step in range(3)]), *CALM)]
    found = made.summarised(TORCH, TF, *runs, rounds=2).comparisons[0].results

    assert [(94.0, 93.0, (7, 8))] * 2 == [(each.loss_first, each.loss_last, each.loss_steps) for each in found]


def test_losses_of_turns_are_compared_where_both_took_the_same_step() -> None:
    runs = [record for cell, before, losses in ((TORCH, 5, [9.0, 2.0, 4.0]), (TF, 6, [2.0, 4.002, 7.0]))
            for record in made.run(cell, 0, made.turn([0.1] * 3, before=before, loss=losses), *CALM)]
    (found,) = curves.compared(made.measured(TORCH, TF, *runs, rounds=1))

    assert pytest.approx([0.0, 0.0005]) == list(found.distances())


def test_curves_are_listed_by_training_a_line_a_stack() -> None:
    tables = curves.listed(compared(({}, [2.0]), ({"stack": "tf"}, [2.0]), ({"stack": "mxnet"}, [2.0]),
                                    ({"init": "framework"}, [2.0]), ({"stack": "tf", "init": "framework"}, [3.0])))

    label = f"{made.LENET5}, training, batch 10, precision float64"
    assert [label, f"{label}, init framework"] == list(tables)
    assert [["tf", "mxnet"], ["tf"]] == [[row["stack"] for row in rows] for rows in tables.values()]


def step_charts(*curved: tuple[dict[str, Any], list[float]]) -> list[Curves]:
    found = loss_charts(session(*curved).rows, "torch", {"torch": 0, "tf": 1})
    return [chart for chart in found if isinstance(chart, Curves)]


def test_trainings_that_are_told_from_their_first_step_on_are_drawn_and_how_far_they_lie_apart() -> None:
    losses = [2.0 / step for step in range(1, 13)]
    near = [loss * (1 + 1e-9) for loss in losses]
    told, apart = step_charts(({"warmup": 0}, losses), ({"warmup": 0, "stack": "tf"}, near))

    assert [("torch", tuple(losses)), ("tf", tuple(near))] == [(curve.name, curve.y) for curve in told.curves]
    assert tuple(range(3, 15)) == told.curves[0].x == apart.curves[0].x
    assert ["tf"] == [curve.name for curve in apart.curves] and apart.is_logarithmic
    assert [1e-9] * 12 == pytest.approx(apart.curves[0].y, rel=1e-6)
    assert "1e-09" in charts.svg(apart, "a") and "torch" in charts.svg(told, "b")


@pytest.mark.parametrize(("warmup", "steps", "charts"), [(2, 12, 0), (0, 5, 0), (0, 12, 1)])
def test_trainings_after_a_warm_up_and_short_ones_are_not_drawn_nor_the_distance_of_equal_ones(
        warmup: int, steps: int, charts: int) -> None:
    losses = [2.0 / step for step in range(1, steps + 1)]
    assert charts == len(step_charts(({"warmup": warmup}, losses), ({"warmup": warmup, "stack": "tf"}, losses)))
