"""NVML as tests script it: what runner.machine.nvml asks of pynvml, answered from GPUs that are given."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple


class NVMLError(Exception):
    """As pynvml's."""

    def __init__(self, text: str, value: int = 3) -> None:
        super().__init__(text)
        self.value = value


class FakeGpu(NamedTuple):
    """A GPU; what is None it does not tell."""

    name: str
    uuid: str
    capability: tuple[int, int]
    memory: int = 16 * 2**30
    slices: tuple[str, ...] | None = None        # uuids, in MIG mode
    millijoules: int | None = None
    milliwatts: int | None = None
    throttle: int | None = 0
    persistence: int | None = 0
    ecc: tuple[int, int] | None = None
    pids: tuple[int, ...] = ()
    clock_mhz: int = 1380
    instant_milliwatts: int | None = None        # the field that tells the power of a moment
    limit_milliwatts: int | None = None


P100 = FakeGpu("Tesla P100-PCIE-16GB", "GPU-p", (6, 0))
RTX = tuple(FakeGpu("NVIDIA GeForce RTX 2080 Ti", f"GPU-r{index}", (7, 5), 11 * 2**30) for index in range(2))
V100 = tuple(FakeGpu("Tesla V100-SXM2-16GB", f"GPU-v{index}", (7, 0)) for index in range(4))
H100 = FakeGpu("NVIDIA H100 80GB HBM3", "GPU-h", (9, 0), 80 * 2**30)
SLICED = FakeGpu("NVIDIA A100-SXM4-40GB", "GPU-a", (8, 0), 40 * 2**30, slices=("MIG-1", "MIG-2"))


class FakeNvml:
    """The functions of pynvml; handles are (gpu, uuid)."""

    NVMLError = NVMLError
    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0
    NVML_SUCCESS, NVML_ERROR_FUNCTION_NOT_FOUND = 0, 13

    def __init__(self, *gpus: FakeGpu, driver: str = "580.95.05", failure: str = "",
                 gone: tuple[str, ...] = ()) -> None:
        """gone: functions that the driver has no more."""
        self.gpus, self._driver, self._failure, self.open = list(gpus), driver, failure, 0
        for name in gone:
            setattr(self, name, self._gone)

    def __getattr__(self, name: str) -> Any:
        if name not in ANSWERS:
            raise AttributeError(name)
        return lambda handle, *argument: told(ANSWERS[name](*handle))

    def _gone(self, *arguments: Any) -> Any:
        raise NVMLError("Function Not Found", 13)

    def nvmlDeviceGetFieldValues(self, handle: Any, numbers: list[int]) -> list[Any]:
        known = {186: handle[0].instant_milliwatts}
        return [SimpleNamespace(nvmlReturn=3 if known.get(number) is None else 0,
                                value=SimpleNamespace(uiVal=known.get(number) or 0)) for number in numbers]

    def nvmlInit(self) -> None:
        if self._failure:
            raise NVMLError(self._failure)
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlSystemGetDriverVersion(self) -> str:
        return self._driver

    def nvmlSystemGetCudaDriverVersion(self) -> int:
        return 13020

    def nvmlDeviceGetCount(self) -> int:
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Any:
        return self.gpus[index], self.gpus[index].uuid

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> Any:
        return next((gpu, gpu.uuid) for gpu in self.gpus if gpu.uuid == uuid)

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: Any, index: int) -> Any:
        if index >= len(handle[0].slices):
            raise NVMLError("Not Found")
        return handle[0], handle[0].slices[index]


# what a function of pynvml answers of a handle; None: the GPU does not tell
ANSWERS: dict[str, Callable[[FakeGpu, str], Any]] = {f"nvmlDeviceGet{name}": answer for name, answer in {
    "ApplicationsClock": lambda gpu, uuid: gpu.clock_mhz,
    "ClockInfo": lambda gpu, uuid: gpu.clock_mhz,
    "ComputeMode": lambda gpu, uuid: 0,
    "ComputeRunningProcesses": lambda gpu, uuid: [SimpleNamespace(pid=pid) for pid in gpu.pids],
    "CudaComputeCapability": lambda gpu, uuid: gpu.capability,
    "CurrPcieLinkGeneration": lambda gpu, uuid: 5,
    "CurrPcieLinkWidth": lambda gpu, uuid: 16,
    "CurrentClocksEventReasons": lambda gpu, uuid: gpu.throttle,
    "CurrentClocksThrottleReasons": lambda gpu, uuid: gpu.throttle,
    "EccMode": lambda gpu, uuid: gpu.ecc,
    "EnforcedPowerLimit": lambda gpu, uuid: gpu.limit_milliwatts,
    "MaxClockInfo": lambda gpu, uuid: 1530,
    "MaxMigDeviceCount": lambda gpu, uuid: 7,
    "MemoryInfo": lambda gpu, uuid: SimpleNamespace(total=gpu.memory, used=2**30),
    "MigMode": lambda gpu, uuid: gpu.slices and (1, 1),
    "Name": lambda gpu, uuid: gpu.name,
    "PersistenceMode": lambda gpu, uuid: gpu.persistence,
    "PowerManagementDefaultLimit": lambda gpu, uuid: gpu.limit_milliwatts,
    "PowerUsage": lambda gpu, uuid: gpu.milliwatts,
    "Temperature": lambda gpu, uuid: 61,
    "TemperatureV": lambda gpu, uuid: 61,
    "TotalEnergyConsumption": lambda gpu, uuid: gpu.millijoules,
    "UUID": lambda gpu, uuid: uuid,
    "UtilizationRates": lambda gpu, uuid: SimpleNamespace(gpu=90, memory=40),
    "VbiosVersion": lambda gpu, uuid: "96.00.89.00.01",
}.items()}


def told(value: Any) -> Any:
    if value is None:
        raise NVMLError("Not Supported")
    return value
