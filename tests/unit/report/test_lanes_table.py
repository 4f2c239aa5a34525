"""The table with both lanes side by side, as page and terminal have it."""

import pytest

from runner.analysis.summary import summarise
from runner.analysis.summary_format import Summary
from runner.report.rates import lanes
from runner.report.tables import Form, Written
from tests import made_rows as made

SLOW, FAST = [100.0, 101.0, 99.0, 100.5, 99.5], [150.0, 151.0, 149.0, 150.5, 149.5]
TORCH, TF = (made.cell(name) for name in ("torch", "tf"))
SWITCHED = {**made.FACTS, "loop": "compile", "layout": "nhwc", "precision": "float32", "attention": "plain"}


def summary(tf: list[float] = SLOW) -> Summary:
    cells = (TORCH, TF, TORCH._replace(loop="tuned"), TF._replace(loop="tuned"))
    rates = dict(zip(cells[:3], (SLOW, tf, FAST), strict=True))
    records = [record for cell, values in rates.items() for record in made.runs(cell, values, facts=SWITCHED)]
    return summarise([made.session(), made.plan(*cells), *records,
                      *made.run(cells[3], 0, ending="unsupported", message="no")])


@pytest.fixture(params=[Form.PAGE, Form.SCREEN])
def table(request: pytest.FixtureRequest) -> Written:
    (one,) = lanes(summary().lanes)
    return one.written(request.param)


def test_a_line_has_both_rates_their_ratio_and_how_they_ran_or_how_they_ended(table: Written) -> None:
    torch, tf = (dict(zip(table.titles, line, strict=True)) for line in table.groups[0].lines)

    assert ("torch", "faster", "100.0", "150") == tuple(torch[name] for name in ("stack", "verdict", "common", "tuned"))
    assert torch["ratio"].startswith("1.50") and {"compile; nhwc; float32", "compile"} & set(torch.values())
    assert ("tf", "unsupported") == (tf["stack"], tf["tuned"])
    assert "fastest" not in table.groups[0].label and "switched on" not in table.titles
    assert [] == list(lanes(()))


def test_a_group_says_who_is_the_fastest_in_each_lane() -> None:
    (found,) = lanes(summary(tf=FAST).lanes)

    assert found.groups[0].label.endswith(": fastest common tf, tuned none shown")


def test_a_lane_s_fastest_stack_is_so_of_those_that_ran_where_others_did_not() -> None:
    mxnet = made.cell("mxnet")
    tuned = {cell: cell._replace(loop="tuned") for cell in (TORCH, TF, mxnet)}
    rates = {TORCH: SLOW, TF: SLOW, mxnet: FAST, tuned[TORCH]: FAST, tuned[TF]: SLOW}
    records = [record for cell, values in rates.items() for record in made.runs(cell, values, facts=SWITCHED)]
    (found,) = lanes(summarise([made.session(), made.plan(*rates, tuned[mxnet]), *records,
                                       *made.run(tuned[mxnet], 0, ending="unsupported", message="no")]).lanes)

    assert found.groups[0].label.endswith(": fastest common mxnet, tuned torch of those that ran")
