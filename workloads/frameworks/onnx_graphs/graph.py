"""An ONNX graph as it is written, operation after operation. onnx 1.23."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

_OPSET = 20              # the first with Gelu; later ones have nothing that these models need
_IR_VERSION = 10         # of the file: opset 20 came with 9, and runtimes read what is a little newer
_INPUT = "%s.input"


class Graph:
    """Operations on names of arrays. Weights, canonical arrays by name, are constants of the graph.

    is_training: normalise by the batch's own statistics, as a check does; nothing here can be trained.
    """

    def __init__(self, weights, is_training=False):
        self.weights, self.is_training = weights, is_training
        self.kept = {}                # what a check compares: name in the model -> name in the graph
        self._nodes, self._constants, self._inputs = [], {}, []

    def input(self, name, like):
        """The name of an input with the numbers, and the number of axes, of an array."""
        kind = helper.np_dtype_to_tensor_dtype(like.dtype)
        self._inputs.append(helper.make_tensor_value_info(_INPUT % name, kind, [None] * like.ndim))
        return _INPUT % name

    def add(self, operation, *inputs, **attributes):
        """The name of what ONNX's operation gives for inputs: names, or arrays and numbers as constants."""
        output = "%s.%d" % (operation, len(self._nodes))
        names = [each if isinstance(each, str) else self.constant(np.asarray(each)) for each in inputs]
        self._nodes.append(helper.make_node(operation, names, [output], **attributes))
        return output

    def constant(self, array, name=""):
        """The name of an array that is the graph's own; without a name it gets one."""
        name = name or "constant.%d" % len(self._constants)
        self._constants[name] = array
        return name

    def weight(self, name):
        """The name of a weight in the graph."""
        return self.constant(self.weights[name], name)

    def transposed(self, name):
        """The same of a matrix whose axes are exchanged: a product of more than two axes wants (in, out)."""
        return self.constant(np.ascontiguousarray(self.weights[name].T), name + ".transposed")

    def keep(self, name, x):
        """x, kept under that name of the model's."""
        self.kept[name] = x
        return x

    def serialized(self, outputs):
        """The model as ONNX's file has it; outputs are names of float32 arrays in the graph, each once."""
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        constants = [numpy_helper.from_array(array, name) for name, array in self._constants.items()]
        graph = helper.make_graph(self._nodes, "model", self._inputs, values, constants)
        opsets = [helper.make_opsetid("", _OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION).SerializeToString()


def least():
    """A serialized model of one operation, to see what a runtime does with any."""
    graph = Graph({})
    return graph.serialized([graph.add("Relu", graph.input("x", np.empty(1, np.float32)))])


def feeds(arrays):
    """Arrays by the names of the graph's inputs."""
    return {_INPUT % name: array for name, array in arrays.items()}
