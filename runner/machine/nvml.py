"""NVIDIA's management library: the only module that imports pynvml. What a driver does not tell is None, never 0.

The library comes with the driver; without one every question is answered with why. Documentation: NVML API reference.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple

from runner.machine.gpus import Gpu, Gpus

# nvmlClocksThrottleReason*, by NVML's names; "gpu_idle" and "applications_clocks" are no disturbance
REASONS = {0x1: "gpu_idle", 0x2: "applications_clocks", 0x4: "sw_power_cap", 0x8: "hw_slowdown", 0x10: "sync_boost",
           0x20: "sw_thermal", 0x40: "hw_thermal", 0x80: "hw_power_brake", 0x100: "display_clocks"}
_POWER_INSTANT, _MEMORY_TEMPERATURE = 186, 82       # NVML_FI_DEV_*; older bindings lack the first


class GpuReading(NamedTuple):
    """A GPU at one moment."""

    energy_joules: float | None = None # since the driver was loaded; from Volta on
    power_watts: float | None = None
    utilisation: float | None = None   # share of the last moments in which a kernel ran
    memory_bytes: int | None = None
    sm_clock_hz: float | None = None
    temperature: float | None = None   # degrees Celsius
    throttle: tuple[str, ...] | None = None      # of REASONS
    is_instant: bool | None = None     # power_watts is of the moment; False: the mean of a second
    memory_clock_hz: float | None = None
    memory_temperature: float | None = None
    gone: tuple[str, ...] = ()         # what the driver has no function for any more, by the newest one's name


def _pynvml() -> ModuleType:
    import pynvml  # here: most commands do without it and would start later

    library: ModuleType = pynvml
    return library


@contextmanager
def _opened(library: ModuleType) -> Iterator[list[Any]]:
    """The GPUs' handles, between the library's init and shutdown. Raises its NVMLError."""
    library.nvmlInit()
    try:
        yield [library.nvmlDeviceGetHandleByIndex(index) for index in range(library.nvmlDeviceGetCount())]
    finally:
        library.nvmlShutdown()


def observe(library: ModuleType | None = None) -> Gpus:
    """The GPUs of this machine; MIG slices in place of the GPUs that are cut into them."""
    library = library or _pynvml()
    try:
        with _opened(library) as handles:
            gpus = tuple(gpu for handle in handles for gpu in _gpus(library, handle))
            own = {library.nvmlDeviceGetUUID(handle): _settings(library, handle) for handle in handles}
            driver, cuda = library.nvmlSystemGetDriverVersion(), _Questions(library)("nvmlSystemGetCudaDriverVersion")
    except library.NVMLError as error:
        return Gpus(problem=" ".join(str(error).split()))
    return Gpus(gpus, driver, "" if gpus else "the driver answers, and knows no GPU",
                f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else "", own)


def computing(library: ModuleType | None = None) -> dict[str, list[int]]:
    """The ids of the processes that compute on each GPU, by its uuid; {} where NVML does not answer."""
    library = library or _pynvml()
    try:
        with _opened(library) as handles:
            return {library.nvmlDeviceGetUUID(handle): [process.pid for process in _Questions(library, handle)(
                "nvmlDeviceGetComputeRunningProcesses") or ()] for handle in handles}
    except library.NVMLError:
        return {}


def _gpus(library: ModuleType, handle: Any) -> list[Gpu]:
    """The GPU, or its slices in their order."""
    ask = _Questions(library, handle)
    major, minor = library.nvmlDeviceGetCudaComputeCapability(handle)
    board, name = library.nvmlDeviceGetUUID(handle), library.nvmlDeviceGetName(handle)
    mode, parts = ask("nvmlDeviceGetMigMode"), [handle]
    if mode and mode[0]:
        parts = [ask("nvmlDeviceGetMigDeviceHandleByIndex", with_argument=index)
                 for index in range(ask("nvmlDeviceGetMaxMigDeviceCount") or 0)]
    return [Gpu(library.nvmlDeviceGetUUID(each), name, f"{major}.{minor}", memory and int(memory.total), board)
            for each in parts if each is not None
            for memory in [_Questions(library, each)("nvmlDeviceGetMemoryInfo")]]


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
    handle = _Questions(library, board)("nvmlDeviceGetHandleByUUID")       # None: fallen off the bus
    if handle is None:
        return GpuReading()
    ask = _Questions(library, handle)
    power, is_instant = ask.power()
    rates, memory = ask("nvmlDeviceGetUtilizationRates"), ask("nvmlDeviceGetMemoryInfo")
    # the first of each pair is what NVML has in place of the second, which goes away with CUDA 14
    heat = ask("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature", with_argument=library.NVML_TEMPERATURE_GPU)
    reasons = ask("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
    return GpuReading(
        energy_joules=ask.milli("nvmlDeviceGetTotalEnergyConsumption"), power_watts=power,
        utilisation=None if rates is None else rates.gpu / 100, memory_bytes=None if memory is None else memory.used,
        sm_clock_hz=ask.hertz("nvmlDeviceGetClockInfo", library.NVML_CLOCK_SM),
        temperature=None if heat is None else float(heat),
        throttle=None if reasons is None else tuple(name for bit, name in REASONS.items() if reasons & bit),
        is_instant=is_instant, memory_temperature=ask.field(_MEMORY_TEMPERATURE),
        memory_clock_hz=ask.hertz("nvmlDeviceGetClockInfo", library.NVML_CLOCK_MEM),
        gone=tuple(ask.gone))


class _Questions:
    """What one GPU, or the driver, is asked: a question by the names of its functions, the newest first.

    A driver that drops a function, or a binding that lacks it, is something else than a GPU that does not tell: what
    no function is there for is kept in gone.
    """

    def __init__(self, library: ModuleType, *handle: Any) -> None:
        self._library, self._handle = library, handle
        self.gone: list[str] = []

    def __call__(self, *names: str, with_argument: Any = None) -> Any:
        """The first answer that one of the functions gives; None where none does."""
        words = self._handle if with_argument is None else (*self._handle, with_argument)
        missing = 0
        for name in names:
            try:
                return getattr(self._library, name)(*words)
            except AttributeError:
                missing += 1
            except self._library.NVMLError as error:
                missing += getattr(error, "value", None) == self._library.NVML_ERROR_FUNCTION_NOT_FOUND
        if missing == len(names):
            self.gone.append(names[0])
        return None

    def hertz(self, name: str, kind: int) -> float | None:
        """A clock, of which a function tells megahertz."""
        megahertz = self(name, with_argument=kind)
        return None if megahertz is None else megahertz * 1e6

    def milli(self, name: str) -> float | None:
        """A quantity of which a function tells thousandths: 250500 mW are 250.5 W."""
        value = self(name)
        return None if value is None else value / 1e3

    def power(self) -> tuple[float | None, bool | None]:
        """(watts, whether of this moment): the reading of a moment where the driver has one.

        nvmlDeviceGetPowerUsage is one, too, on the A100 (8.0) and what is older; on newer GPUs the mean of a second.
        """
        instant = self.field(_POWER_INSTANT)
        if instant is not None:
            return instant / 1e3, True
        watts = self.milli("nvmlDeviceGetPowerUsage")
        capability = self("nvmlDeviceGetCudaComputeCapability")
        return watts, None if watts is None or capability is None else tuple(capability) <= (8, 0)

    def field(self, number: int) -> float | None:
        """An unsigned field's value; None where this GPU has none or the driver knows no fields."""
        answers = self("nvmlDeviceGetFieldValues", with_argument=[number])
        if not answers or answers[0].nvmlReturn != self._library.NVML_SUCCESS:
            return None
        return float(answers[0].value.uiVal) or None       # a field that is there and says 0 tells nothing


