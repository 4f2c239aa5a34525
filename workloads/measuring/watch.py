"""The clock around steps. Between two reads of it lie a step and its sync, nothing else.

One step is: batch, forward, loss, backward, update. Each step begins where the one before ended, so no time between
steps can hide; only sending a block of samples, about once a second, happens outside of any sample.
"""
import math
import threading
import time

from workloads.process.errors import NotFinite

BEAT_SECONDS = 5.0       # between two words to a watchdog while no samples are sent
COMPILING_SECONDS = 3600.0       # of computing before the first steps are over
BLOCK_SECONDS = 1.0      # often enough for a watchdog and a live rate, rare enough to leave the steps alone


class Watch:
    """What a workload calls as it goes; sends "warm", then "steps" in blocks, and a "beat" where those take long.

    sync=each takes a sample a step; sync=end takes one time over all timed steps, sent as a "steps" event whose
    "count" says how many steps its one sample covers. With sync=each and a device that has a clock of its own, each
    step's seconds by that clock are sent beside ours, as "device_seconds", so that either can be doubted.
    """

    def __init__(self, cell, sync, value, emit, clock=time.perf_counter, device=None):
        """sync(handle) waits for a step's work; value(handle) is its loss, or None where there is none.

        device has mark(), which notes a moment behind the work that was issued, and seconds(), which gives those
        between the marks since it was last asked and forgets all of them.
        """
        self._cell, self._sync, self._value, self._emit, self._clock = cell, sync, value, emit, clock
        self._is_each = cell.sync == "each"
        self._device = device if self._is_each else None
        self._done = 0                  # steps that are over, warm-up included
        self._first = 0                 # the first timed step that was not sent yet
        self._seconds, self._handles, self._phases, self._device_seconds = [], [], {}, []
        self._mark()
        self._began = self._sent = clock()

    def _mark(self):
        if self._device:
            self._device.mark()

    def loading(self):
        """The next batch is asked for."""
        self._load_began = self._clock()

    def loaded(self):
        """The batch is there."""
        self._keep_phases({"load": self._clock() - self._load_began})

    def resumed(self):
        """What was done since the last step belongs to none."""
        if self._device:
            self._device_seconds += self._device.seconds()
        self._mark()
        self._began = self._clock()

    def probed(self):
        """A pass that belongs to no step is over."""
        self._beat(self._clock())

    def _beat(self, now):
        """Tell a watchdog that the run goes on: in warm-up and with sync=end no samples do."""
        if now - self._sent > BEAT_SECONDS:
            self._emit("beat")
            self._sent = now

    def _keep_phases(self, phases):
        for name, seconds in phases.items():
            self._phases.setdefault(name, []).append(seconds)

    def stepped(self, handle, phases=None):
        """A step is issued; handle is its loss, or its logits; phases are seconds by name, where they were stamped."""
        self._keep_phases(phases or {})
        self._mark()
        if self._is_each or self._done + 1 in (self._cell.warmup, self._cell.warmup + self._cell.steps):
            self._sync(handle)
        now = self._clock()
        self._seconds.append(now - self._began)
        if self._value:          # kept logits would be new memory in every step: 15 % of a small LSTM's
            self._handles.append(handle)
        self._done += 1
        self._began = now
        if self._is_due(now):
            self._send(now)
            self._mark()
            self._began = self._clock()
        else:
            self._beat(now)

    def _is_due(self, now):
        if self._done in (self._cell.warmup, self._cell.warmup + self._cell.steps):
            return True
        return self._is_each and self._done > self._cell.warmup and now - self._sent > BLOCK_SECONDS

    def _send(self, now):
        if self._device:
            self._device_seconds += self._device.seconds()
        if self._done == self._cell.warmup:
            self._emit("warm", seconds=self._seconds)
        losses = []
        if self._done != self._cell.warmup:
            drained = self._drained()
            losses = self._losses()
            self._emit("steps", **dict(self._block(losses), **drained))
        self._first = self._done - self._cell.warmup
        self._seconds, self._handles, self._phases, self._device_seconds, self._sent = [], [], {}, [], now
        if not all(map(math.isfinite, losses)):
            raise NotFinite("the loss became %s before step %d" % (losses[-1], self._done))

    def _drained(self):
        """What reading the last loss still takes once its step is said to be over: next to nothing, or sync lied."""
        if not self._value:
            return {}
        began = self._clock()
        self._value(self._handles[-1])
        return {"drain_seconds": self._clock() - began}

    def _block(self, losses):
        block = {"first": self._first, "seconds": self._seconds}
        if not self._is_each:
            block.update(seconds=[sum(self._seconds)], count=len(self._seconds))
        if self._device:
            block["device_seconds"] = self._device_seconds
        if self._phases:
            block["phases"] = self._phases
        if self._value:
            block["loss"] = [loss if math.isfinite(loss) else None for loss in losses]
        return block

    def _losses(self):
        return [self._value(handle) for handle in self._handles] if self._value else []


