"""The cell: one thing to measure, as host and worker both read it. Python 3.6 and later, standard library only."""
import json
import re
from typing import NamedTuple

from workloads.spec import measures
from workloads.spec.cluster import PARALLEL
from workloads.spec.models import own_model

# A switch is a setting that a study varies; "best", "native" and "default" leave the choice to the framework,
# and the worker says in its start event what it became. loop "tuned" is what an expert of the framework would switch on
# (docs/tuned.md): it may set layout, precision and attention, too, where a cell leaves them at their defaults.
SWITCHES = {
    "input": ("pipeline", "synthetic", "loader"),     # loader: the framework's own, which reads from disk
    "precision": ("float32", "float64", "amp", "tf32"),
    "optimizer": ("sgd", "momentum", "adam", "adamw"),
    "loop": ("native", "eager", "graph", "fit", "xla", "compile", "tuned", "step"),
    "layout": ("best", "nchw", "nhwc"),
    "sync": ("each", "end", "blocks"),  # blocks: the device runs ahead for at least 0.1 s, then it is waited for
    "onednn": ("default", "on", "off"),
    "init": ("seeded", "framework"),
    "parallel": PARALLEL,
    "overlap": ("default", "off"),      # off: gradients are exchanged after the whole backward pass
    "order": ("seeded", "framework"),   # of the samples in an epoch
    "augment": ("none", "crop", "flip_crop"),     # of the images in an epoch: equal moves in all frameworks
    "preset": ("small", "study"),       # the sizes of a sequence model
    "lstm": ("native", "cell", "block", "cudnn", "keras1", "keras2", "skip_input"),
    "conv": ("default", "profiling", "fixed", "heuristic"),         # how a GPU's convolution algorithm is chosen
    "attention": ("default", "plain", "fused"),     # of transformers: plain products, or the framework's one function
    "padding": ("batch", "buckets"),    # of sequences: to a batch's longest, or to the next of a few lengths
    "graph_opt": ("default", "off", "no_pruning", "no_constant_folding", "no_arithmetic", "no_dependency"),
    "decode": ("token", "program"),     # of measure decode: a call a token, or a whole sequence in one
    "warm": ("fixed", "steady"),        # when a warm-up ends: after cell.warmup steps, or once steps are steady
}
# What a cell's "switches" may set in one stack alone of those that are compared: its own fields, and variables of the
# environment. A record may be a stranger's, so that a variable has no path: a library is found by its name.
SWITCHED = ("loop", "layout", "precision", "attention", "onednn", "conv", "input", "cpus")
VARIABLES = ("LD_PRELOAD", "KMP_BLOCKTIME", "MXNET_CPU_WORKER_NTHREADS", "OMP_WAIT_POLICY", "ONEDNN_MAX_CPU_ISA",
             "TF_ENABLE_ONEDNN_OPTS", "TF_GPU_ALLOCATOR", "XLA_FLAGS")
_VALUE = re.compile(r"[A-Za-z0-9_.,=+-]+$")


class CellError(ValueError):
    """A cell that cannot be: the message names key, found and expected."""


class Cell(NamedTuple):
    """One combination of stack, task, measure, sizes, resources and switches.

    A default is part of every stored cell's key, so it never changes; a new field's default means "as before".
    """

    stack: str
    task: str
    measure: str
    batch: int = 42               # samples a step
    image: int = 32               # pixels, height and width
    classes: int = 10
    steps: int = 100              # timed steps
    warmup: int = 10              # steps before them, reported apart
    epochs: int = 1               # only for measure "epochs"
    device: str = "cpu"
    nodes: int = 1
    cpus: int = 1                 # CPUs of each node, and threads of the framework
    memory_bytes: int = 0         # limit of each node; 0: none
    seed: int = 1                 # of weights, batch order and dropout
    data: str = "digits32"        # name of the data set; its folder is told apart
    learning_rate: float = 0.01
    weight_decay: float = 0.0
    input: str = "pipeline"
    precision: str = "float32"
    optimizer: str = "sgd"
    loop: str = "native"
    layout: str = "best"
    sync: str = "each"
    onednn: str = "default"
    init: str = "seeded"
    parallel: str = "none"
    overlap: str = "default"
    order: str = "seeded"
    preset: str = "small"
    lstm: str = "native"
    conv: str = "default"
    graph_opt: str = "default"
    length: int = 0               # time steps of a sequence task; 0: its preset's
    hidden: int = 0               # units of the lstm task; 0: its preset's
    gpus: int = 1                 # of each node, where the device is a GPU
    augment: str = "none"
    images: int = 0               # training images of an epoch; 0: all that there are
    warm: str = "fixed"           # "steady": warmup is the least number of steps before the timed ones
    seconds: float = 0.0          # that timed steps last at least; steps is then the least number of them
    padding: str = "batch"
    prompt: int = 0               # tokens before the first generated one; 0: half of the length
    attention: str = "default"
    decode: str = "token"         # "program": a step generates all tokens after the prompt
    source: str = ""              # a user's own model, as spec.models.own_model writes it
    switches: str = ""            # of this stack alone: "layout=nhwc TF_ENABLE_ONEDNN_OPTS=1"; spec.switches has them


