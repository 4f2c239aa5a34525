"""What is written into ONNX graphs, held against the spec's tables without the package that writes them."""

from typing import Any

import numpy as np
import pytest

from workloads.frameworks.onnx_graphs import model
from workloads.frameworks.onnx_graphs.models import bert
from workloads.spec import layers, sequence_tasks, tasks
from workloads.spec.cell import Cell


class Written:
    """Stands for a Graph: it keeps the names of the weights that are used, and of what is kept, and writes nothing."""

    def __init__(self, parameters: tuple[layers.Parameter, ...], is_training: bool = False) -> None:
        self.weights = {each.name: np.broadcast_to(np.float32(0), each.shape) for each in parameters}
        self.is_training = is_training
        self.used: dict[str, int] = {}
        self.kept: list[str] = []

    def add(self, operation: str, *inputs: Any, **attributes: Any) -> str:
        return operation

    def weight(self, name: str) -> str:
        self.used[name] = self.weights[name].size
        return name

    transposed = weight

    def keep(self, name: str, x: str) -> str:
        self.kept.append(name)
        return x


def written(task: str, is_training: bool = False) -> Written:
    """A task's model at its own size, as the published ones are."""
    cell = Cell("x", task, "infer", **{"preset": "study", **tasks.defaults(task)})
    graph = Written(tasks.parameters(cell), is_training)
    if tasks.is_sequence(task):
        bert.forward(graph, {name: name for name in bert.INPUTS}, sequence_tasks.sizes(cell))
    else:
        model.forward(tasks.table(task, cell.classes), graph, "images")
    return graph


@pytest.mark.parametrize("task", [*tasks.TASKS, "bert"])
def test_a_graph_uses_every_array_of_its_spec_and_no_other_and_keeps_every_layer_by_its_path(task: str) -> None:
    graph = written(task)

    assert set(graph.weights) == set(graph.used)
    if task in tasks.TASKS:
        places = layers.leaves(tasks.TASKS[task].table, tasks.input_shape(tasks.TASKS[task].image))
        assert sorted(leaf.path for leaf in places) == sorted(graph.kept)


def test_in_training_a_norm_takes_no_running_statistics() -> None:
    graph = written("resnet18_cifar", is_training=True)

    assert [] == [name for name in graph.used if name.endswith((".mean", ".variance"))]
