"""NVIDIA's management library by its C functions: the driver brings it, so no package is needed.

Documentation: NVML API reference. What a GPU does not tell is None.
"""

import ctypes
from typing import NamedTuple

LIBRARIES = ("libnvidia-ml.so.1", "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
             "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1")
# nvmlClocksEventReason*; the first two are no disturbance
REASONS = {0x1: "gpu_idle", 0x2: "applications_clocks", 0x4: "sw_power_cap", 0x8: "hw_slowdown", 0x10: "sync_boost",
           0x20: "sw_thermal", 0x40: "hw_thermal", 0x80: "hw_power_brake", 0x100: "display_clocks"}
_GRAPHICS, _SM, _MEMORY = 0, 1, 2


class Reading(NamedTuple):
    """A GPU at one moment."""

    energy_joules: float | None          # since the driver was loaded
    power_watts: float | None
    sm_clock: float | None               # MHz
    memory_clock: float | None           # MHz
    reasons: tuple[str, ...] | None      # of REASONS
    used_bytes: int | None


class _MemoryInfo(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Management:
    """The library, opened on one GPU. Raises OSError where there is no driver, or no such GPU.

    Without a uuid that it knows, as of a slice of a GPU, it is the only GPU of the machine.
    """

    def __init__(self, uuid: str = "", library: ctypes.CDLL | None = None) -> None:
        self._library = library or _loaded()
        if self._library.nvmlInit_v2():
            raise OSError("NVML does not start")
        self._gpu = ctypes.c_void_p()
        name = uuid if uuid.startswith("GPU-") else f"GPU-{uuid}"
        if uuid and not self._library.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(self._gpu)):
            return
        count = ctypes.c_uint()
        if not self._library.nvmlDeviceGetCount_v2(ctypes.byref(count)) and count.value > 1:
            raise OSError(f"NVML knows {count.value} GPUs, and none by the framework's uuid: {uuid or 'not told'}")
        if self._library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self._gpu)):
            raise OSError("NVML knows no GPU")

    def driver(self) -> str:
        """The driver's version."""
        text = ctypes.create_string_buffer(96)
        return text.value.decode() if not self._library.nvmlSystemGetDriverVersion(text, 96) else "unknown"

    def uuid(self) -> str:
        """The GPU's name that no other has; "" where it does not tell."""
        text = ctypes.create_string_buffer(96)
        return text.value.decode() if not self._library.nvmlDeviceGetUUID(self._gpu, text, 96) else ""

    def reading(self) -> Reading:
        """The GPU now."""
        energy, power = self._number("TotalEnergyConsumption"), self._number("PowerUsage", ctypes.c_uint)
        bits = self._number("CurrentClocksEventReasons")
        bits = self._number("CurrentClocksThrottleReasons") if bits is None else bits
        memory = _MemoryInfo()
        has_memory = not self._library.nvmlDeviceGetMemoryInfo(self._gpu, ctypes.byref(memory))
        return Reading(
            energy_joules=None if energy is None else energy / 1e3, power_watts=None if power is None else power / 1e3,
            sm_clock=self._clock(_SM), memory_clock=self._clock(_MEMORY),
            reasons=None if bits is None else tuple(name for bit, name in REASONS.items() if bits & bit),
            used_bytes=memory.used if has_memory else None)

    def power_limit(self) -> float | None:
        """Watts that the GPU may draw now."""
        limit = self._number("EnforcedPowerLimit", ctypes.c_uint)
        return None if limit is None else limit / 1e3

    def highest_clock(self) -> float | None:
        """Of the multiprocessors, MHz."""
        value = ctypes.c_uint()
        failed = self._library.nvmlDeviceGetMaxClockInfo(self._gpu, _SM, ctypes.byref(value))
        return None if failed else float(value.value)

    def _clock(self, kind: int) -> float | None:
        value = ctypes.c_uint()
        failed = self._library.nvmlDeviceGetClockInfo(self._gpu, kind, ctypes.byref(value))
        return None if failed else float(value.value)

    def _number(self, name: str, kind: type = ctypes.c_ulonglong) -> int | None:
        value = kind()
        function = getattr(self._library, f"nvmlDeviceGet{name}", None)
        return None if function is None or function(self._gpu, ctypes.byref(value)) else int(value.value)


def _loaded() -> ctypes.CDLL:
    for path in LIBRARIES:
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise OSError("no libnvidia-ml.so.1: the driver's library is not here")
