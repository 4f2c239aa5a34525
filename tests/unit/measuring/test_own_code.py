"""A file that is just code on the host: its rows, its unit, what --set hands it, and what is said of its results."""

import re
from pathlib import Path
from typing import Any

import pytest

from runner import cells, paths
from runner.analysis import agreement
from runner.analysis.summary import summary_of
from runner.errors import InputError
from runner.measuring import equality, own_models, own_stacks
from runner.measuring.why import questions
from runner.report.answer import answer
from runner.results.reader import measurements
from runner.stacks import own
from tests import made_rows
from tests.made_own import held, lines, planned, proof, written
from workloads.spec.models import own_model

CODE = "import sklearn\ndef setup(rng, size, length=3): ...\ndef step(state): ...\n"
OLD, NEW = held("old", "python"), held("new", "python", pillow="12.0")
STACKS = {"old": OLD, "new": NEW}


def test_code_has_one_row_of_steps_a_column_an_environment_whatever_that_holds(tmp_path: Path) -> None:
    name = written(tmp_path, "mine.py", CODE)

    made = planned(name, stacks=STACKS).cells

    assert [("old", "step", 32), ("new", "step", 32)] == [
        (each.cell.stack, each.cell.measure, each.cell.batch) for each in made]
    assert 1 == len({cells.comparison_key(each.cell) for each in made})
    assert {"mine.py, your step, batch 32"} == {cells.label(each.cell) for each in made}
    assert ["old=/envs/old#python"] == own_models.words_of([name], ["old=/envs/old"])
    alone = planned(written(tmp_path, "plain.py", "def step(): ..."), stacks=STACKS).cells[0].cell
    assert (1, "plain.py, your step") == (alone.batch, cells.label(alone))


def test_each_value_that_setup_takes_is_a_row(tmp_path: Path) -> None:
    name = written(tmp_path, "mine.py", CODE)

    left, options = own_models.options_of(name, ["length=32,128", "batch=8"])
    made = planned(name, stacks=STACKS, options=options).cells

    assert ["batch=8"] == left and {"length": (32, 128)} == options
    assert ["mine.py, your step, batch 32, length 32", "mine.py, your step, batch 32, length 128"] == [
        *dict.fromkeys(cells.label(each.cell) for each in made)]
    assert [32, 32, 128, 128] == sorted(own_model.loads(each.cell.source).options["length"] for each in made)
    assert own_models.options_of(name, ["length=a,1.5,2"])[1] == {"length": ("a", 1.5, 2)}


@pytest.mark.parametrize(("text", "pairs", "said"), [
    (CODE, ["size=3"], "--set size=3: expected KEY=VALUE with KEY one of batch, "),
    (CODE, ["wrong=3"], "loop, length; others are parameters of setup() in mine.py"),
    (CODE, ["length=3", "length=4"], "--set length=4: found length twice"),
    ("def step(): ...", ["batch=3"], "--set batch: found it with mine.py, whose setup() has no parameter size")])
def test_what_code_does_not_take_is_refused(tmp_path: Path, text: str, pairs: list[str], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        own_models.options_of(written(tmp_path, "mine.py", text), pairs)


def test_code_needs_environments_and_stands_beside_no_model_and_no_weights(tmp_path: Path) -> None:
    code = written(tmp_path, "mine.py", CODE)
    model = written(tmp_path, "net.py", "import torch\ndef model(): ...\ndef batch(rng, size): ...")

    with pytest.raises(InputError, match=r"mine\.py: found code without --stack, expected .* --stack old=PATH"):
        own_models.study([code])
    with pytest.raises(InputError, match=r"mine\.py is code and .*net\.py a model of torch"):
        own_models.study([code, model], stacks=[OLD])
    with pytest.raises(InputError, match=r"--same .*same\.py: found it with"):
        own_models.study([code], same=str(tmp_path / "same.py"), stacks=[OLD])
    with pytest.raises(InputError, match='--set measure "train" is unknown; known: step'):
        own_models.study([code], measure="train", stacks=[OLD])


@pytest.mark.parametrize(("new", "said"), [
    ({"output": [1.0, 2.0]}, "equal results"), ({"output": [1.0, 2.5]}, "results differ by up to 2e-01, relative"),
    ({}, "inferred output is in old alone")])
def test_results_that_differ_are_told_and_the_steps_timed(tmp_path: Path, new: dict[str, list[float]], said: str
                                                          ) -> None:
    made = planned(written(tmp_path, "mine.py", CODE), stacks=STACKS)

    left, told, prints = proof(made, tmp_path, {
        "old": lines("inferred", output=[1.0, 2.0]), "new": lines("inferred", **new)})

    assert 2 == len(left.cells) and f"new and old: your step, not proved equal; {said}" in told
    assert {} == equality.proved(tmp_path, prints)
    assert [said] == [agreement.apart(each) for each in equality.of_code(
        tmp_path, cells.model_name(made.cells[0].cell), prints)]
    assert [] == equality.of_code(tmp_path, cells.model_name(made.cells[0].cell), {**prints, "new": "another"})


def records(folder: Path, *units: list[Any] | None) -> list[dict[str, Any]]:
    """A session of steps of 0.01 s, whose workers say these units."""
    made = planned(written(folder, "mine.py", CODE), stacks=STACKS)
    facts = ({"framework": "python", "version": "3.11.7", **({"units": unit} if unit else {})} for unit in units)
    return [made_rows.session(), made.record(), *(
        record for each, said in zip(made.cells, facts, strict=True)
        for record in made_rows.run(each.cell, 0, made_rows.steps([0.01] * 4), facts=said))]


@pytest.mark.parametrize(("old", "new", "unit", "rate"), [
    (None, None, "steps/s", 100), ([512, "tokens"], [512, "tokens"], "tokens/s", 51200),
    ([7, "characters"], [7, "characters"], "characters/s", 700), ([2, "a\nb"], [2, "a\nb"], "steps/s", 100),
    ([3, "samples"], [5, "tokens"], "steps/s", 100), (["x", "tokens"], ["x", "tokens"], "steps/s", 100)])
def test_a_rate_is_in_the_file_s_unit_where_both_sides_say_the_same(
        tmp_path: Path, old: list[Any] | None, new: list[Any] | None, unit: str, rate: float) -> None:
    measured = measurements(records(tmp_path, old, new))

    assert {unit} == {row.unit for row in measured.rows}
    assert [rate, rate] == pytest.approx([row.rates[0] for row in measured.rows])


def test_the_answer_says_that_a_step_is_not_proved_equal(tmp_path: Path) -> None:
    told = answer(summary_of(measurements(records(tmp_path, None, None))))

    assert ["your step, not proved equal"] == [each.text for each in told.trust if each.name == "Equal models"]


def test_of_code_nobody_knows_why(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="why: found code, expected models"):
        questions.of(measurements(records(tmp_path, None, None)))


def test_a_rerun_takes_an_environment_for_what_it_was_taken_before(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[own.Asked] = []

    def environment(each: own.Asked, root: Path, has_gpus: bool) -> own.OwnStack:
        asked.append(each)
        return OLD

    monkeypatch.setattr(own, "environment", environment)
    own_stacks.again(["old=/envs/other"], {"own": {"old": OLD.record()}}, [], {}, paths.ROOT, own_stacks.NONE, print)

    assert [own.Asked("old", "/envs/other", package="python")] == asked
