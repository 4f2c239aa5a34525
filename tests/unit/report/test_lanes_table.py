"""The table with both lanes side by side, as page and terminal have it."""

from itertools import chain

import pytest

from runner.analysis.summary_format import Summary
from runner.report.rates import lanes
from runner.report.tables import Form
from tests import made_report
from tests import made_rows as made
from tests.made_report import FAST, SLOW

SWITCHED = {**made.FACTS, "loop": "compile", "layout": "nhwc", "precision": "float32", "attention": "plain"}


def summary(common: dict[str, list[float]], tuned: dict[str, list[float]]) -> Summary:
    """Stacks with these rates in each lane; those without rates cannot run in it."""
    cells = {made.cell(stack, loop=loop): rates for loop, lane in (("native", common), ("tuned", tuned))
             for stack, rates in lane.items()}
    failed = (made.repeated(cell, 5, ending="unsupported", message="no") for cell, rates in cells.items() if not rates)
    return made_report.contents(made_report.records(*chain(*failed), cells=cells, facts=SWITCHED))[0]


@pytest.mark.parametrize("form", [Form.PAGE, Form.SCREEN])
def test_a_line_has_both_rates_their_ratio_and_how_they_ran_or_how_they_ended(form: Form) -> None:
    (table,) = lanes(summary({"torch": SLOW, "tf": SLOW}, {"torch": FAST, "tf": []}).lanes)
    titles, ((label, lines),) = table.written(form)
    torch, tf = (dict(zip(titles, line, strict=True)) for line in lines)

    assert ("torch", "faster", "100.0", "150") == tuple(torch[name] for name in ("stack", "verdict", "common", "tuned"))
    assert torch["ratio"].startswith("1.50") and {"compile; nhwc; float32", "compile"} & set(torch.values())
    assert ("tf", "unsupported ×5") == (tf["stack"], tf["tuned"])
    assert "fastest" not in label and "switched on" not in titles
    assert [] == list(lanes(()))


@pytest.mark.parametrize(("common", "tuned", "said"), [
    ({"torch": SLOW, "tf": FAST}, {"torch": FAST, "tf": []}, "tf, tuned none shown"),
    ({"torch": SLOW, "tf": SLOW, "mxnet": FAST}, {"torch": FAST, "tf": SLOW, "mxnet": []},
     "mxnet, tuned torch of those that ran")])
def test_a_group_says_who_is_the_fastest_in_each_lane_of_those_that_ran_there(
        common: dict[str, list[float]], tuned: dict[str, list[float]], said: str) -> None:
    (found,) = lanes(summary(common, tuned).lanes)

    assert found.groups[0][0].endswith(f": fastest common {said}")
