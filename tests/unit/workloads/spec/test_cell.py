"""Cells: one definition for host and worker, refused in one line."""

import json

import pytest

from workloads.spec.cell import CellError, content, loads, parse

GOOD = {"stack": "tf-2.5", "task": "lenet5", "measure": "train"}


@pytest.mark.parametrize(("change", "message"), [
    ({"batch": "8"}, 'key "batch": found "8", expected int'),
    ({"batch": True}, 'key "batch": found true, expected int'),
    ({"batch": 0}, 'key "batch": found 0, expected a number of at least 1'),
    ({"learning_rate": float("nan")}, 'key "learning_rate": found nan, expected a number'),
    ({"learning_rate": 1e30}, 'key "learning_rate": found 1e+30, expected a number of at most 4611686018427387903'),
    ({"cpus": 200000}, 'key "cpus": found 200000, expected a number of at most 100000'),
    ({"precision": "half"}, 'key "precision": found "half", expected one of float32, float64, amp, tf32'),
    ({"measure": "dance"}, 'key "measure": found "dance"'),
    ({"bach": 8}, 'key "bach" is unknown; known: stack, task'),
    ({"stack": ""}, 'key "stack": found ""'),
])
def test_a_wrong_cell_is_told_with_key_found_and_expected(change: dict[str, object], message: str) -> None:
    with pytest.raises(CellError) as caught:
        parse({**GOOD, **change})
    assert message in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"x"', "[" * 100_000])
def test_what_is_no_object_and_what_lacks_a_key_is_refused(text: str) -> None:
    with pytest.raises(CellError):
        loads(text)
    with pytest.raises(CellError, match='key "task" is missing'):
        parse({"stack": "a", "measure": "train"})


def test_a_cell_survives_json_and_a_whole_number_may_stand_for_a_real_one() -> None:
    cell = parse({**GOOD, "batch": 7})
    assert cell == loads(json.dumps(cell._asdict()))
    assert {**GOOD, "batch": 7} == content(cell)
    assert 1.0 == parse({**GOOD, "learning_rate": 1}).learning_rate
