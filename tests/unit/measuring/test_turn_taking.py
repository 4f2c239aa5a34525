"""Workers that take turns: who computes when, what the machine makes of a turn, and what becomes of the rest."""

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.analysis.summary import summary_of
from runner.errors import Stopped
from runner.launchers.process_groups import ProcessGroup, ProcessRunning
from runner.launchers.protocol import Exit, Order
from runner.machine import programs
from runner.machine.programs import Taken
from runner.measuring import matrix_products
from runner.measuring.bench import Bench, Going
from runner.measuring.session.live_run import NO_ROOM
from runner.measuring.session.turn_taking import Patience
from runner.paths import ROOT
from runner.report import columns
from runner.report.answer import answer
from runner.results import store
from runner.results.reader import measurements
from tests.clock import FakeClock
from tests.fake_session import bench, endings, events, rounds, run, sent, stored
from tests.fake_turns import TurnWorker, turn_bench
from tests.fakes import READING, FakeRunning, no_engine, stack
from workloads.spec import frameworks, turns
from workloads.spec.cell import Cell

ENDED = 2**22 + 1                # a process number that no kernel gives
LISTENING = ("from workloads.process import emit, waiting; send = emit.take_over(); runner = waiting.opened(send);"
             "import os; send('beat', words=runner.wait('imported') if runner else [], left=len(os.read(0, 1)),"
             " told=os.environ.get('EVENBENCH_TURNS', ''))")


def heard(running: ProcessRunning) -> dict[str, Any]:
    line = running.next_line(20)
    assert line
    return dict(json.loads(line[1])) if line[1] else {}


@pytest.fixture
def process(request: pytest.FixtureRequest) -> Iterator[ProcessRunning]:
    order = Order(Cell(stack="a", task="lenet5", measure="train"), stack(), Path("/d"), "r", listens=request.param)
    running = ProcessRunning({}, order, lambda rank, variables: ProcessGroup(
        lambda scratch: [sys.executable, "-c", LISTENING], sorted(os.sched_getaffinity(0)), 0, ROOT, variables,
        order.listens))
    yield running
    running.stop()


@pytest.mark.parametrize("process", [True], indirect=True)
def test_a_process_that_listens_waits_behind_its_imports_and_then_reads_nothing_else(process: ProcessRunning) -> None:
    assert {"event": "waiting", "at": "imported"} == heard(process)
    assert process.next_line(0.1) is None
    process.tell("go now")
    assert {"event": "beat", "words": ["go", "now"], "left": 0, "told": ""} == heard(process)


@pytest.mark.parametrize("process", [False], indirect=True)
def test_a_process_that_does_not_listen_does_not_wait(process: ProcessRunning) -> None:
    assert {"event": "beat", "words": [], "left": 0, "told": ""} == heard(process)


@pytest.mark.parametrize("process", [True], indirect=True)
def test_a_process_whose_runner_is_gone_ends(process: ProcessRunning) -> None:
    heard(process)
    process._workers["node0"]._process.stdin.close()
    assert {} == heard(process)
    assert 1 == process.exit("node0", 20).code


def counts(folder: Path) -> list[int]:
    """The turns of each run."""
    return sorted(Counter(each["run"] for each in events(folder, "line") if each["line"]["event"] == "steps").values())


def turned(launcher: Any) -> list[str]:
    """The stacks in the order of their turns."""
    return [stack for stack, word in launcher.told if word == "turn"]


def batched(order: list[str], size: int = 2) -> list[tuple[str, ...]]:
    return list(zip(*[iter(order)] * size, strict=True))


def is_one_after_the_other(order: list[str]) -> bool:
    return all(1 == len(set(turns_of_one)) for turns_of_one in batched(order, turns.TURNS))


def test_all_build_before_any_warms_up_all_are_warm_before_the_first_turn_and_each_goes_round_before_the_next(
        tmp_path: Path) -> None:
    made, launcher = turn_bench(tmp_path / "r")
    assert run(made)
    words = [word for _, word in launcher.told]
    first = words.index("turn")

    assert ["go"] * 4 == words[:first]
    assert {("a", "go"), ("b", "go")} == set(launcher.told[:2]) == set(launcher.told[2:4])
    assert ["end", "end"] == words[-2:]
    assert [] == sent(tmp_path / "r", "waiting")
    pairs = batched(turned(launcher))

    assert turns.TURNS == len(pairs) and {("a", "b"), ("b", "a")} == set(pairs)       # each round's is drawn anew


