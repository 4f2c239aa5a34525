"""Models of the user's own in today's stacks: what differs is refused and named, what is equal is shown to be."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from runner import paths
from runner.analysis.agreement import LIMITS
from tests import made_graph
from tests.conftest import in_third
from tests.environments.test_stacks import inside
from workloads.spec.cell import Cell
from workloads.spec.models import own_model

IN_TORCH = """
import torch
from torch import nn

class Turned(nn.Linear):
    def forward(self, x):
        return x @ self.weight + self.bias

def model():
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), %s)

def batch(rng, size):
    return rng.standard_normal((size, 8, 8, 3)).transpose(0, 3, 1, 2), rng.randint(0, 16, size)
"""
NET = IN_TORCH % "nn.BatchNorm2d(4, eps=1e-5), nn.ReLU(), nn.Flatten(), nn.Linear(256, 16), nn.Linear(16, 16)"
PLANTED = {
    "epsilon": ("eps=1e-5", "eps=1e-3", "activation 1"),
    "padding": ("padding=1)", "padding=1, padding_mode='replicate')", "activation 0"),
    "activation": ("nn.ReLU()", "nn.GELU()", "activation 2"),
    "bias": ("nn.Linear(16, 16)", "nn.Linear(16, 16, bias=False)", "gradient 5.bias is in"),
    "transposed": ("nn.Linear(16, 16)", "Turned(16, 16)", "activation 5"),
}
KERAS = """
import keras
from keras import layers

class Turned(layers.Conv2D):
    def convolution_op(self, inputs, kernel):
        return super().convolution_op(inputs, keras.ops.swapaxes(kernel, 0, 1))

def model():
    inputs = keras.Input((8, 8, 3))
    x = layers.Conv2D(4, 3, padding="same", name="conv")(inputs)
    x = layers.BatchNormalization(epsilon=1e-3, momentum=0.9, name="norm")(x)
    x = layers.Flatten()(layers.ReLU(name="act")(x))
    return keras.Model(inputs, layers.Dense(16, name="head")(x))

def batch(rng, size):
    return rng.standard_normal((size, 8, 8, 3)), rng.randint(0, 16, size)

def optimizer():
    return keras.optimizers.SGD(0.01)
"""
PLANTED_IN_KERAS = {
    "epsilon": ("epsilon=1e-3", "epsilon=1e-5", "activation norm"),
    "padding": ('padding="same"', 'padding="valid"', "activation conv"),
    "activation": ("layers.ReLU(name", "layers.Activation('gelu', name", "activation act"),
    "momentum": ("momentum=0.9", "momentum=0.99", "statistic norm/moving_mean"),
    "transposed": ("layers.Conv2D(4", "Turned(4", "activation conv"),
    "bias": ("layers.Dense(16,", "layers.Dense(16, use_bias=False,", "gradient head/bias is in"),
}
PURE = """
import jax, jax.numpy as jnp

def init(key):
    return {"conv": jnp.zeros((4, 3, 3, 3)), "bias": jnp.zeros(4), "scale": jnp.ones(256), "shift": jnp.zeros(256),
            "head": jnp.zeros((256, 16)), "low": jnp.zeros(16), "last": jnp.zeros((16, 16)), "end": jnp.zeros(16)}

def apply(p, x):
    x = jax.lax.conv_general_dilated(x, p["conv"], (1, 1), ((1, 1), (1, 1))) + p["bias"][:, None, None]
    x = x.reshape(x.shape[0], -1)
    x = (x - x.mean(1, keepdims=True)) / jnp.sqrt(x.var(1, keepdims=True) + 1e-5) * p["scale"] + p["shift"]
    return (jax.nn.relu(x) @ p["head"] + p["low"]) @ p["last"] + p["end"]

def batch(rng, size):
    return rng.standard_normal((size, 8, 8, 3)).transpose(0, 3, 1, 2), rng.randint(0, 16, size)
"""
LAYERED = IN_TORCH % "nn.Flatten(), nn.LayerNorm(256), nn.ReLU(), nn.Linear(256, 16), nn.Linear(16, 16)"
SAME_LAYERED = """
def arrays(rng):
    shapes = {"conv": (4, 3, 3, 3), "bias": 4, "scale": 256, "shift": 256, "head": (256, 16), "low": 16,
              "last": (16, 16), "end": 16}
    return {name: rng.standard_normal(shape) / 5 for name, shape in shapes.items()}

