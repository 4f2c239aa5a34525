"""The clock around steps. Between two reads of it lie a step and its sync, nothing else.

One step is: batch, forward, loss, backward, update. Each step begins where the one before ended, so no time between
steps can hide; only sending a block of samples, about once a second, happens outside of any sample.
"""
import math
import threading
import time
from statistics import median

from workloads.frameworks import contract
from workloads.measuring.steadiness import Fixed, warm_up
from workloads.process import cpu_time
from workloads.process.errors import NotFinite
from workloads.profiles import walls
from workloads.spec import duration
from workloads.spec.cell import Cell
from workloads.spec.duration import is_open

BEAT_SECONDS = 5.0       # between two words to a watchdog while no samples are sent
COMPILING_SECONDS = 3600.0       # before the first steps are over
COMPILED_LOOPS = ("compile", "xla", "tuned")      # whose first step a CPU compiles for minutes
SEND_SECONDS = 1.0       # often enough for a watchdog and a live rate, rare enough to leave the steps alone
BLOCK_SECONDS = 0.1      # that a block of sync=blocks lasts at least: waiting for the device is then next to nothing
PARTS = 20               # of the timed steps of sync=end, whose times are told beside the one time of all
MOST_VALUES = 20000      # losses, or seconds of a phase or of the warm-up, in a line: sync=end has all at once
ENDLESS = 10 ** 9        # steps that a workload is asked for where the watch says when they are enough
ENDS = ("fixed", "steady", "limit")      # why a warm-up is over, in an order that workers agree by


class Over(Exception):
    """All that was to be measured was measured. Where steps are open-ended, stepped() leaves the workload's loop so:

    Keras' fit has no other way out of an epoch.
    """


