"""What a worker reads of a user's file: batches in the cell's precision, weights by name, --same there and back."""

import builtins
import dataclasses
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from workloads.frameworks.own.user_file import CHECKED, UserFile, flat
from workloads.inputs import weights
from workloads.process.errors import DataError, Unsupported
from workloads.spec.cell import Cell
from workloads.spec.models import own_model

FILE = """
def batch(rng, size):
    return {"x": rng.standard_normal((size, 3))}, rng.randint(0, 5, size)
"""
SAME = """
def arrays(rng):
    return {"a": rng.standard_normal((2, 3)), "b": rng.standard_normal(4)}

def net(arrays):
    return {"layer.weight": arrays["a"].T, "low": arrays["b"][:2], "high": arrays["b"][2:]}
"""


@pytest.fixture(autouse=True)
def modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a file imports is of its process alone."""
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.setattr(sys, "modules", {**sys.modules})


def opened(text: str = FILE, same: str = "", beside: Mapping[str, str] = MappingProxyType({}), lane: str = "pytorch",
           settings: Any = dict, **fields: object) -> UserFile:
    """The file net.py with that text, with modules beside it."""
    model = own_model.dumps(own_model.Model("net.py", lane, {"net.py": text, **beside}, same))
    cell = Cell(lane, "net.py", "train", source=model, batch=2, **fields)  # type: ignore[arg-type]
    return UserFile(cell, "/data", settings=settings)


def test_a_batch_has_the_cell_s_size_and_precision_and_another_number_is_another_batch() -> None:
    inputs, targets = opened(precision="float64").batch()

    assert (2, 3) == inputs["x"].shape and "float64" == inputs["x"].dtype
    assert "int64" == targets.dtype
    assert "float32" == opened().batch()[0]["x"].dtype
    assert not np.array_equal(opened().batch(0)[0]["x"], opened().batch(1)[0]["x"])
    assert np.array_equal(opened().batch(1)[0]["x"], opened().batch(1)[0]["x"])


MISSING = r"No module named 'nowhere': .* torch-2\.13-cpu: --with nowhere==VERSION"
DATA = "def model(data): return data\ndef batch(rng, size, data): return data, size"


@pytest.mark.parametrize(("used", "error", "said"), [
    (lambda: opened("import nowhere.inside"), DataError, MISSING),
    (lambda: opened("def model():\n    import nowhere.inside").call("model"), DataError, MISSING),
    (lambda: opened(same="def arrays(rng):\n    import nowhere").weights({}), DataError, MISSING),
    # what a module lacks is no missing package
    (lambda: opened("import beside", beside={"beside.py": "from json import gone"}), ImportError,
     "cannot import name 'gone'"),
    (lambda: opened(DATA).call("model"), DataError,
     r"net\.py: model\(\) has a parameter data: name its folder, --data own=FOLDER"),
    (lambda: opened("def model(): return 3").made("model", np.ndarray), DataError,
     r"net\.py: model\(\): found int, expected an instance of numpy\.ndarray"),
    (lambda: opened("import tensorflow as tf", lane="keras-on-jax"), Unsupported,
     r"net\.py uses TensorFlow itself, .* keras-on-tensorflow alone can run it")])
def test_what_a_file_cannot_have_here_is_said_with_the_way_out(
        used: Callable[[], object], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        used()


def test_a_function_with_a_parameter_data_gets_the_folder() -> None:
    assert "/data" == opened(DATA, data="own").call("model")
    assert "/data" == opened(DATA, data="own").call("batch", None, 2)[0]
    assert ["/data"] == [*opened(same="def arrays(rng, data): return {data: 1.0}", data="own").weights(
        {"/data": np.zeros(())})]


def test_bytes_of_images_stay_bytes_and_other_whole_numbers_have_64_bits() -> None:
    text = "import numpy as np\ndef batch(rng, size): return np.zeros(size, 'uint8'), np.zeros(size, 'int32')"
    assert ("uint8", "int64") == tuple(array.dtype for array in opened(text).batch())


@pytest.mark.parametrize(("text", "said"), [
    ("x = 1", r"net\.py: found no batch\(\)"),
    ("def batch(rng, size): return rng", r"batch\(\): found RandomState, expected a tuple of inputs and targets"),
    ("def batch(rng, size): return ['word'] * size, None", r"batch\(\): found an array of <U4, expected numbers"),
    ("import numpy as np\ndef batch(rng, size): return np.zeros((3, 5)), None",
     r"batch\(rng, 2\): found arrays of shapes \(3, 5\), expected an axis of 2 samples"),
    ("def batch(rng, size): raise SystemExit(4)", r"net\.py: found sys\.exit\(4\)"),
    ("\ndef batch(size): return size, None", r"net\.py, line 2: found batch\(size\), expected batch\(rng, size\)"),
    ("import numpy as np\ndef batch(rng, size): return np.zeros((7, 3, 2)), np.zeros(size)",
     r"batch\(rng, 1\): found arrays of shapes \(7, 3, 2\), \(1,\), expected an axis of 1 samples"),
    ("import numpy as np\ndef batch(rng, size): return np.zeros((7, 1, 2)), np.zeros(size)",
     r"found inputs of shape \(7, 1, 2\) for 2 samples and \(7, 1, 2\) for 1, expected an axis that follows size"),
    ("import numpy as np\ndef batch(rng, size): return np.random.default_rng().random(size), None",
     "batch\\(\\) gives other numbers for the same rng in inputs: draw from rng alone"),
    ("import numpy as np\ndef batch(rng, size): return np.zeros(size), np.random.randn(size)", "same rng in targets"),
])
def test_what_is_wrong_with_a_batch_is_said(text: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        opened(text).batch(CHECKED)


def test_inputs_may_be_a_namedtuple_and_outputs_a_dataclass_called_by_where_they_stand() -> None:
    text = """