def first(a):
    return {"0.weight": a["conv"], "0.bias": a["bias"], "2.weight": a["scale"], "2.bias": a["shift"],
            "4.weight": a["head"].T, "4.bias": a["low"], "5.weight": a["last"].T, "5.bias": a["end"]}
"""
PLANTED_IN_JAX = {
    "equal": ("", "", ""),
    "epsilon": ("1e-5", "1e-3", "logits output"),
    "padding": ("((1, 1), (1, 1))", "((0, 2), (1, 1))", "logits output"),
    "activation": ("relu", "gelu", "logits output"),
    "transposed": ('p["last"]', 'p["last"].T', "logits output"),
    "bias": (' + p["end"]', "", "logits output"),
}
# its own optimizer, and a tree of a registered class
OWN_TREE = PURE.replace("import jax,", "import collections, dataclasses, jax,").replace('p["', "p.").replace(
    '"]', "").replace("return {", "return Net(**{").replace("zeros(16)}", "zeros(16)}, width=4)") + """
fields = ["conv", "bias", "scale", "shift", "head", "low", "last", "end"]
Net = dataclasses.make_dataclass("Net", [*fields, "width"])
jax.tree_util.register_dataclass(Net, data_fields=fields, meta_fields=["width"])
Transformation = collections.namedtuple("Transformation", "init update")

def optimizer():
    def update(gradients, state, parameters):
        return jax.tree.map(lambda each: -RATE * each, gradients), state
    return Transformation(lambda parameters: (parameters,), update)
"""
SAME_CNN = """
import numpy as np

def arrays(rng):
    return {"kernel": rng.standard_normal((3, 3, 3, 4)) / 5, "bias": rng.standard_normal(4),
            "scale": 1 + rng.standard_normal(4) / 10, "shift": rng.standard_normal(4), "mean": rng.standard_normal(4),
            "var": rng.uniform(0.5, 1.5, 4), "head": rng.standard_normal((8, 8, 4, 16)) / 16, "last": np.arange(16.0)}

def first(a):
    return {"0.weight": a["kernel"].transpose(3, 2, 0, 1), "0.bias": a["bias"], "1.weight": a["scale"],
            "1.bias": a["shift"], "1.running_mean": a["mean"], "1.running_var": a["var"],
            "4.weight": a["head"].transpose(3, 2, 0, 1).reshape(16, -1), "4.bias": a["last"]}

def second(a):
    return {"conv/kernel": a["kernel"], "conv/bias": a["bias"], "norm/gamma": a["scale"], "norm/beta": a["shift"],
            "norm/moving_mean": a["mean"], "norm/moving_variance": a["var"], "head/kernel": a["head"].reshape(-1, 16),
            "head/bias": a["last"]}
"""
CNN = IN_TORCH % "nn.BatchNorm2d(4, eps=1e-3, momentum=0.1), nn.ReLU(), nn.Flatten(), nn.Linear(256, 16)"
DROPPING = """
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.functional import dropout

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, dropout=0.5, batch_first=True)
        self.lstm = nn.LSTM(8, 8, 2, dropout=0.5, batch_first=True)
        self.head = nn.Sequential(nn.Dropout(0.5), nn.Linear(8, 4))

    def forward(self, x):
        x = self.attention(x, x, x, need_weights=False)[0]
        x = F.scaled_dot_product_attention(x, x, x, dropout_p=0.5 if self.training else 0.0)
        x = F.dropout2d(dropout(self.lstm(x)[0], 0.5, self.training), 0.5, self.training)
        return self.head(torch.dropout(F.alpha_dropout(x, 0.5, self.training), 0.5, self.training)[:, -1])

def model():
    torch.manual_seed(torch.seed())         # lanes draw other numbers
    return Net()

def batch(rng, size):
    return rng.standard_normal((size, 5, 8)), rng.randint(0, 4, size)
"""

SPREAD = """
from collections import namedtuple
from torch import nn

Pair = namedtuple("Pair", "one other")

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.other = nn.Linear(4, 5), nn.Linear(3, 5)

    def forward(self, *inputs):
        return self.one(inputs[0]) + self.other(inputs[1])

def model():
    return Net()

def batch(rng, size):
    return Pair(rng.random_sample((size, 4)), rng.random_sample((size, 3))), rng.randint(0, 5, size)