def test_a_disturbed_turn_is_kept_and_repeated(tmp_path: Path) -> None:
    made, _ = turn_bench(tmp_path / "r", busy=lambda stack, turn: 0.3 if (stack, turn) == ("a", 2) else 0.0)
    doing: list[str] = []
    run(made, lambda event: doing.append(str(event.get("doing"))))
    assert f"turn {turns.TURNS + 1}, {turns.TURNS - 1} of {turns.TURNS} count" in doing
    assert [turns.TURNS, turns.TURNS + 1] == counts(tmp_path / "r")


def test_a_program_that_takes_less_than_a_tick_disturbs_a_turn_and_the_record_names_it_not(tmp_path: Path) -> None:
    made, _ = turn_bench(tmp_path / "r")
    looks = count()
    run(made._replace(programs=lambda: {ENDED: 0.005 * min(next(looks), 16)}))

    taken = [line["turn"]["taken_seconds"] for line in sent(tmp_path / "r", "steps")]
    assert len(taken) > 2 * turns.TURNS and {0.0, 0.005} == {round(each, 6) for each in taken}
    assert not any("a program that" in json.dumps(record) for record in store.read(tmp_path / "r"))


def test_of_a_turn_in_which_a_program_ended_the_record_says_so(tmp_path: Path) -> None:
    made, _ = turn_bench(tmp_path / "r")
    looks = count()
    run(made._replace(programs=lambda: {ENDED: 0.0} if next(looks) == 8 else {}))

    assert 1 == sum(line["turn"]["has_ended"] for line in sent(tmp_path / "r", "steps"))


def busy_bench(folder: Path, busy: Callable[[str, int], float], rounds: int = 5) -> Bench:
    """A bench on a machine whose CPUs seem busy while nothing of ours runs, too."""
    made, _ = turn_bench(folder, rounds, busy=busy)
    clock, reading = made.clock, READING._replace(cpus=2)
    return made._replace(readings=lambda: reading._replace(all_cpus=reading.all_cpus._replace(busy=2.0 * clock())))


def test_a_session_says_who_keeps_it_waiting(tmp_path: Path) -> None:
    begun: list[float] = []
    said: list[str] = []

    def busy(stack: str, turn: int) -> float:
        begun.extend([made.clock()] * (turn == 3))
        return 0.3 * (turn == 3)

    made = busy_bench(tmp_path / "r", busy, rounds=1)
    run(made._replace(programs=lambda: {ENDED: 0.4 * (made.clock() - begun[0] if begun else 0.0)}),
        lambda event: said.append(event["waits"]) if "waits" in event else None)
    assert re.fullmatch(r"a program that has ended took 4\d% of a CPU: waiting", said[0])


