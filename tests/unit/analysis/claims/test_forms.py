"""Forms of a stack are never mixed: each published number and claim reads the cells of its own experiment."""

from pathlib import Path
from typing import Any

import pytest

from runner.analysis.summary import summary_of
from runner.machine.gpus import Gpu, Gpus
from runner.planning.plan import Plan, Wishes, plan
from runner.results.reader import measurements
from runner.stacks.definition import read_all
from runner.study import quantities
from runner.study.claims import Verdict
from runner.study.published import Published
from runner.study.subjects import Subject
from tests import made_rows as made
from tests.fakes import MACHINE
from tests.made_claims import claim, here, judge, took
from tests.studies import read

ROOT = Path(__file__).parents[4]
STACKS = read_all(ROOT / "docker")
SECONDS = {"tf-1.15-gpu": 0.01, "tf-2.21-gpu": 0.04, "torch-2.13-gpu": 0.08}         # of a step; of all others 0.02
OF_STEPS = [name for name, each in quantities.QUANTITIES.items() if each.measure in ("train", "infer")
            and each.unit == "s"]


def planned(study: str, gpu: str, capability: str) -> Plan:
    gpus = tuple(Gpu(f"GPU-{index}", gpu, capability, 2**34, f"GPU-{index}") for index in range(4))
    return plan(read(study, "paper", on_gpu=True), STACKS, MACHINE, Wishes(),
                lambda stack: stack.unbuildable, Gpus(gpus, driver="560.28", problem=""))


@pytest.mark.parametrize(("gpu", "capability"), [("Tesla V100-SXM2-16GB", "7.0"), ("Tesla P100-PCIE-16GB", "6.0")])
@pytest.mark.parametrize("study", ["dai2022", "krisilias", "mahorker", "patel", "tian"])
def test_on_four_gpus_every_ratio_is_of_the_forms_that_its_own_experiment_ran(
        study: str, gpu: str, capability: str) -> None:
    made_plan = planned(study, gpu, capability)
    records: list[Any] = [made.session(), made_plan._replace(rounds=1).record()]
    for each in made_plan.cells:
        if each.cell.measure in ("train", "infer"):
            records += made.run(each.cell, 0, made.steps([SECONDS.get(each.cell.stack, 0.02)]))
    summary = summary_of(measurements(records))
    ran = {name: {each.cell.stack for each in made_plan.cells if each.key in keys}
           for name, keys in made_plan.keys.items()}

    ran[""] = set().union(*ran.values())                # what names no experiment is of a study without forms

    def seconds(subject: Subject, experiment: str) -> float:
        (form,) = {subject.stack, *subject.also} & ran[experiment]
        return SECONDS.get(form, 0.02)

    for found in summary.published:
        assert not any("/" in names for names in found.stand_ins.values())
        if found.ours is not None and found.to and found.unit == "x" and found.quantity in OF_STEPS:
            expected = seconds(found.of, found.experiment) / seconds(found.to, found.experiment)
            assert expected == pytest.approx(found.ours), found.id
    for judged in summary.claims:
        assert not any("several forms" in why for why in judged.missing)
        if judged.kind == "ratio" and judged.quantity in OF_STEPS and judged.experiment and not judged.than:
            expected = seconds(judged.of, judged.experiment) / seconds(judged.to, judged.experiment)
            assert all(expected == pytest.approx(each.value) for each in judged.numbers), judged.id
    if study == "dai2022":
        assert {"tf-1.15-gpu"} == {name for name in ran["dai-t2"] if name.startswith("tf")}
        assert {"tf-2.21-gpu"} == {name for name in ran["dai-t7"] if name.startswith("tf")}
        speed = {each.id: each.ours for each in summary.published}
        assert 64 / 0.01 == pytest.approx(speed["dai-t2-resnet50-tf"])           # 64 / 0.04 where forms are mixed
        assert 64 / 0.04 == pytest.approx(speed["dai-t7-resnet50-tf-1"])


def test_a_stack_without_a_digest_is_the_reason_for_what_only_it_could_run() -> None:
    skipped = [each for each in planned("dai2022", "Tesla V100-SXM2-16GB", "7.0").skipped if each.cell.task == "bert"]
    assert {2, 4} == {each.cell.gpus for each in skipped}
    assert all("tf-1.15-nv: the digest of its base is on no record" in each.reason for each in skipped)


def test_a_ratio_of_two_forms_is_refused_by_name() -> None:
    measured = took({made.cell("tf-gpu", lstm="cell"): 0.01, made.cell("tf-2", lstm="cudnn"): 0.04})
    one, other = (Subject("tf", settings=(("lstm", kind),), also=("tf-gpu", "tf-2")) for kind in ("cell", "cudnn"))

    judged = judge(claim("faster", of=one, to=other), measured)
    assert (Verdict.NO_DATA, (), 1) == (judged.verdict, judged.numbers, len(judged.missing))
    assert "tf ran as tf-2 and tf-gpu" in judged.missing[0]
    number = Published(id="p", source="Table 1", quantity="step", of=one, to=other, value=1.0, unit="x")
    assert (None, 0) == here(number, measured.rows)