from collections import namedtuple
Pair = namedtuple("Pair", "one other")
def batch(rng, size): return Pair(rng.rand(size), rng.rand(size, 3)), None
"""
    inputs, _ = opened(text).batch(CHECKED)

    assert (2, 3) == inputs.other.shape and "float32" == inputs.one.dtype

    @dataclasses.dataclass
    class Output:
        logits: int
        more: tuple[int, ...]

    for outputs in (Output(1, (2,)), {"logits": 1, "none": None, "more": (2,)}):
        assert {"output.logits": 1, "output.more.0": 2} == dict(flat(outputs))
    assert {"output": 1} == dict(flat(1))


def test_modules_of_the_file_s_folder_come_along_with_its_text() -> None:
    beside = {"parts/__init__.py": "", "parts/deep.py": "from .other import size", "parts/other.py": "size = 3",
              "beside.py": "more = 4", "numpy.py": "raise ValueError"}
    text = "from parts.deep import size\nimport beside\ndef model(): return size + beside.more"

    assert 7 == opened(text, beside=beside).call("model")


def test_a_file_that_changes_how_numbers_are_computed_is_refused_with_the_setting() -> None:
    builtins.of_test = {"precision": "highest"}  # type: ignore[attr-defined]
    text = "def model(settings=None): import builtins; builtins.of_test['precision'] = 'medium'"
    file = opened(text, settings=builtins.of_test.copy)  # type: ignore[attr-defined]

    with pytest.raises(DataError, match=r"net\.py: it sets precision to medium, found highest before"):
        file.call("model")


@pytest.mark.parametrize(("wrong", "unused"), [(5, ()), (-1, ()), (-100, ()), (5, (-100,))])
def test_a_target_that_is_no_class_is_said(wrong: int, unused: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match=rf"found a target {wrong}, expected 0 to 4: the outputs' last axis has 5"):
        opened().demand_classes(np.zeros((3, 5)), np.array([0, 4, wrong]), unused)
    opened().demand_classes(np.zeros((3, 5)), np.array([0, 4, -100]), (-100,))
    opened().demand_classes(np.zeros((3, 1)), np.array([2.5]))


def test_a_loss_that_is_left_out_follows_from_the_targets() -> None:
    lost = opened().loss(lambda outputs, targets: "cross-entropy", lambda outputs, targets: "square")

    assert "cross-entropy" == lost({"logits": np.zeros((2, 5))}, np.zeros(2, "int64"))
    assert "square" == lost(np.zeros((2, 1)), np.zeros((2, 1), "float32"))
    assert "mine" == opened("def loss(outputs, targets): return 'mine'").loss(None, None)(0, 0)
    with pytest.raises(DataError, match=r"found outputs \(2,\) and targets \(2, 1\), expected equal shapes"):
        lost(np.zeros(2), np.zeros((2, 1)))
    with pytest.raises(DataError, match="found targets of several arrays"):
        lost(np.zeros(2), (np.zeros(2), np.zeros(2)))


def test_drawn_weights_come_from_name_shape_and_seed_alone_and_none_is_constant() -> None:
    conv = (2 / (9 * 96)) ** 0.5                               # of windows of 3 times 3
    spread = {"fc.weight": ((64, 256), (2 / (64 + 256)) ** 0.5), "torch.conv": ((64, 32, 3, 3), conv),
              "keras.conv": ((3, 3, 32, 64), conv), "head": ((2000, 1), (2 / 2001) ** 0.5), "fc.bias": ((5000,), 0.1)}
    own = {**{name: np.zeros(shape, "float32") for name, (shape, _) in spread.items()},
           "norm.weight": np.ones(5000), "norm.running_var": np.ones(3)}
    drawn = weights.of_own_model(own, 7)

    assert {name: pytest.approx(expected, rel=0.1) for name, (_, expected) in spread.items()} == {
        name: drawn[name].std() for name in spread}
    assert [1.0, 0.0] == pytest.approx([drawn["norm.weight"].mean(), drawn["fc.bias"].mean()], abs=0.01)
    assert "float32" == drawn["fc.bias"].dtype and (drawn["norm.running_var"] > 0).all()
    assert np.array_equal(drawn["head"], weights.of_own_model({"head": own["head"]}, 7)["head"])


def test_same_gives_a_file_its_weights_and_takes_its_gradients_back_to_the_shared_names() -> None:
    own = {"layer.weight": np.zeros((3, 2)), "low": np.zeros(2), "high": np.zeros(2)}
    file = opened(same=SAME)
    given = file.weights(own)

    shared = file.shared(given)
    assert {"a": (2, 3), "b": (4,)} == {name: array.shape for name, array in shared.items()}
    assert np.array_equal(given["layer.weight"].T, shared["a"])
    assert np.array_equal(np.concatenate([given["low"], given["high"]]), shared["b"])
    assert ["b"] == [*file.shared({"low": given["low"]})]           # of what comes from other arrays nothing is said


@pytest.mark.parametrize(("own", "said"), [
    ({"layer.weight": np.zeros((3, 2)), "low": np.zeros(2)}, r"net\.py: --same gives it high \(2,\), which it"),
    ({"layer.weight": np.zeros((2, 3)), "low": np.zeros(2), "high": np.zeros(2)},
     r"gives it nothing for layer\.weight \(2, 3\) and layer\.weight \(3, 2\), which it has not$"),
    ({"layer.weight": np.zeros((3, 2)), "low": np.zeros(2), "high": np.zeros(2), "bias": np.zeros(1),
      "more": np.zeros(())}, r"--same gives it nothing for bias \(1,\), more \(\)$"),
])
def test_weights_that_same_does_not_pair_are_named(own: dict[str, np.ndarray], said: str) -> None:
    with pytest.raises(DataError, match=said):
        opened(same=SAME).weights(own)
