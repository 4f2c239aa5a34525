"""Two sessions beside each other."""

import json
from typing import Any

import pytest

from runner.analysis.between.comparing import Alone, Difference, compare, lines, plain
from runner.results.rows import Measurements
from tests import made_rows as made
from workloads.spec.cell import Cell

STEADY = [100.0, 101.0, 99.0, 100.5, 99.5]


def measured(rates: dict[Cell, list[float]], machine: dict[str, Any] | None = None, name: str = "a",
             **told: Any) -> Measurements:
    return made.measured(made.session(id=name, machine={**made.MACHINE, **(machine or {})}), *rates,
                         *made.rated(rates, **told))


def two(tf: float, drift: float = 1.0, name: str = "a", rates: list[float] = STEADY) -> Measurements:
    """A session of torch, the baseline, and tf, so many times as fast; all of it by a drift."""
    return measured({made.cell("torch"): [drift * rate for rate in rates],
                     made.cell("tf"): [drift * tf * rate * (1 + place % 2 / 500) for place, rate in enumerate(rates)]},
                    name=name)


def test_a_ratio_that_moved_is_said_to_have_and_rates_get_no_word() -> None:
    torch, tf = compare(two(1.0), two(1.5, name="b")).rows

    assert ("higher in B", "torch") == (tf.verdict, tf.baseline)
    assert tf.change.value == pytest.approx(1.5) and tf.change.interval and tf.change.interval.low > 1.4
    assert ("", "", 5, 5) == (torch.verdict, torch.baseline, torch.runs_a, torch.runs_b)


@pytest.mark.parametrize(("a", "b", "word"), [
    (two(1.2), two(1.2, drift=0.9, name="b"), "unchanged"),       # a drift moves no ratio
    (two(1.5), two(1.0, name="b"), "lower in B"), (two(1.1), two(1.1), "unchanged"),
    (two(1.2, rates=STEADY[:4]), two(1.2, rates=STEADY[:4]), "needs five rounds")])
def test_a_word_is_of_the_ratio_and_of_its_rounds(a: Measurements, b: Measurements, word: str) -> None:
    found = compare(a, b)

    assert ["", word] == [row.verdict for row in found.rows] and () == found.differences == found.alone
    _, row = json.loads(json.dumps(plain(found), allow_nan=False))["rows"]
    assert word == row["verdict"]


def test_what_differed_around_the_runs_is_told_by_name() -> None:
    a = measured({made.cell(): STEADY})
    b = measured({made.cell(): STEADY}, machine={"kernel": "6.2"}, place={**made.PLACE, "base": "own"}, facts={
        **made.FACTS, "threads": 1, "cudnn": "9.1", "environment": {"LD_LIBRARY_PATH": "/x"},
        "foreign_libraries": ["/x/libgomp.so"]})

    assert {("machine: kernel", "6.1", "6.2"),
            ("threads of all stacks", "2", "1"), ("base of all stacks", "ubuntu:18.04", "own"),
            ("environment LD_LIBRARY_PATH of all stacks", "-", "/x"),
            ("foreign_libraries of all stacks", "-", "/x/libgomp.so"),
            ("cudnn of all stacks", "-", "9.1"),                                              # which only one told
            ("flagged threads differ", "-", "1 of 1 cells")} == set(compare(a, b).differences)


def test_what_differed_around_some_of_the_stacks_names_these() -> None:
    stacks = made.cell("torch"), made.cell("tf")
    a, b = (made.measured(*stacks, *made.runs(stacks[0], STEADY),
                          *made.runs(stacks[1], STEADY, facts={**made.FACTS, "version": version}))
            for version in ("2.12", "2.13"))

    assert (Difference("version of tf", "2.12", "2.13"),) == compare(a, b).differences


def test_a_cell_of_one_session_or_that_ended_badly_is_listed_and_a_lone_stack_has_rates_alone() -> None:
    a = measured({made.cell(): STEADY, made.cell(batch=20): STEADY})
    b, failed = (measured({made.cell(): STEADY}, name="b", **told) for told in ({}, {"ending": "oom"}))

    (row,) = compare(a, b).rows
    assert ("", None) == (row.verdict, row.change.value)
    assert (Alone("torch", "LeNet-5 (tanh, 62 k parameters), training, batch 20", "only in a"),) == compare(a, b).alone
    assert (Alone("torch", "LeNet-5 (tanh, 62 k parameters), training, batch 10", "ended oom in b"),) == compare(
        b, failed).alone