"""
BRANCHING = SPREAD.replace("return self.one", "x = self.one").replace(
    "\n\ndef model", "\n        return x if x.sum() > 0 else -x\n\ndef model").replace(
    "    return Pair", "    print('a line of the user')\n    return Pair")
BY_NAME = SPREAD.replace("*inputs", "**inputs").replace("[0]", '["one"]').replace("[1]", '["other"]').replace(
    "Pair(rng", "dict(one=rng").replace("(size, 4)), rng", "(size, 4)), other=rng")
REFUSED = {
    "autocast": ("        return self.one", "        with torch.autocast('cpu', torch.bfloat16): return self.one",
                 r"it computes in bfloat16"),
    "products": ("def model", "torch.set_float32_matmul_precision('medium')\ndef model",
                 r"it sets torch.float32_matmul_precision to medium, found highest"),
    "products later": ("return self.one", "torch.set_float32_matmul_precision('medium'); return self.one",
                       r"it sets torch.float32_matmul_precision to medium, found highest"),
    "target": ("randint(0, 5", "randint(5, 9", r"found a target [5-8], expected 0 to 4"),
    "shape": ("(size, 4)", "(size, 6)", r", line 1\d: layer one, Linear.*: mat1 and mat2 shapes"),
    "noise": ("inputs[0])", "inputs[0] + torch.rand(1) * self.training)", "its training is random: one "),
}
SOFTMAX = KERAS.replace('name="head"', 'name="head", activation="softmax"').replace("SGD", "Adam")
WITH_LOSS = SOFTMAX + """
def loss():
    return keras.losses.SparseCategoricalCrossentropy()
"""
COMPILED = SOFTMAX.partition("\ndef optimizer")[0].replace("return keras", "net = keras").replace("\n\ndef batch", """
    net.compile(optimizer=keras.optimizers.Adam(0.01), loss="sparse_categorical_crossentropy")
    return net

def batch""")


def evenbench(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "runner", *words, "--results", str(folder)], cwd=paths.ROOT,
                          capture_output=True, text=True, check=False)


def check(folder: Path, lanes: str, code: int = 0, **files: str) -> tuple[list[dict[str, str]], str]:
    """(verdicts, standard error) of a check of the files, in their order, that ends so; same: that of --same."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    names = [str(folder / f"{name}.py") for name in files if name != "same"]
    same = ["--same", str(folder / "same.py")] if "same" in files else []
    ended = evenbench(folder, "check", *names, "--lane", lanes, *same, "--launcher", "venv", "--json", "-")
    assert code == ended.returncode, ended.stderr
    return json.loads(ended.stdout)["rows"] if ended.stdout else [], ended.stderr


def planted(lane: str, text: str, differences: dict[str, tuple[str, str, str]], lanes: tuple[str, ...] = (),
            **files: str) -> tuple[str, dict[str, str], list[str]]:
    """(lanes, files, the first tensor that differs in each) of a text with differences; before it, these."""
    files |= {name: text.replace(then, now) for name, (then, now, _) in differences.items()}
    return (",".join([*lanes, *(f"{name}-{lane}" for name in differences)]), files,
            [first for _, _, first in differences.values()])


@pytest.mark.parametrize(("lanes", "files", "firsts"), [
    planted("pytorch", NET, PLANTED, ("first-pytorch",), first=NET),
    in_third(0, *planted("keras-on-jax", KERAS, PLANTED_IN_KERAS, ("first-keras-on-jax",), first=KERAS)),
    in_third(2, *planted("jax", PURE, PLANTED_IN_JAX, ("pytorch",), first=LAYERED, same=SAME_LAYERED)),
    in_third(0, *planted("jax", OWN_TREE, {"alike": ("RATE", "0.01", ""), "faster": ("RATE", "0.02", "weight bias")},
                         ("first-jax",), first=PURE)),
    in_third(1, "pytorch,pytorch-compile,keras-on-jax", {
        "first": CNN.replace("momentum=0.1", "momentum=0.01"), "second": KERAS, "same": SAME_CNN},
        ["", "statistic mean"]),
], ids=["pytorch", "keras", "jax", "jax's own tree", "statistics across frameworks"])
def test_each_difference_is_refused_by_the_first_tensor(
        lanes: str, files: dict[str, str], firsts: list[str], tmp_path: Path) -> None:
    verdicts, _ = check(tmp_path, lanes, 1, **files)

    found = [f"{verdict['first']}{verdict['problem']}" for verdict in verdicts]
    assert firsts == [each[:len(first)] if first else each for each, first in zip(found, firsts, strict=True)]