FIELDS = Cell.__annotations__ if hasattr(Cell, "__annotations__") else Cell._field_types
DEFAULTS = dict(getattr(Cell, "_field_defaults", {}))
LEAST = {"batch": 1, "image": 1, "classes": 2, "steps": 1, "warmup": 0, "epochs": 1, "nodes": 1, "cpus": 1,
          "memory_bytes": 0, "seed": 0, "length": 0, "hidden": 0, "gpus": 1, "images": 0, "prompt": 0,
          "learning_rate": 0.0, "weight_decay": 0.0, "seconds": 0.0}
MOST = {"nodes": 1000, "gpus": 1000, "cpus": 100000, "seconds": 3600.0}
_MOST = 2 ** 62 - 1           # elsewhere
CHOICES = dict(SWITCHES, measure=measures.NAMES, device=("cpu", "gpu"))


def parse(values):
    """The Cell of a mapping. Raises CellError for an unknown key, a missing one, a wrong type or value."""
    if not isinstance(values, dict):
        raise CellError("found %s, expected an object of cell keys" % type(values).__name__)
    if values.get("table") == "":            # of records of 0.2.0 before its release
        values = {key: value for key, value in values.items() if key != "table"}
    for key in values:
        if key not in FIELDS:
            raise CellError('key "%s" is unknown; known: %s' % (key, ", ".join(FIELDS)))
    for key in FIELDS:
        if key not in values and key not in DEFAULTS:
            raise CellError('key "%s" is missing' % key)
    return Cell(**{key: checked(key, value) for key, value in values.items()})


def checked(key: str, value):
    """The value of a cell's key in its own type. Raises CellError saying found and expected."""
    kind = FIELDS[key]
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) < 2 ** 62 else value
    if not isinstance(value, kind) or isinstance(value, bool):
        raise CellError('key "%s": found %s, expected %s' % (key, json.dumps(value, default=str), kind.__name__))
    if key in CHOICES and value not in CHOICES[key]:
        raise CellError('key "%s": found "%s", expected one of %s' % (key, value, ", ".join(CHOICES[key])))
    if key in LEAST and not value >= LEAST[key]:     # also refuses NaN
        raise CellError('key "%s": found %s, expected a number of at least %s' % (key, value, LEAST[key]))
    if key in LEAST and value > MOST.get(key, _MOST):
        raise CellError('key "%s": found %s, expected a number of at most %s' % (key, value, MOST.get(key, _MOST)))
    if key == "source" and value:
        try:
            own_model.loads(value)
        except own_model.ModelError as error:
            raise CellError("source: %s" % error) from error
    if kind is str and not value and key not in ("source", "switches"):
        raise CellError('key "%s": found "", expected a name' % key)
    if key == "switches":
        _check_switches(value)
    return value


def pairs(switches):
    """(name, value) of each of a cell's switches, as text."""
    return [each.partition("=")[::2] for each in switches.split()]


def _check_switches(text: str) -> None:
    for name, value in pairs(text):
        if name in SWITCHED:
            checked(name, int(value) if FIELDS[name] is int and value.isdigit() else value)
        elif name not in VARIABLES or not _VALUE.match(value):
            raise CellError('key "switches": found "%s=%s", expected a value without a path of one of %s'
                            % (name, value, ", ".join(SWITCHED + VARIABLES)))


def switched(cell: Cell):
    """The cell with the fields that its switches set; variables are its process's."""
    return cell._replace(**{name: FIELDS[name](value) for name, value in pairs(cell.switches) if name in SWITCHED})


def switched_variables(cell: Cell):
    """The variables of the environment that its switches set, (name, value) of each."""
    return tuple((name, value) for name, value in pairs(cell.switches) if name not in SWITCHED)


def content(cell: Cell):
    """What differs from the defaults, as a dict: what a key is made of."""
    return {key: value for key, value in cell._asdict().items() if key not in DEFAULTS or value != DEFAULTS[key]}


def loads(text: str):
    """The Cell of JSON text. Raises CellError."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CellError("not JSON: %s" % error) from error
    return parse(values)
