"""Quantities of runs whose lines are chosen here: every value worked out by hand; units; what is refused in a line."""

import re
from typing import Any

import pytest

from runner.analysis.claims.measured_here import ours
from runner.results.rows import Row
from runner.study import published, quantities
from runner.study.published import Published
from runner.study.subjects import Subject
from tests import made_rows as made
from tests.made_claims import here
from tests.studies import parse
from workloads.spec.cell import Cell


def row(measured: Cell, *lines: Any, after: Any = made.AFTER) -> Row:
    (read,) = made.measured(measured, *made.run(measured, 0, *lines, after=after)).rows
    return read


def value(name: str, measured: Cell, *lines: Any, **run: Any) -> float | None:
    read = row(measured, *lines, **run)
    return quantities.of(name, read, read.runs[0])


def epoch(train: float, validation: float | None = 1.0, accuracy: float | None = 0.5) -> dict[str, Any]:
    return made.epoch(0, train, accuracy, validation_seconds=validation)  # type: ignore[arg-type]


EPOCHS = [epoch(9.0, 3.0, 0.2), epoch(4.0, 1.0, 0.7), epoch(6.0, 2.0, 0.6)]
NOTHING = {**made.GRAPH, "removed": {"expensive": 0, "cheap": 0, "noop": 0}}


@pytest.mark.parametrize(("measure", "lines", "expected"), [
    # of epochs the first is kept apart, and one tells of no later ones
    ("epochs", EPOCHS, {"epoch": 5.0, "first_epoch": 9.0, "first_epoch_extra": 4.0, "validation": 1.5,
                        "accuracy": 0.7}),
    ("epochs", [epoch(9.0, None, None)], {"epoch": None, "first_epoch": 9.0, "first_epoch_extra": None,
                                          "validation": None, "accuracy": None}),
    # of kernels, copies and gaps together; what the profiler does not say is absent
    ("kernels", [made.KERNELS], {"kernel_share": 0.6, "copy_share": 0.1, "launch_share": 0.2, "kernels": 250.0}),
    ("kernels", [{**made.KERNELS, "launch_seconds": None}], {"launch_share": None}),
    # of the graph's nodes or of those removed
    ("graph", [made.GRAPH], {"nodes_removed": 0.6, "removed_expensive": 0.01, "removed_cheap": 0.09,
                             "removed_noop": 0.9, "pruning": 0.45, "constant_folding": -0.05, "arithmetic": 0.15,
                             "dependency": 0.05}),
    ("graph", [NOTHING], {"removed_noop": None}),
    ("infer", [made.steps([0.4, 0.6])], {"inference": 0.5, "sample": 0.05})])
def test_a_quantity_is_what_the_lines_of_a_run_come_to(
        measure: str, lines: list[Any], expected: dict[str, float | None]) -> None:
    found = {name: value(name, made.cell(measure=measure), *lines) for name in expected}
    assert {name: each if each is None else pytest.approx(each) for name, each in expected.items()} == found


def test_power_that_was_not_measured_is_absent() -> None:
    cell, line = made.cell(measure="infer"), made.steps([1.0])
    assert [180.0, None, None] == [value("power", cell, line, after=after)
                                   for after in ({"gpu_watts": 180.0}, {"gpu_watts": None}, {})]


def test_a_phase_s_share_is_of_the_step_and_a_share_is_one_already() -> None:
    measured_row = row(made.cell(measure="phases"), made.steps([2.0, 2.0], phases={"load": [0.5, 0.5]}))
    assert 0.25 == quantities.share("load", measured_row, measured_row.runs[0])
    measured_row = row(made.cell(measure="graph"), made.GRAPH)
    assert 0.9 == quantities.share("removed_noop", measured_row, measured_row.runs[0])


def test_krisilias_communication_is_what_a_step_has_beside_loading_forward_and_backward() -> None:
    """By hand: steps of 10 and 14 s, 1 + 3 + 4 s of each stamped, hence 2 and 6 s; the exchange itself took 1 s."""
    told = made.steps([10.0, 14.0], phases={"load": [1.0, 1.0], "forward": [3.0, 3.0], "backward": [4.0, 4.0],
                                            "communication": [1.0, 1.0], "update": [0.5, 0.5]})
    cell = made.cell("tf", measure="phases", nodes=3, parallel="allreduce")
    assert (pytest.approx(4.0), 1.0) == tuple(value(name, cell, told) for name in (
        "communication_by_difference", "communication"))
    assert value("communication_by_difference", cell, made.steps([10.0], phases={"load": [1.0]})) is None

    asked = Published(id="p", source="Table V", quantity="communication_by_difference", of=Subject("tf", "sync"),
                      value=1741.81, unit="s", steps=3960)
    found = ours(asked, [row(cell, told)])
    assert (pytest.approx(3960 * 4.0), pytest.approx(3960.0)) == (found.ours, found.beside)


def test_what_a_paper_derives_has_its_sentence_and_section() -> None:
    assert {"communication_by_difference", "epoch", "first_epoch_extra", "accuracy", "early_accuracy", "sample",
            "kernel_share", "copy_share", "launch_share", "nodes_removed", "removed_noop", "removed_cheap",
            "removed_expensive"} == {name for name, each in quantities.QUANTITIES.items() if each.definition}
    assert all(re.match(r"(krisilias|tian|patel|dai2022|mahorker) [IVX\d.-]+[A-Z]?(, \d)?:", each.definition)
               for each in quantities.QUANTITIES.values() if each.definition)


# ---- beside a published number, in its unit

