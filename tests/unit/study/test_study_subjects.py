"""Studies whose subjects are settings of stacks: stacks with settings of their own, forms, claims of one experiment."""

import re
from collections.abc import Collection
from typing import Any

import pytest

from runner.errors import InputError
from runner.machine import nvml
from runner.planning.plan import Wishes, plan
from runner.stacks.definition import CAPABILITIES, GpuCode
from runner.study.subjects import Subject
from tests.fake_nvml import P100, FakeNvml
from tests.fakes import MACHINE, stack
from tests.studies import parse

STUDY = """
[study]
id = "s"
title = "S"
forms = { "a" = ["a-gpu", "a-nv"] }
[[experiment]]
id = "e1"
measure = "train"
subjects = [{ stack = "a", lstm = "cudnn" }, { stack = "a", lstm = "cell" }, { stack = "b", lstm = "cudnn" }]
task = "lenet5"
batch = 8
[[experiment]]
id = "e2"
measure = "train"
stacks = ["a", "b"]
task = "lenet5"
grid = { batch = [8, 16] }
[[claim]]
id = "c1"
text = "a's cuDNN is faster than its cells"
kind = "faster"
quantity = "step"
of = { stack = "a", lstm = "cudnn" }
to = { stack = "a", lstm = "cell" }
[[claim]]
id = "c2"
text = "a is faster than b"
kind = "faster"
quantity = "step"
experiment = "e2"
of = { stack = "a" }
to = { stack = "b" }
over = ["batch"]
[[published]]
id = "p"
source = "Table 1"
quantity = "step"
of = { stack = "a", lstm = "cell" }
to = { stack = "a", lstm = "cudnn" }
printed = "-12.5 %"
unit = "%"
"""
CODE = GpuCode(cuda="10.0", driver="410.48", native=CAPABILITIES, jit=(), unsupported=(), verified=False)
STACKS = {"a": stack("a"), "b": stack("b", devices=("cpu", "gpu"), gpu=CODE),
          **{name: stack(name, devices=("gpu",), gpu=CODE) for name in ("a-gpu", "a-nv")}}


def planned(wishes: Wishes, *changes: tuple[str, str], missing: Collection[str] = ()) -> Any:
    return plan(parse(STUDY, *changes), STACKS, MACHINE, wishes,
                lambda stack: "no image" if stack.name in missing else None, nvml.observe(FakeNvml(P100)))


def test_an_experiment_gives_each_stack_settings_of_its_own() -> None:
    cells = {(p.experiment, p.cell.stack, p.cell.lstm, p.cell.batch) for p in planned(Wishes()).cells}

    assert {("e1", "a", "cudnn", 8), ("e1", "a", "cell", 8), ("e1", "b", "cudnn", 8), ("e2", "a", "native", 8),
            ("e2", "a", "native", 16), ("e2", "b", "native", 8), ("e2", "b", "native", 16)} == cells


def test_a_stack_that_the_study_does_not_name_gets_all_settings_that_others_have() -> None:
    kernels = {p.cell.lstm for p in planned(Wishes(stacks=("a-gpu",), settings={"device": "gpu"})).cells
             if p.experiment == "e1"}

    assert {"cudnn", "cell"} == kernels


@pytest.mark.parametrize(("missing", "runs"), [
    ((), {"a-gpu", "b"}), (("a-gpu",), {"a-nv", "b"}), (("a-gpu", "a-nv"), {"b"})])
def test_a_stack_s_form_runs_where_the_stack_cannot_and_the_next_where_the_launcher_lacks_one(
        missing: tuple[str, ...], runs: set[str]) -> None:
    plan = planned(Wishes(settings={"device": "gpu"}), missing=missing)

    assert runs == {p.cell.stack for p in plan.cells}
    assert {("a-gpu", "no image")} >= {(s.cell.stack, s.reason) for s in plan.skipped}
    assert bool(plan.skipped) == (runs == {"b"})


