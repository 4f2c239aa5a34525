"""The clock of a worker that takes turns (workloads/spec/turns.py): between two turns it stands still and uses nothing.

A turn is an untimed lead, then timed steps that end on a whole step, or on a whole pass over batches that are not
alike. What the machine did meanwhile is read before the lead and after the last step, and sent, not judged: to read it
between them would be another pause.
"""
import math
import os
from statistics import median

from workloads.measuring.steadiness import Fixed, warm_up
from workloads.measuring.watch import ENDS, Over, Watch, typical
from workloads.process import processor
from workloads.spec import turns

_NO_LEAD = 0.01          # of a step: a lead so short would change it less


class Turn:
    """A turn while it lasts."""

    def __init__(self, index: int, lead_seconds, seconds: float, steps):
        self.index, self.lead_seconds, self.seconds, self.steps = index, lead_seconds, seconds, steps
        self.lead_steps = 0


class TurnWatch(Watch):
    """As Watch, of steps that are timed by turns: one "steps" event a turn, until the runner says "end"."""

    def __init__(self, gate, cell, *arguments, readings=None, **named):
        """gate: process.waiting.Gate; readings(): as _readings."""
        Watch.__init__(self, cell, *arguments, **named)
        self._gate, self._readings = gate, readings or _readings
        self._warm_up = warm_up(self._cell, self._pass_steps, turns.WARM_UP_SECONDS) or Fixed(1)
        self._taken = 0                  # steps of the run, warm-up and leads too
        self._turn, self._turns = None, 0
        self._is_leading = False
        self._ready = []                 # of the warm-up and each turn: its threads that ran or were ready, on average

    def stepped(self, handle, phases=None) -> None:
        """As Watch.stepped."""
        self._taken += 1
        if not self._is_leading:
            Watch.stepped(self, handle, phases)
            if self._taken == 1 and self._warm_up:          # what is built or compiled is there
                self._gate.wait("built")
                self._read_at = self._read()
                self._pause_is_over()
            return
        self._turn.lead_steps += 1
        if self._cell.sync == "each":
            self._sync(handle)
        if self._clock() - self._began >= self._turn.lead_seconds:
            self._sync(handle)
            self._begin_slice()

    def _end_warm_up(self, ended: str, now) -> None:
        self._step = typical(self._seconds)
        if self._taken > 1:              # the first step builds and compiles
            self._since()
        Watch._end_warm_up(self, ended, now)
        self._next()

    def _next(self) -> None:
        """Wait for the runner's word, and do it. Raises Over at the end."""
        word = self._gate.next()
        if word[0] == "end":
            raise Over
        self._turn = Turn(self._turns, float(word[1]), float(word[2]), int(word[3]))
        self._turns += 1
        self._read_at = self._read()
        self._is_leading = self._turn.lead_seconds > _NO_LEAD * self._step
        if self._is_leading:
            self._pause_is_over()
        else:
            self._begin_slice()

    def _pause_is_over(self) -> None:
        if self._device:
            self._device.seconds()
        self._sent = self._clock()
        self._mark()
        self._began = self._clock()

    def _begin_slice(self) -> None:
        """The next step is timed."""
        self._is_leading = False
        self._before, self._total_before = self._taken, self._total
        if self._device:
            self._device.seconds()
        self._resume(self._clock())

    def _is_last(self, running) -> bool:
        """Whether the turn's last step is over."""
        steps = self._timed - self._first
        seconds = self._total - self._total_before + self._open_seconds + running
        if steps < self._turn.steps or seconds < self._turn.seconds:
            return False
        return not self._pass_steps or steps % self._pass_steps == 0

    def _finish(self, handle, is_marked: bool) -> None:
        """Wait for the device and end the block; where the turn is over, send it and wait for the next."""
        now = self._awaited(handle, is_marked)
        if not self._is_last(0.0):
            self._beat(now)
            return
        self._machine = self._since()
        self._turned()

    def _turned(self) -> None:
        self._send(is_over=True)
        self._next()

    def _read(self):
        """The clock that readings go by, and the readings."""
        return (self._clock(),) + tuple(self._readings())

    def _since(self):
        """What the machine did since a warm-up or a turn began, as a turn's line has it."""
        usual = median(self._ready) if self._ready else None
        seconds, own, waited, idle, slept, stolen = (
            None if begin is None else max(0.0, end - begin) for begin, end in zip(self._read_at, self._read()))
        if seconds:
            self._ready.append((own + (waited or 0.0)) / seconds)
        cpus = len(os.sched_getaffinity(0))
        return {"seconds": seconds, "cpus": cpus, "own_seconds": own, "waited_seconds": waited, "usual_ready": usual,
                "stolen_seconds": stolen, "busy_seconds": max(0.0, seconds * cpus - max(idle, slept) - stolen)}

    def _block(self, losses):
        return dict(Watch._block(self, losses), before=self._before, turn=dict(
            self._machine, index=self._turn.index, process=os.getpid(), lead_steps=self._turn.lead_steps))


