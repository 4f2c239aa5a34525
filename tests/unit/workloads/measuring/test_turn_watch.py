"""The clock of a worker that takes turns: what is timed, what is not, and what is said of each turn."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.clock import FakeClock
from tests.made_files import files
from tests.sent import Sent
from workloads.measuring.turns import TurnWatch
from workloads.measuring.watch import Over
from workloads.process import processor
from workloads.spec.cell import Cell

CELL = Cell(stack="a", task="lenet5", measure="train", warmup=2, warm="fixed", steps=10, seconds=1.0)


class Runner:
    """Says its words one after the other; pausing takes a minute."""

    def __init__(self, clock: FakeClock, *words: str) -> None:
        self._clock, self._words = clock, list(words)
        self.waited: list[str] = []

    def wait(self, at: str) -> list[str]:
        self.waited.append(at)
        return self.next()

    def next(self) -> list[str]:
        self._clock.advance(60.0)
        return self._words.pop(0).split()


def said(*words: str, step: Callable[[int], float] = lambda index: 0.025, cell: Cell = CELL, pass_steps: int = 0,
         waits: float | None = 0.5) -> list[tuple[str, dict[str, Any]]]:
    """What a worker says whose step takes so long, until it is told to end; step: of the number of a step."""
    clock = FakeClock(step=0.0)
    sent = Sent()
    watch = TurnWatch(Runner(clock, *words), cell, lambda handle: None, lambda handle: 1.0, sent, clock,
                      pass_steps=pass_steps,
                      readings=lambda: (clock() / 4, waits and clock() * waits, clock() / 8, clock() / 4, 0.0))
    with pytest.raises(Over):
        for index in range(10_000):
            clock.advance(step(index))
            watch.stepped(index)
    return [(line["event"], line) for line in sent]


def test_pauses_and_leads_are_no_part_of_any_step() -> None:
    (warm, first), (steps, turn) = said("go", "turn 0.03 0.1 3", "end")

    assert ("warm", "steps") == (warm, steps)
    assert [0.025, 0.025] == pytest.approx(first["seconds"])
    assert [0.025] * 4 == pytest.approx(turn["seconds"])                  # 0.1 s, after 2 of the lead
    assert {"index": 0, "lead_steps": 2} == {name: turn["turn"][name] for name in ("index", "lead_steps")}
    assert 4 == turn["before"]


@pytest.mark.parametrize(("least", "how", "steps", "lead_steps"), [
    (8, {}, 8, 2), (8, {"pass_steps": 3}, 9, 2),                                # it ends on a whole pass
    (1, {"step": lambda index: 4.0}, 1, 0)])                                    # much longer than the lead
def test_a_turn_has_as_many_steps_as_it_is_told(least: int, how: dict[str, Any], steps: int, lead_steps: int) -> None:
    turn = said("go", f"turn 0.03 0.1 {least}", "end", **how)[1][1]
    assert (steps, lead_steps) == (len(turn["seconds"]), turn["turn"]["lead_steps"])


def test_what_the_machine_did_is_read_around_the_lead_and_the_timed_steps() -> None:
    turn = said("go", "turn 0.03 0.1 4", "end")[1][1]["turn"]
    assert [0.15, 0.0375, 0.075] == pytest.approx([turn["seconds"], turn["own_seconds"], turn["waited_seconds"]])
    assert 0.15 * turn["cpus"] - 0.0375 == pytest.approx(turn["busy_seconds"])        # a quarter of a CPU was idle


@pytest.mark.parametrize(("waits", "ready"), [(0.5, 0.75), (None, 0.25)])
def test_how_many_threads_have_work_is_known_from_the_warm_up_on(waits: float | None, ready: float) -> None:
    events = said("go", "turn 0.03 0.1 4", "turn 0.03 0.1 4", "end", waits=waits)
    assert [ready, ready] == pytest.approx([values["turn"]["usual_ready"] for _, values in events if "turn" in values])


@pytest.mark.parametrize("warmup", [0, 1])
def test_a_warm_up_of_one_step_ends_before_a_turn(warmup: int) -> None:
    events = said("turn 0.03 0.1 4", "turn 0.03 0.1 4", "end", cell=CELL._replace(warmup=warmup))
    assert ["warm", "steps", "steps"] == [event for event, _ in events]
    assert [None, 0.75] == [values["turn"]["usual_ready"] for _, values in events if "turn" in values]


def test_threads_that_wait_for_a_cpu_are_counted_and_a_kernel_without_the_count_says_nothing(tmp_path: Any) -> None:
    files(tmp_path, {"1/schedstat": "5 1500000000 3", "2/schedstat": "5 250000000 1"})
    (tmp_path / "3").mkdir()                         # it has ended
    assert 1.75 == processor.waited_seconds(str(tmp_path))
    files(tmp_path, {"1/schedstat": "0 0 0", "2/schedstat": "0 0 0"})
    assert processor.waited_seconds(str(tmp_path)) is None


def test_idle_and_stolen_seconds_are_of_the_cpus_that_are_asked_for(tmp_path: Any) -> None:
    files(tmp_path, {"stat": "cpu  9 9 9 900 9 0 0 9 0 0\ncpu0 1 2 3 100 20 0 0 7 0 0\ncpu1 1 2 3 300 40 0 0 5 0 0\n"
                             "cpu2 1 2 3 999 40 0 0 5 0 0\nintr 1\n",
                     "cpu0/cpuidle/state0/time": "250000\n", "cpu0/cpuidle/state1/time": "1000000\n",
                     "cpu1/cpuidle/state1/time": "3000000\n", "cpu2/cpuidle/state1/time": "5000000\n"})
    stat = str(tmp_path / "stat")
    assert (4.6, 4.25, 0.12) == processor.unused_seconds({0, 1}, stat, str(tmp_path))
    assert (4.6, 0.0, 0.12) == processor.unused_seconds({0, 1}, stat, str(tmp_path / "none"))
