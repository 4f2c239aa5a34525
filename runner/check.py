"""Whether stacks compute the same: one update from the same weights and batch, compared array by array.

Workers send sketches (workloads/sketch.py): a difference's length is known to about 4 %, and exactly for arrays of up
to 1,024 numbers. In float64 every array must agree to LIMITS; in float32 deep networks' gradients differ between two
stacks as much as between float32 and float64 in one, since a ReLU's input beside zero changes sign with the last
bit (measured: 0.7 % of the gradient's length in ResNet-18, one array up to 16 %), so gradients and weights are judged
by the relative length over all arrays together, logits and activations by the worst array.
"""

import base64
import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from runner import store
from runner.errors import BenchError, InputError
from runner.launch import Ending, Launcher, Limits, followed
from runner.stack import Stack
from workloads.spec import layers, tasks
from workloads.spec.cell import Cell

KINDS = ("activation", "logits", "loss", "gradient", "weight", "statistic")
# Largest relative differences. A pair with TensorFlow has a wider one, as some of its float64 paths round to float32.
# Running statistics have it too: MXNet and TensorFlow keep normalisation's decay as a float32 in every precision.
LIMITS = {"float64": {**dict.fromkeys(KINDS, 1e-10), "statistic": 1e-6},
          "tensorflow float64": dict.fromkeys(KINDS, 1e-6),
          "float32": {"activation": 1e-3, "logits": 1e-3, "loss": 1e-4, "gradient": 3e-2, "weight": 1e-2,
                      "statistic": 1e-3}}
_FORWARD = ("activation", "logits", "loss")      # judged by the worst array in float32 too
_NOTHING = 1e-9                                  # of a kind's length: arrays below are compared to this
VERDICTS = "checks.jsonl"
BATCH, CLASSES = 4, 10


class Sent(NamedTuple):
    """What one stack sent: sketches by kind and name, in order of computation."""

    arrays: dict[str, dict[str, "np.ndarray[tuple[int], np.dtype[np.float64]]"]]


class Verdict(NamedTuple):
    """A stack against the reference."""

    task: str
    stack: str
    reference: str
    precision: str
    worst: dict[str, float]          # by kind
    first: str                       # the first layer that differs, "" where none does
    problem: str                     # why there is nothing to compare, "" where there is

    @property
    def passed(self) -> bool:
        """Whether the two compute the same."""
        return not self.problem and not self.first


def check_cell(task: str, stack: str, precision: str, cpus: int, memory_bytes: int) -> Cell:
    """The cell that checks a task: twice its least size, so that normalisation has more than one pixel to average."""
    return Cell(stack=stack, task=task, measure="check", batch=BATCH, classes=CLASSES,
                image=2 * tasks.TASKS[task].least, input="synthetic", precision=precision, optimizer="momentum",
                weight_decay=1e-4, cpus=cpus, memory_bytes=memory_bytes)


def sent(cell: Cell, stack: Stack, launcher: Launcher, data: Path, clock: Callable[[], float]) -> Sent | Ending:
    """Run the cell's check; what it sent, or its ending where that is not ok."""
    arrays: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
    events, ending = followed(launcher.start(cell, stack, data, f"check-{cell.task}.0.1"), Limits(), clock)
    for event in events:
        if event["event"] == "tensor":
            arrays[event["kind"]][event["name"]] = np.frombuffer(base64.b64decode(event["sketch"]), dtype="<f8")
    return Sent(arrays) if ending.word == "ok" else ending


def compare(cell: Cell, ours: Sent | Ending, theirs: Sent | Ending, stack: Stack, reference: Stack) -> Verdict:
    """The verdict on a stack's arrays against the reference's."""
    for found, who in ((ours, stack), (theirs, reference)):
        if isinstance(found, Ending):
            return _verdict(cell, stack, reference, {}, problem=f"{who.name}: {found.word}: {found.message}")
    assert isinstance(ours, Sent) and isinstance(theirs, Sent)
    differing = [kind for kind in KINDS if ours.arrays[kind].keys() != theirs.arrays[kind].keys()]
    if differing:
        return _verdict(cell, stack, reference, {}, problem=f"the stacks sent other names of {differing[0]}")
    limits = _limits(cell, stack, reference)
    each = {kind: _differences(ours.arrays[kind], theirs.arrays[kind]) for kind in KINDS}
    worst = {kind: _overall(ours.arrays[kind], theirs.arrays[kind]) if _is_joint(cell, kind) else _worst(found)
             for kind, found in each.items()}
    failed = [kind for kind in KINDS if not worst[kind] <= limits[kind]]        # NaN fails too
    first = _first(cell, each, limits, failed) if failed else ""
    return _verdict(cell, stack, reference, worst, first)


def _verdict(cell: Cell, stack: Stack, reference: Stack, worst: dict[str, float], first: str = "",
             problem: str = "") -> Verdict:
    return Verdict(cell.task, stack.name, reference.name, cell.precision, worst, first, problem)