def test_workers_that_compute_while_they_wait_are_named_and_measured_one_after_the_other(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, launcher = turn_bench(tmp_path / "r", rounds=2)
    spinning = Taken(0.09, "python of bob", "b", "b's threads spin while they wait (GOMP_SPINCOUNT=infinite)", 0.09)

    def taken(before: Any, after: Any, own: Any, cpus: Any) -> Taken:
        alive = sum("go" in each.told and not each.is_stopped for each in launcher.running)
        return spinning if alive > 1 and own.stack == "a" else Taken(0.0)

    monkeypatch.setattr(programs, "taken", taken)
    assert run(made._replace(programs=dict))
    assert [f"{spinning.spinning}: one after the other"] == [each["why"] for each in events(tmp_path / "r", "apart")]
    assert is_one_after_the_other(turned(launcher)[-4 * turns.TURNS:])
    assert [[1, 2]] * 2 == rounds(tmp_path / "r")


def test_a_machine_that_stays_busy_is_given_twice_the_plan_and_says_no_word(tmp_path: Path) -> None:
    made, planned = busy_bench(tmp_path / "r", lambda stack, turn: 0.3), 12.0
    began = made.clock()
    assert not run(made._replace(seconds_estimate=planned))
    measured, seconds = measurements(store.read(tmp_path / "r")), made.clock() - began
    made_rounds = {len({run.round for run in row.runs}) for row in measured.rows}
    assert 2 * planned <= seconds < 2 * planned + 15.0 and max(made_rounds) < 5, (seconds, made_rounds)
    assert {"event": "closed", "reason": "incomplete"} == list(store.read(tmp_path / "r"))[-1]
    (comparison,) = summary_of(measured).comparisons
    assert [None, None] == [each.rate_per_worker for each in comparison.results]
    assert {"too busy (0 of 5 rounds could be measured)"} == {each.withheld for each in comparison.results}
    said = answer(summary_of(measured))
    assert [["too busy"] * 2] == [[columns.word(each) for each in lines] for _, lines in said.blocks]
    assert said.missing.startswith("too busy (0 of 5 rounds could be measured)")


def test_rounds_that_could_not_be_measured_are_made_again_behind_the_others(tmp_path: Path) -> None:
    """One worker is disturbed in its first round."""
    begun: Counter[str] = Counter()

    def busy(stack: str, turn: int) -> float:
        begun[stack] += turn == 1
        return 0.3 if stack == "a" and begun[stack] == 1 else 0.0

    made, _ = turn_bench(tmp_path / "r", 8, busy=busy)
    assert run(made)
    assert [[*range(1, 9)]] * 2 == rounds(tmp_path / "r")


def test_a_worker_that_dies_in_a_turn_has_its_ending_and_the_others_theirs(tmp_path: Path) -> None:
    made, _ = turn_bench(tmp_path / "r", dies=("a", 3))
    assert not run(made)
    assert ["died", "ok"] == sorted(endings(tmp_path / "r"))
    assert [2, turns.TURNS] == counts(tmp_path / "r")


def tells_of_no_turn(worker: TurnWorker) -> None:
    worker._turn = lambda: b'{"event": "steps", "first": 0, "seconds": [0.05]}\n'


def cannot_start(worker: TurnWorker) -> None:
    raise no_engine()


@pytest.mark.parametrize(("becomes", "ending"), [(tells_of_no_turn, "died"), (cannot_start, "not_started")])
def test_a_worker_without_turns_has_its_ending_and_the_others_have_their_turns(
        tmp_path: Path, becomes: Callable[[TurnWorker], None], ending: str) -> None:
    made, launcher = turn_bench(tmp_path / "r")
    launcher.begins = lambda worker, stack, is_again: becomes(worker) if stack == "a" else None
    assert not run(made)
    assert sorted([ending, "ok"]) == sorted(endings(tmp_path / "r"))


def test_who_stops_in_a_turn_leaves_no_worker_and_both_runs_are_killed(tmp_path: Path) -> None:
    made, launcher = turn_bench(tmp_path / "r")
    with pytest.raises(Stopped):
        run(made._replace(is_stopping=lambda: ("a", "turn") in launcher.told))
    assert all(each.is_stopped for each in launcher.running)
    assert ["killed", "killed"] == sorted(endings(tmp_path / "r"))


@pytest.mark.parametrize("seen", [lambda stack: Taken(0.09, "python", stack, "spins", 0.09), lambda stack: Taken(
    0.09, "the worker of b", "b", "b's threads spin while they wait", 0.002)], ids=["alone", "of many"])
def test_a_worker_that_seems_to_compute_beside_itself_or_a_little_while_it_tidies_up_does_not_spin(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: Callable[[str], Taken]) -> None:
    monkeypatch.setattr(programs, "taken", lambda before, after, own=None, cpus=None:
                        seen(own.stack) if own else Taken(0.0))
    run(turn_bench(tmp_path / "r", rounds=1)[0]._replace(programs=dict))
    assert [] == events(tmp_path / "r", "apart")


@pytest.mark.parametrize(("gib", "fits"), [(6, False), (4.1, False), (3.9, True)])
def test_workers_that_do_not_fit_into_memory_together_run_one_after_the_other(tmp_path: Path, gib: float, fits: bool
                                                                              ) -> None:
    """Of 10 GiB free ones; a second worker is to have room for half as much again as the first took."""
    made, launcher = turn_bench(tmp_path / "r", rounds=2)

    def readings() -> Any:
        alive = sum("go" in each.told and not each.is_stopped for each in launcher.running)
        return READING._replace(free_bytes=int((10 - gib * alive) * 2**30))

    assert run(made._replace(readings=readings))
    told = [] if fits else ["workers did not fit into memory together: one after the other"]
    assert told == [each["why"] for each in events(tmp_path / "r", "apart")]
    assert fits != is_one_after_the_other(turned(launcher))
    assert 4 == endings(tmp_path / "r").count("ok")


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_worker_that_the_kernel_killed_for_memory_beside_another_is_made_again_by_itself(
        tmp_path: Path, rounds: int) -> None:
    made, launcher = turn_bench(tmp_path / "r", rounds=rounds, dies=("a", 1))
    launcher.uses_images = False
    launcher.lost.append(("a", 3))               # go, go, turn

    def begins(worker: TurnWorker, stack: str, is_again: bool) -> None:
        if stack == "a" and is_again:
            launcher.dies = ("", 0)
        elif stack == "a":
            worker._exit = Exit(-9, is_out_of_memory=True)

    launcher.begins = begins
    assert run(made)
    assert ["killed", *["ok"] * (2 * rounds + 1)] == sorted(endings(tmp_path / "r"))
    assert any(each["message"].startswith(f"{NO_ROOM}; ") for each in events(tmp_path / "r", "ending"))
    assert 1 == len(events(tmp_path / "r", "apart"))


def test_a_busy_machine_takes_twice_the_plan_at_most_or_as_long_as_the_user_says_and_a_slow_one_as_it_needs() -> None:
    clock = FakeClock(step=0.0)
    busy, slow, limited = Patience(clock, 30.0), Patience(clock, 30.0), Patience(clock, 30.0, 90.0)
    clock.advance(10.0)
    busy.spent += 4.0
    assert not busy.is_half_spent
    busy.spent += 2.0
    assert busy.is_half_spent and not busy.is_over
    clock.advance(49.0)
    busy.spent += 49.0
    assert not busy.is_over
    clock.advance(1.0)
    assert busy.is_over and not limited.is_over
    clock.advance(30.0)
    assert limited.is_over and not slow.is_over


def test_no_round_begins_after_the_minutes_that_the_user_gives(tmp_path: Path) -> None:
    made, _ = turn_bench(tmp_path / "r", rounds=5)
    told: list[float] = []
    assert not run(made._replace(going=Going(minutes=0.1)),             # a round takes two seconds of turns and more
                   heard=lambda event: told.append(event["left"]) if "left" in event else None)
    assert 1 <= measurements(store.read(tmp_path / "r")).rows[0].counted_rounds < 5
    assert told[0] < 6 and told[-1] == 0


def test_the_seconds_of_runs_that_are_alive_together_add_up_to_what_they_took(tmp_path: Path) -> None:
    made, _ = turn_bench(tmp_path / "r")
    began = made.clock()
    run(made)
    seconds = sum(each["seconds"] for each in events(tmp_path / "r", "ending"))
    assert seconds == pytest.approx(made.clock() - began, rel=0.1)


class Together(TurnWorker):
    """Two places on the same CPUs, each of which says what one alone does, but that it took half of what is used."""

    def __init__(self, machine: Any, cell: Cell) -> None:
        super().__init__(machine, cell)
        self.reporters = ("node0", "node1")
        self._lines = [(place, self._lines[0]) for place in self.reporters]

    def _answer(self, word: str, *numbers: str) -> list[Any]:
        return [(place, line() if callable(line) else line) for line in super()._answer(word, *numbers)
                for place in self.reporters]

    def _turn(self) -> bytes:
        return super()._turn().replace(b'"own_seconds": 0.2', b'"own_seconds": 0.1')


def test_workers_that_train_together_are_in_the_same_turn_and_disturb_none_of_each_other(tmp_path: Path) -> None:
    made, launcher = turn_bench(tmp_path / "r", nodes=2, parallel="sync")
    launcher.worker = Together
    assert run(made)
    pairs = batched(turned(launcher))
    assert ["ab"] * turns.TURNS == ["".join(sorted(pair)) for pair in pairs]
    rows = measurements(store.read(tmp_path / "r")).rows
    assert [[["node0", "node1"]]] * 2 == [[[each.name for each in run.workers] for run in row.runs] for row in rows]
    assert {turns.TURNS} == {len(run.turns) for row in rows for run in row.runs}


def test_a_turn_that_is_disturbed_on_one_node_is_repeated_on_all(tmp_path: Path) -> None:
    made, launcher = turn_bench(tmp_path / "r", nodes=2, parallel="sync", busy=lambda stack, turn: (
        0.3 * ((stack, turn) == ("a", 4))))              # of node1, whose second turn it is
    launcher.worker = Together
    assert run(made)
    first, second = measurements(store.read(tmp_path / "r")).rows
    assert (turns.TURNS + 1, turns.TURNS) == (len(first.runs[0].turns), len(second.runs[0].turns))
    assert [[2, 3]] * 2 == [[*np.flatnonzero(~worker.counts)] for worker in first.runs[0].workers]


class Deaf(FakeRunning):
    """A run that does not listen."""

    def tell(self, words: str) -> None:
        raise AssertionError(words)


def test_only_runs_that_listen_are_told_anything(tmp_path: Path) -> None:
    made = bench(tmp_path / "r")
    start = made.launcher.start
    cells = tuple(each._replace(cell=each.cell._replace(nodes=2, parallel="async")) for each in made.plan.cells)

    def deaf(*arguments: Any, **named: Any) -> Any:
        running = start(*arguments, **named)
        running.__class__ = Deaf
        assert not named["listens"]
        return running

    made.launcher.start, made.launcher.tells = deaf, True  # type: ignore[method-assign]
    assert run(made._replace(plan=made.plan._replace(cells=cells)))


def test_what_a_worker_says_that_does_not_wait_is_kept(tmp_path: Path) -> None:
    made = bench(tmp_path / "r")
    made.launcher.tells = True
    assert run(made)
    assert ["start", "warm", "steps"] * 6 == [each["line"]["event"] for each in events(tmp_path / "r", "line")]


def test_products_import_side_by_side_as_well(tmp_path: Path) -> None:
    made = bench(tmp_path / "r", lambda cell, run: [
        b'{"event": "waiting", "at": "imported"}\n', b'{"event": "start", "facts": {}}\n',
        b'{"event": "end", "status": "ok", "message": ""}\n'])
    made.launcher.tells = True
    stored(made, matrix_products.measure(made))
    assert [["go"], ["go"]] == [each.told for each in made.launcher.running]  # type: ignore[attr-defined]
    assert all(each.is_stopped for each in made.launcher.running)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("fields", "may"), [
    ({}, True), ({"warm": "fixed", "seconds": 0.0}, False), ({"sync": "end"}, False), ({"device": "gpu"}, False),
    ({"measure": "epochs"}, False), *(({"nodes": 3, "parallel": parallel}, True) for parallel in ("sync", "ps-sync")),
    ({"nodes": 3, "parallel": "async"}, False), ({"parallel": "sync", "gpus": 2}, False),
    ({"nodes": 3, "parallel": "sync", "measure": "phases"}, False)])
def test_workers_that_are_alone_or_step_together_on_cpus_and_time_steps_take_turns(fields: dict[str, Any], may: bool
                                                                                   ) -> None:
    cell = Cell(stack="a", task="lenet5", measure="train", warm="steady", seconds=1.0)._replace(**fields)
    assert turns.may_take(cell) is may


@pytest.mark.parametrize(("name", "has_optimizer", "later"), [
    ("pytorch", True, ("torch._dynamo",)), ("pytorch", False, ()), ("jax", True, ())])
def test_what_an_optimizer_imports_is_imported_with_the_framework(name: str, has_optimizer: bool,
                                                                  later: tuple[str, ...]) -> None:
    assert frameworks.later(name, has_optimizer) == later
