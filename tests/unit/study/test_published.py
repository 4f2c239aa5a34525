"""Published numbers beside what was measured."""

import pytest

from runner.analysis.claims.measured_here import ours
from runner.results.reader import measurements
from runner.study import published
from runner.study.published import Published, Subject
from tests import made_rows as made
from tests.made_claims import here
from tests.studies import parse

EPOCHS = [made.epoch(0, seconds) for seconds in (2.0, 1.0)]
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
    read = published.from_record(parse(SCALED, "s.toml", "quick").published[0].record())
    cell = made.cell("tf-9", measure="epochs", epochs=2, images=192, batch=4)
    records = [made.session(), made.plan(cell), *made.run(cell, 0, *EPOCHS)]
    found = ours(read, measurements(records).rows)

    assert (1.0, 1, {"tf": "tf-9"}) == (found.ours, found.cells, found.stand_ins)
    assert ("1 of 2 cells", "on a CPU", "batch 4, not 64", "192 images, not all", "2 of 200 epochs") == found.differs


def test_ours_of_the_paper_s_own_cells_differs_in_nothing() -> None:
    read = parse(SCALED, "s.toml", "paper").published[0]
    cells = [made.cell("tf", measure="epochs", task=task, epochs=200, batch=64, device="gpu")
             for task in ("resnet18_cifar", "lenet5")]
    runs = [record for cell in cells for record in made.run(cell, 0, *EPOCHS)]
    found = ours(read, made.measured(*cells, *runs).rows)

    assert (2, (), {}) == (found.cells, found.differs, found.stand_ins)


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
printed = "2.5X"
unit = "x"
"""


def number(quantity: str = "step", to: str | None = "torch", **where: tuple[object, ...]) -> Published:
    return Published(id="p", source="Table 1", quantity=quantity, of=Subject("tf"), to=Subject(to) if to else None,
                     where=where, value=2.0, unit="x" if to else "s")


def rows(*records: object) -> tuple[object, ...]:
    cells = (made.cell("tf"), made.cell("torch"))
    return made.measured(*cells, *records).rows  # type: ignore[list-item]


def test_a_ratio_of_times_is_that_of_equal_cells_and_a_time_seconds_a_step() -> None:
    one, other = made.runs(made.cell("tf"), [5.0] * 3), made.runs(made.cell("torch"), [20.0] * 3)
    alone = made.measured(made.cell("tf"), *made.runs(made.cell("tf"), [5.0] * 3)).rows
    assert (pytest.approx(4.0), 1) == here(number(), rows(*one, *other))
    assert (pytest.approx(2.0), 1) == here(number(to=None), alone)
    for without in (number(), number(to=None, task=("vgg16",))):                # the other's cells
        assert (None, 0) == here(without, alone)


def test_a_published_number_survives_the_store_and_cases_and_rounds_by_scale_are_read() -> None:
    study = parse(STUDY, "s.toml")
    assert study.published[0] == published.from_record(study.published[0].record())
    assert 3 == study.rounds and ({"task": "lenet5"}, {"task": "vgg16", "image": 64}) == study.experiments[0].cases
