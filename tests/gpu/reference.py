"""numpy's reference of a check cell, sketched as a worker sketches, and differences between two sets of sketches."""

import base64

import numpy as np

from tests.gpu.environment import Event
from workloads.frameworks import numpy as reference
from workloads.frameworks.numpy import recurrent
from workloads.inputs import images, sequence_batches, weights
from workloads.measuring.count_sketch import sketch
from workloads.spec import tasks
from workloads.spec.cell import Cell

Arrays = dict[str, dict[str, np.ndarray]]
# Those of runner/measuring/equality.py, which a test compares: the runner needs more packages than are here.
LIMITS = {"float64": {"activation": 1e-10, "logits": 1e-10, "loss": 1e-10, "gradient": 1e-10, "weight": 1e-10,
                      "statistic": 1e-6, "decoded": 1e-10, "inferred": 1e-10},
          "float32": {"activation": 1e-3, "logits": 1e-3, "loss": 1e-4, "gradient": 3e-2, "weight": 1e-2,
                      "statistic": 1e-3, "decoded": 1e-3, "inferred": 1e-3}}
_JOINT = ("gradient", "weight", "statistic")     # in float32 judged by the length over all arrays together
_NOTHING = 1e-5                                  # of a kind's length: smaller arrays are compared to this


def has_reference(task: str) -> bool:
    """Whether numpy computes the task: image models and the LSTM layer, forward."""
    return task == "lstm" or not tasks.is_sequence(task)


def forward(cell: Cell) -> Arrays:
    """The activations, logits and loss of a check cell, from its own weights as rounded for it, in float64."""
    numbers = "float64" if cell.precision == "float64" else "float32"
    arrays = weights.seeded(tasks.parameters(cell), cell.seed, numbers)
    activations, logits, loss = _lstm(cell, arrays) if cell.task == "lstm" else _image(cell, arrays)
    return {"activation": {name: sketch(name, array) for name, array in activations.items()},
            "logits": {"logits": sketch("logits", logits)}, "loss": {"loss": np.array([loss])}}


def _image(cell: Cell, arrays: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray, float]:
    workload = reference.Workload(tasks.table(cell.task, cell.classes), cell)
    workload.load(arrays)
    sample = images.synthetic(cell)
    activations = workload.activations(sample.images)
    logits = activations[list(activations)[-1]]
    return activations, logits, float(reference.model.cross_entropy(logits, sample.labels))


def _lstm(cell: Cell, arrays: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray, float]:
    batch, = sequence_batches.read(None, cell).first(cell.batch)
    double = {name: array.astype(np.float64) for name, array in arrays.items()}
    h = recurrent.lstm(double, "lstm", batch["x"].astype(np.float64))
    return {"lstm": h}, h, 0.5 * float((h * h).mean())


def sent(events: list[Event]) -> Arrays:
    """The sketches of a check's events, by kind and name."""
    found: Arrays = {kind: {} for kind in LIMITS["float64"]}
    for event in events:
        if event["event"] == "tensor":
            found[event["kind"]][event["name"]] = np.frombuffer(base64.b64decode(event["sketch"]), dtype="<f8")
    return found


def differences(ours: Arrays, theirs: Arrays, precision: str) -> dict[str, float]:
    """The relative difference of each kind that both have: of its worst array, or over all of its arrays."""
    found = {}
    for kind in ours:
        if kind in theirs and ours[kind] and ours[kind].keys() == theirs[kind].keys():
            is_joint = precision != "float64" and kind in _JOINT
            found[kind] = (_overall if is_joint else _worst)(ours[kind], theirs[kind])
        elif theirs.get(kind) or (kind in theirs and ours[kind]):
            found[kind] = float("nan")                         # other names are another model
    return found


def _worst(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> float:
    least = _NOTHING * max(_length(ours.values()), _length(theirs.values())) or 1.0
    return float(np.max([_length([ours[name] - theirs[name]])
                         / max(_length([ours[name]]), _length([theirs[name]]), least) for name in ours]))


def _overall(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> float:
    total = max(_length(ours.values()), _length(theirs.values()))
    return _length([ours[name] - theirs[name] for name in ours]) / (total or 1.0)


def _length(arrays) -> float:
    return float(np.sqrt(sum(float(np.dot(array, array)) for array in arrays)))
