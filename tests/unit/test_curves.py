"""How far loss curves lie apart."""
from typing import Any

import pytest

from runner import curves, rows
from tests import made_rows as made


def measured(*curved: tuple[dict[str, Any], list[float]], baseline: str = "torch") -> list[curves.Apart]:
    cells = [made.cell(**{"precision": "float64", "steps": len(losses), **values}) for values, losses in curved]
    records = [made.session(), made.plan(*cells, rounds=1, baseline=baseline)]
    for cell, (_, losses) in zip(cells, curved, strict=True):
        records += made.run(cell, 0, made.steps([0.1] * len(losses), loss=losses))
    return curves.compared(rows.measurements(records))


def test_a_curve_is_compared_with_the_baseline_s_step_by_step() -> None:
    found, = measured(({}, [2.0, 4.0, 1.0]), ({"stack": "tf"}, [2.0, 4.002, 1.0001]))
    assert ("tf", "torch", 3, 2) == (found.stack, found.to, found.steps, found.at_step)
    assert 0.0 == found.first_apart and 0.0005 == pytest.approx(found.most_apart)


def test_curves_within_a_millionth_agree() -> None:
    near, far = measured(({}, [2.0, 1.0]), ({"stack": "near"}, [2.0, 1.0 + 9e-7]), ({"stack": "far"}, [2.0, 1.00001]))
    assert near.does_agree and not far.does_agree
    assert ("9.0e-07 at 2", "yes") == (near.listed()["most apart"], near.listed()["agrees"])
    assert ("1.0e-05 at 2", "no") == (far.listed()["most apart"], far.listed()["agrees"])


def test_only_equal_weights_orders_and_float64_should_agree() -> None:
    for values, should in (({}, True), ({"init": "framework"}, False), ({"order": "framework"}, False),
                           ({"precision": "float32"}, False)):
        found, = measured((values, [1.0]), ({"stack": "tf", **values}, [1.0]))
        assert should == found.should_agree


def test_cells_that_differ_in_more_than_the_stack_are_not_compared() -> None:
    assert [] == measured(({}, [1.0]), ({"stack": "tf", "init": "framework"}, [1.0]))


def test_without_the_baseline_the_first_stack_is_compared_with() -> None:
    found, = measured(({"stack": "a"}, [1.0]), ({"stack": "b"}, [1.0]))
    assert ("b", "a") == (found.stack, found.to)


def test_a_curve_cut_short_is_not_compared() -> None:
    assert [] == measured(({}, [1.0, 2.0]), ({"stack": "tf", "steps": 2}, [1.0]))


def test_curves_are_listed_by_training_a_line_a_stack() -> None:
    found = measured(({}, [2.0]), ({"stack": "tf"}, [2.0]), ({"stack": "mxnet"}, [2.0]),
                     ({"init": "framework"}, [2.0]), ({"stack": "tf", "init": "framework"}, [3.0]))
    tables = curves.listed(found)

    assert [f"lenet5, float64, init {init}, order seeded" for init in ("seeded", "framework")] == list(tables)
    assert [["tf", "mxnet"], ["tf"]] == [[row["stack"] for row in rows] for rows in tables.values()]