class Watch(contract.Watch):
    """What a workload calls as it goes; sends "warm", then "steps" in blocks, and a "beat" where those take long.

    sync=each takes a sample a step. sync=end takes one time over all timed steps, sent as a "steps" event whose
    "count" says how many steps its one sample covers; beside it, "blocks" has the times of about PARTS parts. Their
    ends are waited for where the device has no clock of its own, as on a CPU, or where the cell's steps are open-
    ended: else a framework that runs ahead would be timed by what it issued. sync=blocks waits for the device once
    a block, and takes a sample a block, whose steps "counts" says. Where the device has a clock of its own, the
    same seconds by that clock are sent beside ours, as "device_seconds", so that either can be doubted.

    Where workers train together, an open cell's watch ends nothing by itself: left() and timed_steps() say what it
    would do, and begin() tells it what all of them do.
    """

    def __init__(self, cell, sync, value, emit, clock=time.perf_counter, device=None, pass_steps=0, programs=None):
        """sync(handle) waits for a step's work; value(handle) is its loss, or None where there is none.

        device has mark(), which notes a moment behind the work that was issued, and seconds(), which gives those
        between the marks since it was last asked and forgets all of them. pass_steps: of a pass over batches that are
        not alike, which warm-up awaits as steadiness.Steady does, and of which timed steps are whole ones. programs()
        counts those that the framework compiled so far.
        """
        self._cell, self._sync, self._value, self._emit, self._clock = cell, sync, value, emit, clock
        self._device, self._pass_steps = device, pass_steps
        self._programs = programs or (lambda: 0)
        self._is_led = is_open(cell) and cell.parallel != "none"
        self._ended, self._agreed = "", None           # of a led one: why its warm-up may end, and its timed steps
        self._warm_up = warm_up(cell, pass_steps) or (Fixed(1) if self._is_led else None)      # None once it is over
        self._waits_in_warm_up = cell.sync != "end" or is_open(cell)
        self._waits_at_ends = cell.sync != "end" or device is None or is_open(cell)       # of blocks and parts
        self._span = 1                  # steps of a block or a part
        if self._warm_up is None:
            self._span = self._first_span([])
        self._first = 0                 # the first timed step that was not sent yet
        self._timed, self._total = 0, 0.0          # timed steps, and their seconds
        self._forget()
        self._compiled = self._programs()          # before the steps that follow
        self._mark()
        self._began = self._sent = clock()

    def _forget(self) -> None:
        """Begin a new "warm" or "steps" event."""
        self._seconds, self._counts, self._handles = [], [], []
        self._phases, self._device_seconds = {}, []
        self._open_count, self._open_seconds = 0, 0.0          # of the block or part that is not over

    def _mark(self) -> None:
        if self._device:
            self._device.mark()

    def loading(self) -> None:
        """The next batch is asked for."""
        self._load_began = self._clock()

    def loaded(self) -> None:
        """The batch is there."""
        self._keep_phases({"load": self._clock() - self._load_began})

    def resumed(self) -> None:
        """What was done since the last step belongs to none."""
        if self._device:
            self._device_seconds += self._device.seconds()
        self._mark()
        self._began = self._clock()

    def probed(self) -> None:
        """A pass that belongs to no step is over."""
        self._beat(self._clock())

    def _beat(self, now) -> None:
        """Tell a watchdog that the run goes on: in warm-up and with sync=end no samples do."""
        if now - self._sent > BEAT_SECONDS:
            self._emit("beat")
            self._sent = now

    def _keep_phases(self, phases) -> None:
        for name, seconds in phases.items():
            self._phases.setdefault(name, []).append(seconds)

    def stepped(self, handle, phases=None) -> None:
        """A step is issued; handle is its loss, or its logits; phases are seconds by name, where they were stamped.

        Raises NotFinite; Over after the last step of an open-ended cell.
        """
        if phases:
            self._keep_phases(phases)
        if self._value:          # kept logits would be new memory in every step: 15 % of a small LSTM's
            self._handles.append(handle)
        if self._warm_up:
            self._warmed(handle)
        else:
            self._measured(handle)

    def _warmed(self, handle) -> None:
        """A step of the warm-up, waited for unless no step but the last one is."""
        self._mark()
        if self._waits_in_warm_up or len(self._seconds) + 1 == self._cell.warmup:
            self._sync(handle)
        now = self._clock()
        self._seconds.append(now - self._began)
        self._began = now
        ended = self._warm_up.over(self._seconds[-1])
        if self._is_led:
            self._ended = self._ended or ended or ""
        if self._is_led or not ended:
            self._beat(now)
            return
        self._end_warm_up(ended, now)

    def left(self):
        """After how many more steps a led warm-up may be over; once it may, minus the place of the reason in ENDS."""
        return -ENDS.index(self._ended) if self._ended else self._warm_up.left()

    def timed_steps(self):
        """How many timed steps this worker would take."""
        return duration.agreed(self._cell, typical(self._seconds), self._pass_steps)

    def begin(self, ended: str, count: int) -> None:
        """The warm-up is over for that reason, and so many timed steps follow, as all workers have agreed."""
        self._agreed = count
        self._end_warm_up(ended, self._clock())

    def _end_warm_up(self, ended: str, now) -> None:
        self._warm_up, warm = None, self._seconds
        last = max(0, len(warm) - 1) // MOST_VALUES * MOST_VALUES
        for first in range(0, last, MOST_VALUES):
            self._emit("warm", seconds=warm[first:first + MOST_VALUES])
        self._emit("warm", seconds=warm[last:], ended=ended)
        self._span = self._first_span(warm)
        if self._device:
            self._device.seconds()
        self._resume(now)

    def _first_span(self, warm):
        """Steps of a block or a part, as long as the warm-up's last steps say."""
        step = typical(warm)
        if self._cell.sync == "blocks":
            return max(1, math.ceil(BLOCK_SECONDS / step)) if step > 0 else 1
        if self._cell.sync == "end":
            steps = max(self._cell.steps, self._cell.seconds / step if step > 0 else 0.0)
            return max(1, int(steps) // PARTS)
        return 1

    def _measured(self, handle) -> None:
        """A timed step; at the end of a block, or of all, the device is waited for."""
        self._open_count += 1
        self._timed += 1
        is_full = self._open_count >= self._span
        if is_full:
            self._mark()
        if (is_full and self._waits_at_ends) or self._is_last(self._clock() - self._began):
            self._finish(handle, is_full)
            return
        now = self._clock()
        self._open_seconds += now - self._began
        self._began = now
        if is_full:
            self._close_block()
        self._beat(now)

    def _is_last(self, running) -> bool:
        """Whether no step follows; running: seconds of the step that is just over."""
        if self._agreed is not None:
            return self._timed >= self._agreed
        return duration.are_enough(self._cell, self._timed, self._total + self._open_seconds + running,
                                   self._pass_steps)

    def _finish(self, handle, is_marked: bool) -> None:
        """Wait for the device, end the block, and tell where it is time or the last step."""
        now = self._awaited(handle, is_marked)
        is_over = self._is_last(0.0)
        if is_over or (self._cell.sync != "end" and now - self._sent > SEND_SECONDS):
            self._send(is_over)
            self._resume(now)
            if is_over and is_open(self._cell) and not self._is_led:
                raise Over
        else:
            self._beat(now)

    def _awaited(self, handle, is_marked: bool):
        """Wait for the device and end the block; when it was over."""
        if not is_marked:
            self._mark()
        self._sync(handle)
        now = self._clock()
        self._open_seconds += now - self._began
        self._began = now
        self._close_block()
        return now

    def _close_block(self) -> None:
        self._counts.append(self._open_count)
        self._seconds.append(self._open_seconds)
        self._total += self._open_seconds
        if self._cell.sync == "blocks" and self._open_seconds < BLOCK_SECONDS and self._open_seconds > 0:
            # steps that nobody waits for are faster than the warm-up's were
            self._span = max(self._span, math.ceil(self._span * BLOCK_SECONDS / self._open_seconds))
        self._open_count, self._open_seconds = 0, 0.0

    def _resume(self, sent) -> None:
        """Begin the next event; what was done for the one before belongs to no step."""
        self._forget()
        self._compiled = self._programs()
        self._sent = sent
        self._mark()
        self._began = self._clock()

    def _send(self, is_over: bool) -> None:
        compiled = self._programs() - self._compiled
        if self._device:
            self._device_seconds += self._device.seconds()
        drained = self._drained()
        losses = self._losses()
        block = dict(self._block(losses), **drained)
        if is_over and duration.is_part_of_pass(self._cell, self._timed, self._pass_steps):
            block["is_part_of_pass"] = True
        if compiled:
            block["compiled"] = compiled
        self._emit_values(block)
        self._emit("steps", **block)
        self._first = self._timed
        if not all(map(math.isfinite, losses)):
            raise NotFinite("the loss became %s before timed step %d" % (losses[-1], self._timed))

    def _emit_values(self, block) -> None:
        """Send losses and phases ahead in "values" events, and take them out, where they would make a line too long."""
        lists = dict(block.get("phases", {}), **{"loss": block["loss"]} if "loss" in block else {})
        count = max(map(len, lists.values())) if lists else 0
        if count <= MOST_VALUES:
            return
        for first in range(0, count, MOST_VALUES):
            some = {name: values[first:first + MOST_VALUES] for name, values in lists.items()}
            losses = {"loss": some.pop("loss")} if "loss" in some else {}
            self._emit("values", **dict(losses, phases=some))
        block.pop("loss", None)
        block.pop("phases", None)

    def _drained(self):
        """What reading the last loss still takes once its step is said to be over: next to nothing, or sync lied."""
        if not self._value:
            return {}
        began = self._clock()
        self._value(self._handles[-1])
        return {"drain_seconds": self._clock() - began}

    def _block(self, losses):
        block = {"first": self._first, "seconds": self._seconds}
        if self._device:
            block["device_seconds"] = self._device_seconds
        if self._cell.sync == "blocks":
            block.update(counts=self._counts, count=sum(self._counts))
        elif self._cell.sync == "end":
            parts = dict(block, counts=self._counts)
            del parts["first"]
            block = {"first": self._first, "seconds": [sum(self._seconds)], "count": sum(self._counts),
                     "blocks": parts}
        if self._phases:
            block["phases"] = self._phases
        if self._value:
            block["loss"] = [loss if math.isfinite(loss) else None for loss in losses]
        return block

    def _losses(self):
        return [self._value(handle) for handle in self._handles] if self._value else []


def typical(warm):
    """Seconds of a step at the end of the warm-up, 0.0 without one."""
    return median(warm[-max(1, len(warm) // 4):]) if warm else 0.0


class WorkersWatch(contract.Watch):
    """What a coordinator calls, which hears of each worker's steps only after them: "warm" and "steps" by worker.

    A worker's first cell.warmup steps are its warm-up, however many it then takes. In an open cell the warm-up of all
    ends where begin() says it, and the steps of the one that was heard of first tell when that may be.
    """

    def __init__(self, cell, emit, clock=time.perf_counter):
        self._cell, self._emit, self._clock = cell, emit, clock
        self._done = {}              # steps of each worker
        self._blocks = {}            # of each worker: what was not sent yet
        self._warm_up = (warm_up(cell) or Fixed(1)) if is_open(cell) else None     # None once it is over
        self._ended, self._shown_by = "", None
        self._warm = {} if is_open(cell) else None       # of each worker: the steps of an open warm-up
        self._sent = clock()

    def told(self, worker: int, seconds: float, loss, phases=None) -> None:
        """A step of a worker took so long; phases are seconds by name, where they were stamped."""
        if not math.isfinite(loss):
            raise NotFinite("the loss became %s in a step of worker %d" % (loss, worker))
        block = self._blocks.setdefault(worker, {"seconds": [], "loss": []})
        block["seconds"].append(seconds)
        block["loss"].append(loss)
        for name, value in (phases or {}).items():
            block.setdefault("phases", {}).setdefault(name, []).append(value)
        self._done[worker] = self._done.get(worker, 0) + 1
        if self._warm_up:
            self._show(worker, seconds)
        elif self._warm is None and self._done[worker] == self._cell.warmup:
            self._emit("warm", worker=worker, seconds=self._blocks.pop(worker)["seconds"], ended="fixed")
        waited = self._clock() - self._sent
        if waited > SEND_SECONDS and not self.close() and waited > BEAT_SECONDS:
            self._emit("beat")               # all of them are still in their warm-up
            self._sent = self._clock()

    def _show(self, worker: int, seconds: float) -> None:
        """A step of the open warm-up."""
        self._shown_by = worker if self._shown_by is None else self._shown_by
        if worker == self._shown_by:
            self._ended = self._ended or self._warm_up.over(seconds) or ""

    def resumed(self) -> None:
        """As Watch.resumed: a worker's first step after a pause begins when the worker begins it."""

    def left(self):
        """As Watch.left."""
        return -ENDS.index(self._ended) if self._ended else self._warm_up.left()

    def timed_steps(self):
        """As Watch.timed_steps."""
        block = self._blocks.get(self._shown_by)
        return duration.agreed(self._cell, typical(block["seconds"] if block else []))

    def begin(self, ended: str, count: int) -> None:
        """As Watch.begin."""
        self._warm_up, self._warm = None, dict(self._done)
        for worker in sorted(self._blocks):
            self._emit("warm", worker=worker, seconds=self._blocks[worker]["seconds"], ended=ended)
        self._blocks, self._sent = {}, self._clock()

    def close(self):
        """Send what was not sent yet. Returns whether there was anything."""
        due = [worker for worker in sorted(self._blocks) if self._done[worker] > self._warm_steps(worker)]
        for worker in due:
            block = self._blocks.pop(worker)
            first = self._done[worker] - self._warm_steps(worker) - len(block["seconds"])
            self._emit("steps", worker=worker, first=first, **block)
        if due:
            self._sent = self._clock()
        return bool(due)

    def _warm_steps(self, worker: int):
        """How many of a worker's steps are its warm-up."""
        if self._warm_up:
            return self._done[worker]
        return self._cell.warmup if self._warm is None else self._warm.get(worker, 0)


class Recorded(contract.Watch):
    """A watch that waits for each step, and records the operators of cell.steps steps after the warm-up. Then Over."""

    def __init__(self, cell: Cell, recorder, sync, clock=time.perf_counter):
        """recorder: contract.Workload's; sync(handle) waits for a step's work."""
        self._left, self._steps, self._recorder, self._sync, self._clock = (
            max(1, cell.warmup), cell.steps, recorder, sync, clock)
        self.operators = None            # once they are recorded
        self.seconds = self.input_seconds = 0.0
        self._is_recording, self._began, self._span = False, clock(), None

    def loading(self) -> None:
        """The next batch is asked for."""
        self._load_began = self._clock()
        self._does(walls.INPUT)

    def loaded(self) -> None:
        """The batch is there."""
        self._does(walls.PYTHON)
        if self._is_recording:
            self.input_seconds += self._clock() - self._load_began

    def resumed(self) -> None:
        """What was done since the last step belongs to none."""
        self._began = self._clock()

    def stepped(self, handle, phases=None) -> None:
        """A step is issued. Raises Over after the last one."""
        self._does(walls.WAITING)
        self._sync(handle)
        self._does(walls.PYTHON)
        if self._is_recording:
            self.seconds += self._clock() - self._began
        self._left -= 1
        if not self._left and self._is_recording:
            self._does(None)
            self.operators = self._recorder.stop()
            raise Over
        if not self._left:
            self._left, self._is_recording = self._steps, True
            self._recorder.start()
            self._does(walls.PYTHON)
        self._began = self._clock()

    def _does(self, name):
        """From now on the thread of the steps does what has this name, until it does something else."""
        if not self._is_recording:
            return
        if self._span:
            self._span.__exit__(None, None, None)
        self._span = self._recorder.span(name) if name else None
        if self._span:
            self._span.__enter__()


class Beats:
    """While it lasts, a "beat" event now and then as long as this process computes: for what takes long without steps.

    Who waits for others uses next to no CPU, so a watchdog still sees a run that hangs. After longest seconds there are
    no more beats.
    """

    def __init__(self, emit, every=BEAT_SECONDS, clock=time.process_time, longest=float("inf"), wall=time.monotonic):
        """clock() gives the CPU seconds that were used, wall() those that went by."""
        self._emit, self._every, self._clock, self._longest, self._wall = emit, every, clock, longest, wall
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *failure) -> None:
        self._is_over.set()
        self._thread.join()

    def _beat(self) -> None:
        before, began = self._clock(), self._wall()
        while not self._is_over.wait(self._every) and self._wall() - began < self._longest:
            now = self._clock()
            if now - before > 0.2 * self._every:
                self._emit("beat")
            before = now


class Compiling:
    """While it lasts, emit with beats until the first steps are over, on a GPU and in loops that compile.

    From intermediate code, by XLA, by Triton, by a C++ compiler, or for cuDNN's searches: up to an hour, where a step
    has minutes. Compilers that are programs of their own count: PyTorch's worker waits for a pool of them.
    """

    def __init__(self, cell: Cell, emit, every=BEAT_SECONDS, clock=cpu_time.cpu_seconds):
        self._send = emit
        compiles = cell.device == "gpu" or cell.loop in COMPILED_LOOPS or cell.source
        self._beats = Beats(emit, every, clock, COMPILING_SECONDS) if compiles else None

    def __enter__(self):
        if self._beats:
            self._beats.__enter__()
        return self._emit

    def __exit__(self, *failure) -> None:
        if self._beats:
            beats, self._beats = self._beats, None
            beats.__exit__()

    def _emit(self, event, **values) -> None:
        if event in ("warm", "steps"):        # from here on nothing but steps is to run
            self.__exit__()
        self._send(event, **values)
