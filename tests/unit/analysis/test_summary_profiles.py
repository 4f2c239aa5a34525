"""What profiled runs found, in the summary and on the screen: values worked out by hand."""

import pytest

from runner.analysis.summary import summary_of
from runner.analysis.summary_format import Summary
from runner.report.contents import report
from runner.results.rows import Measurements
from runner.screen.summary import summary_view
from tests import made_rows as made
from tests.printing import printed
from workloads.spec.cell import Cell

LARGEST = {"event": "max_batch", "largest": 96, "smallest_oom": 128, "limit_bytes": 2**30, "tried": []}


def session(cell: Cell, *lines: made.Record) -> Measurements:
    """A round a line."""
    runs = (record for index, line in enumerate(lines) for record in made.run(cell, index, line))
    return made.measured(cell, *runs, rounds=len(lines))


def summary(cell: Cell, *lines: made.Record) -> Summary:
    return summary_of(session(cell, *lines))


def shown(cell: Cell, *lines: made.Record) -> str:
    return printed(summary_view(report(summary(cell, *lines), session(cell, *lines))))


def test_shares_of_the_device_s_time_are_medians_over_runs() -> None:
    busier = {**made.KERNELS, "kernel_seconds": 8.0, "gap_seconds": 1.0}
    found = summary(made.cell(measure="kernels"), made.KERNELS, busier, busier)
    (time,) = found.kernels[0].stacks.values()

    assert (0.8, 0.1, 0.1, 0.2) == pytest.approx((time.kernels, time.copies, time.gaps, time.launches))
    assert 250 == time.kernels_a_step and {"gemm": 1.25} == time.top


def test_what_no_stack_s_profiler_tells_is_null_and_has_no_column() -> None:
    told = made.cell(measure="kernels"), {**made.KERNELS, "launch_seconds": None}
    (time,) = summary(*told).kernels[0].stacks.values()
    (line,) = [line for line in shown(*told).splitlines() if "60 %" in line]

    assert time.launches is None and "60 % 10 % 30 % 250" == " ".join(line.split()[1:])


def test_graphs_and_largest_batches_are_told() -> None:
    graph, largest = (made.cell(measure="graph"), made.GRAPH), (made.cell(measure="max_batch"), LARGEST)
    (change,) = summary(*graph).graphs[0].stacks.values()
    (batch,) = summary(*largest).largest_batches[0].stacks.values()

    assert {"expensive": 1, "cheap": 9, "noop": 90} == change.removed
    assert "200     80     60 %     1          9      90" in shown(*graph)
    assert (96, 128) == (batch.largest, batch.smallest_oom)
    assert "128            1.1 GB" in shown(*largest)


def test_the_largest_batch_is_what_every_run_could_train_and_a_run_that_told_nothing_is_left_out() -> None:
    found = summary(made.cell(measure="max_batch"), {**LARGEST, "largest": 97}, LARGEST)
    silent = made.cell(measure="graph"), {"event": "beat"}

    assert [96] == [each.largest for each in found.largest_batches[0].stacks.values()]
    assert {} == summary(*silent).graphs[0].stacks and "Nodes of the graph" not in shown(*silent)
