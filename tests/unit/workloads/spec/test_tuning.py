"""Where loop=tuned computes in bfloat16."""

import pytest

from workloads.spec import tuning
from workloads.spec.cell import Cell, parse

CELL = Cell("torch", "resnet50", "train", loop="tuned")


@pytest.mark.parametrize(("features", "is_there"), [
    (["avx2", "avx512f"], False), (["avx512_bf16"], False), (["amx_tile", "amx_bf16"], True), ([], False)])
def test_bfloat16_is_a_gain_where_a_processor_multiplies_matrices_of_it(features: list[str], is_there: bool) -> None:
    assert is_there == tuning.processor_has_bfloat16(features)


def test_a_tuned_cell_computes_in_bfloat16_where_the_device_has_it() -> None:
    assert "amp" == tuning.in_bfloat16(CELL, True).precision
    assert CELL == tuning.in_bfloat16(CELL, False)


def test_a_precision_that_the_cell_asks_for_stays() -> None:
    double = CELL._replace(precision="float64")

    assert double == tuning.in_bfloat16(double, True)


def test_a_check_keeps_its_precision() -> None:
    check = CELL._replace(measure="check")

    assert check == tuning.in_bfloat16(check, True)


def test_tuned_is_a_loop_of_a_cell() -> None:
    assert CELL == parse({"stack": "torch", "task": "resnet50", "measure": "train", "loop": "tuned"})
