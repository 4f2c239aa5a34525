"""What measuring on this machine needs and what disturbs it, each with the command that mends it."""

import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from runner import formatting, leftovers
from runner.doctor import gpu
from runner.errors import BenchError
from runner.findings import Finding, judged
from runner.machine import host, nvml, pace
from runner.stacks import containers, engine, environments, images, package_sources
from runner.stacks.definition import PinnedStack
from workloads.process import control_groups

_ROOM_BYTES = 10 * host.GIB       # today's four images with their caches
_UNEVEN = 1.25                    # long over short times of equal work, from which on something disturbs it
_STOLEN = 0.02                    # of the time, likewise; bursts that are too few for the times of work to show


def examine(stacks: Mapping[str, PinnedStack], cache: Path) -> list[Finding]:
    """All findings, the engine's first. Builds and changes nothing."""
    told, ours = foreign(stacks), {name: stack for name, stack in stacks.items() if not stack.foreign}
    plain = {name: stack for name, stack in ours.items() if "cpu" in stack.devices}
    interpreters = [_interpreter(python) for python in sorted({stack.python for stack in plain.values()})]
    has_interpreter = any(finding.grade == "good" for finding in interpreters)
    said, of_engine = _engine(plain, can_do_without=has_interpreter or bool(told))
    graphics = gpu.examine(stacks, nvml.observe(), nvml.computing(), said)
    return [*of_engine, *told, *interpreters, *packages(plain, cache), *left(), *graphics, *_machine(cache)]


def _engine(stacks: Mapping[str, PinnedStack], can_do_without: bool) -> tuple[dict[str, Any] | None, list[Finding]]:
    """What the engine says of itself, None where none answers, and the findings about it."""
    try:
        client = engine.connect()
        said = engine.told_here(client)
    except BenchError as error:
        return None, [lacking("engine", error, "note" if can_do_without else "fails")]
    missing = [name for name, stack in stacks.items() if not images.is_current(client, stack)]
    version, podman = client.version(), engine.podman_info(client)
    name = "Docker" if podman is None else "Podman"
    return said, [
        Finding("engine", "good", f"{name} {version['Version']}, API {version['ApiVersion']}"),
        engine_limits(said, podman),
        *([judged("images", not missing, f"{len(stacks) - len(missing)} of {len(stacks)} stacks are built and current",
                  f"evenbench images {' '.join(missing)}")] if stacks else ())]


def foreign(stacks: Mapping[str, PinnedStack]) -> list[Finding]:
    """A note where packages of stacks do not run on this kind of machine."""
    others = [why for stack in stacks.values() if (why := stack.foreign)]
    return [lacking("stacks", f"{len(others)} of {len(stacks)} are not for this machine; {others[0]}", "note")
            ] if others else []


_LIMITED = {"cpuset": "a run's CPUs", "cpu": "a share of CPUs", "memory": "a run's memory"}
_FLAGS = {"cpuset": "CPUSet", "cpu": "CpuCfsQuota", "memory": "MemoryLimit"}
_DELEGATE = ("let systemd delegate them: `sudo systemctl edit user@.service` with the lines [Service] and "
             "Delegate=cpu cpuset io memory pids, then log in again")


def engine_limits(info: Mapping[str, Any], podman: Mapping[str, Any] | None) -> Finding:
    """What an engine can hold a container to; info: `docker info`, podman: `podman info`, None of another engine.

    A user's own engine ("rootless") limits what systemd has delegated to the user: by default no CPUs, so that a run
    would get all of them. Podman 4.3 says that such an engine can limit them; its list of control groups says no.
    """
    own = (podman or {}).get("host") or {}
    known = own.get("cgroupControllers")
    missing = [what for name, what in _LIMITED.items()
               if info.get(_FLAGS[name]) is False or (isinstance(known, list) and name not in known)]
    is_rootless = (own.get("security") or {}).get("rootless") is True or any(
        "name=rootless" in str(option) for option in info.get("SecurityOptions") or ())
    who = "a user's own engine (rootless)" if is_rootless else "root's engine"
    if not missing:
        return Finding("engine limits", "good", f"{who}: {', '.join(_LIMITED.values())}")
    version = str(own.get("cgroupVersion") or info.get("CgroupVersion") or "").removeprefix("v")
    mend = _DELEGATE if is_rootless else "boot a kernel with these control groups, or measure with --launcher venv"
    if is_rootless and version == "1":
        mend = ("measure with root's engine (`unset DOCKER_HOST`) or --launcher venv: control groups version 1 cannot "
                "be delegated")
    return Finding("engine limits", "fails", f"{who} cannot limit {', '.join(missing)}", mend)


def _interpreter(python: str) -> Finding:
    try:
        return Finding(f"python {python}", "good", str(environments.find_interpreter(python)[1]))
    except BenchError as error:
        return lacking(f"python {python}", error, "note")


