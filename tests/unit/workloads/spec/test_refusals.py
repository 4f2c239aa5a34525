"""Why a framework cannot run a cell."""
from typing import Any

import pytest

from tests.made_rows import cell
from workloads.spec import refusals, turns

SERVED = {"input": "pipeline", "device": "gpu", "gpus": 4, "parallel": "central"}
ALONE = "parallel = central of TensorFlow 1.15.2 trains gnmt and lstm alone"


@pytest.mark.parametrize(("framework", "version", "asked", "said"), [
    ("pytorch", "1.7.0", {}, None), ("mxnet", "1.7.0", {}, None), ("tensorflow", "2.5.0", {"measure": "phases"}, None),
    ("tensorflow", "1.15.5", {}, refusals.NO_LOADER), ("jax", "0.5.0", {}, refusals.NO_LOADER),
    ("pytorch", "1.7.0", {"measure": "epochs"}, "images on one device: measure train, infer, phases"),
    ("pytorch", "1.7.0", {"task": "bert"}, "images on one device"),
    ("pytorch", "1.7.0", {"device": "gpu", "gpus": 2, "parallel": "allreduce"}, "images on one device"),
    ("tensorflow", "1.15.2", {**SERVED, "task": "gnmt"}, None),
    ("tensorflow", "1.15.2", {**SERVED, "task": "bert"}, ALONE),
    ("tensorflow", "1.15.2", {**SERVED, "task": "resnet50"}, ALONE),
    ("tensorflow", "1.15.2", {**SERVED, "parallel": "allreduce"}, "on many GPUs, by Horovod alone"),
])
def test_what_a_version_cannot_run_is_refused_with_the_reason(
        framework: str, version: str, asked: dict[str, Any], said: str | None) -> None:
    reason = refusals.refused(refusals.of_version(framework, version), cell(**{"input": "loader", **asked}))

    assert said in reason if said else reason is None


@pytest.mark.parametrize(("changes", "features", "is_refused"), [
    ({}, ["avx2"], True), ({}, ["avx2", "amx_bf16"], False), ({}, ["avx512_bf16"], False), ({}, [], False),
    ({"measure": "check"}, ["avx2"], False), ({"measure": "check", "source": "{}"}, ["avx2"], True),
    ({"device": "gpu"}, ["avx2"], False),
    ({"precision": "float32"}, ["avx2"], False),
])
def test_a_rate_of_bfloat16_is_refused_where_a_cpu_is_known_to_have_no_instructions_for_it(
        changes: dict[str, Any], features: list[str], is_refused: bool) -> None:
    reason = refusals.emulated_bfloat16(cell(**{"precision": "amp", **changes}), features)

    assert is_refused == ("bfloat16" in str(reason))


def test_what_loads_ahead_takes_no_turns() -> None:
    takes = {name: turns.may_take(cell(input=name, seconds=1.0, warm="steady")) for name in ("pipeline", "loader")}

    assert {"pipeline": True, "loader": False} == takes
