"""What a report says: what differs from the study first, then each experiment with the study's numbers beside ours."""

import re
from typing import Any

import pytest

from runner.analysis.summary_format import Machine
from runner.cells import key
from runner.report.document import Curves, Dots, Section
from runner.report.environment import machine
from runner.report.tables import Table
from runner.report.writers import charts
from tests import made_report
from tests import made_rows as made
from tests.made_claims import claim
from tests.made_report import FAST, SLOW, TF, TORCH, drawn
from tests.made_report import report_of as contents
from tests.printing import lines

NUMBER = {"id": "n", "source": "Table 5", "text": "", "quantity": "step", "of": {"stack": "torch"},
          "to": {"stack": "tf"}, "where": {}, "value": 3.0, "unit": "x"}


def experiment(name: str, *cells: Any, title: str = "", **values: Any) -> dict[str, Any]:
    return {"id": name, "title": title, "assumed": {}, "scaled": [], "cells": [*map(key, cells)], **values}


def table(section: Section, beginning: str) -> Table[Any]:
    return next(each for each in section.tables if each.caption.startswith(beginning))


def test_a_complete_session_as_the_study_wants_it_deviates_in_nothing() -> None:
    assert () == contents(made_report.DONE).deviations


def test_a_published_study_at_a_smaller_scale_says_so_and_where() -> None:
    steps = "steps 6 for 3960"
    found = contents(plan={"experiments": [experiment("e", TORCH, TF, scaled=[steps])], "published": [NUMBER]},
                     session={"scale": "quick"})

    assert dict(found.deviations)["scale"].endswith("is smaller than the paper's. It changes e; each says how.")
    assert f'Scale "quick" changes: {steps}.' in found.sections[0].notes
    assert "no reproduction" in found.reading
    assert "scale" not in dict(contents().deviations)           # our own study has no paper to be smaller than


ASKED = {"cpus": 4, "memory_bytes": 16 * 10**9}      # of a node
OOM = [record for index in (7, 8) for record in made.run(TF, index, ending="oom", message="no memory")]


@pytest.mark.parametrize(("more", "values", "said"), [
    ([*OOM, made.INCOMPLETE], {}, {"not complete": "the session has not run to its end. The same command goes on.",
                                   "failed runs": "2 runs did not end ok: oom 2."}),
    ([], {"plan": {"settings": {"batch": 8, "data": "digits32"}, "stacks": ["torch", "tf"]}},
     {"settings": "Set by hand over the study's: batch 8.",
      "stacks": "Chosen by hand in place of the study's: torch, tf."}),
    ([], {"cells": {made.cell("torch", nodes=3, parallel="allreduce"): SLOW}},
     {"one machine": "All 3 nodes are on this machine and share its 2 CPUs: no network lies between them."}),
    ([], {"plan": {"experiments": [experiment("e", TORCH, node=ASKED)]}},
     {"nodes": "The study's had 4 CPUs and 16 GB, here each has 2 CPUs and 0 GB: e."}),
    ([], {"plan": {"experiments": [experiment("e", TORCH, node={"cpus": 1, "memory_bytes": 0})]}}, {}),
    ([], {"plan": {"skipped": made.plan(skipped={made.cell("mxnet"): "no Python 3.6 here"})["skipped"]}},
     {"stacks left out": "mxnet: no Python 3.6 here."})],
    ids=["interrupted and failed", "by hand", "nodes on one machine", "a smaller node", "a node as large", "left out"])
def test_what_a_session_deviates_in_is_said_what_changes_most_first(
        more: list[Any], values: dict[str, Any], said: dict[str, str]) -> None:
    assert [*said.items()] == list(contents(*more, **values).deviations)


def test_notes_name_the_stacks_that_they_hold_for() -> None:
    data = {**made.FACTS, "data": {"name": "digits32", "stand_in": True}}
    of_all = contents(facts=data)
    of_one = contents(*made.runs(TF, FAST, place={**made.PLACE, "isolation": "venv"}), cells={TORCH: SLOW, TF: []})

    assert [("[1]", True)] == [(number, text.endswith("(all stacks)")) for number, text in of_all.footnotes]
    assert ["(tf)"] == [text[-4:] for _, text in of_one.footnotes] and () == of_all.deviations[1:]


def test_a_stack_that_did_not_run_at_all_is_left_out_with_its_reason() -> None:
    skipped = made.plan(TORCH, TF, skipped={made.cell("mxnet"): "no Python 3.6 here"})["skipped"]
    (table,) = contents(plan={"skipped": skipped}).left_out

    assert ("e", "mxnet", f"{made.LENET5}, training, batch 10, steps 2", "no Python 3.6 here") in lines(table)


def test_an_experiment_that_shares_all_its_cells_shows_them_and_says_whose_they_are() -> None:
    found = contents(plan={"experiments": [experiment("e", TORCH, TF), experiment("f", TORCH, title="Figure 2")]})
    second = found.sections[1]

    assert ("f", "Figure 2", ("Shares measurements with e.",)) == (second.id, second.title, second.notes)
    assert ["torch"] == [line[0] for line in lines(table(second, "Rates"))]


