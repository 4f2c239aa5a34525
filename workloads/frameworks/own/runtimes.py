"""A user's own torch.nn.Module in ONNX Runtime and OpenVINO, by way of an ONNX file in memory. PyTorch 2.13.

Never by tracing: a data-dependent `if` would be frozen in silence, where torch.export refuses it.
"""
import inspect
from collections.abc import Mapping

import numpy as np
import torch
from torch.utils import _pytree as trees

from workloads.frameworks.own import onnx_file, pytorch
from workloads.frameworks.own.user_file import mapped
from workloads.process.errors import Unsupported

_VAR_POSITIONAL, _VAR_KEYWORD = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD


class Workload(onnx_file.Workload):
    """The file's model(), exported, in the lane's runtime. Raises Unsupported, DataError."""

    def __init__(self, cell, folder):
        self._begin(cell)
        made = pytorch.Workload(cell._replace(measure="infer", loop="eager"), folder)
        self._file = made.file
        self._count, self._weights, net = made.parameters(), made.weights(), made.module()
        net.eval()
        self._names = [*made.answered()]
        self._signature = inspect.signature(net.forward)
        program = self._exported(net)
        self._inputs = [value.name for value in program.model.graph.inputs]
        self._run(program.model_proto.SerializeToString())

    def _bound(self, inputs):
        """Inputs as forward's parameters take them: by name, since a last dict among arguments would become keywords.
        """
        if isinstance(inputs, Mapping):
            return self._signature.bind(**inputs)
        return self._signature.bind(*inputs if isinstance(inputs, (tuple, list)) else (inputs,))

    def _exported(self, net):
        """The ONNX program for any batch size, else for the cell's. Raises Unsupported."""
        bound = self._bound(mapped(torch.tensor, self._file.batch()[0]))
        kinds = {each.kind: name for name, each in self._signature.parameters.items()}
        named = dict(bound.arguments)
        named.update(named.pop(kinds.get(_VAR_KEYWORD), {}))
        words, named = (bound.args, bound.kwargs) if _VAR_POSITIONAL in kinds else ((), named)
        why = None
        free = trees.tree_map(lambda tensor: {0: torch.export.Dim.DYNAMIC} if tensor.dim() else {},
                              dict(bound.arguments))
        for shapes in (free, None):
            try:
                return torch.onnx.export(net, words, kwargs=named, dynamo=True, dynamic_shapes=shapes)
            except torch.onnx.errors.OnnxExporterError as error:
                why = error.__cause__ or error
        raise Unsupported("PyTorch cannot export it to ONNX: %s" % " ".join(str(why).split())[:300])

    def _fed(self, number):
        leaves = trees.tree_leaves(dict(self._bound(self._file.batch(number)[0]).arguments))
        return dict(zip(self._inputs, map(np.ascontiguousarray, leaves)))
