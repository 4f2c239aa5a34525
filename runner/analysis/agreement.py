"""Whether two stacks computed the same: arrays that their workers sent of one update, compared kind by kind.

Workers send sketches (workloads/measuring/count_sketch.py): a difference's length is known to about 4 %, exactly for
arrays of up to 1,024 numbers. In float64 every array must agree to LIMITS. In float32 a ReLU's input beside zero
changes sign with the last bit, so that gradients of two stacks differ as those of float32 and float64 do in one
(ResNet-18: by 0.7 % of their length, one array by up to 16 %): gradients and weights are judged by the relative length
over all arrays together, logits and activations by the worst array. In bfloat16, where a small net's gradient was 15 %
from float32's, the forward pass alone is judged; of nets that a batch's own statistics normalise, which carry rounding
on, loss and inference alone (PyTorch's ResNet-50 in bfloat16 ends 0.7 from its own in float32).

Stacks that only infer have float32 alone, and are judged by what they infer. Their pass by a batch's own statistics
says which layer differs first: it carries rounding on, through ResNet-152 to 2e-3 in float32 (to 8e-12 in float64,
between PyTorch and JAX), where what is inferred agrees to 3e-6.
numpy alone is needed: `make prove-gpu` compares by it where nothing is installed.
"""

import base64
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from runner.cells import model_name
from workloads.spec import frameworks, image_task, layers, tasks
from workloads.spec.cell import Cell

KINDS = ("activation", "logits", "loss", "gradient", "weight", "statistic", "decoded", "inferred")
# Largest relative differences. A pair with TensorFlow has a wider one, as some of its float64 paths round to float32.
# Running statistics have it too: MXNet and TensorFlow keep normalisation's decay as a float32 in every precision.
LIMITS = {"float64": {**dict.fromkeys(KINDS, 1e-10), "statistic": 1e-6},
          "rounded float64": dict.fromkeys(KINDS, 1e-6),
          "float32": {"activation": 1e-3, "logits": 1e-3, "loss": 1e-4, "gradient": 3e-2, "weight": 1e-2,
                      "statistic": 1e-3, "decoded": 1e-3, "inferred": 1e-3},
          "amp": dict.fromkeys(KINDS, 1e-1)}         # bfloat16's 8 bits; as what is generated in it is held to
_FORWARD = ("activation", "logits", "loss", "decoded", "inferred")      # judged by the worst array in float32 too
OF_TRAINING = ("loss", "gradient", "weight", "statistic")       # what a stack that only infers has none of
ALIKE = ("loss", "gradient", "weight")          # what all workers of a synchronous step have alike
OPTIONAL = ("decoded",)      # what not every stack has of a model: compared where both do
# Absolute floor of the relative difference, as a fraction of the length of all arrays of the kind together: of a
# gradient that is zero by its formula, as a key's bias in attention has, a float64's last digits are left, 1e-10 of it
_NOTHING = 1e-5
_OF_FILES = ("activation", "statistic")        # which a user's own files call as they like: in common by name and size
NATIVE = "native"
BATCH, CLASSES = 4, 10


Array = np.ndarray[tuple[int], np.dtype[np.float64]]
Sent = dict[str, dict[str, Array]]  # what one stack sent: sketches by kind and name, in order of computation
Pairs = dict[str, tuple[Array, Array]]
Failed = tuple[str, str, object]    # how a run ended that sent nothing to compare: its word, its message, what it said


class _Named(Protocol):
    """A stack, by its name and its adapter's."""

    @property
    def name(self) -> str: ...
    @property
    def framework(self) -> str: ...


class Verdict(NamedTuple):
    """A stack against the reference."""

    task: str
    stack: str
    reference: str
    precision: str
    worst: dict[str, float]          # by kind; without an optional one that was not compared
    first: str                       # the first layer that differs, "" where none does
    problem: str                     # why there is nothing to compare, "" where there is
    parallel: str = ""               # of three workers against one on the whole batch: the mode
    loop: str = ""                   # that the stack was checked in, where not its native one
    proves: bool = True              # float32 shows rounding alone, but of stacks that have nothing wider
    is_own: bool = False             # of a user's own model, in the widest precision that both lanes have
    compared: int = 0                # arrays

    @property
    def passed(self) -> bool:
        """Whether the two compute the same."""
        return not self.problem and not self.first


def check_cell(task: str, stack: str, precision: str, cpus: int, memory_bytes: int, loop: str = NATIVE) -> Cell:
    """The cell that checks a task.

    Images have twice the least size, so that normalisation has more than one pixel to average; sequences have lengths
    of their own, so that masks count.
    """
    cell = Cell(stack=stack, task=task, measure="check", batch=BATCH, precision=precision, optimizer="momentum",
                weight_decay=1e-4, cpus=cpus, memory_bytes=memory_bytes, loop=loop)
    if tasks.is_sequence(task):
        return cell._replace(warmup=0, steps=1)
    return cell._replace(classes=CLASSES, input="synthetic", image=2 * tasks.of(cell).least)