def test_published_numbers_stand_with_the_experiment_titled_like_their_source() -> None:
    both = [experiment("e", TORCH, TF), experiment("f", TORCH, TF, title="Table 5: times")]
    first, second = contents(plan={"experiments": both, "published": [NUMBER]}).sections
    (line,) = lines(table(second, "Published"))

    assert not [each for each in first.tables if each.caption.startswith("Published")]
    assert ("Table 5", "torch / tf", "step", "3.00x", "1.50x", "0.50x") == line


def test_a_published_number_of_no_experiment_here_is_not_lost_and_a_contradicted_one_has_the_arithmetic() -> None:
    nowhere = {**NUMBER, "of": {"stack": "jax"}, "to": {"stack": "flax"}}
    last = contents(plan={"published": [nowhere]}).sections[-1]
    assert ("published", "no data") == (last.id, lines(last.tables[0])[0][4])

    number = {**NUMBER, "contradiction": "6 / 4 is 1.5, not 3"}
    (line,) = lines(table(contents(plan={"published": [number]}).sections[0], "Published numbers that do not"))
    assert ("Table 5", "n", "6 / 4 is 1.5, not 3") == line


def test_a_claim_says_its_place_and_what_its_paper_contradicts() -> None:
    asked = claim("faster", assumed="each case", source="section 4", contradiction="3 is not 2")
    (line,) = lines(contents(plan={"claims": [asked.record()]}).claims[0])

    assert "section 4; assumed: each case; the paper's own contradiction: 3 is not 2" == line[-1]


def test_ratios_are_drawn_against_one() -> None:
    (chart,) = (chart for chart in drawn(contents(plan={"published": [NUMBER]}).sections[0], Dots)
                if chart.caption == "Published and here")
    ((_, marks),) = chart.groups

    assert (1.0, [3.0, pytest.approx(1.5, rel=0.01)]) == (chart.reference, [mark.value for mark in marks])


def test_rates_are_bars_with_their_intervals_the_fastest_first() -> None:
    found = contents().sections[0]
    chart, *_ = drawn(found, Dots)
    ((_, marks),) = chart.groups

    assert chart.is_bars and ["tf", "torch"] == [mark.name for mark in marks]
    assert all(mark.ends and mark.ends.low < mark.value < mark.ends.high for mark in marks)
    assert "fastest" in lines(table(found, "Rates"))[0]


def test_the_ratios_of_all_comparisons_are_one_chart_with_a_line_at_one_and_a_dot_a_round() -> None:
    (chart,) = contents().ratios
    assert isinstance(chart, Dots) and 1.0 == chart.reference
    ((heading, marks),) = chart.groups
    shown = charts.svg(chart, "s")

    assert heading.startswith("LeNet-5") and [("tf", 1.5), ("torch", 1.0)] == [
        (mark.name, pytest.approx(mark.value, rel=0.001)) for mark in marks]
    assert re.fullmatch(r"1.50 \(1.\d+–1.\d+\) FASTEST", marks[0].text) and marks[0].text in shown
    axis = re.search(r'M([\d.]+) [\d.]+H([\d.]+)" fill="none" stroke="currentColor"', shown)
    one = re.search(r'M([\d.]+) [\d.]+V[\d.]+" fill="none" stroke="currentColor"', shown)
    assert axis and one and float(axis[1]) < float(one[1]) < float(axis[2])
    assert 5 == shown.count("<circle")


def test_a_number_with_three_values_is_drawn_as_curves_of_stacks_and_of_switches() -> None:
    stacks = {made.cell(stack, batch=batch): rates for batch in (1, 2, 4) for stack, rates in
              (("torch", SLOW), ("tf", FAST))}
    switches = {made.cell("torch", batch=batch, conv=conv, device="gpu"): SLOW
                for batch in (1, 2, 4) for conv in ("heuristic", "fixed")}
    (chart,), (other,) = (drawn(contents(cells=cells).sections[0], Curves) for cells in (stacks, switches))

    assert [("torch", (1.0, 2.0, 4.0)), ("tf", (1.0, 2.0, 4.0))] == [(curve.name, curve.x) for curve in chart.curves]
    assert chart.curves[0].y == pytest.approx((100.0, 100.0, 100.0), rel=1e-4)
    assert ["torch heuristic", "torch fixed"] == [curve.name for curve in other.curves]


def test_nine_panels_are_nine_small_charts_named_after_what_tells_them_apart() -> None:
    cells = {made.cell("torch", batch=batch, image=image, steps=steps): SLOW
             for batch in (1, 2, 4) for image in (32, 64, 128) for steps in (5, 6, 7)}
    panels = drawn(contents(cells=cells).sections[0], Curves)

    assert 9 == len(panels)
    assert panels[0].caption.startswith("image 32, steps 5 train: ")