def test_a_form_of_the_baseline_is_the_baseline_where_it_runs_and_one_that_is_no_stack_is_refused() -> None:
    baseline = ('title = "S"', 'title = "S"\nbaseline = "a"')

    assert "a" == planned(Wishes(), baseline).baseline
    assert {"a", "b"} == {p.cell.stack for p in planned(Wishes()).cells}
    assert "a-gpu" == planned(Wishes(settings={"device": "gpu"}), baseline).baseline
    with pytest.raises(InputError, match='stack "a-old" is unknown; known: a, a-gpu, a-nv, b'):
        planned(Wishes(), ('["a-gpu", "a-nv"]', '["a-old"]'))


def test_claims_and_numbers_know_the_forms_of_a_stack() -> None:
    study = parse(STUDY)

    assert Subject("a", "", (("lstm", "cudnn"),), ("a-gpu", "a-nv")) == study.claims[0].of
    assert ("a-gpu", "a-nv") == study.published[0].of.also and -12.5 == study.published[0].value


def test_a_claim_of_one_experiment_has_the_cases_of_its_cells_alone() -> None:
    assert ((8,), (16,)) == parse(STUDY).claims[1].cases


@pytest.mark.parametrize("settings", [{"conv": "fixed"}, {"gpus": 2}, {"measure": "kernels"}])
def test_what_no_cpu_has_is_skipped_with_the_reason(settings: dict[str, Any]) -> None:
    plan = planned(Wishes(settings=settings))
    (name, value), = settings.items()

    assert not plan.cells and {f"{name} {value} needs a GPU"} == {skip.reason for skip in plan.skipped}


FIRST, TO = '{ stack = "a", lstm = "cell" }, {', 'to = { stack = "b" }'
CLAIM = 'experiment = "e2"\nof = { stack = "a" }'


@pytest.mark.parametrize(("old", "new", "message"), [
    ('task = "lenet5"\nbatch', 'stacks = ["a"]\ntask = "lenet5"\nbatch', 'experiment e1: found both, expected'),
    (FIRST, '{ stack = "a", lstm = "cells" }, {', 'experiment e1: subjects: key "lstm": found \'cells\', expected one'),
    (FIRST, '{ stack = "a", task = "vgg16" }, {', 'experiment e1: subjects: key "task" is of the experiment, not'),
    (FIRST, "1, {", 'experiment e1: key "subjects": found 1, expected a name or a'),
    (FIRST, '{ lstm = "cell" }, {', 'experiment e1: subjects: key "stack": missing'),
    (CLAIM, CLAIM.replace("e2", "e3"), 'claim c2: key "experiment": found "e3", expected one of e1, e2'),
    (CLAIM, CLAIM.replace('experiment = "e2"\n', ""), 'claim c2: cells of one case differ in "lstm"'),
    (TO, 'to = { stack = "b", batch = 8 }', 'claim c2: field "batch": expected one of a cell'),
    (TO, 'to = { stack = "b", measure = "train" }', 'claim c2: to: key "measure" is unknown'),
    (TO, 'to = { stack = "b", lstm = 1 }', 'claim c2: to: key "lstm": found 1, expected one'),
    ('over = ["batch"]', 'over = ["batch"]\nskips_oom = 1', 'claim c2: key "skips_oom": found 1, expected true'),
    ('unit = "%"', 'unit = "s"', 'published p: key "unit": found "s", expected one of x, % more, mpe, %'),
    ('"step"\nof = { stack = "a", lstm = "cell" }', '"speed"\nof = { stack = "a", lstm = "cell" }',
     'published p: key "quantity": found "speed", expected one of step, load'),
    (TO, 'to = { stack = "b", parallel = "both" }', 'claim c2: to: key "parallel": found'),
    ('printed = "-12.5 %"\n', "", 'published p: key "printed": found None, expected text with one number'),
    ('unit = "%"', 'unit = "x"', "published p: key \"printed\": found -12.5, expected"),
    ('{ "a" = ["a-gpu", "a-nv"] }', '{ "a" = "a-gpu" }', "forms: key \"a\": found 'a-gpu', expected a list"),
])
def test_a_mistake_is_told_in_one_line(old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"^s\.toml: .*{re.escape(message)}"):
        parse(STUDY, (old, new))