def lacking(what: str, error: BenchError | str, grade: str) -> Finding:
    """A finding of an error: what it says, and behind its colon what mends it; in brackets are another's words."""
    found = re.fullmatch(r"(.*\)|.*?): (.*)", str(error))
    return Finding(what, grade, *(found.groups() if found else (str(error),)))


def packages(stacks: Mapping[str, PinnedStack], cache: Path) -> list[Finding]:
    """Whether the frameworks of stacks that have no virtual environment yet can be had here."""
    ahead = [stack for stack in stacks.values()
             if not stack.base.has_framework and not environments.is_made(stack, cache)]
    not_had = package_sources.not_had(ahead, package_sources.pip_settings())
    if not_had or not ahead:
        return [Finding(f"packages {name}", "note", *why.rsplit(": ", 1)) for name, why in (not_had or {}).items()]
    to_build = f"{formatting.count(len(ahead), 'stack')} to build"
    return [judged("packages", not_had is not None,
                   f"{to_build}, whose frameworks {'no index was asked for' if not_had is None else 'can be had'}",
                   "install pip, or set PIP_INDEX_URL")]


def left() -> list[Finding]:
    """left_told of this machine; an engine that does not answer is not asked for its containers."""
    count = 0
    with suppress(BenchError):
        count = len(containers.left(engine.connect()))
    return left_told(count, len(leftovers.folders()))


def left_told(containers: int, folders: int) -> list[Finding]:
    """Of what runners that are gone have left on this machine; [] where they left nothing."""
    found = [formatting.count(count, what) for count, what in
             ((containers, "container"), (folders, "temporary folder")) if count]
    return [Finding("left behind", "note", f"{' and '.join(found)} of runners that are gone",
                    "the next `evenbench run` removes them")] if found else []


def _machine(cache: Path) -> list[Finding]:
    here, told, now, governor = host.observe(), host.told_limits(), host.reading(), host.governor()
    folder = next(path for path in (cache, *cache.parents) if path.exists())
    free = shutil.disk_usage(folder).free
    return [
        judged("limits", not told, told or f"all of {formatting.count(here.cpus, 'CPU')} and "
               f"{formatting.size(here.memory_bytes)}",
               "measured within them, they are no fault; start evenbench outside of them for the whole machine"),
        judged("disk", free > _ROOM_BYTES, f"{free / host.GIB:.0f} GiB free at {folder}",
               "evenbench images --prune; docker system df"),
        judged("load", now.load_1m < 0.5 * now.cpus, f"{now.load_1m:.2f} on {now.cpus} CPUs",   # whoever may use them
               "end other programs before measuring"),
        _pace(),
        judged("swap", not now.swap_used_bytes, f"{now.swap_used_bytes / host.GIB:.1f} GiB used",
               "swapoff -a && swapon -a"),
        judged("governor", governor in (None, "performance"), governor or "none visible, as on most virtual machines",
               "cpupower frequency-set -g performance"),
        groups_told(Path("/sys/fs/cgroup"))]


def groups_told(folder: Path) -> Finding:
    """Of the control groups that are mounted there."""
    if not any(folder.glob("*")):
        return Finding("control groups", "note", "none visible: limits and a quota of this process's own are not seen")
    return Finding("control groups", "good", f"version {2 if (folder / 'cgroup.controllers').exists() else 1}")


def _pace() -> Finding:
    before, throttled = host.reading().all_cpus, _throttled_periods()
    seen = pace.most_uneven(sorted(os.sched_getaffinity(0)))
    return pace_told(seen, stolen_share(before, host.reading().all_cpus), _throttled_periods() != throttled)


def stolen_share(before: host.CpuSeconds, after: host.CpuSeconds) -> float:
    """The share that other guests took of the time in which there was work, on however many CPUs."""
    busy, stolen = after.busy - before.busy, max(0.0, after.stolen - before.stolen)
    return stolen / (busy + stolen) if stolen else 0.0


def _throttled_periods() -> int:
    return int((control_groups.throttling() or {}).get("throttled_periods", 0))


def pace_told(seen: pace.Pace, stolen_share: float, is_throttled: bool) -> Finding:
    """Of the most uneven CPU, and of the time that the hypervisor took from all while they worked in turn.

    is_throttled: whether the quota of this process's own control group held it up.
    """
    told = f"equal work takes {seen.least * 1e3:.1f} to {seen.most * 1e3:.1f} ms from moment to moment (CPU {seen.cpu})"
    if stolen_share >= _STOLEN:
        told += f"; the host's other guests took {formatting.share(stolen_share)} of the time"
    if is_throttled:
        return Finding("pace", "note", f"{told}; the quota of its own control group held it up",
                       "raise the quota, or give its group CPUs of its own in place of one")
    return judged("pace", seen.ratio < _UNEVEN and stolen_share < _STOLEN, told,
                  "end other programs; where the host has other guests, measure in a quieter hour, with more --rounds")
