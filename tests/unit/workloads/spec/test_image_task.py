"""Image tasks as text: read back as they were, or refused with the layer that is wrong."""
import json

import pytest

from workloads.spec import tasks
from workloads.spec.cell import Cell, CellError, parse
from workloads.spec.image_task import LONGEST, TableError, Task, dumps, loads
from workloads.spec.layers import Act, Branch, Conv, Dense, Encoder, Flatten, GlobalPool, Norm, Pool, Residual, Tokens

TINY = Task((Conv(8, (3, 3), pad=(1, 1)), Norm(), Act(), GlobalPool(), Flatten(), Dense(10)), 32, 4, 10, "tiny")


def refused(*table, **changes):
    """Why a task of these layers and a last one is refused."""
    with pytest.raises(TableError) as error:
        dumps(TINY._replace(table=(*table, Dense(10)), **changes))
    return str(error.value)


@pytest.mark.parametrize("name", tasks.TASKS)
def test_every_task_of_ours_is_read_back_as_it_was(name):
    task = tasks.TASKS[name]
    read = loads(dumps(task))

    assert task == read and repr(task.table) == repr(read.table)         # repr: layers of two types can be equal


def test_all_of_ours_are_short_enough_for_an_argument():
    assert max(len(dumps(task)) for task in tasks.TASKS.values()) < LONGEST


def test_a_cell_with_a_table_has_its_model_and_its_classes():
    cell = Cell("any", "tiny", "train", classes=7, table=dumps(TINY))

    assert tasks.is_known(cell) and Dense(7) == tasks.model(cell)[-1]
    assert [8 * 3 * 9, 7 * 8] == [each.shape[0] * each.shape[1] * (9 if len(each.shape) == 4 else 1)
                                  for each in tasks.parameters(cell) if each.kind == "weight"]


def test_a_table_under_a_name_of_ours_and_a_name_without_one_are_unknown():
    assert not tasks.is_known(Cell("any", "lenet5", "train", table=dumps(TINY)))
    assert not tasks.is_known(Cell("any", "tiny", "train"))


def test_attention_is_a_switch_of_own_tasks_with_encoders_alone():
    vit = tasks.TASKS["vit_cifar"]

    assert tasks.is_transformer(Cell("any", "mine", "train", table=dumps(vit)))
    assert not tasks.is_transformer(Cell("any", "mine", "train", table=dumps(TINY)))


def test_a_cell_with_a_wrong_table_is_refused():
    with pytest.raises(CellError, match=r"^table: 0: Conv.filters: found 0, expected a whole number from 1"):
        parse(Cell("any", "tiny", "train", table=dumps(TINY).replace('["Conv",8', '["Conv",0'))._asdict())


@pytest.mark.parametrize(("layers", "reason"), [
    ((Conv(8, (3,)), Flatten()), "0: Conv.kernel: found [3], expected (height, width)"),
    ((Conv(8, (9, 9)), GlobalPool(), Flatten()), "at 4 pixels: a window of 9 does not fit"),
    ((Conv(8, (1, 1), groups=2), GlobalPool(), Flatten()), "0: Conv: groups: found 2, expected a divisor of 3"),
    ((Act("gelu"), Flatten()), "0: Act.kind: found 'gelu', expected one of relu, relu6, tanh, swish, sigmoid"),
    ((Pool("max", 2, 1, 2), Flatten()), "0: Pool: pad: found 2, expected at most half of size, 2"),
    ((Flatten(), Conv(8, (1, 1))), "1: Conv: found an input of shape (48,), expected one of 3 axes"),
    ((Norm(epsilon=float("nan")), Flatten()), "0: Norm.epsilon: found nan, expected 1e-12 to 1"),
    ((Residual((Conv(8, (1, 1)),)), Flatten()), "shapes that must agree"),
    ((Branch(()), Flatten()), "shapes that must agree"),
    ((Tokens(), Encoder(2, 8), Flatten()), "1: Encoder: heads: found 2, expected a divisor of 3 numbers"),
    ((Conv(8, (1, 1), bias=1), Flatten()), "0: Conv.bias: found 1, expected one of False, True"),
    (("Conv", Flatten()), "0: found 'Conv', expected one of Act, Branch, Conv"),
    ((object(),), "found what is no layer"),
    ((), "0: Dense: found an input of shape (3, 4, 4), expected one of 1 axes"),
])
def test_layers_that_cannot_be_are_refused(layers, reason):
    assert reason in refused(*layers)


@pytest.mark.parametrize(("changes", "reason"), [
    ({"least": 64}, "least: found 64, expected at most image"),
    ({"image": True}, "image: found True, expected a whole number"), ({"title": "two\nlines"}, "title: found"),
    ({"title": None}, "title: found None")])
def test_sizes_that_cannot_be_are_refused(changes, reason):
    assert reason in refused(GlobalPool(), Flatten(), **changes)


def test_what_is_no_task_and_what_is_nested_without_end_is_refused():
    deep = Act()
    for _ in range(2000):
        deep = Residual((deep,))
    with pytest.raises(TableError, match="found 'TINY', expected a Task"):
        dumps("TINY")
    with pytest.raises(TableError, match="the last layer: expected Dense"):
        dumps(TINY._replace(table=TINY.table[:-1]))
    assert "found what is no layer" in refused(deep, Flatten())
    with pytest.raises(TableError, match="not JSON"):
        loads("[" * 50000)
    with pytest.raises(TableError, match="found other keys"):
        loads(json.dumps({"table": []}))
