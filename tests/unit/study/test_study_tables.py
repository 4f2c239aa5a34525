"""What a study file may say shorter: names, cells of all experiments, cells like another's; a paper's tables as CSV."""

import re
from pathlib import Path

import pytest

from runner.errors import InputError
from runner.study import file
from runner.study.file import read
from runner.study.subjects import Subject
from tests.made_files import files
from tests.studies import parse

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
"""
PUBLISHED = """id,source,row,column,experiment,quantity,of,to,where,printed,unit,steps,text
t1-lenet5-tf,Table 1,LeNet-5,TensorFlow,e,step,tf,,task=lenet5 batch=64,3.0,s,2,
t1-lenet5-more,Table 1,LeNet-5,Difference,e,step,tf,torch,task=lenet5,50 %,% more,,"as it stands, so"
t2,Table 2,,,e,parameters,torch,,task=vgg16 batch=32/64,about 138M,count,,
"""
CLAIMS = """id,source,text,kind,experiment,quantity,of,to,order,where,over,at_least,holds_for,assumed,why
c1,4.1,one is faster,faster,e,step,tf,torch,,task=lenet5,,,,each model,
c2,4.2,in this order,order,e,step,,,tf torch,task=vgg16 batch=32/64,batch,,,,
n1,5,disks do not matter,told,,,,,,,,,,,no cell reads from a disk
"""
INDEX = """number,title,experiment,why
Table 1,Training,e,
Figure 1,A drawing,,a drawing
"""


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    """A folder of studies with a paper's, s."""
    return files(tmp_path, {"s/study.toml": STUDY, "s/published.csv": PUBLISHED, "s/claims.csv": CLAIMS,
                            "s/index.csv": INDEX})


def cells(name: str, scale: str) -> list[tuple[str, int, int, int]]:
    experiment, = (each for each in parse(STUDY, scale=scale).experiments if each.id == name)
    return [(cell.task, cell.batch, cell.steps, cell.image) for cell in file.cells_of(experiment)
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
    assert ("torch-1",) == parse(STUDY).experiments[2].stacks


def test_what_is_assumed_of_all_cells_stands_at_every_experiment() -> None:
    assert [{"rate": "not stated", "data": "made"}] * 3 == [each.assumed for each in parse(STUDY).experiments]


def test_lines_of_tables_are_numbers_claims_and_what_is_told(paper: Path) -> None:
    found = read("s", paper)
    first, more, last = found.published

    assert ["s"] == file.available(paper)
    assert ("3.0", 3.0, 2, "s", ("LeNet-5", "TensorFlow")) == (first.printed, first.value, first.steps, first.unit,
                                                              (first.row, first.column))
    assert {"task": ("lenet5",), "batch": (64,)} == dict(first.where)
    assert ("50 %", 50.0, 1.5, "as it stands, so") == (more.printed, more.value, more.ratio, more.text)
    assert (Subject("tf-1"), Subject("torch-1")) == more.subjects
    assert ("about 138M", 138e6, (32, 64)) == (last.printed, last.value, last.where["batch"])
    one, other = found.claims
    assert ("faster", ("tf-1", "torch-1"), ((),), "each model") == (
        one.kind, tuple(each.stack for each in one.subjects), one.cases, one.assumed)
    assert ("order", ((32,), (64,))) == (other.kind, other.cases)
    assert [("n1", "no cell reads from a disk")] == [(each.id, each.why) for each in found.told]
    assert [("Table 1", "e", ""), ("Figure 1", "", "a drawing")] == [
        (each.number, each.experiment, each.why) for each in found.places]


@pytest.mark.parametrize(("name", "old", "new", "message"), [
    ("published", ",tf,,task=lenet5 batch=64", ",tff,,task=lenet5", 'published t1-lenet5-tf: of: subject '
                                                                    '"tff" is not in [subjects]; did you mean "tf"?'),
    ("published", "3.0,s", "three,s", "key \"printed\": found 'three', expected text with one number"),
    ("published", "3.0,s", "3 to 4,s", "expected text with one number"),
    ("published", ",2,\n", ",two,\n", 'published.csv: line 2: steps: found "two", expected a number'),
    ("published", "task=lenet5,50", "task,50", 'published.csv: line 3: where: found "task", expected FIELD=VALUE'),
    ("published", "quantity,of,to", "quantity,off,to", 't1-lenet5-tf: key "off" is unknown; did you mean "of"?'),
    ("claims", "c1,4.1,", "c1,4.1,x,", "claims.csv: line 2: found 16 cells, expected 15, of different columns"),
    ("claims", "order,where", "to,where", "line 2: found 15 cells, expected 15, of different columns"),
    ("claims", '4.1,one', '"4.1"x,one', "claims.csv: line 2: not CSV"),
    ("claims", ",e,step,,,tf torch", ",f,step,,,tf torch", 'claim c2: key "experiment": found "f", expected one of e'),
    ("index", "Training,e", "Training,f", 'index Table 1: key "experiment": found "f"'),
    ("index", ",,a drawing", ",,", 'index Figure 1: expected an "experiment", or "why" there is none')])
def test_a_mistake_in_a_table_is_told_with_its_file_and_line_or_entry(
        paper: Path, name: str, old: str, new: str, message: str) -> None:
    path = paper / "s" / f"{name}.csv"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))

    with pytest.raises(InputError, match=re.escape(message)):
        read("s", paper)


@pytest.mark.parametrize(("old", "new", "message"), [
    ('cases = ["both"]', 'cases = ["bath"]', 's.toml: experiment e: model "bath" is not in [models]; did you mean'),
    ('both = ["lenet5", "large"]', 'both = ["lenet5", "small"]', 's.toml: [models]: both: model "small" is not in'),
    ("learning_rate = 0.5", "learning_rate = true", 's.toml: [models]: lenet5: key "learning_rate": found true'),
    ("learning_rate = 0.5", "rate = 0.5", 's.toml: [models]: lenet5: key "rate" is unknown'),
    ('[cells]\nmeasure', '[cells]\ntitle = "x"\nmeasure', 's.toml: [cells]: key "title" is unknown'),
    ('same = "e"\nsteps', 'same = "f"\nsteps', 's.toml: experiment same: key "same": found "f", expected an experiment '
                                               'above it: e'),
    ('scale.small = "quick"', 'scale.small = "tiny"', 's.toml: experiment e: scale.small: found "tiny", expected one '
                                                      'of paper, quick, small'),
    ('scale.quick = "paper"', 'scale.quick = "small"', 'experiment same: scale.quick: found "small", which is as '
                                                       '"quick" itself'),
])
def test_a_mistake_is_told_with_file_place_found_and_expected(old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        parse(STUDY, (old, new))


def test_a_model_may_be_others_with_what_differs() -> None:
    changes = (('both = [', 'tuned = { model = "large", batch = 8, quick.image = 64 }\nboth = ['),
               ('same = "e"\ntask = "lenet5"', 'same = "e"\ncases = ["tuned"]'))
    cases = [parse(STUDY, *changes, scale=scale).experiments[2].cases for scale in ("paper", "quick")]

    assert [({"task": "vgg16", "batch": 8},), ({"task": "vgg16", "image": 64},)] == cases
