"""A launcher, a worker and a progress that tests script; the clock is tests.clock's."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from runner.errors import EngineUnreachable
from runner.launchers.protocol import Exit, Launcher, Order, Running
from runner.machine.host import CpuSeconds, Machine, Reading
from runner.results.error_output import Written
from runner.stacks.definition import CAPABILITIES, GpuCode, PinnedStack, Stack
from runner.study.file import Study, from_document
from workloads.spec.cell import Cell

MACHINE = Machine("a CPU", 2, 8 * 2**30, "6.1", "Debian", "host")
READING = Reading(0.1, None, 2**30, 0, CpuSeconds(0.0), MACHINE.cpus)


def stack(name: str = "torch-x", **values: Any) -> Stack:
    facts: dict[str, Any] = {
        "name": name, "framework": "pytorch", "version": "1", "python": "3.11", "studies": (), "devices": ("cpu",),
        "title": name, "base": {"image": f"ubuntu@sha256:{'0' * 64}", "verified": False}, "size": {"wheels_bytes": 1},
        "folder": Path("docker") / name, "beside": Path("docker")}
    if "gpu" in values.get("devices", ()):
        facts["gpu"] = GpuCode(cuda="12.6", driver="525.60.13", native=CAPABILITIES, jit=(), unsupported=(),
                               verified=False)
    return PinnedStack(**{**facts, **values})


def study(*stacks: str, **fields: Any) -> Study:
    """A study of one experiment, the training of LeNet-5 in these stacks, with these fields beside or instead."""
    experiment = {"id": "e", "measure": "train", "task": "lenet5", "stacks": list(stacks), **fields}
    return from_document({"study": {"id": "s", "title": "S"}, "experiment": [experiment]}, "s.toml")


def good_lines(seconds: float = 0.5) -> list[bytes]:
    return [b'{"event": "start", "facts": {}, "parameters": 1, "flops": 1}\n',
            b'{"event": "warm", "seconds": [0.75]}\n',
            b'{"event": "steps", "first": 0, "seconds": [%g, %g], "loss": [2.0, 1.0]}\n' % (seconds, seconds),
            b'{"event": "end", "status": "ok", "message": "", "peak_bytes": 1}\n']


class FakeRunning(Running):
    """Gives its lines; None means that nothing came in time, a callable is called."""

    def __init__(self, lines: list[Any], exit: Exit, clock: Any) -> None:
        self.place = {"launcher": "fake", "isolation": "fake", "image": None, "base": "none", "base_is_default": True,
                      "stack_version": "1", "fingerprint": "f"}
        self.reporters: tuple[str, ...] = ("node0",)
        self.servers: tuple[str, ...] = ()
        self.seen: dict[str, str] = {}         # by trouble()
        self.is_stopped = self.went_away = False
        self.told: list[str] = []              # by tell()
        self._lines, self._exit, self._clock = list(lines), exit, clock

    def next_line(self, seconds: float) -> tuple[str, bytes] | None:
        if not self._lines:
            return "node0", b""
        line = self._lines[0]
        if line is None:                       # for ever
            self._clock.advance(seconds)
            return None
        self._lines.pop(0)
        told = line() if callable(line) else line
        return told if isinstance(told, tuple) else ("node0", told)

    def exit(self, place: str, seconds: float) -> Exit:
        return Exit(None) if self._lines and not seconds else self._exit

    def trouble(self) -> dict[str, str]:
        return self.seen

    def used(self) -> dict[str, dict[str, int | None]]:
        return {}

    def errors(self) -> dict[str, Written]:
        return {"node0": Written(self._exit.last_words.encode())}

    def tell(self, words: str) -> None:
        self.told.append(words)

    def is_lost(self) -> bool:
        return self.went_away

    def stop(self) -> None:
        self.is_stopped = True


class FakeLauncher(Launcher):
    """Starts what `script(cell, run)` returns: lines, or lines and an Exit, or an error to raise."""

    name = "fake"

    def __init__(self, clock: Any, script: Callable[[Cell, str], Any] = lambda cell, run: good_lines()) -> None:
        self._clock, self._script = clock, script
        self.started: list[tuple[Cell, str]] = []
        self.orders: list[Order] = []
        self.running: list[FakeRunning] = []

    def prepare(self, stacks: list[Stack], say: Callable[[str], None]) -> None:
        pass

    def fingerprint(self, stack: Stack) -> str:
        return "f"

    def begin(self, order: Order) -> FakeRunning:
        self.orders.append(order)
        self.started.append((order.cell, order.run))
        scripted = self._script(order.cell, order.run)
        if isinstance(scripted, Exception):
            raise scripted
        lines, exit = scripted if isinstance(scripted, tuple) else (scripted, Exit(0))
        self.running.append(FakeRunning(lines, exit, self._clock))
        self.running[-1].place["run"] = order.run
        return self.running[-1]


def row_of(launcher: Launcher) -> Any:
    """What stands in the table of launchers for one that is at hand."""
    return SimpleNamespace(summary="", load=lambda: type("Kind", (type(launcher),), {
        "made": classmethod(lambda kind, here, options: launcher)}))


def no_engine() -> EngineUnreachable:
    return EngineUnreachable("the engine went away")


def quiet(line: str) -> None:
    pass
