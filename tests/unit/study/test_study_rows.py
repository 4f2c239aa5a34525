"""What a study file may say shorter: names, cells of all experiments, cells like another's, a line a number."""

import pytest

from runner.errors import InputError
from runner.study import file
from runner.study.file import Study, parse
from runner.study.subjects import Subject

STUDY = """
[study]
id = "s"
title = "S"
scales = ["paper", "quick", "small"]
[subjects]
tf = { stack = "tf-1" }
torch = { stack = "torch-1" }
torch-amp = { stack = "torch-1", precision = "amp" }
[models]
lenet5 = { batch = 64, learning_rate = 0.5, quick = { image = 16 } }
large = { task = "vgg16", batch = [32, 64] }
both = ["lenet5", "large"]
[cells]
measure = "train"
stacks = ["tf-1", "torch-1"]
steps = 200
assumed = { rate = "not stated" }
scale.quick = { steps = 5, batch = 2 }
scale.small = "quick"
[[experiment]]
id = "e"
cases = ["both"]
assumed = { data = "made" }
[[experiment]]
id = "same"
same = "e"
steps = 300
grid = { batch = [1, 2] }
scale.quick = "paper"
[[experiment]]
id = "other"
same = "e"
task = "lenet5"
subjects = ["torch", "torch-amp"]
[[published]]
id = "t1"
source = "Table 1"
experiment = "e"
quantity = "step"
unit = "s"
columns = ["model", { id = "tf", of = "tf" }, { id = "torch", of = "torch" },
           { id = "more", of = "tf", to = "torch", unit = "% more" }, { id = "again", of = "tf", same = "torch" }]
rows = [
  ["lenet5", 3.0, 2.0, 50, { where.batch = 64 }],
  ["large",  "-", 4.0, "-"],
]
notes.t1-large-torch.text = "in the text"
[[claim]]
kind = "faster"
quantity = "step"
experiment = "e"
assumed = "each model"
columns = ["id", "of", "to", "text"]
rows = [
  [["c1a", "c1b"], ["tf", "torch"], ["torch", "tf"], "{} is the faster", { over = ["task", "batch"] }],
  ["c2", "tf", "torch", "on one model", { model = "lenet5", assumed = "LeNet-5" }],
]
[[claim]]
id = "c3"
number = "p3"
source = "4.2"
text = "twice as long, at most"
printed = "at most"
kind = "ratio"
quantity = "step"
experiment = "e"
of = "tf"
to = "torch"
model = "large"
where = { batch = [32, 64] }
holds_for = "greatest"
about = 2.0
within = 0.1
[[told]]
id = "n1"
source = "5"
text = "disks do not matter"
why = "no cell reads from a disk"
"""


def study(scale: str = "paper", *changes: tuple[str, str]) -> Study:
    text = STUDY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return parse(text.encode(), "s.toml", scale)


def cells(name: str, scale: str = "paper", *changes: tuple[str, str]) -> list[tuple[str, int, int, int]]:
    experiment, = (each for each in study(scale, *changes).experiments if each.id == name)
    return [(cell.task, cell.batch, cell.steps, cell.image) for _, cell in file.cells_of(experiment)
            if cell.stack == "torch-1"]


@pytest.mark.parametrize(("name", "scales", "expected"), [
    ("e", ["paper"], [("lenet5", 64, 200, 32), ("vgg16", 32, 200, 224), ("vgg16", 64, 200, 224)]),
    # a model differs by what it says and by what the scale says of all; a scale may be as another
    ("e", ["quick", "small"], [("lenet5", 2, 5, 16), ("vgg16", 2, 5, 224)]),
    # the cells of another experiment but for what it says itself
    ("same", ["paper", "quick"], [("lenet5", 1, 300, 32), ("lenet5", 2, 300, 32), ("vgg16", 1, 300, 224),
                                  ("vgg16", 2, 300, 224)]),
    # a task takes the place of cases, and subjects that of stacks
    ("other", ["paper"], [("lenet5", 42, 200, 32), ("lenet5", 42, 200, 32)])])
def test_an_experiment_has_the_cells_of_its_models_at_each_scale(
        name: str, scales: list[str], expected: list[tuple[str, int, int, int]]) -> None:
    assert [expected] * len(scales) == [cells(name, scale) for scale in scales]
    assert ("torch-1",) == study().experiments[2].stacks


def test_what_is_assumed_of_all_cells_stands_at_every_experiment() -> None:
    assert [{"rate": "not stated", "data": "made"}] * 3 == [each.assumed for each in study().experiments]


def test_a_line_of_a_table_is_a_number_for_each_column_that_is_not_blank() -> None:
    numbers = {each.id: each for each in study().published}

    assert ["t1-lenet5-tf", "t1-lenet5-torch", "t1-lenet5-more", "t1-lenet5-again", "t1-large-torch", "t1-large-again",
            "p3"] == list(numbers)
    assert (3.0, 2.0, 2.0, 4.0) == tuple(numbers[f"t1-{name}"].value for name in (
        "lenet5-tf", "lenet5-torch", "lenet5-again", "large-again"))
    assert {"task": ("lenet5",), "batch": (64,)}.items() <= numbers["t1-lenet5-tf"].where.items()
    assert "in the text" == numbers["t1-large-torch"].text


