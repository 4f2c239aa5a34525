"""A model of the user's own, as cells hold it: Python files as text, one of which a lane runs. Standard library only.

The text travels in the cell, so that it reaches a worker in every launcher and is part of the cell's key. No host runs
it: a worker does. Of an .onnx file the digest travels, and its folder is the model's data. Python 3.6 and later.
"""
import hashlib
import json
import os
from typing import NamedTuple

DATA = "own"          # the name by which --data gives such a model a folder: own=FOLDER
LONGEST = 100000      # characters of all files, as a cell's JSON quotes them: the kernel takes 131,072 in an argument


class Lane(NamedTuple):
    """A way to run a file of a kind."""

    name: str            # the column's
    kind: str            # of the file: torch, jax, keras, onnx or code
    framework: str       # whose rules of equality hold
    stack: str           # that has what it needs; "": the user says
    loop: str
    mode: str = ""       # of what compiles or runs it; "": its default


# of ONNX Runtime's session options one that is not the default; threads across operators; OpenVINO's performance hint
_MODES = {"onnxruntime": ("disable-all", "basic", "extended", "parallel", "parallel-2", "parallel-4"),
          "openvino": ("throughput",)}


def _of_runtimes(kind, before, stacks):
    """Lanes of each runtime that only infers, as it is and in its modes; stacks: by runtime."""
    return tuple(Lane("-".join(filter(None, (before + runtime, mode))), kind, runtime, stacks[runtime], "graph", mode)
                 for runtime in _MODES for mode in ("",) + _MODES[runtime])


LANES = (
    Lane("pytorch", "torch", "pytorch", "torch-2.13-cpu", "eager"),
    Lane("pytorch-compile", "torch", "pytorch", "torch-2.13-cpu", "compile"),
    Lane("pytorch-compile-max-autotune", "torch", "pytorch", "torch-2.13-cpu", "compile", "max-autotune"),
    Lane("pytorch-compile-reduce-overhead", "torch", "pytorch", "torch-2.13-cpu", "compile", "reduce-overhead"),
    *_of_runtimes("torch", "", dict.fromkeys(_MODES, "torch-2.13-own")),
    *_of_runtimes("onnx", "onnx-on-", {"onnxruntime": "onnxruntime-1.32-cpu", "openvino": "openvino-2026.4-cpu"}),
    Lane("jax", "jax", "jax", "jax-0.10-cpu", "xla"),
    Lane("keras-on-tensorflow", "keras", "tensorflow", "tf-2.21", "fit"),
    Lane("keras-on-jax", "keras", "jax", "jax-0.10-own", "fit"),
    Lane("keras-on-pytorch", "keras", "pytorch", "torch-2.13-own", "fit"),
    Lane("keras-on-tensorflow-compile", "keras", "tensorflow", "tf-2.21", "fit", "jit_compile"),
    Lane("keras-on-pytorch-compile", "keras", "pytorch", "torch-2.13-own", "fit", "jit_compile"),
    Lane("keras-on-tensorflow-step", "keras", "tensorflow", "tf-2.21", "step"),
    Lane("keras-on-jax-step", "keras", "jax", "jax-0.10-own", "step"),
    Lane("keras-on-pytorch-step", "keras", "pytorch", "torch-2.13-own", "step"),
    Lane("code", "code", "python", "", "native"),
)
# the parameters that a file's functions are given, by the file's kind
PARAMETERS = {
    "torch": {"model": (), "batch": ("rng", "size"), "loss": ("outputs", "targets"), "optimizer": ("parameters",)},
    "jax": {"init": ("key",), "apply": ("parameters", "inputs"), "batch": ("rng", "size"),
            "loss": ("outputs", "targets"), "optimizer": ()},
    "keras": {"model": (), "batch": ("rng", "size"), "loss": (), "optimizer": ()},
}
TITLES = {"tensorflow": "TensorFlow", "torch": "PyTorch", "jax": "JAX"}       # of Keras' backends, by package
# modules that never come along with a file, whatever lies beside it: a user's model.py may be called torch.py
NOT_BESIDE = tuple(each + end for each in ("numpy", "keras", "jaxlib") + tuple(TITLES) for end in ("", ".py"))
# the packages that a lane needs in an environment of the user's, by its file's kind and its framework
NEEDS = {("torch", "pytorch"): ("torch",), ("jax", "jax"): ("jax>=0.4.18",),
         ("torch", "onnxruntime"): ("torch", "onnx", "onnxscript", "onnxruntime"),
         ("torch", "openvino"): ("torch", "onnx", "onnxscript", "openvino"),
         ("onnx", "onnxruntime"): ("onnx", "onnxruntime"), ("onnx", "openvino"): ("onnx", "openvino"),
         ("keras", "tensorflow"): ("keras>=3", "tensorflow"), ("keras", "jax"): ("keras>=3", "jax"),
         ("keras", "pytorch"): ("keras>=3", "torch"), ("code", "python"): ()}
WISHED = "step"       # the loop of lanes that are measured where they are asked for
BY_NAME = {lane.name: lane for lane in LANES}


class Model(NamedTuple):
    """What a cell's text says."""

    file: str            # the name of the one that this cell runs
    lane: str
    files: dict          # text by name
    same: str            # the text of the file that gives all of them their weights; ""
    options: dict = {}   # what --set gives the file's functions, by the names of their parameters


class ModelError(ValueError):
    """A model that cannot be: the message says found and expected."""


def dumps(model):
    """The model as text. Raises ModelError where a command line cannot carry it."""
    values = {name: value for name, value in model._asdict().items() if name != "options" or value}
    text = json.dumps(values, separators=(",", ":"), sort_keys=True)
    if len(json.dumps(text)) > LONGEST:
        raise ModelError("found files of %d characters, expected at most %d" % (len(json.dumps(text)), LONGEST))
    return text


def loads(text: str):
    """The Model of text. Raises ModelError."""
    try:
        model = Model(**json.loads(text))
    except (ValueError, TypeError, RecursionError) as error:
        raise ModelError("found no model: %s" % str(error)[:100]) from error
    texts = model.files if isinstance(model.files, dict) else {}
    if model.lane not in BY_NAME or model.file not in texts or not isinstance(model.options, dict) or not all(
            isinstance(each, str) for each in list(texts.values()) + [model.same]):
        raise ModelError("found a model without its file, or of an unknown lane")
    return model


def lane(text: str):
    """The Lane of a model's text; of a cell without one, "", a lane of no mode."""
    return BY_NAME[loads(text).lane if text else "code"]


def digest(path: str):
    """Of a file that is no text, and of those beside it whose names begin with its own, where its weights may be."""
    made, (folder, name) = hashlib.sha256(), os.path.split(path)
    for each in sorted(os.listdir(folder)):
        if each.startswith(name) and os.path.isfile(os.path.join(folder, each)):
            with open(os.path.join(folder, each), "rb") as file:
                for block in iter(lambda: file.read(2 ** 20), b""):
                    made.update(block)
    return made.hexdigest()


def common(text: str):
    """What all lanes of a model share, of a model's text or of that."""
    return json.dumps(dict(json.loads(text), file="", lane=""), sort_keys=True)
