"""Switches as data: which apply, what loop=tuned makes of them, and what a worker tells."""

import re

import pytest

from workloads.spec import frameworks, switches
from workloads.spec.cell import Cell, CellError, parse, switched, switched_variables

RESNET = Cell("torch", "resnet50", "train", loop="tuned")
NATIVE = RESNET._replace(loop="native")
AMX = {"cpu_features": ["amx_tile", "amx_bf16"]}


@pytest.mark.parametrize(("features", "is_there"), [
    (["avx2", "avx512f"], False), (["avx512_bf16"], False), (["amx_tile", "amx_bf16"], True), ([], False)])
def test_bfloat16_is_a_gain_where_a_processor_multiplies_matrices_of_it(features: list[str], is_there: bool) -> None:
    assert is_there == switches.has_bfloat16(NATIVE, {"cpu_features": features})


@pytest.mark.parametrize(("framework", "cell", "facts", "changes"), [
    ("pytorch", RESNET, AMX, {"precision": "amp", "layout": "nhwc", "loop": "compile"}),
    ("pytorch", RESNET, {}, {"layout": "nhwc", "loop": "compile"}),
    ("pytorch", RESNET._replace(measure="check"), AMX, {"layout": "nhwc", "loop": "compile"}),
    ("pytorch", RESNET._replace(precision="float64", layout="nchw"), AMX, {"loop": "compile"}),
    ("pytorch", RESNET._replace(device="gpu"), {"compute_capability": "7.5"}, {"layout": "nhwc"}),
    ("tensorflow", RESNET, {}, {}),
    ("tensorflow", RESNET._replace(task="gpt2"), AMX, {"loop": "xla"}),
    ("tensorflow", RESNET._replace(device="gpu"), {"compute_capability": "10.0"}, {"loop": "xla", "precision": "amp"}),
    ("jax", RESNET, AMX, {}),
    ("jax", RESNET._replace(task="gpt2", device="gpu"), {"compute_capability": "8.0"},
     {"precision": "amp", "attention": "fused"}),
    ("jax", RESNET._replace(task="bert", device="gpu"), {"compute_capability": "8.0"}, {"precision": "amp"}),
    ("mxnet", RESNET, AMX, {"precision": "amp"}),
    ("mxnet", RESNET._replace(device="gpu"), {"compute_capability": "9.0"}, {}),
])
def test_a_tuned_cell_has_what_the_table_says(framework: str, cell: Cell, facts: dict[str, object],
                                              changes: dict[str, str]) -> None:
    assert cell._replace(**changes) == switches.tuned(framework, cell, facts)


def test_a_tuned_cell_has_nothing_that_its_version_lacks() -> None:
    assert RESNET._replace(loop="compile") == switches.tuned("pytorch", RESNET, AMX, lacks=("precision", "layout"))


def test_tensorflow_is_tuned_with_onednn_on_a_cpu() -> None:
    assert {"TF_ENABLE_ONEDNN_OPTS": "1"} == switches.tuned_variables(RESNET)
    assert {} == switches.tuned_variables(NATIVE) == switches.tuned_variables(RESNET._replace(device="gpu"))


@pytest.mark.parametrize(("framework", "asked", "facts", "told"), [
    ("tensorflow", {}, {"version": "2.21.0", "onednn": False}, ["oneDNN (TF_ENABLE_ONEDNN_OPTS=1)"]),
    ("tensorflow", {}, {"version": "2.21.0", "onednn": True}, []),
    ("tensorflow", {}, {"version": "1.15.5", "onednn": False}, []),
    ("tensorflow", {}, {"version": "2.21.0", "onednn": True, "cpu_quota": 1.5, "affinity": [0, 1]},
     ["CPUs beyond the quota of its control group"]),
    ("tensorflow", {"onednn": "off"}, {"version": "2.21", "onednn": False}, []),               # what is asked for
    ("pytorch", {"device": "gpu"}, {"onednn": True, "cudnn_benchmark": False},
     ["cuDNN's search for algorithms (conv=profiling)"]),
])
def test_a_worker_tells_what_its_framework_left_off(
        framework: str, asked: dict[str, str], facts: dict[str, object], told: list[str]) -> None:
    assert told == switches.left_off(framework, NATIVE._replace(**asked), facts)


@pytest.mark.parametrize("switch", switches.SWITCHES, ids=lambda switch: switch.title)
def test_every_switch_is_one_that_a_cell_may_have(switch: switches.Switch) -> None:
    parse({**NATIVE._asdict(), "switches": switch.sets.format(cpus=2)})
    assert {*switch.when, *(switch.tuned or ())} <= set(switches.CONDITIONS)
    assert all(map(frameworks.is_known, switch.frameworks))
    assert switch.moves in ("", "rounding", "precision", "memory") and re.search(r".+, https://\S+$", switch.source)


def test_a_cell_is_switched_by_its_text() -> None:
    cell = NATIVE._replace(switches="layout=nhwc cpus=2 LD_PRELOAD=libjemalloc.so.2")

    assert cell._replace(layout="nhwc", cpus=2) == switched(cell)
    assert (("LD_PRELOAD", "libjemalloc.so.2"),) == switched_variables(cell)


@pytest.mark.parametrize("text", ["LD_PRELOAD=/tmp/mine.so", "PATH=here", "layout=other", "cpus=two", "batch=1",
                                  "LD_PRELOAD=../mine.so", "layout"])
def test_other_switches_are_refused(text: str) -> None:
    with pytest.raises(CellError, match=r"switches|layout|cpus"):
        parse({**NATIVE._asdict(), "switches": text})
