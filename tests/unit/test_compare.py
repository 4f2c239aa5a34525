"""Two sessions beside each other."""

import json
from typing import Any

import pytest

from runner.analysis.comparing import Alone, Comparison, Difference, compare, lines
from runner.analysis.stats import Verdict
from runner.results.rows import Measurements, measurements
from tests import made_rows as made
from workloads.spec.cell import Cell

STEADY = [100.0, 101.0, 99.0, 100.5, 99.5]


def measured(rates: dict[Cell, list[float]], machine: dict[str, Any] | None = None, name: str = "a",
             **told: Any) -> Measurements:
    records = [record for cell, each in rates.items() for record in made.runs(cell, each, **told)]
    return measurements([made.session(id=name, machine={**made.MACHINE, **(machine or {})}), made.plan(*rates),
                         *records])


def beside(a: Measurements, b: Measurements) -> Comparison:
    return compare(a, b)


def test_a_cell_of_both_has_a_ratio_with_an_interval_and_a_verdict() -> None:
    twice = [2 * rate for rate in STEADY]
    (row,) = beside(measured({made.cell(): STEADY}), measured({made.cell(): twice}, name="b")).rows

    assert (100.0, 200.0, 5, 5, Verdict.FASTER) == (row.rate_a, row.rate_b, row.runs_a, row.runs_b, row.verdict)
    assert row.ratio.value == pytest.approx(2.0)
    assert row.ratio.interval and 1.9 < row.ratio.interval.low < 2.0 < row.ratio.interval.high < 2.1


def test_equal_sessions_differ_in_nothing_and_no_difference_is_shown() -> None:
    one = measured({made.cell(): STEADY})
    found = beside(one, one)

    assert () == found.differences and () == found.alone
    assert [Verdict.NO_DIFFERENCE] == [row.verdict for row in found.rows]


def test_what_differed_around_the_runs_is_told_by_name() -> None:
    cell = made.cell()
    a = measured({cell: STEADY})
    b = measured({cell: STEADY}, machine={"kernel": "6.2"}, facts={**made.FACTS, "threads": 1},
                 place={**made.PLACE, "base": "own"})

    assert {("machine: kernel", "6.1", "6.2"),
            ("threads of all stacks", "2", "1"), ("base of all stacks", "ubuntu:18.04", "own"),
            ("flagged threads differ", "-", "1 of 1 cells")} == set(beside(a, b).differences)


def test_a_fact_that_only_one_told_is_a_difference() -> None:
    a, b = (measured({made.cell(): STEADY}, facts={**made.FACTS, **more}) for more in ({}, {"cudnn": "9.1"}))

    assert (Difference("cudnn of all stacks", "-", "9.1"),) == beside(a, b).differences


def test_cells_of_one_session_are_listed_and_not_compared() -> None:
    a, b = measured({made.cell(): STEADY, made.cell(batch=20): STEADY}), measured({made.cell(): STEADY}, name="b")

    assert (Alone("torch", "lenet5 train, batch 20, 32 px", "only in a"),) == beside(a, b).alone


@pytest.mark.parametrize(("more", "told"), [
    (2, ["  torch, lenet5 train, batch 20, 32 px: only in a", "  torch, lenet5 train, batch 21, 32 px: only in a"]),
    (4, ["  torch, 4 cells: only in a"])])
def test_many_cells_of_one_session_are_counted(more: int, told: list[str]) -> None:
    a = measured({made.cell(): STEADY, **{made.cell(batch=20 + index): STEADY for index in range(more)}})
    found = lines(beside(a, measured({made.cell(): STEADY}, name="b")))

    assert told == found[found.index("Not compared:") + 1:]


def test_a_cell_that_ended_badly_in_one_is_listed_with_its_ending() -> None:
    a = measured({made.cell(): STEADY})
    b = measured({made.cell(): STEADY}, name="b", ending="oom")

    assert (Alone("torch", "lenet5 train, batch 10, 32 px", "ended oom in b"),) == beside(a, b).alone


def test_cells_that_differ_by_what_the_machine_gave_are_compared_and_marked() -> None:
    a, b = measured({made.cell(cpus=2): STEADY}), measured({made.cell(cpus=8): STEADY}, name="b")
    found = beside(a, b)

    assert [True] == [row.other_resources for row in found.rows]
    assert Difference("cpus of a node of all stacks", "2", "8") in found.differences


def test_cells_that_vary_the_cpus_themselves_are_only_compared_with_their_equals() -> None:
    a = measured({made.cell(cpus=1): STEADY, made.cell(cpus=2): STEADY})
    b = measured({made.cell(cpus=2): STEADY, made.cell(cpus=4): STEADY}, name="b")
    found = beside(a, b)

    assert 1 == sum(not row.other_resources for row in found.rows)


def test_two_runs_a_side_are_too_few_for_a_verdict() -> None:
    one = measured({made.cell(): STEADY[:2]})

    assert [Verdict.TOO_FEW] == [row.verdict for row in beside(one, one).rows]


def test_the_differences_stand_before_the_rates() -> None:
    a, b = measured({made.cell(): STEADY}), measured({made.cell(): STEADY}, {"cpus": 4}, "b")
    told = lines(beside(a, b))
    tables = [part for part in told if isinstance(part, list)]

    assert [{"": "machine: cpus", "A": "2", "B": "4"}] == tables[0]
    (by_label,) = [part for part in told if isinstance(part, dict)]
    (line,) = by_label["lenet5 train, batch 10, 32 px"]

    assert told.index(tables[0]) < told.index(by_label)
    assert ["", "A", "B", "B / A", "B is"] == list(line)
    assert ("torch", "100 (5)", "no difference shown") == (line[""], line["A"], line["B is"])


def test_a_comparison_is_plain_data_for_programs() -> None:
    one = measured({made.cell(): STEADY})
    record = json.loads(json.dumps(beside(one, one).record(), allow_nan=False))

    (row,) = record["rows"]
    assert "no difference shown" == row["verdict"] and {"low", "high"} == set(row["interval"])