def compare(cell: Cell, ours: Sent | Failed, theirs: Sent | Failed, stack: _Named, reference: _Named) -> Verdict:
    """The verdict on a stack's arrays against the reference's."""
    for of_arrays, who in ((ours, stack), (theirs, reference)):
        if not isinstance(of_arrays, dict):
            word, message, _ = of_arrays
            return verdict_of(cell, stack, reference, {}, problem=f"{who.name}: {word}: {message}")
    assert isinstance(ours, dict) and isinstance(theirs, dict)
    of_mxnet = "mxnet" in (stack.framework, reference.framework) and not tasks.is_sequence(cell.task)
    keeps_none = cell.loop != NATIVE or (cell.precision == "amp" and of_mxnet)     # a compiled net, or graph of casts
    optional = (*OPTIONAL, *(("activation",) if keeps_none else ()),
                *(OF_TRAINING if _only_infer(stack, reference) else ()),
                *(("logits", "statistic") if cell.source else ()))
    pairs: dict[str, Pairs] = {}
    for kind in KINDS:
        one, other = ours.get(kind, {}), theirs.get(kind, {})
        pairs[kind] = {name: (one[name], other[name]) for name in one
                       if name in other and one[name].shape == other[name].shape}
        odd = next((name for name in (*one, *other) if name not in pairs[kind]), None)
        if odd is None or (cell.source and kind in _OF_FILES) or (kind in optional and not (one and other)):
            continue
        how = (f"has another shape in {stack.name} than in {reference.name}" if odd in one and odd in other
               else f"is in {(stack if odd in one else reference).name} alone")
        return verdict_of(cell, stack, reference, {}, problem=f"{kind} {odd} {how}")
    is_rounded = cell.precision == "float64" and any(frameworks.rounds_float64(each.framework)
                                                     for each in (stack, reference))
    limits = LIMITS["rounded float64" if is_rounded else cell.precision]
    differences = {kind: _differences(of_kind) for kind, of_kind in pairs.items()}
    worst = {kind: _length(one - other for one, other in of_kind.values()) / (_longest(of_kind) or 1.0)
             if cell.precision != "float64" and kind not in _FORWARD
             else float(np.max([0.0, *differences[kind].values()]))                # NaN, unlike max's
             for kind, of_kind in pairs.items() if of_kind or kind not in optional}
    beyond = [kind for kind in worst if not worst[kind] <= limits[kind]]        # NaN too
    judged = _judged(cell.precision, _only_infer(stack, reference), bool(pairs["statistic"]))
    failed = [kind for kind in beyond if kind in judged]
    named = failed if cell.precision == "amp" else beyond        # else what is not judged says where it begins
    first = _first(cell, differences, limits, named) if failed else ""
    return verdict_of(cell, stack, reference, worst, first)._replace(compared=sum(map(len, pairs.values())))


def verdict_of(cell: Cell, stack: _Named, reference: _Named, worst: dict[str, float], first: str = "", problem: str = ""
               ) -> Verdict:
    """The verdict of these differences."""
    return Verdict(model_name(cell), stack.name, reference.name, cell.precision, worst, first, problem,
                   loop="" if cell.loop == NATIVE else cell.loop,
                   proves=cell.precision == ("float32" if _only_infer(stack, reference) else "float64"))


def _judged(precision: str, only_infers: bool, is_normalised: bool) -> tuple[str, ...]:
    """The kinds by which a pair passes; is_normalised: by a batch's own statistics."""
    if only_infers:
        return ("inferred",)
    if precision != "amp":
        return KINDS
    return ("loss", "inferred") if is_normalised else _FORWARD


def apart(verdict: Verdict) -> str:
    """How far what two runs of code returned is apart."""
    if verdict.problem or not verdict.compared:
        return verdict.problem or "its results are random or no arrays, so they are not compared"
    worst = verdict.worst.get("inferred", 0.0)
    return f"results differ by up to {worst:.0e}, relative" if worst else "equal results"


def _only_infer(*pair: _Named) -> bool:
    """Whether one of them trains nothing, so that the two are compared by what they infer, in float32."""
    return any(frameworks.only_infers(stack.framework) for stack in pair)


def _differences(pairs: Pairs) -> dict[str, float]:
    """The relative difference of each array, in order."""
    least = _NOTHING * _longest(pairs) or 1.0
    return {name: _length([one - other]) / max(_length([one]), _length([other]), least)
            for name, (one, other) in pairs.items()}


def _longest(pairs: Pairs) -> float:
    """The length of all arrays together, of the one who has more."""
    return max(map(_length, zip(*pairs.values(), strict=True)), default=0.0)


def _length(arrays: Iterable[Array]) -> float:
    return float(np.linalg.norm([np.linalg.norm(array) for array in arrays]))


def _first(cell: Cell, differences: dict[str, dict[str, float]], limits: dict[str, float], beyond: list[str]) -> str:
    """The first array beyond its limit, of the first kind that has one, in order of computation, with its layer."""
    kind = beyond[0]
    names = [name for name, difference in differences[kind].items() if not difference <= limits[kind]]
    name = names[0] if names else max(differences[kind], key=lambda name: differences[kind][name])
    leaves = () if cell.source or tasks.is_sequence(cell.task) else layers.leaves(
        tasks.model(cell), image_task.input_shape(cell.image))
    placed = {each.path: each.layer for each in leaves}
    layer = next((placed[path] for path in (name, name.rpartition(".")[0]) if path in placed), None)
    return f"{kind} {name}" + (f" ({type(layer).__name__})" if layer is not None else "")


def sent(events: Iterable[Mapping[str, Any]]) -> dict[str, Sent]:
    """The arrays in a run's events, by place."""
    by_place: dict[str, Sent] = {}
    for event in events:
        if event["event"] == "tensor":
            array = np.frombuffer(base64.b64decode(event["sketch"]), dtype="<f8")
            by_place.setdefault(event.get("place", ""), {}).setdefault(event["kind"], {})[event["name"]] = array
    return by_place