class WorkersWatch:
    """What a coordinator calls, which hears of each worker's steps only after them: "warm" and "steps" by worker.

    A worker's first cell.warmup steps are its warm-up, however many it then takes.
    """

    def __init__(self, cell, emit, clock=time.perf_counter):
        self._cell, self._emit, self._clock = cell, emit, clock
        self._done = {}              # steps of each worker
        self._blocks = {}            # of each worker: what was not sent yet
        self._sent = clock()

    def told(self, worker, seconds, loss, phases=None):
        """A step of a worker took so long; phases are seconds by name, where they were stamped."""
        if not math.isfinite(loss):
            raise NotFinite("the loss became %s in a step of worker %d" % (loss, worker))
        block = self._blocks.setdefault(worker, {"seconds": [], "loss": []})
        block["seconds"].append(seconds)
        block["loss"].append(loss)
        for name, value in (phases or {}).items():
            block.setdefault("phases", {}).setdefault(name, []).append(value)
        self._done[worker] = self._done.get(worker, 0) + 1
        if self._done[worker] == self._cell.warmup:
            self._emit("warm", worker=worker, seconds=self._blocks.pop(worker)["seconds"])
        waited = self._clock() - self._sent
        if waited > BLOCK_SECONDS and not self.close() and waited > BEAT_SECONDS:
            self._emit("beat")               # all of them are still in their warm-up
            self._sent = self._clock()

    def close(self):
        """Send what was not sent yet. Returns whether there was anything."""
        due = [worker for worker in sorted(self._blocks) if self._done[worker] > self._cell.warmup]
        for worker in due:
            block = self._blocks.pop(worker)
            first = self._done[worker] - self._cell.warmup - len(block["seconds"])
            self._emit("steps", worker=worker, first=first, **block)
        if due:
            self._sent = self._clock()
        return bool(due)


class Beats:
    """While it lasts, a "beat" event now and then as long as this process computes: for what takes long without steps.

    Who waits for others uses next to no CPU, so a watchdog still sees a run that hangs. After longest seconds of
    computing there are no more beats.
    """

    def __init__(self, emit, every=BEAT_SECONDS, clock=time.process_time, longest=float("inf")):
        self._emit, self._every, self._clock, self._longest = emit, every, clock, longest
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *failure):
        self._is_over.set()
        self._thread.join()

    def _beat(self):
        before = first = self._clock()
        while not self._is_over.wait(self._every) and before - first < self._longest:
            now = self._clock()
            if now - before > 0.2 * self._every:
                self._emit("beat")
            before = now


class Compiling:
    """While it lasts, emit with beats on a GPU until the first steps are over: kernels may be compiled there.

    From intermediate code, by XLA, by Triton, or for cuDNN's searches: up to an hour, where a step has minutes.
    """

    def __init__(self, cell, emit, every=BEAT_SECONDS, clock=time.process_time):
        self._send = emit
        self._beats = Beats(emit, every, clock, COMPILING_SECONDS) if cell.device == "gpu" else None

    def __enter__(self):
        if self._beats:
            self._beats.__enter__()
        return self._emit

    def __exit__(self, *failure):
        if self._beats:
            beats, self._beats = self._beats, None
            beats.__exit__()

    def _emit(self, event, **values):
        if event in ("warm", "steps"):        # from here on nothing but steps is to run
            self.__exit__()
        self._send(event, **values)