def test_a_figure_of_averages_is_drawn_as_the_claim_on_it_has_them() -> None:
    """Steps of 10 / 100 and 10 / 50 s at each batch: a mean of 150 ms."""
    cells = {made.cell("torch", image=image, batch=10, hidden=hidden): [rate] * 3
             for hidden in (1, 2, 3) for image, rate in ((32, 100.0), (64, 50.0))}
    asked = claim("trend", to=None, averaged=("image",), along="hidden", direction="up", experiment="e",
                  cases=tuple((image, hidden) for image in (32, 64) for hidden in (1, 2, 3)))
    (chart,) = drawn(contents(cells=cells, plan={"claims": [asked.record()]}).sections[0], Curves)

    assert ((1.0, 2.0, 3.0), pytest.approx((150.0, 150.0, 150.0))) == (chart.curves[0].x, chart.curves[0].y)
    assert "means over image" in chart.caption


def test_a_chart_holds_what_fits_and_says_what_it_left_out() -> None:
    cells = {made.cell(stack, steps=10, seed=seed): [100.0] for seed in range(1, 31) for stack in ("torch", "tf")}
    found = contents(cells=cells)
    (chart,) = found.ratios
    assert isinstance(chart, Dots)

    assert 16 == len(chart.groups)
    assert "the first 16 of 30; the table has all" in chart.caption
    assert 60 == len(lines(table(found.sections[0], "Rates")))


def test_epochs_are_drawn_against_their_number_and_their_time() -> None:
    cell = made.cell("torch", measure="epochs", epochs=2)
    runs = [record for index, last in enumerate((0.7, 0.8, 0.9)) for record in made.run(
        cell, index, *(made.epoch(epoch, 2.0, accuracy, validation_seconds=0.5)
                       for epoch, accuracy in enumerate((0.5, last))))]
    section = contents(*runs, cells={cell: []}).sections[0]
    epochs, times = drawn(section, Curves)

    assert ((1.0, 2.0), (2.0, 4.0)) == (epochs.curves[0].x, times.curves[0].x)
    assert epochs.curves[0].y == pytest.approx((0.5, 0.8))
    assert (epochs.curves[0].low, epochs.curves[0].high) == ((0.5, 0.7), (0.5, 0.9))
    assert ("torch", "2", "2.0 s", "2.0 s", "500 ms", "80 %") == lines(table(section, "Epochs"))[0]


def test_epochs_of_two_seeds_are_told_apart() -> None:
    cells = [made.cell("torch", measure="epochs", seed=seed) for seed in (1, 2)]
    epoch = {"event": "epoch", "index": 0, "steps": 2, "train_seconds": 2.0, "loss": 1.0}
    found = contents(*(record for cell in cells for record in made.run(cell, 0, epoch)), cells=dict.fromkeys(cells, ()))

    assert ["seed 1", "seed 2"] == [label[-6:] for label, _ in table(found.sections[0], "Epochs").groups]


def test_runs_that_failed_alike_are_one_line() -> None:
    (line,) = lines(contents(*OOM).left_out[0])

    assert ("tf", f"{made.LENET5}, training, batch 10", "oom", "7, 8", "no memory",
            f"evenbench report made --run {key(TF)}.7.1") == line


def test_where_a_gpu_s_time_goes_stands_in_milliseconds_a_step_with_who_told() -> None:
    cell = made.cell("torch", measure="kernels", device="gpu")
    line = {"event": "kernels", "steps": 2, "kernel_seconds": 0.06, "copy_seconds": 0.02, "overlap_seconds": 0.01,
            "gap_seconds": 0.03, "launch_seconds": None, "kernels": 8, "top": [["gemm", 6, 0.05]], "source": "CUPTI"}
    section = contents(cells={}, plan={**made.plan(cell)}, *made.run(cell, 0, line)).sections[0]  # noqa: B026
    where = table(section, "Where the device's time goes")

    assert ("torch", "30.0", "10.0", "5.00", "15.0", "60 %", "20 %", "30 %", "4",
            f"evenbench rerun made --cell {key(cell)}") == (
        lines(where)[0])
    assert where.note.endswith(" torch: CUPTI.")
    assert ("torch", "gemm", "3", "25.0") == lines(table(section, "The kernels that take longest"))[0]


@pytest.mark.parametrize(("hardware", "said"), [
    ({}, "a CPU, 1 CPU, 400 MB"), ({"group_memory_bytes": 500_000_000}, "a CPU, 1 CPU, 400 MB"),
    ({"group_cpus": 1.5, "group_memory_bytes": 400_000_000},
     "a CPU, 1 CPU (a quota of 1.5), 400 MB (a control group's limit)")])
def test_what_control_groups_left_of_the_machine_is_named(hardware: dict[str, Any], said: str) -> None:
    assert said == machine(Machine(cpu="a CPU", cpus=1, memory_bytes=400_000_000), hardware)