def test_a_printed_percentage_more_is_the_ratio_that_it_says() -> None:
    number = {each.id: each for each in study().published}["t1-lenet5-more"]

    assert (1.5, "x", "printed as 50 %") == (number.value, number.unit, number.text)
    assert (Subject("tf-1"), Subject("torch-1")) == number.subjects


def test_a_row_is_a_claim_of_each_id_with_what_it_assumes_before_what_its_block_does() -> None:
    first, second, third, last = study().claims

    assert ("c1a", "TensorFlow is the faster", "tf-1") == (first.id, first.text, first.subjects[0].stack)
    assert ("c1b", "PyTorch is the faster", "torch-1") == (second.id, second.text, second.subjects[0].stack)
    assert ["each model", "each model", "LeNet-5; each model"] == [each.assumed for each in (first, second, third)]
    assert ("batch",) == last.over and ((32,), (64,)) == last.cases


def test_a_claim_with_a_number_states_a_published_number_and_what_no_cell_can_test_is_told() -> None:
    number, (told,) = study().published[-1], study().told

    assert ("p3", "4.2", "at most", 2.0, "x", "greatest") == (number.id, number.source, number.text, number.value,
                                                              number.unit, number.statistic)
    assert ("n1", "5", "no cell reads from a disk") == (told.id, told.source, told.why)


@pytest.mark.parametrize(("old", "new", "message"), [
    ('of = "tf" }, { id = "torch"', 'of = "torhc" }, { id = "torch"',
     's.toml: published t1-lenet5-tf: of: subject "torhc" is not in [subjects]; did you mean "torch"?'),
    ('cases = ["both"]', 'cases = ["bath"]',
     's.toml: experiment e: model "bath" is not in [models]; did you mean "both"?'),
    ('both = ["lenet5", "large"]', 'both = ["lenet5", "small"]',
     's.toml: [models]: both: model "small" is not in [models]; known: lenet5, large'),
    ("learning_rate = 0.5", "learning_rate = true", 's.toml: [models]: lenet5: key "learning_rate": found true'),
    ("learning_rate = 0.5", "rate = 0.5", 's.toml: [models]: lenet5: key "rate" is unknown'),
    ('[cells]\nmeasure', '[cells]\ntitle = "x"\nmeasure', 's.toml: [cells]: key "title" is unknown'),
    ('same = "e"\nsteps', 'same = "f"\nsteps', 's.toml: experiment same: key "same": found "f", expected an experiment '
                                               'above it: e'),
    ('["large",  "-", 4.0, "-"]', '["large", "-", 4.0]',
     's.toml: published t1: row 2: found 3 values, expected 4, and a table of more keys where there are any'),
    ('["large",  "-", 4.0, "-"]', '["large", "-", "4", "-"]',
     's.toml: published t1-large-torch: key "value": found \'4\', expected a number'),
    ("notes.t1-large-torch", "notes.t1-large-tf", 's.toml: published t1: notes: no row has the id "t1-large-tf"'),
    ('columns = ["id", "of", "to", "text"]', 'columns = ["id", "id", "to", "text"]',
     's.toml: [[claim]]: columns: expected a list of different columns, at least one'),
    ('columns = ["id", "of", "to", "text"]', 'columns = ["id", "off", "to", "text"]',
     's.toml: claim c1a: key "off" is unknown; did you mean "of"?'),
    ('scale.small = "quick"', 'scale.quick = "small"\nscale.small = "quick"', "s.toml"),
    ('scale.quick = "paper"', 'scale.quick = "small"', 'experiment same: scale.quick: found "small", which is as '
                                                       '"quick" itself'),
    ("why = ", "reason = ", 's.toml: told n1: key "reason" is unknown'),
    ("number = \"p3\"", "number = 3", 's.toml: [[published]]: key "id": found 3, expected text'),
    ('model = "lenet5", assumed', "model = 3, assumed", 'key "model": found 3, expected a name or a list of names'),
])
def test_a_mistake_is_told_with_file_place_found_and_expected(old: str, new: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        study("paper", (old, new))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_all_rows_share_may_stand_on_one_line() -> None:
    whole = 'id = "t1"\nsource = "Table 1"\nexperiment = "e"\nquantity = "step"\nunit = "s"\n'
    short = 'all = { id = "t1", source = "Table 1", experiment = "e", quantity = "step", unit = "s" }\n'
    assert whole in STUDY

    assert parse(STUDY.encode(), "s.toml") == parse(STUDY.replace(whole, short).encode(), "s.toml")


def test_a_model_may_be_others_with_what_differs() -> None:
    text = STUDY.replace('both = [', 'tuned = { model = "large", batch = 8, quick.image = 64 }\nboth = [')
    text = text.replace('same = "e"\ntask = "lenet5"', 'same = "e"\ncases = ["tuned"]')
    cases = [parse(text.encode(), "s.toml", scale).experiments[2].cases for scale in ("paper", "quick")]

    assert [({"task": "vgg16", "batch": 8},), ({"task": "vgg16", "image": 64},)] == cases