def _settings(library: ModuleType, handle: Any) -> dict[str, Any]:
    """What a result is read with: limits, clocks, link and modes of a GPU, each None where it does not tell."""
    ask = _Questions(library, handle)
    ecc, mig = ask("nvmlDeviceGetEccMode"), ask("nvmlDeviceGetMigMode")
    persistence = ask("nvmlDeviceGetPersistenceMode")
    # it costs copies; None before drivers tell it
    confidential = _Questions(library)("nvmlSystemGetConfComputeState")
    return {
        "name": ask("nvmlDeviceGetName"), "vbios": ask("nvmlDeviceGetVbiosVersion"),
        "power_limit_watts": ask.milli("nvmlDeviceGetEnforcedPowerLimit"),
        "default_power_limit_watts": ask.milli("nvmlDeviceGetPowerManagementDefaultLimit"),
        "highest_sm_clock_hz": ask.hertz("nvmlDeviceGetMaxClockInfo", library.NVML_CLOCK_SM),
        "highest_memory_clock_hz": ask.hertz("nvmlDeviceGetMaxClockInfo", library.NVML_CLOCK_MEM),
        "application_sm_clock_hz": ask.hertz("nvmlDeviceGetApplicationsClock", library.NVML_CLOCK_SM),
        "ecc": None if ecc is None else bool(ecc[0]), "ecc_pending": None if ecc is None else bool(ecc[1]),
        "mig": None if mig is None else bool(mig[0]),
        "persistence": None if persistence is None else bool(persistence),
        "confidential_computing": None if confidential is None else bool(confidential.ccFeature),
        "compute_mode": ask("nvmlDeviceGetComputeMode"),
        "pcie_generation": ask("nvmlDeviceGetCurrPcieLinkGeneration"),
        "pcie_width": ask("nvmlDeviceGetCurrPcieLinkWidth")}
