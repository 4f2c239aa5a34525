"""NVIDIA's management library: the only module that imports pynvml. What a driver does not tell is None, never 0.

The library comes with the driver; without one every question is answered with why. Documentation: NVML API reference.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from runner.machine.gpus import Found, Gpu

# nvmlClocksThrottleReason*, by NVML's names; "gpu_idle" and "applications_clocks" are no disturbance
REASONS = {0x1: "gpu_idle", 0x2: "applications_clocks", 0x4: "sw_power_cap", 0x8: "hw_slowdown", 0x10: "sync_boost",
           0x20: "sw_thermal", 0x40: "hw_thermal", 0x80: "hw_power_brake", 0x100: "display_clocks"}
_Value = TypeVar("_Value")


class GpuReading(NamedTuple):
    """A GPU at one moment."""

    energy_joules: float | None        # since the driver was loaded; from Volta on
    power_watts: float | None
    utilisation: float | None          # share of the last moments in which a kernel ran
    memory_bytes: int | None
    sm_clock_hz: float | None
    temperature: float | None          # degrees Celsius
    throttle: tuple[str, ...] | None   # of REASONS


class State(NamedTuple):
    """How a GPU is set up, for the doctor."""

    name: str
    persistence: bool | None
    application_clock_hz: float | None
    highest_clock_hz: float | None
    ecc: bool | None
    mig: bool | None
    processes: tuple[int, ...] | None  # ids of those that compute


def _pynvml() -> ModuleType:
    import pynvml  # here: most commands do without it and would start later

    library: ModuleType = pynvml
    return library


@contextmanager
def opened(library: ModuleType) -> Iterator[ModuleType]:
    """The library between its init and shutdown. Raises its NVMLError."""
    library.nvmlInit()
    try:
        yield library
    finally:
        library.nvmlShutdown()


def observe(library: ModuleType | None = None) -> Found:
    """The GPUs of this machine; MIG slices in place of the GPUs that are cut into them."""
    library = library or _pynvml()
    try:
        with opened(library):
            handles = [library.nvmlDeviceGetHandleByIndex(index) for index in range(library.nvmlDeviceGetCount())]
            gpus = tuple(gpu for handle in handles for gpu in _gpus(library, handle))
            driver = _text(library.nvmlSystemGetDriverVersion())
    except library.NVMLError as error:
        return Found(problem=" ".join(str(error).split()))
    return Found(gpus, driver, "" if gpus else "the driver answers, and knows no GPU")


def _gpus(library: ModuleType, handle: Any) -> list[Gpu]:
    """The GPU, or its slices in their order."""
    major, minor = library.nvmlDeviceGetCudaComputeCapability(handle)
    board, name = _text(library.nvmlDeviceGetUUID(handle)), _text(library.nvmlDeviceGetName(handle))
    mode = _asked(library, lambda: library.nvmlDeviceGetMigMode(handle))
    slices = _slices(library, handle) if mode and mode[0] else [handle]
    return [Gpu(_text(library.nvmlDeviceGetUUID(each)), name, f"{major}.{minor}", _memory(library, each), board)
            for each in slices]


def _slices(library: ModuleType, handle: Any) -> list[Any]:
    highest = _asked(library, lambda: library.nvmlDeviceGetMaxMigDeviceCount(handle)) or 0
    found = [_asked(library, partial(library.nvmlDeviceGetMigDeviceHandleByIndex, handle, index))
             for index in range(highest)]
    return [each for each in found if each is not None]


def _memory(library: ModuleType, handle: Any) -> int | None:
    memory = _asked(library, lambda: library.nvmlDeviceGetMemoryInfo(handle))
    return None if memory is None else int(memory.total)


class Reader:
    """Reads some GPUs, whole ones by their uuids, until it is closed. Raises NVMLError where NVML does not answer."""

    def __init__(self, boards: Sequence[str], library: ModuleType | None = None) -> None:
        self._boards, self._library = tuple(boards), library or _pynvml()
        self._library.nvmlInit()

    def __call__(self) -> tuple[GpuReading, ...]:
        """Each GPU now, in their order."""
        return tuple(_reading(self._library, board) for board in self._boards)

    def close(self) -> None:
        """Let the library go."""
        self._library.nvmlShutdown()


def _reading(library: ModuleType, board: str) -> GpuReading:
    handle = _asked(library, lambda: library.nvmlDeviceGetHandleByUUID(board))      # None: fallen off the bus

    def asked(question: Callable[..., Any], *more: Any) -> Any:
        return None if handle is None else _asked(library, lambda: question(handle, *more))

    energy, power = asked(library.nvmlDeviceGetTotalEnergyConsumption), asked(library.nvmlDeviceGetPowerUsage)
    rates, memory = asked(library.nvmlDeviceGetUtilizationRates), asked(library.nvmlDeviceGetMemoryInfo)
    clock = asked(library.nvmlDeviceGetClockInfo, library.NVML_CLOCK_SM)
    heat = asked(library.nvmlDeviceGetTemperature, library.NVML_TEMPERATURE_GPU)
    reasons = asked(library.nvmlDeviceGetCurrentClocksThrottleReasons)
    return GpuReading(
        energy_joules=None if energy is None else energy / 1e3, power_watts=None if power is None else power / 1e3,
        utilisation=None if rates is None else rates.gpu / 100, memory_bytes=None if memory is None else memory.used,
        sm_clock_hz=None if clock is None else clock * 1e6, temperature=None if heat is None else float(heat),
        throttle=None if reasons is None else tuple(name for bit, name in REASONS.items() if reasons & bit))


def states(library: ModuleType | None = None) -> list[State]:
    """How each GPU is set up; [] where NVML does not answer."""
    library = library or _pynvml()
    try:
        with opened(library):
            return [_state(library, library.nvmlDeviceGetHandleByIndex(index))
                    for index in range(library.nvmlDeviceGetCount())]
    except library.NVMLError:
        return []


def _state(library: ModuleType, handle: Any) -> State:
    def asked(question: Callable[..., Any], *more: Any) -> Any:
        return _asked(library, lambda: question(handle, *more))

    clock = asked(library.nvmlDeviceGetApplicationsClock, library.NVML_CLOCK_SM)
    highest = asked(library.nvmlDeviceGetMaxClockInfo, library.NVML_CLOCK_SM)
    persistence, ecc = asked(library.nvmlDeviceGetPersistenceMode), asked(library.nvmlDeviceGetEccMode)
    mig, processes = asked(library.nvmlDeviceGetMigMode), asked(library.nvmlDeviceGetComputeRunningProcesses)
    return State(
        _text(library.nvmlDeviceGetName(handle)), None if persistence is None else bool(persistence),
        None if clock is None else clock * 1e6, None if highest is None else highest * 1e6,
        None if ecc is None else bool(ecc[0]), None if mig is None else bool(mig[0]),
        None if processes is None else tuple(process.pid for process in processes))


def _asked(library: ModuleType, question: Callable[[], _Value]) -> _Value | None:
    """The answer, None where this GPU or its driver does not tell."""
    try:
        return question()
    except library.NVMLError:
        return None


def _text(value: str | bytes) -> str:
    """Older bindings give bytes."""
    return value.decode() if isinstance(value, bytes) else value
