"""The workloads of runtimes that only infer, whichever runs the graph: an adapter says what program() of it is.

Such a stack has the measures infer and check, in float32: a check compares what a forward pass gives alone.
"""
import itertools

import numpy as np

from workloads.frameworks import contract
from workloads.frameworks.onnx_graphs import graph as graphs
from workloads.frameworks.onnx_graphs import model
from workloads.frameworks.onnx_graphs.models import bert
from workloads.inputs import images as data
from workloads.inputs import loading
from workloads.process.errors import Unsupported, refuse_convolutions
from workloads.spec import layers, sequence_tasks, tasks
from workloads.spec.measures import UNTRAINED

_LOOPS = ("native", "graph", "tuned")
ONLY_INFERS = "this runtime only infers: it has the measures infer and check"


def demand(cell, title):
    """Raise Unsupported for what a runtime of graphs has not; title is what people call it."""
    for is_refused, reason in (
            (cell.measure not in UNTRAINED, ONLY_INFERS),
            (cell.device != "cpu", "%s is on the CPU alone here" % title),
            (cell.precision == "float64", "%s has no float64 for these models: check it with --precision float32"
             % title),
            (cell.precision != "float32", "%s computes in float32 here" % title),
            (cell.loop not in _LOOPS, "%s has no loop %s: it runs a graph as a whole" % (title, cell.loop)),
            (cell.layout == "nhwc", "ONNX's images are nchw; the runtime orders them within as it likes"),
            (cell.attention == "fused", "the graph has plain products, which the runtime fuses by itself where it can"),
            (cell.onednn != "default", "onednn is no switch of %s" % title),
            (cell.graph_opt != "default", "graph_opt is of TensorFlow's graphs"),
            (cell.init == "framework", "%s has no initial weights of its own" % title),
            (cell.order == "framework", "%s has no order of its own: it is handed its batches" % title),
            (cell.lstm != "native", "%s has no LSTM here" % title),
            (tasks.is_sequence(cell.task) and cell.task != "bert",
             "of the sequence models bert alone is written as an ONNX graph")):
        if is_refused:
            raise Unsupported(reason)
    refuse_convolutions(cell, has_fixed=False)


class Inferring(contract.Workload):
    """Inference of a graph, with the arrays that it was loaded with.

    Who inherits it has _parameters, and says _written(graph), the logits' name once all operations are added. An
    adapter adds _settings, its module, whose program(cell, model) is the function of a serialized model that gives its
    outputs, in order, for inputs by name.
    """

    _settings = _parameters = _written = contract.OF_HEIRS

    loop, layout, precision = "graph", "nchw", "float32"

    def load(self, weights):
        """Take the arrays of every parameter and running statistic, by canonical name."""
        self._weights = {parameter.name: weights[parameter.name] for parameter in self._parameters}
        graph = graphs.Graph(self._weights)
        self._answer = self._settings.program(self.cell, graph.serialized([self._written(graph)]))

    def weights(self):
        """Copies of the arrays by canonical name."""
        return {name: array.copy() for name, array in self._weights.items()}

    def parameters(self):
        """How many numbers an optimizer would update."""
        return sum(int(np.prod(parameter.shape)) for parameter in self._parameters if parameter.is_trainable)

    def train(self, batches, count, watch):
        """Raises Unsupported."""
        raise Unsupported(ONLY_INFERS)

    def infer(self, batches, count, watch):
        """Take count forward passes; the watch gets each one's logits."""
        for batch in contract.watched(batches, count, watch):
            watch.stepped(self._answer(batch)[0])

    def sync(self, handle):
        """Nothing: a call returns when its work is done."""

    def value(self, handle):
        """The array of logits."""
        return np.array(handle)

    def _checked(self, batch):
        """What a pass in training mode without dropout keeps, and its logits; the rest is of training."""
        graph = graphs.Graph(self._weights, is_training=True)
        logits = self._written(graph)
        outputs = list(dict.fromkeys([*graph.kept.values(), logits]))        # a dropout's is the array before it
        arrays = dict(zip(outputs, self._settings.program(self.cell, graph.serialized(outputs))(batch)))
        return {"activation": {name: arrays[output] for name, output in graph.kept.items()},
                "logits": arrays[logits], "loss": None, "gradient": {}, "weight": {}}


class Images(Inferring, contract.Images):
    """A table's model, as a cell says. Raises errors.Unsupported."""

    def __init__(self, table, cell):
        self.cell, self._table = cell, table
        self._settings.apply(cell)
        self._parameters = layers.parameters(table, tasks.input_shape(cell.image))

    def _written(self, graph):
        return model.forward(self._table, graph, graph.input("images", np.empty((0,) * 4, np.float32)))

    def batches(self, images, labels):
        """Normalised batches, over and over, in the cell's order; a rest is dropped."""
        arrays = data.normalised(images, "float32"), labels
        orders = loading.orders(self.cell, len(labels), None)
        return (_fed(images) for images, _ in loading.gathered(arrays, orders, self.cell.batch))

    def passes(self, images, labels, ahead):
        """Raises Unsupported."""
        raise Unsupported(ONLY_INFERS)

    def synthetic(self, images, labels):
        """One batch, over and over."""
        return itertools.repeat(_fed(data.normalised(images, "float32")))

    def predict(self, images):
        """The logits (n, classes) of uint8 images, a batch at a time."""
        batches = (images[first:first + self.cell.batch] for first in range(0, len(images), self.cell.batch))
        return np.concatenate([self._answer(_fed(data.normalised(batch, "float32")))[0] for batch in batches])

    def check(self, images, labels):
        """A forward pass in training mode without dropout: every activation and the logits."""
        return self._checked(_fed(data.normalised(images, "float32")))


class Sequences(Inferring, contract.Sequences):
    """BERT, as a cell says. Raises errors.Unsupported."""

    layout = "native"

    def __init__(self, cell):
        self.cell = cell
        self._settings.apply(cell)
        self._sizes, self._parameters = sequence_tasks.sizes(cell), sequence_tasks.parameters(cell)

    def _written(self, graph):
        whole, real = np.empty((0, 0), np.int64), np.empty((0, 0), np.float32)
        inputs = {name: graph.input(name, real if name == "mask" else whole) for name in bert.INPUTS}
        return bert.forward(graph, inputs, self._sizes)

    def batches(self, batches):
        """The batches, in the order given, over and over."""
        return itertools.cycle([_taken(batch) for batch in batches])

    def synthetic(self, batches):
        """The first batch, over and over."""
        return itertools.repeat(_taken(batches[0]))

    def check(self, batch):
        """A forward pass without dropout: what the model keeps, and the logits."""
        return self._checked(_taken(batch))


def _fed(images):
    return graphs.feeds({"images": images})


def _taken(batch):
    return graphs.feeds({name: batch[name] for name in bert.INPUTS})