def number(unit: str, quantity: str = "step", to: Subject | None = None) -> Published:
    return Published(id="p", source="Table 1", quantity=quantity, of=Subject("tf"), to=to, where={}, value=1.0,
                     unit=unit)


HALF_A_SECOND = row(made.cell("tf", batch=10, gpus=4, device="gpu"), made.steps([0.5]))
OF_EPOCHS = row(made.cell("tf", measure="epochs"), *EPOCHS)


@pytest.mark.parametrize(("measured_row", "asked", "expected"), [
    # rates are of all GPUs together; a share is of one or of a hundred
    (HALF_A_SECOND, number("s"), 0.5), (HALF_A_SECOND, number("samples/s"), 80.0),
    (HALF_A_SECOND, number("steps/s"), 2.0), (OF_EPOCHS, number("share", "accuracy"), 0.7),
    (OF_EPOCHS, number("%", "accuracy"), 70.0),
    # seconds of a whole run stand beside seconds of as many steps
    (HALF_A_SECOND, number("s").model_copy(update={"steps": 3960}), 1980.0)])
def test_ours_is_in_the_published_number_s_unit(measured_row: Row, asked: Published, expected: float) -> None:
    assert (pytest.approx(expected), 1) == here(asked, [measured_row])


@pytest.mark.parametrize(("unit", "statistic", "expected"), [
    ("x", "", 2.5 ** 0.5), ("mpe", "", -0.1), ("%", "", -10.0), ("x", "mean", 2.5 ** 0.5), ("x", "total", 2.0),
    ("x", "greatest", 5.0), ("% more", "", 100 * 2.5 ** 0.5 - 100), ("% more", "total", 100.0)])
def test_two_subjects_have_a_ratio_by_the_paper_s_statistic_or_a_mean_of_errors(unit: str, statistic: str,
                                                                               expected: float) -> None:
    """Ratios 5 / 1 and 1 / 2: sums 6 and 3; errors 4 / 5 and -1."""
    seconds = {("tf", 1): 5.0, ("torch", 1): 1.0, ("tf", 2): 1.0, ("torch", 2): 2.0}
    rows = [row(made.cell(stack, batch=batch), made.steps([each])) for (stack, batch), each in seconds.items()]

    asked = number(unit, to=Subject("torch"))
    asked = asked.model_copy(update={"statistic": statistic}) if statistic else asked
    assert (pytest.approx(expected), 2) == here(asked, rows)


def test_without_the_other_subject_s_or_any_cell_there_is_no_number() -> None:
    vgg16 = number("s").model_copy(update={"where": {"task": ("vgg16",)}})
    for asked in (number("x", to=Subject("torch")), vgg16):
        assert (None, 0) == here(asked, [HALF_A_SECOND])


def test_published_numbers_of_settings_pair_cells_that_are_equal_else() -> None:
    one, other = Subject("tf", settings=(("lstm", "cell"),)), Subject("tf", settings=(("lstm", "cudnn"),))
    rows = [row(made.cell("tf", lstm=kind, batch=batch), made.steps([seconds]))
            for kind, batch, seconds in (("cell", 1, 4.0), ("cudnn", 1, 2.0), ("cudnn", 2, 1.0))]

    assert (pytest.approx(2.0), 1) == here(number("x").model_copy(update={"of": one, "to": other}), rows)


@pytest.mark.parametrize(("places", "expected"), [(("node0", "node1", "node2"), 6.0), (("coordinator",), None)])
def test_memory_is_that_of_all_nodes_or_of_none(places: tuple[str, ...], expected: float | None) -> None:
    """2 bytes each; a coordinator alone is not the run."""
    cell = made.cell(nodes=3, parallel="ps-async")
    records = [{**record, "places": {name: {"group_peak_bytes": 2} for name in places}}
               if record["event"] == "ending" else record for record in made.run(cell, 0, made.steps([1.0]))]
    (read,) = made.measured(cell, *records).rows

    assert expected == quantities.of("memory", read, read.runs[0])


TWO_EPOCHS = [made.epoch(0, seconds) for seconds in (2.0, 1.0)]
SCALED = b"""
[study]
id = "s"
title = "S"
scales = ["paper", "quick"]
forms = { "tf" = ["tf-9"] }
[[experiment]]
id = "e"
measure = "epochs"
stacks = ["tf", "torch"]
device = "gpu"
epochs = 200
grid = { task = ["resnet18_cifar", "lenet5"], batch = [64] }
scale.quick = { device = "cpu", epochs = 2, images = 192, grid = { task = ["lenet5"], batch = [4] } }
[[published]]
id = "p"
source = "Figure 1"
quantity = "epoch"
of = { stack = "tf" }
printed = "2.5"
unit = "s"
"""


def test_ours_says_how_its_cells_differ_from_the_paper_s() -> None:
    read = published.from_record(parse(SCALED, scale="quick").published[0].record())
    found = ours(read, [row(made.cell("tf-9", measure="epochs", epochs=2, images=192, batch=4), *TWO_EPOCHS)])

    assert (1.0, 1, {"tf": "tf-9"}) == (found.ours, found.cells, found.stand_ins)
    assert ("1 of 2 cells", "on a CPU", "batch 4, not 64", "192 images, not all", "2 of 200 epochs") == found.differs


def test_ours_of_the_paper_s_own_cells_differs_in_nothing() -> None:
    read = parse(SCALED).published[0]
    found = ours(read, [row(made.cell("tf", measure="epochs", task=task, epochs=200, batch=64, device="gpu"),
                            *TWO_EPOCHS) for task in ("resnet18_cifar", "lenet5")])

    assert (2, (), {}) == (found.cells, found.differs, found.stand_ins)
