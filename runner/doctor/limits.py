"""What an engine can hold a container to: Docker or Podman, root's or a user's own. Pure, from what engines say.

A user's own engine ("rootless") limits what systemd has delegated to the user: by default no CPUs, so that a run would
get all of them, of which the engine warns nobody who does not ask. Podman says of such an engine that it can, and its
own list of control groups says that it cannot (4.3.1 with control groups version 1, 2026-11-23).
"""

from collections.abc import Mapping
from typing import Any

from runner.findings import Finding

_WHAT = {"cpuset": "a run's CPUs", "cpu": "a share of CPUs", "memory": "a run's memory"}
_FLAGS = {"cpuset": "CPUSet", "cpu": "CpuCfsQuota", "memory": "MemoryLimit"}
_DELEGATE = ("let systemd delegate them: `sudo systemctl edit user@.service` with the lines [Service] and "
             "Delegate=cpu cpuset io memory pids, then log in again")


def examine(info: Mapping[str, Any], podman: Mapping[str, Any] | None) -> Finding:
    """The finding of an engine's limits; info: `docker info`, podman: `podman info`, None of another engine."""
    own = (podman or {}).get("host") or {}
    known = own.get("cgroupControllers")
    lacking = [what for name, what in _WHAT.items()
               if info.get(_FLAGS[name]) is False or (isinstance(known, list) and name not in known)]
    is_rootless = (own.get("security") or {}).get("rootless") is True or any(
        "name=rootless" in str(option) for option in info.get("SecurityOptions") or ())
    who = "a user's own engine (rootless)" if is_rootless else "root's engine"
    if not lacking:
        return Finding("engine limits", "good", f"{who}: {', '.join(_WHAT.values())}")
    return Finding("engine limits", "fails", f"{who} cannot limit {', '.join(lacking)}", _mend(is_rootless, info, own))


def _mend(is_rootless: bool, info: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    version = str(own.get("cgroupVersion") or info.get("CgroupVersion") or "").removeprefix("v")
    if is_rootless and version == "1":
        return ("measure with root's engine (`unset DOCKER_HOST`) or --launcher venv: control groups version 1 cannot "
                "be delegated")
    return _DELEGATE if is_rootless else "boot a kernel with these control groups, or measure with --launcher venv"
