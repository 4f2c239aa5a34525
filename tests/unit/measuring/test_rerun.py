"""A session once more from its record."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.cells import key
from runner.errors import InputError
from runner.measuring import job, session_record
from runner.measuring.rerun import chosen, data_argument, differences, named, plan_again, recorded
from runner.results import sessions
from runner.results.sessions import Session
from tests import made_rows as made
from tests.clock import FakeClock
from tests.fake_session import job_of
from tests.fakes import MACHINE, FakeLauncher, stack

CELLS = made.cell("torch"), made.cell("tf"), made.cell("tf", batch=20)
STACKS = {name: stack(name) for name in ("torch", "tf")}


def kept(folder: Path, *records: Any, **session: Any) -> Session:
    plan = made.plan(*CELLS, skipped={made.cell("mxnet"): "no image"})
    small = {"id": "f", "title": "F", "cells": [key(CELLS[2])], "assumed": {"data": "digits"}, "scaled": ["steps"],
             "node": {"cpus": 4, "memory_bytes": 2**30}}
    return recorded(made.kept(folder, made.session(**session), {
        **plan, "settings": {"data": "digits32", "batch": [10, 20]}, "stacks": ["torch", "tf"], "title": "Quick",
        "index": [{"number": "Fig. 1", "title": "Speed", "experiment": "f", "why": ""}],
        "experiments": [*plan["experiments"], small]}, *records))


def test_the_same_plan_comes_back(tmp_path: Path) -> None:
    recorded = kept(tmp_path)
    again = plan_again(recorded, STACKS, None, 7)

    assert (7, 5, "torch", "quick") == (again.seed, again.rounds, again.baseline, again.study.id)
    assert recorded.plan == {name: again.record()[name] for name in recorded.plan}
    assert ["no image"] == [skip.reason for skip in again.skipped]
    assert list(CELLS) == [planned.cell for planned in again.cells]
    assert 2 == plan_again(recorded, STACKS, 2, 1).rounds


def test_one_cell_is_chosen_by_number_or_by_the_beginning_of_its_key(tmp_path: Path) -> None:
    record = kept(tmp_path)
    for one in (chosen(record, "3"), chosen(record, key(CELLS[2])[:9]), chosen(record, key(CELLS[2]))):
        again = plan_again(one, STACKS, None, 1)
        assert [CELLS[2]] == [planned.cell for planned in again.cells]
        assert {"e": (key(CELLS[2]),), "f": (key(CELLS[2]),)} == again.keys
    assert ["e"] == [each.id for each in plan_again(chosen(record, "1"), STACKS, None, 1).study.experiments]


@pytest.mark.parametrize(("words", "said"), [
    ("0", "--cell: found 0, expected 1 to 3, as in made's plan, or a key"), ("4", "--cell: found 4, expected 1 to 3"),
    ("zzz", '--cell: found "zzz", which begins no keys of made, expected one; known: ')])
def test_a_cell_that_is_not_there_is_refused_in_one_line(tmp_path: Path, words: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        chosen(kept(tmp_path), words)


def test_a_key_of_digits_alone_is_a_key(tmp_path: Path) -> None:
    record = kept(tmp_path)
    digits = "1234567890123456"
    cells = [{**record.plan["cells"][0], "key": digits}, *record.plan["cells"][1:]]

    [one] = chosen(replace(record, plan={**record.plan, "cells": cells}), digits).plan["cells"]
    assert digits == one["key"]


def test_cells_of_a_stack_that_is_gone_are_skipped_with_the_reason(tmp_path: Path) -> None:
    again = plan_again(kept(tmp_path), {"torch": stack("torch")}, None, 1)

    assert [CELLS[0]] == [planned.cell for planned in again.cells]
    assert 2 == [skip.reason for skip in again.skipped].count("stack tf is not here any more")


@pytest.mark.parametrize("change", [{"rounds": "x"}, {"cells": [{}]}, {"cells": 3}, {"claims": [1]}, {"published": [1]},
                                    {"cells": [{"key": "k", "experiment": "e", "cell": {"stack": "a"}}]}])
def test_a_record_that_cannot_be_repeated_is_refused_in_one_line(tmp_path: Path, change: dict[str, Any]) -> None:
    recorded = kept(tmp_path)
    with pytest.raises(InputError, match="made: its plan cannot be repeated: "):
        plan_again(replace(recorded, plan={**recorded.plan, **change}), STACKS, None if "rounds" in change else 3, 1)


def test_a_folder_without_a_plan_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="hold no plan, so there is nothing to repeat"):
        recorded(made.kept(tmp_path, made.session()))


@pytest.mark.parametrize(("state", "first", "repeated"), [
    ("interrupted", {"rerun_of": "1"}, "1"), ("done", {"rerun_of": "1"}, "2"), ("interrupted", {}, "2"),
    ("interrupted", {"rerun_of": "elsewhere"}, "2")])
def test_a_rerun_of_the_latest_that_was_interrupted_repeats_what_it_repeated(
        tmp_path: Path, state: str, first: dict[str, str], repeated: str) -> None:
    kept(tmp_path / "1", id="1")
    kept(tmp_path / "2", {"event": "closed", "reason": state}, id="2", **first)
    assert (repeated, "2") == tuple(named(name, tmp_path).id for name in ("latest", "2"))


def test_what_differs_now_is_told_line_by_line(tmp_path: Path) -> None:
    recorded = kept(tmp_path, *made.run(CELLS[0], 0, place={**made.PLACE, "fingerprint": "then" * 4}))
    told = differences(recorded, MACHINE._replace(kernel="6.9"), "venv", {"torch": "now0" * 4})

    assert {"machine: kernel was 6.1, is 6.9", "launcher was docker, is venv",
            "torch: stack or workloads have changed (thenthen then, now0now0 now)"} == set(told)
    assert [] == differences(recorded, MACHINE, "docker", {})


def test_the_data_s_folder_is_the_recorded_one(tmp_path: Path) -> None:
    cell = made.cell(data="cifar10")
    plan = made.plan(cell)
    recorded = Session(first=made.session(data="cifar10=/there"), plan=plan)

    assert "cifar10=/there" == data_argument(recorded, None)
    assert "cifar10=/here" == data_argument(recorded, "cifar10=/here")
    with pytest.raises(InputError, match="made read cifar10, found digits32: give --data NAME=FOLDER"):
        data_argument(Session(first=made.session(), plan=plan), None)


def rerun(folder: Path, seed: int) -> job.Job:
    """The job of a rerun whose orders this seed draws."""
    return job_of(FakeLauncher(FakeClock()), STACKS, plan=plan_again(kept(folder), STACKS, None, seed),
                  facts={"rerun_of": "made", "differs": []})


def test_a_rerun_with_orders_of_its_own_is_still_the_same_command(tmp_path: Path) -> None:
    one, other = rerun(tmp_path / "r", 1), rerun(tmp_path / "r", 2)
    assert one.command() == other.command()
    assert one._replace(facts={}).command() != other._replace(facts={}).command()


def test_a_resumed_rerun_goes_on_in_the_orders_that_it_began_with(tmp_path: Path) -> None:
    begun, later = rerun(tmp_path / "r", 1), rerun(tmp_path / "r", 2)
    folder = tmp_path / "results" / "a"
    made.kept(folder, session_record.of(begun, folder, is_resumed=False))
    unfinished = sessions.unfinished(tmp_path / "results", later.command())

    assert unfinished and 1 == session_record.resumed(later, unfinished).plan.seed