ON_KERAS = "keras-on-tensorflow,keras-on-jax,keras-on-pytorch"
TEMPLATES = {kind: (paths.STUDIES / "models" / f"{kind}.py").read_text() for kind in ("keras", "torch")}


@pytest.mark.parametrize(("lanes", "files"), [
    in_third(0, ON_KERAS + "".join(f",{each}-step" for each in ON_KERAS.split(",")), {"model": TEMPLATES["keras"]}),
    ("pytorch,onnxruntime,openvino", {"model": TEMPLATES["torch"]}),
    in_third(2, "keras-on-pytorch,keras-on-pytorch-compile", {"first": KERAS}),
    in_third(2, "first-pytorch,second-pytorch", {"first": DROPPING, "second": DROPPING}),
    in_third(0, "pytorch,onnxruntime", {"first": SPREAD}), in_third(1, "pytorch,onnxruntime", {"first": BY_NAME}),
    in_third(1, "pytorch,pytorch-compile,keras-on-jax", {"first": CNN, "second": KERAS, "same": SAME_CNN}),
    in_third(0, "first-keras-on-jax,second-keras-on-jax", {"first": WITH_LOSS, "second": COMPILED}),
], ids=["template-keras", "template-torch", "keras's compiled steps", "dropout, which is off", "any words", "any names",
        "statistics across frameworks", "what a Keras model was compiled with"])
def test_lanes_are_equal(lanes: str, files: dict[str, str], tmp_path: Path) -> None:
    verdicts, errors = check(tmp_path, lanes, **files)

    assert "left out" not in errors
    assert [True] * lanes.count(",") == [verdict["passed"] for verdict in verdicts]


@pytest.mark.slow(1)
def test_an_export_that_fails_leaves_its_runtime_out_with_what_it_failed_at(tmp_path: Path) -> None:
    verdicts, errors = check(tmp_path, "pytorch,onnxruntime", first=BRANCHING)

    assert [] == verdicts and "data-dependent" in errors
    assert "onnxruntime is left out: PyTorch cannot export it to ONNX: " in errors


@pytest.mark.slow
@pytest.mark.parametrize(("lane", "text", "said"), [
    *(("pytorch", "import torch\n" + SPREAD.replace(then, now), said) for then, now, said in REFUSED.values()),
    ("keras-on-jax", COMPILED.replace("(inputs)", "(layers.RandomFlip()(inputs))"),
     "its training is random: random_flip")], ids=[*REFUSED, "noise in Keras"])
def test_what_would_be_uneven_is_refused_by_its_name(lane: str, text: str, said: str, tmp_path: Path) -> None:
    _, errors = check(tmp_path, lane, 2, first=text)

    assert re.search(rf"first\.py.*{said}", errors), errors


@pytest.mark.parametrize(("lane", "stack"), [
    ("pytorch", "torch-2.13-cpu"), ("jax", "jax-0.10-cpu"),
    pytest.param("keras-on-jax", "jax-0.10-own", marks=pytest.mark.slow(0)),
    pytest.param("keras-on-pytorch", "torch-2.13-own", marks=pytest.mark.slow(1)),
    pytest.param("pytorch-compile", "torch-2.13-cpu", marks=pytest.mark.slow(2))])
def test_a_model_in_bfloat16_is_its_own_in_float32_but_for_rounding(lane: str, stack: str) -> None:
    whole, narrow = (json.loads(inside(stack, "tests.stack.own_in_bfloat16", lane, precision).stdout)
                     for precision in ("float32", "amp"))

    for kind in ("inferred", "logits", "loss"):
        one, other = (np.concatenate([sent[kind][name] for name in sorted(sent[kind])]) for sent in (whole, narrow))
        assert np.linalg.norm(one - other) < LIMITS["amp"][kind] * np.linalg.norm(one)
        assert np.linalg.norm(one - other) > 0


