"""Figures as the papers draw them: what is on the axes, what shares a panel, and the paper's own values inside."""

from typing import Any

import pytest

from runner.report.document import Curves, Dots, Section
from tests import made_report
from tests import made_rows as made
from tests.made_claims import claim
from workloads.spec.cell import Cell


def section(*more: Any, cells: dict[Cell, list[float]], numbers: tuple[Any, ...] = (), title: str = "Figure 9: a",
            claims: tuple[Any, ...] = ()) -> Section:
    plan = made.plan(*cells)
    plan["experiments"][0] |= {"title": title}
    return made_report.report_of(*more, cells=cells, plan={**plan, "published": list(numbers), "claims": [
        each.record() for each in claims]}).sections[0]


def number(**values: Any) -> dict[str, Any]:
    return {"id": "n", "source": "Figure 9", "text": "", "of": {"stack": "torch"}, "to": None, "where": {},
            "experiment": "e", **values}


def bars(found: Section) -> list[Dots]:
    return [chart for chart in made_report.drawn(found, Dots) if chart.is_bars]


def named(chart: Dots) -> list[tuple[str, list[tuple[str, float]]]]:
    return [(title, [(mark.name, pytest.approx(mark.value, rel=0.01)) for mark in marks])
            for title, marks in chart.groups]


LSTMS = {made.cell("torch", task=task, lstm=lstm, device="gpu"): [rate] * 3      # the plan has cuDNN first
         for task, rates in (("gnmt", (75.0, 50.0)), ("deepspeech2", (40.0, 10.0)))
         for lstm, rate in zip(("cudnn", "cell"), rates, strict=True)}


def test_implementations_are_drawn_against_the_first_with_the_paper_s_ratio_beside_its_own() -> None:
    """Of / to is a ratio of times: cuDNN is 4.14 times as fast as the cell."""
    subjects = {key: {"stack": "torch", "settings": {"lstm": lstm}} for key, lstm in (("of", "cell"), ("to", "cudnn"))}
    found = section(cells=LSTMS, numbers=tuple(number(id=task, quantity="step", value=4.14, unit="x",
                                                      where={"task": [task]}, **subjects)
                                               for task in ("deepspeech2", "tacotron2")))        # which is not here
    (chart,) = bars(found)

    assert [("gnmt", [("torch cell", 1.0), ("torch cudnn", 1.5)]),
            ("deepspeech2", [("torch cell", 1.0), ("torch cudnn", 4.0), ("published", 4.14)])] == named(chart)
    assert "4.14x, Figure 9" == chart.groups[1][1][2].text
    assert not [chart for chart in found.charts if chart.caption.startswith("Published and here")]


def test_modes_of_many_places_share_a_group_a_model_as_times_on_a_logarithmic_axis() -> None:
    cells = {made.cell(stack, nodes=3, parallel=parallel): [rate] * 3 for stack, parallel, rate in (
        ("torch", "allreduce", 100.0), ("mxnet", "ps-sync", 50.0), ("mxnet", "ps-async", 200.0))}
    chart, *_ = made_report.drawn(section(cells=cells), Dots)

    assert not chart.is_bars and "milliseconds" == chart.axis
    assert [("lenet5", [("torch sync", 100.0), ("mxnet sync", 200.0), ("mxnet async", 50.0)])] == named(chart)


def test_many_panels_of_two_stacks_are_a_panel_a_model_of_the_one_over_the_other() -> None:
    """torch is twice as fast: tf's time is twice torch's."""
    cells = {made.cell(stack, task=task, batch=batch, image=image): [rate] * 3
             for stack, rate in (("torch", 100.0), ("tf", 50.0)) for task in ("resnet18", "vgg16")
             for image in (32, 64, 96, 128, 160) for batch in (1, 2, 4, 8, 16)}
    drawn = made_report.drawn(section(cells=cells), Curves)

    assert ["resnet18 train", "vgg16 train"] == [chart.caption.split(":")[0] for chart in drawn]
    assert ["image 32", "image 64", "image 96", "image 128", "image 160"] == [
        curve.name for curve in drawn[0].curves]
    assert ((1.0, 2.0, 4.0, 8.0, 16.0), pytest.approx((2.0,) * 5)) == (drawn[0].curves[0].x, drawn[0].curves[0].y)


def test_a_figure_of_epochs_shows_their_times_and_no_accuracy() -> None:
    cells = [made.cell(stack, measure="epochs", epochs=2) for stack in ("torch", "tf")]
    runs = [record for cell, seconds in zip(cells, (2.0, 3.0), strict=True)
            for record in made.repeated(cell, 3, made.epoch(0, seconds + 1), made.epoch(1, seconds))]
    published = (number(quantity="epoch", value=400.0, unit="s", steps=100, printed="400.0", of={"stack": "tf"}),
                 number(id="m", quantity="first_epoch", value=2.0, unit="x", to={"stack": "tf"}))
    found = section(*runs, cells={cell: [] for cell in cells}, numbers=published)
    (chart,) = bars(found)

    assert [("lenet5: first epoch", [("torch", 3.0), ("tf", 4.0)]),
            ("lenet5: epoch", [("torch", 2.0), ("tf", 3.0), ("published", 4.0)])] == named(chart)
    assert "400.0 s of 100 steps, Figure 9" == chart.groups[1][1][-1].text
    assert not made_report.drawn(found, Curves)


