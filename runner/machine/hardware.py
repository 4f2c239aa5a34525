"""What explains a machine's numbers beyond its name: sockets, cores, threads, NUMA nodes, caches, turbo, microcode,
memory, and what this process's control group may use of them.

All from files of the kernel (Linux, Documentation/ABI/testing/sysfs-devices-system-cpu); what none of them says is left
out, never guessed: a virtual machine tells what its host lets it, and only root reads the firmware's table of memory.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runner.machine import topology
from runner.machine.kernel_files import content, first_cpu
from workloads.process import control_groups

_CPU = Path("sys/devices/system/cpu")
_SMBIOS, _MODULE = Path("sys/firmware/dmi/tables/DMI"), 17
_DMI = Path("sys/devices/virtual/dmi/id")
# whether the CPU may run faster than its base clock: file, and what it holds where it may
_TURBO = (("intel_pstate/no_turbo", "0"), ("cpufreq/boost", "1"))


def hardware(root: Path = Path("/")) -> dict[str, Any]:
    """Facts by name, those that are known; root: of the file system."""
    cpu, spots = first_cpu(root), topology.observe(root)
    turbo = next(("on" if text == on else "off" for name, on in _TURBO if (text := content(root / _CPU / name))), None)
    # what the control groups around this process let it use
    groups = control_groups.around_this_process(str(root))
    facts = {"sockets": len({spot.socket for spot in spots.values()}), "cores": len(set(spots.values())),
             "threads": len(spots), "numa_nodes": len([*(root / "sys/devices/system/node").glob("node[0-9]*")]),
             "l3_bytes": _l3_bytes(root), "turbo": turbo, "microcode": cpu.get("microcode"),
             "smt": {"1": "on", "0": "off"}.get(content(root / _CPU / "smt/active")), **_memory(root),
             "group_cpus": control_groups.cpu_quota(groups), "group_memory_bytes": control_groups.limit_bytes(groups),
             "is_virtual": "hypervisor" in cpu.get("flags", "").split(),
             "product": " ".join(filter(None, (content(root / _DMI / name)
                                               for name in ("sys_vendor", "product_name"))))}
    return {name: value for name, value in facts.items() if value not in (None, "", 0)}


def _l3_bytes(root: Path) -> int | None:
    """Of the last-level cache that the first CPU uses."""
    for index in sorted((root / _CPU / "cpu0/cache").glob("index*")):
        size = re.fullmatch(r"(\d+)K", content(index / "size"))
        if content(index / "level") == "3" and size:
            return int(size[1]) * 1024
    return None


def _memory(root: Path) -> dict[str, int]:
    """How many memory modules there are, and the least of their speeds as they are set up, in transfers a second."""
    try:
        table = (root / _SMBIOS).read_bytes()
    except OSError:
        return {}
    modules = [each for each in _structures(table) if each[0] == _MODULE and _word(each, 0x0C)]      # size 0: no module
    speeds = [speed for each in modules if (speed := _word(each, 0x20) or _word(each, 0x15))]
    return {"memory_modules": len(modules), "memory_transfers_per_second": min(speeds, default=0) * 10**6}


def _structures(table: bytes) -> Iterator[bytes]:
    """The structures of a table of SMBIOS (DSP0134, 6.1), each without the texts behind it."""
    while len(table) >= 4 and 4 <= table[1] <= len(table):
        yield table[:table[1]]
        end = table.find(b"\0\0", table[1])
        table = table[end + 2:] if end >= 0 else b""


def _word(structure: bytes, offset: int) -> int:
    """A number of two bytes; 0 where the structure ends before it, or says that nobody knows."""
    value = int.from_bytes(structure[offset:offset + 2], "little") if len(structure) >= offset + 2 else 0
    return 0 if value == 0xFFFF else value