def test_a_graph_is_equal_in_both_runtimes_in_all_modes_and_rates_count_all_batches_at_once(tmp_path: Path) -> None:
    name = made_graph.written(tmp_path / "net.onnx")
    modes = "mode=disable-all,basic,extended,parallel,parallel-2,throughput"

    ended = evenbench(tmp_path, "check", name, "--set", "time=5", "--set", modes, "--json", "-", "--launcher", "venv")

    assert 0 == ended.returncode and "left out" not in ended.stderr, ended.stderr
    assert [True] * 7 == [each["passed"] for each in json.loads(ended.stdout)["rows"]]
    source = own_model.dumps(own_model.Model("net.onnx", "onnx-on-openvino-throughput", {
        "net.onnx": own_model.digest(name)}, "", {"time": 5}))
    cell = Cell("mine", "net.onnx", "infer", batch=2, steps=2, warmup=1, cpus=2, input="synthetic", data="own",
                loop="graph", source=source)
    told = inside("openvino-2026.4-cpu", "workloads", json.dumps(cell._asdict()), "--data", str(tmp_path))
    start, *_, end = map(json.loads, told.stdout.splitlines())
    assert ("ok", "graph, throughput, 2 batches at once", [4, "samples"]) == (
        end["status"], start["facts"]["loop"], start["facts"]["units"]), end


@pytest.mark.slow
@pytest.mark.parametrize(("made", "pairs", "said"), [
    ({}, [], r"found a dimension time, whose size is not known: --set time=32"),
    ({}, ["time=5", "width=3"], r"found --set width, which is no dimension of its inputs; it has batch, time"),
    ({}, ["time=0"], r"found --set time, which is no number of at least 1"),
    ({"shape": (1, 4)}, [], r"found inputs of shapes \(1, 4\) for a batch of 32: --set batch=N"),
    ({"shape": (32, 4), "kind": made_graph.STRING}, [], r"found x of another type than arrays of numbers"),
    ({"shape": (32, 4), "operation": "Odd", "domain": "mine"}, [],
     r"onnx-on-onnxruntime cannot run: .*Odd.*; onnx-on-openvino cannot run: .*Odd")])
def test_a_graph_that_cannot_run_is_refused_by_what_it_lacks(
        made: dict[str, object], pairs: list[str], said: str, tmp_path: Path) -> None:
    name = made_graph.written(tmp_path / "net.onnx", **made)  # type: ignore[arg-type]
    words = [word for pair in pairs for word in ("--set", pair)]

    ended = evenbench(tmp_path, "check", name, "--launcher", "venv", *words)

    assert 0 < ended.returncode and re.search(said, ended.stderr), ended.stderr


MEASURED = (0, 4)          # 4: where other programs kept every round from counting


@pytest.mark.measures
@pytest.mark.slow(0)
def test_a_model_is_run_reported_rerun_and_held_to_a_gate(tmp_path: Path) -> None:
    files = [str(tmp_path / "first.py"), str(tmp_path / "second.py")]
    for file in files:
        Path(file).write_text(LAYERED)
    short = [word for pair in ("measure=infer", "warm=fixed", "warmup=1", "steps=5") for word in ("--set", pair)]
    both = ["run", *files, "--lane", "first-pytorch,second-pytorch", "--launcher", "venv", *short]

    ran = evenbench(tmp_path, *both, "--rounds", "1")
    assert ran.returncode in MEASURED, ran.stderr
    assert "second-pytorch and first-pytorch are equal (float64" in ran.stderr
    assert "first.py+second.py, inference, batch 32" in evenbench(tmp_path, "report", "latest").stdout
    Path(files[1]).write_text(LAYERED.replace("nn.ReLU()", "nn.GELU()"))
    differs = evenbench(tmp_path, *both)
    assert 2 == differs.returncode and "nothing is timed: second-pytorch and first-pytorch differ" in differs.stderr
    Path(files[1]).write_text(LAYERED)
    refused = evenbench(tmp_path, "rerun", "latest")
    assert 2 == refused.returncode and "--run-code where you trust them" in refused.stderr
    assert evenbench(tmp_path, "rerun", "latest", "--run-code", "--rounds", "1").returncode in MEASURED
    gate = evenbench(tmp_path, "gate", *files, "--base", "first-pytorch", "--head", "second-pytorch", "--rounds", "5",
                     "--launcher", "venv", *short)
    (judged,) = tmp_path.glob("*/gate.json")
    assert gate.returncode in (*MEASURED, 1, 3), gate.stderr
    assert "first-pytorch" == json.loads(judged.read_text())["base"]
