"""What measuring on GPUs needs: driver, container toolkit, stacks that have code for them, and what disturbs them."""

from collections.abc import Collection, Mapping
from typing import Any

from runner.findings import Finding, judged
from runner.machine import gpus
from runner.stacks.definition import Stack
from runner.stacks.engine import NEEDS_TOOLKIT

# what the engine answers a request for GPUs without the toolkit, with these capabilities
_NO_TOOLKIT = 'could not select device driver "" with capabilities: [[gpu compute utility]]'
_WAYS = {"native": "native code", "jit": "compiled at the first run, and kept", "unsupported": "no code"}


def examine(stacks: Mapping[str, Stack], here: gpus.Gpus, computing: Mapping[str, Collection[int]],
            engine_info: Mapping[str, Any] | None) -> list[Finding]:
    """All findings about GPUs; one where there is none. engine_info: `docker info`, None without an engine.

    computing: the ids of the processes that compute on a GPU, by its uuid.
    """
    if not here.gpus:
        return [Finding("gpu", "note", f"none: {here.problem}", "" if here.driver else
                        "install NVIDIA's driver where there is such a GPU: `sudo ubuntu-drivers install`")]
    names = ", ".join(f"{gpu.name}{' (slice)' if gpu.is_slice else ''} {gpu.capability}" for gpu in here.gpus)
    return [Finding("gpu", "good", names), _driver(stacks, here), _code(stacks, here), *_toolkit(engine_info),
            *(finding for index, (board, settings) in enumerate(here.settings.items())
              for finding in _state(index, settings, computing.get(board, ())))]


def _driver(stacks: Mapping[str, Stack], here: gpus.Gpus) -> Finding:
    needed = {name: gpus.oldest_driver(stack.gpu, here.gpus) for name, stack in stacks.items() if stack.gpu}
    old = [name for name, driver in needed.items() if gpus.ordered(here.driver) < gpus.ordered(driver)]
    newest = max((needed[name] for name in old), key=gpus.ordered, default="")
    return judged("gpu driver", not old, here.driver + (f", too old for {', '.join(old)}" if old else ""),
                  f"update the NVIDIA driver to {newest} or newer")


def _code(stacks: Mapping[str, Stack], here: gpus.Gpus) -> Finding:
    """Which stacks have code for at least one GPU here, which compile it first, and which cannot run."""
    sorts: dict[str, list[str]] = {way: [] for way in _WAYS}
    for name, stack in stacks.items():
        if stack.gpu:
            ways = {gpus.way(stack.gpu, gpu.capability) for gpu in here.gpus}
            sorts[next(way for way in sorts if way in ways)].append(name)
    told = "; ".join(f"{label}: {', '.join(sorts[way])}" for way, label in _WAYS.items() if sorts[way])
    return judged("gpu stacks", bool(sorts["native"] or sorts["jit"]), told,
                  "write a stack for them: docker/torch-2.13-gpu is an example", "fails")


def _toolkit(info: Mapping[str, Any] | None) -> list[Finding]:
    """Whether the engine can give GPUs to containers; nothing without an engine."""
    if info is None:
        return []
    devices = [str(device.get("ID", "")) for device in info.get("DiscoveredDevices") or ()]
    is_known = "nvidia" in (info.get("Runtimes") or {}) or any(name.startswith("nvidia.com/gpu") for name in devices)
    found = "the engine knows NVIDIA's runtime" if is_known else f"the engine would answer: {_NO_TOOLKIT}"
    return [judged("container toolkit", is_known, found, NEEDS_TOOLKIT, "fails")]


def _state(index: int, settings: Mapping[str, Any], processes: Collection[int]) -> list[Finding]:
    """Findings about this GPU's settings; a single "good" finding if all are right."""
    ids, smi = " ".join(map(str, processes)), f"sudo nvidia-smi -i {index}"
    clock, highest = settings["application_sm_clock_hz"] or 0, settings["highest_sm_clock_hz"] or 0
    findings = [Finding(f"gpu {index} {what}", "note", found, mend) for what, is_so, found, mend in (
        ("persistence", settings["persistence"] is False, "off: the driver is loaded anew for each run",
         f"{smi} -pm 1"),
        ("processes", ids, f"others compute on it: {ids}", f"end them: kill {ids}"),
        ("clocks", 0 < clock < 0.7 * highest,                           # somebody holds it well below
         f"the application clock is {clock / 1e6:.0f} of {highest / 1e6:.0f} MHz", f"{smi} -rac"),
        ("ECC", settings["ecc"] is False, "off: more memory and speed than with it", f"{smi} -e 1, then reboot"),
    ) if is_so]
    return findings or [Finding(f"gpu {index}", "good", f"{settings['name']}: persistence, clocks, ECC and processes")]
