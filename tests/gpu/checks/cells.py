"""The cells that checks measure, and what their events say of a step."""

import json
import os
from typing import Any

from tests.gpu.environment import Environment, Event
from workloads.spec import tasks
from workloads.spec.cell import parse

CLOSE = 0.02                  # two loops of the same arithmetic, and two clocks, on a GPU: what issue and study promise
CPUS = os.cpu_count() or 1    # XLA compiled ResNet-50 in 12 s with 16, and in 32 to 36 s with 2
SETTINGS = {"classes": 1000, "image": 224, "input": "synthetic", "cpus": CPUS, "learning_rate": 1e-4}


def has_tf32(env: Environment) -> bool:
    """Whether the GPU has TF32 and bfloat16: from Ampere on."""
    return env.is_gpu and tuple(env.facts["capability"]) >= (8, 0)


def sized(env: Environment, **values: Any) -> dict[str, Any]:
    """A cell at its size on a GPU; on a CPU a small one of the same kind."""
    if env.is_gpu:
        return {**SETTINGS, **values} if not tasks.is_sequence(values["task"]) else {
            "cpus": CPUS, "input": "synthetic", "preset": "study", "learning_rate": 1e-4, **values}
    small = {"cpus": 1, "input": "synthetic", **values, "batch": 4, "steps": 3, "warmup": 1}
    if not tasks.is_sequence(values["task"]):
        small.update(image=32, classes=10)
    return small


def step_events(events: list[Event]) -> list[Event]:
    """Those with timed steps."""
    return [event for event in events if event["event"] == "steps"]


def cell_text(env: Environment, cell: dict[str, Any]) -> str:
    """The whole cell as JSON, for a program of tests/gpu/inside."""
    return json.dumps(parse({"stack": env.name, "device": env.device, **cell})._asdict())


def step_seconds(events: list[Event]) -> float:
    """Of a cell's timed steps, on average."""
    blocks = step_events(events)
    counts = [event.get("counts") or event.get("count", len(event["seconds"])) for event in blocks]
    total = sum(sum(count) if isinstance(count, list) else count for count in counts)
    return sum(sum(event["seconds"]) for event in blocks) / total
