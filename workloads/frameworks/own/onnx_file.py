"""A user's own .onnx file in ONNX Runtime and OpenVINO, as it stands: its weights, and inputs made for it."""
import importlib
import itertools
import os

import numpy as np
import onnx

from workloads.frameworks.onnx_graphs.inferring import ONLY_INFERS, Inferring
from workloads.frameworks.own.user_file import CHECKED, TIMED, demand_repeatable
from workloads.process.errors import DataError, Unsupported
from workloads.spec.models import own_model


class Workload(Inferring):
    """The file in the lane's runtime. Raises Unsupported, DataError."""

    layout, precision = "native", "float32"

    def __init__(self, cell, folder):
        self._begin(cell)
        model, path = own_model.loads(cell.source), os.path.join(folder, self._name)
        if own_model.digest(path) != model.files[self._name]:
            raise DataError("%s: it is not the file that was planned: it has changed since" % self._name)
        graph = onnx.load(path, load_external_data=False).graph
        weights = {each.name: int(np.prod(each.dims)) for each in graph.initializer}
        self._weights, self._count = {}, sum(weights.values())
        self._inputs = self._shaped([each for each in graph.input if each.name not in weights], model.options)
        self._names = [each.name for each in graph.output if self._numbers(each)]
        self._run(path)

    def _begin(self, cell):
        """Apply the cell's settings."""
        self.cell, self._name = cell, own_model.loads(cell.source).file
        self._lane = own_model.lane(cell.source)
        self._settings = importlib.import_module("workloads.frameworks.%s.settings" % self._lane.framework)
        self._settings.apply(cell)

    def _run(self, model):
        """Let the runtime have a serialized model, or a file."""
        self._answer = self._settings.program(self.cell, model)
        self.loop = ", ".join(filter(None, ["graph", self._lane.mode]))
        count = getattr(self._answer, "count", 1)
        if count > 1:
            self.units = count * self.cell.batch, "samples"
            self.loop += ", %d batches at once" % count

    def _numbers(self, value):
        """The type of what is an array of numbers. Raises Unsupported."""
        kind = value.type.tensor_type
        numbers = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type) if kind.elem_type else np.dtype(object)
        if numbers.kind not in "biuf":
            raise Unsupported("%s: found %s of another type than arrays of numbers" % (self._name, value.name))
        return numbers

    def _shaped(self, inputs, sizes):
        """{name: (shape, type)}; sizes: what --set says, by a dimension's name. Raises DataError."""
        axes = {each.name: list(each.type.tensor_type.shape.dim) for each in inputs}
        names = {name: [axis.dim_param or "%s.%d" % (name, index) for index, axis in enumerate(of_input)]
                 for name, of_input in axes.items()}
        free = [each for name in axes for each, axis in zip(names[name], axes[name]) if axis.dim_value < 1]
        known = dict({each[0]: self.cell.batch for each in names.values() if each}, **sizes)
        for what, wrong, said in (
                ("--set", [each for each in sizes if each not in free], "which is no dimension of its inputs; it has "
                 + (", ".join(dict.fromkeys(free)) or "none without a size")),
                ("a dimension", [each for each in free if each not in known], "whose size is not known: --set %s=32"),
                ("--set", [each for each in sizes if not isinstance(sizes[each], int) or sizes[each] < 1],
                 "which is no number of at least 1")):
            if wrong:
                raise DataError("%s: found %s %s, %s" % (self._name, what, wrong[0], said.replace("%s", wrong[0])))
        shapes = {name: tuple(axis.dim_value if axis.dim_value > 0 else known[each]
                              for each, axis in zip(names[name], axes[name])) for name in axes}
        if not any(shape[:1] == (self.cell.batch,) for shape in shapes.values()):
            raise DataError("%s: found inputs of shapes %s for a batch of %d: --set batch=N sets another" % (
                self._name, ", ".join(map(str, shapes.values())) or "none", self.cell.batch))
        return {each.name: (shapes[each.name], self._numbers(each)) for each in inputs}

    def load(self, weights):
        """Raises Unsupported: they are in the graph."""
        raise Unsupported(ONLY_INFERS)

    def weights(self):
        """Copies of the arrays that are in the graph, by name, where that is known."""
        return self._weights

    def parameters(self):
        """How many numbers an optimizer would update; of a file all of its constants."""
        return self._count

    def synthetic(self):
        """One batch, over and over."""
        return itertools.repeat(self._fed(TIMED))

    def _fed(self, number):
        """Inputs by name: real numbers are normally distributed, whole ones 0 or 1, which masks and tokens may be."""
        rng = np.random.RandomState([self.cell.seed, number])
        made = {name: rng.standard_normal(shape) if numbers.kind == "f" else rng.randint(0, 2, shape)
                for name, (shape, numbers) in self._inputs.items()}
        return {name: np.asarray(array, self._inputs[name][1]) for name, array in made.items()}

    def check(self):
        """What is inferred, on another batch than the timed one."""
        fed = self._fed(CHECKED)
        one, other = (dict(zip(self._names, map(np.array, self._answer(fed)))) for _ in range(2))
        demand_repeatable(self._name, one, other)
        return {"inferred": one}
