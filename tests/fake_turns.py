"""Workers that take turns as they are told, on a machine of a fake clock."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runner.launchers.protocol import Exit, Order
from runner.measuring.bench import Bench
from runner.planning.plan import Wishes, plan
from tests.clock import FakeClock
from tests.fake_session import STACKS, STUDY, bench
from tests.fakes import MACHINE, FakeLauncher, FakeRunning
from tests.studies import parse
from workloads.spec.cell import Cell

OPEN = STUDY + b'warm = "steady"\nseconds = 1.0\n'


class TurnWorker(FakeRunning):
    """A worker that does what it is told: so many steps a second in a turn, and what others use meanwhile."""

    def __init__(self, machine: "TurnMachine", cell: Cell) -> None:
        super().__init__([b'{"event": "waiting", "at": "imported"}\n'], Exit(0), machine.clock)
        self._machine, self._cell, self._turns = machine, cell, 0

    def tell(self, words: str) -> None:
        super().tell(words)
        self._machine.told.append((self._cell.stack, words.split()[0]))
        self._lines += self._answer(*words.split())

    def exit(self, place: str, seconds: float) -> Exit:
        is_alive = self.told[-1:] != ["end"] and (self._cell.stack, len(self.told)) not in self._machine.lost
        return Exit(None) if is_alive and not seconds else super().exit(place, seconds)

    def _answer(self, word: str, *numbers: str) -> list[Any]:
        if word == "end":
            return [b'{"event": "end", "status": "ok", "message": ""}\n']
        if word == "turn":
            return [self._turn]
        if len(self.told) == 1:
            return [b'{"event": "start", "facts": {}}\n', b'{"event": "waiting", "at": "built"}\n']
        return [b'{"event": "warm", "seconds": [0.1], "ended": "steady"}\n']

    def _turn(self) -> bytes:
        stack, self._turns = self._cell.stack, self._turns + 1
        if self._machine.dies == (stack, self._turns):
            return b""
        self._clock.advance(0.1)
        busy = self._machine.busy(stack, self._turns)
        return json.dumps({"event": "steps", "first": 0, "seconds": [0.05, 0.05], "before": 1, "turn": {
            "index": self._turns - 1, "lead_steps": 1, "seconds": 0.1, "cpus": 2, "own_seconds": 0.2,
            "busy_seconds": 0.2 + 0.2 * busy, "stolen_seconds": 0.0}}).encode() + b"\n"


class TurnMachine(FakeLauncher):
    """Starts such workers."""

    tells = True
    worker = TurnWorker

    def __init__(self, clock: FakeClock, busy: Callable[[str, int], float] = lambda stack, turn: 0.0,
                 dies: tuple[str, int] = ("", 0)) -> None:
        super().__init__(clock)
        self.clock, self.busy, self.dies = clock, busy, dies
        self.lost: list[tuple[str, int]] = []          # stacks whose worker is gone after so many words
        self.told: list[tuple[str, str]] = []          # in order: the stack and the word

    def begin(self, order: Order) -> FakeRunning:
        assert order.listens
        worker, stack = self.worker(self, order.cell), order.cell.stack
        self.begins(worker, stack, stack in [each.stack for each, _ in self.started])
        self.started.append((order.cell, order.run))
        self.running.append(worker)
        return worker

    def begins(self, worker: TurnWorker, stack: str, is_again: bool) -> None:
        """What becomes of a worker at its start; for tests to replace."""


def turn_bench(folder: Path, rounds: int = 1, nodes: int = 1, parallel: str = "none", **machine: Any
               ) -> tuple[Bench, TurnMachine]:
    made, clock = bench(folder), FakeClock(step=0.001)
    study = OPEN + f'nodes = {nodes}\nparallel = "{parallel}"\n'.encode()
    planned = plan(parse(study), STACKS, MACHINE, Wishes(), lambda stack: None)
    launcher = TurnMachine(clock, **machine)
    return made._replace(plan=planned._replace(rounds=rounds), launcher=launcher, clock=clock,
                         wait=clock.advance), launcher