def test_a_cell_whose_label_the_other_session_has_too_says_by_what_it_differs() -> None:
    a, b = (measured({made.cell(steps=steps): STEADY}, name=name) for steps, name in ((50, "a"), (24, "b")))

    assert ["only in a with steps 50", "only in b with steps 24"] == [each.reason for each in compare(a, b).alone]


def test_a_folder_that_is_another_one_in_each_run_is_no_difference() -> None:
    a, b = (measured({made.cell(): STEADY}, facts={**made.FACTS, "environment": {"TORCHINDUCTOR_CACHE_DIR": folder}})
            for folder in ("/tmp/1", "/tmp/2"))

    assert () == compare(a, b).differences


@pytest.mark.parametrize(("more", "told"), [
    (2, [f"  torch, {made.LENET5}, training, batch {batch}: only in a" for batch in (20, 21)]),
    (4, ["  torch, 4 cells: only in a"])])
def test_many_cells_of_one_session_are_counted(more: int, told: list[str]) -> None:
    a = measured({made.cell(): STEADY, **{made.cell(batch=20 + index): STEADY for index in range(more)}})
    compared = compare(a, measured({made.cell(): STEADY}, name="b"))
    found = lines(compared, is_detailed=True)
    assert f"Not compared: {more} cells, --details says which and why." in lines(compared)

    start = found.index("Not compared:") + 1
    assert [*told, ""] == found[start:start + len(told) + 1]


def test_what_differs_in_cells_that_are_not_compared_is_no_difference() -> None:
    a, b = made.cell(), made.cell("tf", batch=20)
    one = measured({a: STEADY, b: STEADY})
    other = made.measured(a, b._replace(batch=30), made.session(id="b"), *made.runs(a, STEADY),
                          *made.runs(b._replace(batch=30), STEADY, facts={**made.FACTS, "version": "9"}))

    assert () == compare(one, other).differences


def test_cells_that_differ_by_what_the_machine_gave_are_compared_and_marked_unless_they_vary_it_themselves() -> None:
    one, other, varied, others = (measured({made.cell(cpus=count): STEADY for count in cpus})
                                  for cpus in ([2], [8], [1, 2], [2, 4]))
    found = compare(one, other)

    assert [True] == [row.other_resources for row in found.rows]
    rates = [part for part in lines(found) if isinstance(part, dict)]
    assert ["torch*"] == [row[""] for by_label in rates for table in by_label.values() for row in table]
    assert Difference("cpus of a node of all stacks", "2", "8") in found.differences
    assert 1 == sum(not row.other_resources for row in compare(varied, others).rows)


def test_the_ratios_stand_first_and_details_add_rates_and_differences() -> None:
    cells = made.cell("torch"), made.cell("tf")
    a, b = measured(dict.fromkeys(cells, STEADY)), measured(dict.fromkeys(cells, STEADY), {"cpus": 4}, "b")
    told = lines(compare(a, b), is_detailed=True)
    ratios, rates = (next(iter(part.values())) for part in told if isinstance(part, dict))
    (differences,) = [part for part in told if isinstance(part, list)]

    assert "Times as fast as torch in each session:" == told[0]
    ((line,), (base, other)) = ratios, rates
    assert ("tf", "unchanged") == (line[""], line["ratio is"]) and ["", "in A", "in B", "ratio is"] == [*line]
    assert {"": "torch", "A": "100.0 (5)", "B": "100.0 (5)", "unit": "samples/s"} == base and "tf" == other[""]
    assert [{"": "machine: cpus", "A": "2", "B": "4"}] == differences


def test_of_long_facts_what_differs_is_shown() -> None:
    a, b = (measured({made.cell(): STEADY}, name=name, facts={**made.FACTS, "cpu_features": ["avx", *"xyz" * 9, last]})
            for name, last in (("a", "amx"), ("b", "vnni")))

    (told,) = [part for part in lines(compare(a, b), is_detailed=True) if isinstance(part, list)]
    assert [{"": "cpu_features of all stacks", "A": "...amx", "B": "...vnni"}] == told
    assert "1 fact around them differed: --details lists them, and rates." == lines(compare(a, b))[-1]
    assert "B: b" in lines(compare(a, b)) and "B: b, the same session" in lines(compare(b, b))
