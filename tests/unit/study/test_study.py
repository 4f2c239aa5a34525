"""Study files: read strictly, whole or some of their experiments, refused in one line."""

import re

import pytest

from runner.errors import InputError
from runner.paths import STUDIES
from runner.study.file import selected
from tests.studies import parse

GOOD = """
[study]
id = "s"
title = "S"
scales = ["paper", "quick"]
[[experiment]]
id = "e"
measure = "train"
stacks = ["a"]
steps = 100
grid = { task = ["lenet5", "vgg16"], batch = [1, 2] }
scale.quick = { steps = 5, grid = { batch = [1] } }
"""


def test_rounds_may_be_said_for_some_scales() -> None:
    change = 'title = "S"', 'title = "S"\nrounds = { paper = 3 }'
    assert [3, 5] == [parse(GOOD, change, scale=scale).rounds for scale in ("paper", "quick")]


def test_a_scale_may_leave_an_experiment_out() -> None:
    change = "scale.quick = { steps = 5,", "scale.quick = { cases = [],"
    [paper], [quick] = (parse(GOOD, change, scale=scale).experiments for scale in ("paper", "quick"))
    assert (4, 0) == (paper.size, quick.size)
    assert "none of its cells run" in quick.scaled


@pytest.mark.parametrize(("own", "on_gpu", "device"), [
    ("gpu", False, "cpu"), ("gpu", True, "gpu"), ("cpu", True, "cpu")])
def test_what_a_scale_moves_to_the_cpu_stays_where_there_is_a_gpu(own: str, on_gpu: bool, device: str) -> None:
    changes = ("steps = 100", f'device = "{own}"'), ("steps = 5", 'steps = 5, device = "cpu"')
    [found] = parse(GOOD, *changes, scale="quick", on_gpu=on_gpu).experiments
    assert device == found.settings["device"]
    assert (own != device) == ("device cpu for gpu" in found.scaled)


@pytest.mark.parametrize(("old", "new", "message"), [
    ("steps = 100", "step = 100", 's.toml: experiment e: key "step" is unknown; did you mean "steps"?'),
    ("steps = 100", 'steps = "many"', 's.toml: experiment e: key "steps": found \'many\', expected a whole number'),
    ("steps = 100", "steps = 0", 's.toml: experiment e: key "steps": found 0, expected a number of at least 1'),
    ("steps = 100", "precision = 'half'", "key \"precision\": found 'half', expected one of 'float32', 'float64',"),
    ("steps = 100", 'data = "cifar11"', 's.toml: experiment e: key "data": found \'cifar11\', expected one of'),
    ('"vgg16"]', '"vgg17"]', 's.toml: experiment e: grid: key "task": found \'vgg17\', expected one of \'lenet5\''),
    ('measure = "train"', "", 's.toml: experiment e: key "measure" is missing'),
    ('stacks = ["a"]', "", 's.toml: experiment e: found neither, expected either "stacks" or "subjects", a list'),
    ("batch = [1, 2]", "batch = []", 'grid: key "batch": found [], expected a list that is not empty'),
    ("batch = [1, 2]", "steps = [1, 2]", 'key "steps" stands both beside and in grid'),
    ("steps = 100", 'steps = 100\nnode = "4 cores"', 's.toml: experiment e: key "node": found \'4 cores\', expected '
     'CPUs and memory such as "4 CPUs, 16 GB"'),
    ("steps = 100", "steps = 100\ncases = []", 'key "cases": found none, expected some; only a scale may leave'),
    ("scale.quick", "scale.fast", 's.toml: experiment e: scale: key "fast" is unknown'),
    ('title = "S"', 'title = "S"\nrounds = 0', 's.toml: [study]: key "rounds": found 0'),
    ('title = "S"', 'title = "S"\nrounds = { papers = 3 }', 's.toml: [study]: rounds: key "papers" is unknown'),
    ('title = "S"', "title = 3", 's.toml: [study]: key "title": found 3, expected text'),
    ('[[experiment]]', "[[experiments]]", 's.toml: key "experiments" is unknown; did you mean "experiment"?'),
    ('id = "e"', 'id = "e', "s.toml: not TOML"),
])
def test_a_mistake_is_told_with_file_place_found_and_expected(old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        parse(GOOD, (old, new))


def test_a_scale_overrides_settings_stacks_and_single_keys_of_the_grid_and_the_experiment_tells_so() -> None:
    change = "scale.quick = { steps = 5,", 'scale.quick = { stacks = ["b"], steps = 5, warmup = 2,'
    [paper], [quick] = (parse(GOOD, change, scale=scale).experiments for scale in ("paper", "quick"))

    assert (("a",), ()) == (paper.stacks, paper.scaled)
    assert (("b",), 5, 2) == (quick.stacks, quick.settings["steps"], quick.settings["warmup"])
    assert {"task": ("lenet5", "vgg16"), "batch": (1,)} == quick.grid
    assert ("stacks b for a", "steps 5 for 100", "warmup 2", "batch 1 for 1/2") == quick.scaled


# ---- some of its experiments, by name

WHOLE = ["train", "infer", "train-gpt2", "decode"]


@pytest.mark.parametrize(("name", "expected"), [
    ("quick", WHOLE), ("quick/decode", ["decode"]), ("quick/decode,train", ["train", "decode"]),
    (f"{STUDIES}/quick.toml/decode", ["decode"]), (f"{STUDIES}/quick.toml", WHOLE)])
def test_experiments_stand_after_the_study_or_its_path(name: str, expected: list[str]) -> None:
    assert expected == [experiment.id for experiment in selected(name, STUDIES).experiments]


@pytest.mark.parametrize(("name", "message"), [
    ("quick/trian", 'study quick: experiment "trian" is unknown; known: train, infer, .*; did you mean "train"'),
    ("quick/infer", "study quick: infer: found no cells at scale quick, expected --scale long or"),
    ("/tmp", 'study "/tmp" is unknown'), ("quik", 'did you mean "quick"'),
    ("gone/mine.toml/train", r"gone/mine\.toml: no such file")])
def test_what_is_no_experiment_is_told_with_what_there_is(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        selected(name, STUDIES)


def test_only_claims_and_numbers_of_the_chosen_experiments_are_left() -> None:
    whole, memory = (selected(name, STUDIES, "quick") for name in ("krisilias", "krisilias/kri-t5"))

    assert {"step"} < {claim.quantity for claim in whole.claims}
    assert memory.claims and {"step", "memory"}.isdisjoint(claim.quantity for claim in memory.claims)
    assert {"step", "memory"}.isdisjoint(number.quantity for number in memory.published)
