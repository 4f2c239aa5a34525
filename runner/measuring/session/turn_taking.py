"""The runs of a comparison by turns: all workers are alive, and only the one whose turn it is computes.

They import and build side by side, since nothing is timed then, each as fast as it can. They warm up one at a time, and
take their turns in an order that is drawn anew each time. After a disturbed turn the session waits until others leave
the CPUs alone, and the worker gets another turn, as long as the session has patience.
"""

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, as_completed

from runner.machine import host, programs
from runner.measuring.bench import Event
from runner.measuring.session.live_run import NO_ROOM, LiveRun, is_warm
from runner.results.turns import FOREIGN_SHARE, Turn
from workloads.spec import turns

_LOOK_SECONDS = 0.15             # of the machine while nothing of ours runs: 15 ticks of each CPU
_ROOM = 1.5                      # times the memory that the first worker of a comparison took is kept for each other


class Patience:
    """How long a session goes on where others use the machine: to twice its plan, or while they cost less than half.

    What they cost it are turns that do not count, waiting, and rounds that are lost. A slow machine may take longer.
    """

    def __init__(self, clock: Callable[[], float], planned: float = 0.0, given: float | None = None) -> None:
        """Of a plan of so many seconds; given: seconds after which no round begins, where the user says so."""
        self._clock, self._began, self._planned, self._given = clock, clock(), planned, given
        self.spent = 0.0             # seconds that would not have gone by on a quiet machine

    @property
    def left(self) -> float:
        """Seconds until the end that the user gives."""
        return math.inf if self._given is None else max(0.0, self._began + self._given - self._clock())

    @property
    def is_half_spent(self) -> bool:
        """Whether others cost more than half of the time so far."""
        return 2 * self.spent > self._clock() - self._began

    @property
    def is_over(self) -> bool:
        """Whether no further round is to begin."""
        seconds = self._clock() - self._began
        return self.is_half_spent and seconds >= 2 * self._planned if self._given is None else seconds >= self._given


def take(runs: Sequence[LiveRun], sizes: dict[str, int], patience: Patience, threads: Executor) -> Iterator[Event]:
    """Make a comparison's runs, which have not started; those that cannot be alive together say why, and do not count.

    sizes: a worker's bytes, by the comparison's key; new ones are learnt here. threads: as of imported.Imported.
    """
    yield from _built(runs, sizes, threads)
    if any(run.apart_for for run in runs):
        return
    for run in runs:
        if not run.is_warm and not run.ending:
            yield {"event": "now", "doing": f"warming up {run.cell.stack}"}
            run.tell("go")
            yield from run.listen(is_warm)
    yield from _by_turns(runs, patience)
    if any(run.apart_for for run in runs):
        return
    for run in runs:
        run.tell("end")
    for run in runs:
        yield from run.listen()


def imported(runs: Sequence[LiveRun], threads: Executor) -> Iterator[LiveRun]:
    """Start workers that listen, side by side since an engine takes long for each; each once it has imported."""
    waits = {threads.submit(run.start): run for run in runs}
    for wait in as_completed(waits):
        wait.result()
        yield waits[wait]


def _built(runs: Sequence[LiveRun], sizes: dict[str, int], threads: Executor) -> Iterator[Event]:
    """Build all; the first alone where it is to show how much memory a worker takes, and whether others find room."""
    yield {"event": "now", "doing": "building"}
    ready, comparison, readings = imported(runs, threads), runs[0].comparison, runs[0].bench.readings
    if comparison in sizes or len(runs) == 1:
        yield from _build(ready)
        return
    list(ready)                   # what they import takes memory, too
    free_bytes = readings().free_bytes
    yield from _build(runs[:1])
    sizes[comparison] = max(0, free_bytes - readings().free_bytes)
    if len(runs[1:]) * _ROOM * sizes[comparison] > readings().free_bytes:
        for run in runs:
            run.apart_for = NO_ROOM
        return
    yield from _build(runs[1:])


def _build(runs: Iterable[LiveRun]) -> Iterator[Event]:
    building = []
    for run in runs:
        yield from run.begin()
        run.build()
        building.append(run)
    for run in building:
        yield from run.listen(lambda event: event["event"] == "waiting" or is_warm(event))


def _by_turns(runs: Sequence[LiveRun], patience: Patience) -> Iterator[Event]:
    """Every run's turns, one of each in an order that is drawn, then the next."""
    drawn = random.Random(f"{runs[0].bench.plan.seed}:{runs[0].round}:{runs[0].comparison}")
    while waiting := [run for run in runs if run.wants_turn]:
        drawn.shuffle(waiting)
        taken, calm = max(len(run.turns) for run in waiting), min(run.calm for run in waiting)
        yield {"event": "now", "doing": f"turn {taken + 1}, {calm} of {turns.TURNS} count"}
        for run in waiting:
            turn = yield from run.take_turn()
            if why := run.spinning([other for other in runs if other is not run]):
                for each in runs:
                    each.apart_for = why
                return
            if turn and turn.reason:
                yield from _wait(run, turn, patience)


def _wait(run: LiveRun, turn: Turn, patience: Patience) -> Iterator[Event]:
    """Return when others leave the run's CPUs alone, or cost more than half of the session's time."""
    patience.spent += turn.seconds
    bench = run.bench
    while not patience.is_half_spent and not patience.is_over and not bench.is_stopping():
        before, clocks, began = bench.readings(), bench.programs(), bench.clock()
        bench.wait(_LOOK_SECONDS)
        seconds = bench.clock() - began
        share = host.foreign_share(before, bench.readings(), 0.0, seconds, run.affinity) or 0.0
        patience.spent += seconds
        if share <= FOREIGN_SHARE:
            return
        yield {"event": "now", "waits": f"{_busiest(clocks, bench.programs(), seconds, run) or turn.reason}: waiting"}


def _busiest(before: programs.Clocks | None, after: programs.Clocks | None, seconds: float, run: LiveRun) -> str:
    """Which program took much of the run's CPUs while nothing of ours ran; "" where none is seen."""
    if before is None or after is None:
        return ""
    others = programs.taken(before, after, cpus=run.affinity)
    share = others.seconds / seconds
    return f"{others.by} took {share:.0%} of a CPU" if share > FOREIGN_SHARE else ""
