"""Published numbers beside what was measured."""

from runner.analysis.claims.measured_here import ours
from runner.results.reader import measurements
from runner.study import published
from tests import made_rows as made
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
