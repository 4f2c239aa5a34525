"""A worker that has imported runs its stack's cells of a round, each in a child of its own."""

import json
from pathlib import Path
from typing import Any

import pytest

from runner.launchers.protocol import Exit
from runner.measuring.bench import Bench
from tests.fake_session import endings, events, run
from tests.fake_turns import TurnMachine, TurnWorker, turn_bench
from tests.fakes import READING
from workloads.spec import turns
from workloads.spec.cell import Cell

WAITING = b'{"event": "waiting", "at": "imported", "forks": true}\n'


class Forking(TurnWorker):
    """A worker that waits again once a cell has ended well."""

    def __init__(self, machine: TurnMachine, cell: Cell) -> None:
        super().__init__(machine, cell)
        self.cells: list[dict[str, Any]] = []
        if turns.may_fork(cell):
            self._lines = [WAITING]

    def forget_errors(self) -> None:
        self.told.clear()

    def _answer(self, word: str, *rest: str) -> list[Any]:
        if not turns.may_take(self._cell):
            return [b'{"event": "start", "facts": {}}\n', b'{"event": "end", "status": "ok", "message": ""}\n']
        if rest and word == "go":
            self.cells.append(json.loads(" ".join(rest)))
        return super()._answer(word, *rest) + ([WAITING] if word == "end" and self.cells else [])


class Machine(TurnMachine):
    worker = Forking


def two_comparisons(folder: Path, rounds: int = 1, **changes: Any) -> tuple[Bench, Machine]:
    """Of each stack a cell that trains and one that infers, the latter with the changes."""
    made, turn_machine = turn_bench(folder, rounds)
    launcher = Machine(turn_machine.clock)
    cells = [planned._replace(key=planned.key + measure, cell=planned.cell._replace(measure=measure, **own))
             for planned in made.plan.cells for measure, own in (("train", {}), ("infer", changes))]
    return made._replace(plan=made.plan._replace(cells=tuple(cells)), launcher=launcher), launcher


def test_a_stack_imports_once_a_round(tmp_path: Path) -> None:
    made, launcher = two_comparisons(tmp_path / "r", rounds=2)
    assert run(made)
    assert ["a", "a", "b", "b"] == sorted(cell.stack for cell, _ in launcher.started)
    assert all({"train", "infer"} == {cell["measure"] for cell in worker.cells} and worker.is_stopped
               for worker in launcher.running if isinstance(worker, Forking))
    assert ["ok"] * 8 == endings(tmp_path / "r")
    assert 4 == len({(each["round"], each["padding"]) for each in events(tmp_path / "r", "begin")})  # the process's own


@pytest.mark.parametrize("changes", [{"cpus": 1}, {"memory_bytes": 2**33}, {"switches": "KMP_BLOCKTIME=0"},
                                     {"onednn": "off"}, {"data": "other"}])
def test_a_cell_whose_process_is_another_gets_its_own(tmp_path: Path, changes: dict[str, Any]) -> None:
    made, launcher = two_comparisons(tmp_path / "r", **changes)
    assert run(made._replace(folders={"other": tmp_path}))
    assert 4 == len(launcher.started)


def test_a_worker_that_ended_is_not_asked_again(tmp_path: Path) -> None:
    made, launcher = two_comparisons(tmp_path / "r")
    launcher.dies = ("a", 3)
    assert not run(made)
    assert ["died", "died", "ok", "ok"] == sorted(endings(tmp_path / "r"))
    assert ["a", "a", "b"] == sorted(cell.stack for cell, _ in launcher.started)


@pytest.mark.parametrize("how", [Exit(137), Exit(None, verdict=("killed", "its node is gone"))])
def test_one_that_is_gone_while_it_waits_is_started_again(tmp_path: Path, how: Exit) -> None:
    made, launcher = two_comparisons(tmp_path / "r")
    gone = {"exit": lambda place, seconds: how}
    launcher.begins = lambda worker, stack, is_again: vars(worker).update(
        {"forget_errors": lambda: vars(worker).update(gone)} if stack == "a" else {})
    assert run(made)
    assert ["a", "a", "b"] == sorted(cell.stack for cell, _ in launcher.started)
    assert ["ok"] * 4 == endings(tmp_path / "r")


def test_none_waits_beside_a_run_that_is_alone(tmp_path: Path) -> None:
    made, launcher = two_comparisons(tmp_path / "r", rounds=3, sync="end")
    at_start: list[bool] = []

    def begins(worker: TurnWorker, stack: str, is_again: bool) -> None:
        if not turns.may_take(worker._cell):
            at_start.append(all(each.is_stopped for each in launcher.running if turns.may_take(each._cell)))

    launcher.begins = begins
    assert run(made)
    assert [True] * 6 == at_start


def test_none_forks_where_workers_do_not_fit_into_memory_together(tmp_path: Path) -> None:
    made, launcher = two_comparisons(tmp_path / "r", rounds=3)

    def readings() -> Any:
        alive = sum(bool(each.told) and not each.is_stopped for each in launcher.running)
        return READING._replace(free_bytes=int((10 - 6 * alive) * 2**30))

    assert run(made._replace(readings=readings))
    assert ["killed"] * 2 + ["ok"] * 12 == sorted(endings(tmp_path / "r"))
    assert 2 == len(events(tmp_path / "r", "apart"))
    # the first of either comparison forks, before it is known
    assert 2 == sum(bool(worker.cells) for worker in launcher.running if isinstance(worker, Forking))
