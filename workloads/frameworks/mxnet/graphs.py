"""Functions of arrays as graphs: called once with symbols, and from then on run whole by MXNet's CachedOp, as gluon's
hybridized blocks are. MXNet 1.7 and 1.9.

A model's functions call `ops` in place of mx.nd: given arrays, it is mx.nd. Given what stands for arrays in a graph
that is being made, it adds to the graph. Those know the shapes that they had then, which a graph keeps.
"""
import functools
import operator

import mxnet as mx
from mxnet.contrib import amp


class Graphs:
    """Functions of (weights, arrays), dicts by name, that give lists of arrays: a graph for each and for each shape."""

    def __init__(self, weights, is_static, is_half=False, **bulks):
        """is_static: whether a graph keeps its memory, as gluon's nets do here; many graphs would keep too much.

        is_half: with MXNet's list of casts to bfloat16 in it. bulks: how many operators may run as one, as CachedOp's
        flags.
        """
        self._weights, self._programs, self._is_half = weights, {}, is_half
        self._flags = dict(bulks, static_alloc=is_static, static_shape=is_static)

    def __len__(self):
        return len(self._programs)

    def __call__(self, function, arrays):
        """What the function gives."""
        return self.of(function, arrays)(arrays)

    def of(self, function, arrays):
        """The function's graph at the shapes of these arrays. To ask for many shapes takes 3 us an array."""
        kind = (function,) + tuple((name, array.shape, array.dtype) for name, array in arrays.items())
        if kind not in self._programs:
            self._programs[kind] = _Program(function, self._weights, arrays, self._is_half, self._flags)
        return self._programs[kind]


class _Program:
    """The graph of a function at some shapes."""

    def __init__(self, function, weights, arrays, is_half, flags):
        graph = Graph()
        given = {name: graph.variable(name, array) for name, array in arrays.items()}
        made = function({name: graph.variable(name, array) for name, array in weights.items()}, given)
        symbol = mx.sym.Group([each.symbol for each in made])
        if is_half:
            symbol = in_bfloat16(symbol, list(arrays))
        self._run = mx.nd.CachedOp(symbol, tuple(flags.items()))
        known = dict(weights, **graph.constants)
        self._inputs = [(name, known.get(name)) for name in symbol.list_inputs()]

    def __call__(self, arrays):
        made = self._run(*(arrays[name] if array is None else array for name, array in self._inputs))
        return made if isinstance(made, (list, tuple)) else [made]


def in_bfloat16(symbol, names):
    """The graph with MXNet's list of casts to bfloat16 in it; what it gives is float32. names: its inputs but weights.

    amp.init does the same to every net that is built later in the process. bfloat16 needs no scaling of the loss: its
    exponents are float32's. float16 does not run on a CPU ("FP16 gemm on cpu not implemented").
    """
    known = symbol.list_inputs()
    cast = amp.convert_symbol(symbol, "bfloat16", data_names=[name for name in names if name in known])
    return mx.sym.Group([mx.sym.amp_cast(each, dtype="float32") for each in cast])


class Graph:
    """A graph that is being made."""

    def __init__(self):
        self.constants = {}            # arrays that are no input, by name

    def variable(self, name, array):
        """What stands for an input."""
        return Traced(self, mx.sym.Variable(name), array)

    def standing(self, value):
        """What stands for a value in this graph: an array becomes a constant; what is none stays as it is."""
        if not isinstance(value, mx.nd.NDArray):
            return value
        name = "constant%d" % len(self.constants)
        self.constants[name] = value
        return self.variable(name, value)

    def call(self, name, values, settings):
        """The operation of that name, added to the graph."""
        values = [self.standing(value) for value in values]
        arrays = [value.array if isinstance(value, Traced) else value for value in values]
        symbols = [value.symbol if isinstance(value, Traced) else value for value in values]
        array, symbol = getattr(mx.nd, name)(*arrays, **settings), getattr(mx.sym, name)(*symbols, **settings)
        if isinstance(array, list):
            return [Traced(self, symbol[index], each) for index, each in enumerate(array)]
        return Traced(self, symbol, array)


class Traced:
    """What stands for an array in a graph: a symbol, and the array that it is in the call from which the graph is made.

    It has the methods of an NDArray that models use.
    """

    def __init__(self, graph, symbol, array):
        self.graph, self.symbol, self.array = graph, symbol, array
        self.shape, self.dtype, self.context = array.shape, array.dtype, array.context

    def reshape(self, shape):
        """See NDArray."""
        return self.graph.call("reshape", [self], {"shape": shape})

    def transpose(self, axes):
        """See NDArray."""
        return self.graph.call("transpose", [self], {"axes": axes})

    def expand_dims(self, axis):
        """See NDArray."""
        return self.graph.call("expand_dims", [self], {"axis": axis})

    def argmax(self, axis):
        """See NDArray."""
        return self.graph.call("argmax", [self], {"axis": axis})

    def mean(self):
        """See NDArray."""
        return self.graph.call("mean", [self], {})

    def sum(self):
        """See NDArray."""
        return self.graph.call("sum", [self], {})

    def __getitem__(self, key):
        """Of [:, index] alone."""
        everything, index = key
        assert everything == slice(None)
        one = self.graph.call("slice_axis", [self], {"axis": 1, "begin": index, "end": index + 1 or None})
        return self.graph.call("squeeze", [one], {"axis": 1})

    def __add__(self, other):
        return self._with(other, operator.add, "add")

    def __mul__(self, other):
        return self._with(other, operator.mul, "mul")

    def __sub__(self, other):
        return self._with(other, operator.sub, "sub")

    def __rsub__(self, other):
        return self._with(other, lambda x, y: y - x, "")

    def __truediv__(self, other):
        return self._with(other, operator.truediv, "div")

    def __neg__(self):
        return self * -1.0

    __radd__, __rmul__ = __add__, __mul__

    def _with(self, other, function, name):
        """By a number, or by another array, of which the operation has that name."""
        if isinstance(other, (int, float)):
            return Traced(self.graph, function(self.symbol, other), function(self.array, other))
        kind = "elemwise_" if other.shape == self.shape else "broadcast_"
        return self.graph.call(kind + name, [self, other], {})


class _Operations:
    """MXNet's operations by name."""

    def __getattr__(self, name):
        of_arrays = getattr(mx.nd, name)

        @functools.wraps(of_arrays)
        def operation(*values, **settings):
            traced = [value for value in values if isinstance(value, Traced)]
            return traced[0].graph.call(name, values, settings) if traced else of_arrays(*values, **settings)
        self.__dict__[name] = operation              # looked for once
        return operation


ops = _Operations()
