"""Published numbers beside what was measured."""

import pytest

from runner.analysis.claims.published import ours
from runner.errors import InputError
from runner.results.rows import measurements
from runner.study import published
from runner.study.file import parse
from runner.study.published import Published, Subject
from tests import made_rows as made

STUDY = b"""
[study]
id = "s"
title = "S"
rounds = { paper = 3 }
[[experiment]]
id = "e"
measure = "train"
stacks = ["torch"]
cases = [{ task = "lenet5" }, { task = "vgg16", image = 64 }]
[[published]]
id = "p"
source = "Table 1"
quantity = "step"
of = { stack = "tf", parallel = "sync" }
to = { stack = "torch", parallel = "sync" }
where = { task = ["lenet5"] }
value = 2.5
unit = "x"
"""


def number(quantity: str = "step", to: str | None = "torch", **where: tuple[object, ...]) -> Published:
    return Published("p", "Table 1", "", quantity, Subject("tf"), Subject(to) if to else None, where, 2.0,
                     "x" if to else "s")


def rows(*records: object) -> tuple[object, ...]:
    cells = (made.cell("tf"), made.cell("torch"))
    return measurements([made.session(), made.plan(*cells), *records]).rows  # type: ignore[list-item]


def test_a_ratio_of_times_is_that_of_equal_cells() -> None:
    measured = rows(*made.runs(made.cell("tf"), [5.0, 5.0, 5.0]), *made.runs(made.cell("torch"), [20.0, 20.0, 20.0]))
    assert (pytest.approx(4.0), 1) == ours(number(), measured)  # type: ignore[arg-type]


def test_a_time_is_seconds_a_step() -> None:
    measured = rows(*made.runs(made.cell("tf"), [5.0, 5.0, 5.0]))
    assert (pytest.approx(2.0), 1) == ours(number(to=None), measured)  # type: ignore[arg-type]


def test_without_the_other_s_cells_there_is_no_ratio() -> None:
    measured = rows(*made.runs(made.cell("tf"), [5.0]))
    assert (None, 0) == ours(number(), measured)  # type: ignore[arg-type]
    assert (None, 0) == ours(number(to=None, task=("vgg16",)), measured)  # type: ignore[arg-type]


def test_a_published_number_survives_the_store() -> None:
    read = parse(STUDY, "s.toml").published[0]
    assert read == published.from_record(read.record())


def test_cases_and_rounds_by_scale_are_read() -> None:
    study = parse(STUDY, "s.toml")
    assert 3 == study.rounds and ({"task": "lenet5"}, {"task": "vgg16", "image": 64}) == study.experiments[0].cases


@pytest.mark.parametrize(("old", "new", "said"), [
    (b"quantity = \"step\"", b"quantity = \"speed\"", "speed"), (b"value = 2.5", b"value = -1", "value"),
    (b"unit = \"x\"", b"unit = \"s\"", "ratio"), (b"unit = \"x\"", b"unit = \"x\"\nours = 1", "ours"),
    (b"parallel = \"sync\" }\nto", b"parallel = \"both\" }\nto", "both"),
    (b"task = [\"lenet5\"]", b"task = [\"x\"]", "x"),
    (b"cases = [{ task = \"lenet5\" }", b"cases = [{ tusk = \"lenet5\" }", "tusk"),
    (b"rounds = { paper = 3 }", b"rounds = { papers = 3 }", "papers"),
])
def test_a_mistake_is_named(old: bytes, new: bytes, said: str) -> None:
    assert old in STUDY
    with pytest.raises(InputError, match=said):
        parse(STUDY.replace(old, new), "s.toml")
