"""What explains a machine's numbers beyond its name: sockets, cores, threads, NUMA nodes, caches, turbo, microcode.

All from files of the kernel (Linux, Documentation/ABI/testing/sysfs-devices-system-cpu); what none of them says is left
out, never guessed: a virtual machine tells what its host lets it.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_CPU = Path("sys/devices/system/cpu")
_DMI = Path("sys/devices/virtual/dmi/id")
_TURBO = (("intel_pstate/no_turbo", "0"), ("cpufreq/boost", "1"))       # file, and what it holds where turbo is on


def hardware(root: Path = Path("/")) -> dict[str, Any]:
    """Facts by name, those that are known; root: of the file system."""
    facts = {**_topology(root), "numa_nodes": _count(root / "sys/devices/system/node", r"node\d+"),
             "l3_bytes": _l3_bytes(root), "turbo": _turbo(root), "microcode": _of_cpuinfo(root, "microcode"),
             "is_virtual": " hypervisor" in (_of_cpuinfo(root, "flags") or ""),
             "product": " ".join(filter(None, (_text(root / _DMI / name) for name in ("sys_vendor", "product_name"))))}
    return {name: value for name, value in facts.items() if value not in (None, "", 0)}


def _topology(root: Path) -> dict[str, int]:
    """How many sockets, cores and threads are online."""
    places = [(_text(each / "physical_package_id"), _text(each / "core_id"))
              for each in sorted((root / _CPU).glob("cpu[0-9]*/topology"))]
    if not places or not all(package and core for package, core in places):
        return {}
    return {"sockets": len({package for package, _ in places}), "cores": len(set(places)), "threads": len(places)}


def _l3_bytes(root: Path) -> int | None:
    """Of the last-level cache that the first CPU uses."""
    for index in sorted((root / _CPU / "cpu0/cache").glob("index*")):
        size = re.fullmatch(r"(\d+)K", _text(index / "size"))
        if _text(index / "level") == "3" and size:
            return int(size[1]) * 1024
    return None


def _turbo(root: Path) -> str | None:
    """Whether the CPU may run faster than its base clock: "on", "off", None where nothing says."""
    for name, on in _TURBO:
        if text := _text(root / _CPU / name):
            return "on" if text == on else "off"
    return None


def _of_cpuinfo(root: Path, name: str) -> str | None:
    """The first CPU's value."""
    return next(_values(_text(root / "proc/cpuinfo"), name), None)


def _values(text: str, name: str) -> Iterator[str]:
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip() == name:
            yield value.rstrip() if name == "flags" else value.strip()


def _count(folder: Path, pattern: str) -> int:
    return sum(re.fullmatch(pattern, each.name) is not None for each in folder.glob("*"))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
