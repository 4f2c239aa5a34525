"""What GPUs did while a run lasted: one sampler from the host, and what its samples say of the timed steps.

Power comes from the total-energy counter where the GPU has one (Volta and later), else from the power readings. The
counter moves every 20 to 100 ms: under a second, readings of the moment replace it, since the driver's own averages are
of the time before. A MIG slice has no meters: its whole board is read. What no sample told is None, never 0.
"""

import threading
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from runner.machine.gpus import THROTTLED_SHARE
from runner.machine.nvml import GpuReading, Reader

# an A100's and an H100's sensors look 25 ms of each 100 ms (arXiv 2312.02741): faster adds nothing
PACE_SECONDS = 0.1
_COUNTER_SECONDS = 1.0          # of the energy counter, at least
_MOMENTS = 5                    # readings of the moment in its place, at least
# a power cap alone is how GPUs work under load; these are what heat and a weak supply do
SLOWING = frozenset({"hw_slowdown", "sw_thermal", "hw_thermal", "hw_power_brake"})
_IDLE_UTILISATION = 0.05
_IDLE_SECONDS = 60.0            # waited for at most


class Sample(NamedTuple):
    """The GPUs of a run at one moment."""

    seconds: float
    gpus: tuple[GpuReading, ...]


class Watch:
    """Samples the GPUs of one run from start() to ended(). heard() marks the timed steps."""

    def __init__(self, read: Reader, clock: Callable[[], float] = time.monotonic,
                 wait: Callable[[float], None] = time.sleep) -> None:
        self._read, self._clock, self._wait = read, clock, wait
        self._samples: list[Sample] = []
        self._window: tuple[float, float] | None = None
        self._began: float | None = None
        self._was_idle: bool | None = None
        self._is_over = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._sample_on, name="telemetry", daemon=True)

    def wait_idle(self) -> None:
        """Return when the GPUs do nothing, or after a minute in which they did not stop."""
        deadline = self._clock() + _IDLE_SECONDS
        while True:
            shares = [gpu.utilisation for gpu in self._read() if gpu.utilisation is not None]
            self._was_idle = max(shares) < _IDLE_UTILISATION if shares else None
            if self._was_idle is not False or self._clock() > deadline:
                return
            self._wait(PACE_SECONDS)

    def start(self) -> None:
        """Sample from now on."""
        self._thread.start()

    def heard(self, event: str) -> None:
        """Note a worker's event. The timed steps lie between its start or warm-up and its last steps."""
        if event in ("start", "warm"):
            self._began = self.sample()
        elif event in ("steps", "epoch") and self._began is not None:
            self._window = (self._began, self.sample())

    def sample(self) -> float:
        """Take a sample; when."""
        with self._lock:
            sample = Sample(self._clock(), self._read())
            self._samples.append(sample)
        return sample.seconds

    def ended(self) -> tuple[dict[str, float | None], dict[str, Any]]:
        """Stop; what was seen, as seen() has it."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()
        self._read.close()
        return seen(self._samples, self._window, self._was_idle)

    def _sample_on(self) -> None:
        while not self._is_over.wait(PACE_SECONDS):
            self.sample()


def seen(samples: Sequence[Sample], window: tuple[float, float] | None, was_idle: bool | None
         ) -> tuple[dict[str, float | None], dict[str, Any]]:
    """What samples within a window say: readings for the ending's host, each None without one, and what is beside them.

    was_idle: before the run. throttled: heat or the power supply slowed the GPUs down.
    """
    first, last = window or (0.0, -1.0)
    timed = [sample for sample in samples if first <= sample.seconds <= last]
    joules = _joules(timed)
    seconds = timed[-1].seconds - timed[0].seconds if timed else 0.0
    throttle = [[gpu.throttle for gpu in sample.gpus if gpu.throttle is not None] for sample in timed]
    reasons = [{name for names in each for name in names} for each in throttle if each]
    clocks, memory = _told(timed, "sm_clock_hz"), [_total([gpu.memory_bytes for gpu in each.gpus]) for each in timed]
    readings: dict[str, float | None] = {
        "gpu_joules": joules,
        "gpu_watts": joules / seconds if joules is not None and seconds > 0 else None,
        "gpu_seconds": seconds if timed else None,
        "gpu_utilisation": _mean(_told(timed, "utilisation")),
        "gpu_memory_bytes": max((total for total in memory if total is not None), default=None),
        "gpu_sm_clock": _mean(clocks),
        "gpu_temperature": max(_told(timed, "temperature"), default=None),
        "gpu_memory_clock": _mean(_told(timed, "memory_clock_hz")),
        "gpu_memory_temperature": max(_told(timed, "memory_temperature"), default=None),
        # a lock of the clocks cannot be asked for: it shows as two that are equal, and as user-defined clocks
        "gpu_sm_clock_low": min(clocks, default=None), "gpu_sm_clock_high": max(clocks, default=None),
        "gpu_held_clock_share": _mean([float("applications_clocks" in names) for names in reasons]),
        "gpu_throttled_share": _mean([float(bool(names & SLOWING)) for names in reasons]),
        "gpu_power_capped_share": _mean([float("sw_power_cap" in names) for names in reasons]),
    }
    is_throttled = (readings["gpu_throttled_share"] or 0.0) > THROTTLED_SHARE
    power, gone = _power(timed), sorted({name for sample in timed for gpu in sample.gpus for name in gpu.gone})
    return readings, {"throttle": sorted(set().union(*reasons)), "throttled": is_throttled, "samples": len(timed),
                      "was_idle": was_idle, **({"power": power} if power else {}), **({"gone": gone} if gone else {})}


def _told(timed: Sequence[Sample], name: str) -> list[float]:
    """All that the samples say of a reading."""
    values = [getattr(gpu, name) for sample in timed for gpu in sample.gpus]
    return [value for value in values if value is not None]


def _power(timed: Sequence[Sample]) -> str:
    """What power readings are of; "" for none."""
    kinds = set(_told(timed, "is_instant"))
    return "" if not kinds else "instant" if kinds == {True} else "driver's own average"


def _joules(timed: Sequence[Sample]) -> float | None:
    """The energy of all GPUs from the first to the last sample: by their counters, else by their power.

    None where counters are there, and the time is too short for them and for readings of the moment.
    """
    if len(timed) < 2:
        return None
    before, after = (_total([gpu.energy_joules for gpu in timed[index].gpus]) for index in (0, -1))
    if before is not None and after is not None:
        if timed[-1].seconds - timed[0].seconds >= _COUNTER_SECONDS:
            return after - before
        if len(timed) < _MOMENTS or _power(timed) != "instant":
            return None
    powers = [(sample.seconds, watts) for sample in timed
              if (watts := _total([gpu.power_watts for gpu in sample.gpus])) is not None]
    if len(powers) < len(timed):
        return None
    return sum((one + two) / 2 * (later - earlier)
               for (earlier, one), (later, two) in pairwise(powers))


def _total(values: Sequence[float | None]) -> float | None:
    """The sum of all GPUs' values, None where one is missing."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