def _limits(cell: Cell, *pair: Stack) -> dict[str, float]:
    is_rounded = cell.precision == "float64" and any(stack.framework == "tensorflow" for stack in pair)
    return LIMITS["tensorflow float64" if is_rounded else cell.precision]


def _is_joint(cell: Cell, kind: str) -> bool:
    return cell.precision == "float32" and kind not in _FORWARD


def _differences(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, float]:
    """The relative difference of each array, in order."""
    total = max(_length(ours.values()), _length(theirs.values()))
    least = _NOTHING * total or 1.0
    return {name: _length([ours[name] - theirs[name]]) / max(_length([ours[name]]), _length([theirs[name]]), least)
            for name in ours}


def _worst(found: dict[str, float]) -> float:
    return float(np.max(list(found.values()))) if found else 0.0        # NaN, unlike max's


def _overall(ours: dict[str, Any], theirs: dict[str, Any]) -> float:
    total = max(_length(ours.values()), _length(theirs.values()))
    return _length(ours[name] - theirs[name] for name in ours) / (total or 1.0)


def _length(arrays: Iterable[Any]) -> float:
    return float(np.sqrt(sum(float(np.dot(array, array)) for array in arrays)))


def _first(cell: Cell, each: dict[str, dict[str, float]], limits: dict[str, float], failed: list[str]) -> str:
    """The first array of the first kind that failed, in order of computation, with its layer."""
    kind = failed[0]
    names = [name for name, difference in each[kind].items() if not difference <= limits[kind]]
    name = names[0] if names else max(each[kind], key=lambda name: each[kind][name])
    placed = {place.path: place.layer for place in _places(cell)}
    layer = next((placed[path] for path in (name, name.rpartition(".")[0]) if path in placed), None)
    return f"{kind} {name}" + (f" ({type(layer).__name__})" if layer is not None else "")


def _places(cell: Cell) -> tuple[layers.Placed, ...]:
    placed: tuple[layers.Placed, ...] = layers.places(tasks.table(cell.task, cell.classes),
                                                      tasks.input_shape(cell.image))
    return placed


def run(names: list[str], stacks: list[Stack], precision: str, launcher: Launcher, data: Path,
        resources: tuple[int, int], clock: Callable[[], float], say: Callable[[str], None]) -> list[Verdict]:
    """Check every task in every stack against the first one that can run it; resources are (cpus, memory bytes)."""
    if len(stacks) < 2:
        raise InputError("check: found one stack, expected two or more to compare")
    verdicts = []
    for task in names:
        reference: tuple[Stack, Sent] | None = None
        for stack in stacks:
            say(f"check: {task} in {stack.name}")
            cell = check_cell(task, stack.name, precision, *resources)
            found = _tried(cell, stack, launcher, data, clock)
            if reference is None and isinstance(found, Sent):
                reference = (stack, found)
            elif reference is not None:
                verdicts.append(compare(cell, found, reference[1], stack, reference[0]))
            else:
                verdicts.append(compare(cell, found, found, stack, stack))
    return verdicts


def _tried(cell: Cell, stack: Stack, launcher: Launcher, data: Path, clock: Callable[[], float]) -> Sent | Ending:
    try:
        return sent(cell, stack, launcher, data, clock)
    except BenchError as error:
        return Ending("not_started", str(error))


def keep(verdicts: list[Verdict], fingerprints: dict[str, str], results: Path) -> None:
    """Append the verdicts to results/checks.jsonl, each with what both stacks were made of."""
    results.mkdir(parents=True, exist_ok=True)
    when = datetime.now(UTC).isoformat(timespec="seconds")
    with (results / VERDICTS).open("a") as file:
        for verdict in verdicts:
            record = {"schema": store.SCHEMA, "when": when, **verdict._asdict(), "passed": verdict.passed,
                      "fingerprint": fingerprints[verdict.stack],
                      "reference_fingerprint": fingerprints[verdict.reference]}
            file.write(json.dumps(record) + "\n")


def proved(results: Path, fingerprints: dict[str, str]) -> set[tuple[str, str]]:
    """The (task, stack) that passed in float64 with what the stacks are made of now; the references count as passed.

    The last verdict of a pair counts. Lines that are not verdicts are left out: they prove nothing.
    """
    found: dict[tuple[str, str, str], bool] = {}
    path = results / VERDICTS
    for line in path.read_text(errors="replace").splitlines() if path.is_file() else ():
        try:
            record = json.loads(line)
            pair = (record["task"], record["stack"], record["reference"])
            is_current = (fingerprints.get(pair[1]), fingerprints.get(pair[2])) == (
                record["fingerprint"], record["reference_fingerprint"])
            if record["precision"] == "float64" and is_current:
                found[pair] = record["passed"] is True
        except (ValueError, KeyError, TypeError):
            continue
    return {(task, name) for (task, *names), passed in found.items() if passed for name in names}
