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
        return self._text("nvmlSystemGetDriverVersion") or "unknown"

    def uuid(self) -> str:
        """The GPU's name that no other has; "" where it does not tell."""
        return self._text("nvmlDeviceGetUUID", self._gpu)

    def reading(self) -> Reading:
        """The GPU now."""
        bits = self._number("CurrentClocksEventReasons")
        bits = self._number("CurrentClocksThrottleReasons") if bits is None else bits
        memory = _MemoryInfo()
        has_memory = not self._library.nvmlDeviceGetMemoryInfo(self._gpu, ctypes.byref(memory))
        return Reading(
            energy_joules=self._thousandths("TotalEnergyConsumption", ctypes.c_ulonglong),
            power_watts=self._thousandths("PowerUsage", ctypes.c_uint),
            sm_clock=self._number("ClockInfo", ctypes.c_uint, _SM),
            memory_clock=self._number("ClockInfo", ctypes.c_uint, _MEMORY),
            reasons=None if bits is None else tuple(name for bit, name in REASONS.items() if bits & bit),
            used_bytes=memory.used if has_memory else None)

    def power_limit(self) -> float | None:
        """Watts that the GPU may draw now."""
        return self._thousandths("EnforcedPowerLimit", ctypes.c_uint)

    def highest_clock(self) -> float | None:
        """Of the multiprocessors, MHz."""
        return self._number("MaxClockInfo", ctypes.c_uint, _SM)

    def _text(self, name: str, *arguments: ctypes.c_void_p) -> str:
        text = ctypes.create_string_buffer(96)
        return "" if getattr(self._library, name)(*arguments, text, 96) else text.value.decode()

    def _thousandths(self, name: str, kind: type) -> float | None:
        number = self._number(name, kind)
        return None if number is None else number / 1e3

    def _number(self, name: str, kind: type = ctypes.c_ulonglong, *arguments: int) -> int | None:
        value = kind()
        function = getattr(self._library, f"nvmlDeviceGet{name}", None)
        failed = function is None or function(self._gpu, *arguments, ctypes.byref(value))
        return None if failed else int(value.value)


def _loaded() -> ctypes.CDLL:
    for path in LIBRARIES:
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise OSError("no libnvidia-ml.so.1: the driver's library is not here")
