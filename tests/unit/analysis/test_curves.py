"""How far loss curves lie apart."""
from typing import Any

import pytest

from runner.analysis import curves
from runner.analysis.summary import summary_of
from runner.report.document import Curves
from runner.report.series import curves as drawn
from runner.report.writers import charts
from runner.results import reader, rows
from tests import made_rows as made


def measured(*curved: tuple[dict[str, Any], list[float]], baseline: str = "torch") -> list[curves.Apart]:
    return curves.compared(session(*curved, baseline=baseline))


def session(*curved: tuple[dict[str, Any], list[float]], baseline: str = "torch") -> rows.Measurements:
    cells = [made.cell(**{"precision": "float64", "steps": len(losses), **values}) for values, losses in curved]
    records = [made.session(), made.plan(*cells, rounds=1, baseline=baseline)]
    for cell, (_, losses) in zip(cells, curved, strict=True):
        records += made.run(cell, 0, made.steps([0.1] * len(losses), loss=losses))
    return reader.measurements(records)


def test_a_curve_is_compared_with_the_baseline_s_step_by_step() -> None:
    found, = measured(({}, [2.0, 4.0, 1.0]), ({"stack": "tf"}, [2.0, 4.002, 1.0001]))
    assert ("tf", "torch", 3, 4) == (found.stack, found.to, found.steps, found.at_step)      # after two of warm-up
    assert 0.0 == found.first_apart and 0.0005 == pytest.approx(found.most_apart)


def test_curves_within_a_millionth_agree() -> None:
    near, far = measured(({}, [2.0, 1.0]), ({"stack": "near"}, [2.0, 1.0 + 9e-7]), ({"stack": "far"}, [2.0, 1.00001]))
    (rows,) = curves.listed([near, far]).values()
    assert near.does_agree and not far.does_agree
    assert [("9.0e-07 at 4", "yes"), ("1.0e-05 at 4", "no")] == [(row["most apart"], row["agrees"]) for row in rows]


def test_only_equal_weights_orders_and_float64_should_agree() -> None:
    for values, should in (({}, True), ({"init": "framework"}, False), ({"order": "framework"}, False),
                           ({"precision": "float32"}, False)):
        found, = measured((values, [1.0]), ({"stack": "tf", **values}, [1.0]))
        assert should == (not found.why_apart)


def test_cells_of_one_training_are_compared_with_the_baseline_or_the_first_as_far_as_they_go() -> None:
    assert [] == measured(({}, [1.0]), ({"stack": "tf", "init": "framework"}, [1.0]))
    found, = measured(({"stack": "a"}, [1.0]), ({"stack": "b"}, [1.0]))
    short, = measured(({}, [1.0, 2.0]), ({"stack": "tf", "steps": 2}, [1.0]))
    assert ("b", "a") == (found.stack, found.to) and (1, 0.0) == (short.steps, short.most_apart)


def after_warm_ups(own: int, other: int, losses: int = 40) -> rows.Measurements:
    """Two stacks that compute the same losses at the same steps, told after warm-ups of unequal lengths."""
    cells = [made.cell(name, precision="float64", warm="steady") for name in ("torch", "tf")]
    curve = [2.0 / step for step in range(1, 100)]
    records = [made.session(), made.plan(*cells, rounds=1)]
    for cell, warmup in zip(cells, (own, other), strict=True):
        for record in made.run(cell, 0, made.steps([0.1] * losses, loss=curve[warmup:warmup + losses])):
            if record["event"] == "line" and record["line"]["event"] == "warm":
                record["line"] = {"event": "warm", "seconds": [0.1] * warmup, "ended": "steady"}
            records.append(record)
    return reader.measurements(records)


def test_after_unequal_warm_ups_equal_trainings_agree() -> None:
    found, = curves.compared(after_warm_ups(10, 38))

    assert (12, 39, 50, 0.0) == (found.steps, found.first_step, found.last_step, found.most_apart)
    ((row,),) = curves.listed([found]).values()
    assert ("39 to 50", "yes") == (row["steps"], row["agrees"])


def test_stacks_that_share_no_step_are_named_and_neither_curves_nor_losses_compared() -> None:
    measured = after_warm_ups(2, 60)

    assert [] == curves.compared(measured)
    (told,) = curves.apart(measured)
    assert told.startswith("tf, ") and "no step in common with torch" in told
    assert {None} == {each.loss_steps for each in summary_of(measured).comparisons[0].results}


CALM = [made.turn([0.1], before=100)] * 2           # so that the round counts


def test_losses_are_of_the_first_round_in_which_all_stacks_told_the_same_steps() -> None:
    cells = [made.cell(name, precision="float64") for name in ("torch", "tf")]
    told = {("torch", 0): 3, ("tf", 0): 9, ("torch", 1): 5, ("tf", 1): 6}        # steps before the only turn, of three
    runs = [record for cell in cells for index in (0, 1) for record in made.run(
        cell, index, made.turn([0.1] * 3, before=told[cell.stack, index],
                               loss=[100.0 - told[cell.stack, index] - step for step in range(3)]), *CALM)]
    found = summary_of(made.measured(*cells, *runs, rounds=2)).comparisons[0].results

    assert [(94.0, 93.0, (7, 8))] * 2 == [(each.loss_first, each.loss_last, each.loss_steps) for each in found]


def test_losses_of_turns_are_compared_where_both_took_the_same_step() -> None:
    cells = [made.cell(name, precision="float64") for name in ("torch", "tf")]
    own, other = made.turn([0.1] * 3, before=5, loss=[9.0, 2.0, 4.0]), made.turn([0.1] * 3, before=6,
                                                                             loss=[2.0, 4.002, 7.0])
    found, = curves.compared(reader.measurements([
        made.session(), made.plan(*cells, rounds=1),
        *made.run(cells[0], 0, own, *CALM), *made.run(cells[1], 0, other, *CALM)]))

    assert (2, pytest.approx(0.0005)) == (found.steps, found.most_apart)


def test_curves_are_listed_by_training_a_line_a_stack() -> None:
    found = measured(({}, [2.0]), ({"stack": "tf"}, [2.0]), ({"stack": "mxnet"}, [2.0]),
                     ({"init": "framework"}, [2.0]), ({"stack": "tf", "init": "framework"}, [3.0]))
    tables = curves.listed(found)

    label = "LeNet-5 (tanh, 62 k parameters), training, batch 10, precision float64"
    assert [label, f"{label}, init framework"] == list(tables)
    assert [["tf", "mxnet"], ["tf"]] == [[row["stack"] for row in rows] for rows in tables.values()]


def step_charts(*curved: tuple[dict[str, Any], list[float]]) -> list[Curves]:
    found = drawn.step_charts(session(*curved).rows, "torch", {"torch": 0, "tf": 1})
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