class TurnsTogether(TurnWatch):
    """The same of workers that train together, who must take as many steps: the first one's watch says how many.

    All hear the runner's words, each by itself. They agree before a lead is read, and are silent while steps are timed.
    """

    def __init__(self, gate, helpers, *arguments, **named):
        """helpers: numbers of the processes beside this one in its place, whose CPU seconds are its own."""
        TurnWatch.__init__(self, gate, *arguments, **dict({"readings": lambda: _readings(helpers)}, **named))

    def take(self, steps, batches, agreed) -> None:
        """Take steps by a workload's method, which all leave together, until the runner says "end"."""
        steps(batches, 1, self)
        word = self._gate.wait("built")
        while word[0] != "end":
            if word[0] == "turn":
                self._take_turn(steps, batches, agreed, *map(float, word[1:]))
            else:
                self._take_warm_up(steps, batches, agreed)
            word = self._gate.next()

    def _take_warm_up(self, steps, batches, agreed) -> None:
        self._read_at = self._read()
        self._pause_is_over()
        left = agreed.say(self.left())
        while left > 0:
            self.resumed()                             # what they waited for each other is of no step
            steps(batches, left, self)
            left = agreed.say(self.left())
        self._end_warm_up(ENDS[-left], self._clock())

    def _take_turn(self, steps, batches, agreed, lead_seconds, seconds: float, least) -> None:
        leads = agreed.say(math.ceil(lead_seconds / self._step) if lead_seconds > _NO_LEAD * self._step > 0 else 0)
        count = agreed.say(self._steps_of(seconds, int(least)))
        self._turn = Turn(self._turns, lead_seconds, 0.0, count)
        self._turns += 1
        self._read_at = self._read()
        if leads:
            self._is_leading = True
            steps(batches, leads, self)
        self._begin_slice()
        steps(batches, count, self)
        self._send(is_over=True)                       # not before all have left the last step

    def _steps_of(self, seconds: float, least):
        count = max(least, math.ceil(seconds / self._step) if self._step > 0 else 1)
        return -(-count // self._pass_steps) * self._pass_steps if self._pass_steps else count

    def stepped(self, handle, phases=None) -> None:
        """As Watch.stepped."""
        self._taken += 1
        if self._is_leading:
            self._turn.lead_steps += 1
            self._sync(handle)
        else:
            Watch.stepped(self, handle, phases)

    def _next(self) -> None:
        """The runner is heard between steps."""

    _turned = _next


def _readings(helpers=()):
    """The CPU seconds of this process and its helpers, those in which their threads waited for a CPU, and what the CPUs
    did not use."""
    used, waited = processor.used_seconds((os.getpid(),) + tuple(helpers))
    return (used, waited) + processor.unused_seconds(os.sched_getaffinity(0))
