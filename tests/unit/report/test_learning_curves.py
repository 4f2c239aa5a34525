"""Learning curves: who shares a chart."""
from runner.report.document import Curves
from runner.report.series import curves
from tests import made_rows as made
from workloads.spec.cell import Cell


def drawn(*cells: Cell) -> list[Curves]:
    """The charts of two runs of two epochs each; accuracies 0.5 and 0.7, then 0.6 and 0.8."""
    records = [record for cell in cells for index in range(2) for record in made.run(cell, index, *(
        made.epoch(epoch, accuracy=0.5 + 0.2 * epoch + 0.1 * index) for epoch in range(2)))]
    rows = made.measured(*cells, *records).rows
    return [each for each in curves.charts(rows, {"torch": 0, "tf": 1}) if isinstance(each, Curves)]


def trained(stack: str, **values: object) -> Cell:
    return made.cell(stack, measure="epochs", epochs=2, **values)


def test_optimizers_share_a_chart_as_in_the_papers_figures() -> None:
    by_epoch, _ = drawn(*(trained(stack, optimizer=name) for name in ("sgd", "adam") for stack in ("torch", "tf")))

    assert ["torch sgd", "tf sgd", "torch adam", "tf adam"] == [curve.name for curve in by_epoch.curves]
    assert 4 == len({curve.series for curve in by_epoch.curves})
    assert "adam" not in by_epoch.caption


def test_batches_have_charts_of_their_own() -> None:
    assert 4 == len(drawn(trained("torch", batch=10), trained("torch", batch=20)))