def test_the_best_accuracy_in_print_is_a_level_among_the_learning_curves_with_what_differs() -> None:
    cell = made.cell("torch", measure="epochs", epochs=2)
    published = number(quantity="accuracy", value=83.07, unit="%", paper={"epochs": [200]}, paper_cells=1)
    runs = made.repeated(cell, 2, made.epoch(0), made.epoch(1))
    chart, *_ = made_report.drawn(section(*runs, cells={cell: []}, numbers=(published,)), Curves)
    level = chart.curves[-1]
    assert ("published, torch", (1.0, 2.0), pytest.approx((0.8307, 0.8307))) == (level.name, level.x, level.y)
    assert "published: 83.1 % at best (Figure 9; here 2 of 200 epochs)" in chart.caption


def test_a_graph_s_passes_are_bars_of_one_group_a_model() -> None:
    """Of 200 nodes 120 go, 90 of them by pruning; constant folding adds 10."""
    cell = made.cell("tf", measure="graph", task="gnmt")
    published = number(quantity="pruning", value=50, unit="%", text="over", of={"stack": "tf"},
                       paper={"device": ["gpu"], "batch": [64]}, paper_cells=1)
    (chart,) = bars(section(*made.run(cell, 0, made.GRAPH), cells={cell: []}, numbers=(published,)))

    assert [("gnmt", [("nodes removed", 60.0), ("pruning", 45.0), ("published", 50.0), ("constant folding", -5.0),
                      ("arithmetic", 15.0), ("dependency", 5.0)])] == named(chart)
    assert "50 %, Figure 9" == chart.groups[0][1][2].text
    assert chart.caption.endswith("dependency; frames: the paper's, here on a CPU, batch 10, not 64")


def test_what_a_claim_on_the_figure_s_name_is_about_is_drawn_over_the_batch() -> None:
    """A sample of a step of 8 at 100 samples a second takes 10 ms; Figure 90 is another."""
    cells = {made.cell("torch", measure="infer", batch=batch): [100.0] * 3 for batch in (2, 4, 8)}
    asked = claim("slope", quantity="sample", to=None, along="batch", direction="down",
                  cases=tuple((batch,) for batch in (2, 4, 8)), source="VI, Figure 9")
    (chart,) = made_report.drawn(section(cells=cells, claims=(asked,)), Curves)

    assert ("milliseconds", (2.0, 4.0, 8.0)) == (chart.y_axis, chart.curves[0].x)
    assert chart.curves[0].y == pytest.approx((10.0, 10.0, 10.0))
    other = asked.model_copy(update={"source": "VI, Figure 90"})
    assert "samples/s" == made_report.drawn(section(cells=cells, claims=(other,)), Curves)[0].y_axis


def test_the_longest_kernels_of_each_stack_are_shares_of_its_time() -> None:
    cell = made.cell("torch", measure="kernels", device="gpu")
    line = {**made.KERNELS, "top": [["gemm", 40, 3.0], ["cast", 40, 1.0]]}
    (chart,) = bars(section(*made.run(cell, 0, line), cells={cell: []}))

    assert [("torch", [("gemm", 75.0), ("cast", 25.0)])] == named(chart)


def test_a_number_of_another_device_stands_in_the_chart_which_says_so() -> None:
    cells = {made.cell(stack): [rate] * 3 for stack, rate in (("torch", 100.0), ("tf", 50.0))}
    published = number(quantity="step", value=500.0, unit="samples/s", paper={"device": ["gpu"], "batch": [64]},
                       paper_cells=1)
    (chart,) = (chart for chart in made_report.drawn(section(cells=cells, numbers=(published,)), Dots)
                if chart.caption == "Published and here")
    assert named(chart) == [("Figure 9: step, torch; here on a CPU; batch 10, not 64",
                             [("published", 500.0), ("here", 100.0)])]


def trained(*cells: dict[str, Any]) -> list[Curves]:
    """The charts of two epochs of each."""
    trainings = [made.cell(measure="epochs", epochs=2, **values) for values in cells]
    runs = [record for cell in trainings for record in made.run(cell, 0, made.epoch(0), made.epoch(1))]
    return made_report.drawn(section(*runs, cells={cell: [] for cell in trainings}), Curves)


def test_optimizers_share_a_chart_as_in_the_papers_figures() -> None:
    by_epoch, _ = trained(*({"stack": stack, "optimizer": name} for name in ("sgd", "adam")
                            for stack in ("torch", "tf")))

    assert ["torch sgd", "tf sgd", "torch adam", "tf adam"] == [curve.name for curve in by_epoch.curves]
    assert 4 == len({curve.series for curve in by_epoch.curves})
    assert "adam" not in by_epoch.caption


def test_batches_have_charts_of_their_own() -> None:
    assert 4 == len(trained({"batch": 10}, {"batch": 20}))
