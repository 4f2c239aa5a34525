"""The sequence models as evenbench measures them in MXNet: transformers as graphs, the others eagerly.

mxnet/models/<task>.py has what contract.Model says. A task without such a file is one that MXNet has no operators for.
MXNet 1.7 and 1.9.
"""
import importlib
import importlib.util
import itertools
from collections import OrderedDict

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon

from workloads.frameworks.forward_pass import Mode
from workloads.frameworks.mxnet import optimizers, settings
from workloads.frameworks.mxnet.generating import Generation
from workloads.frameworks.mxnet.graphs import Graphs
from workloads.inputs import loading, lstm_vector
from workloads.process.errors import Unsupported
from workloads.spec import sequence_tasks, tasks
from workloads.spec.models import lstm_kernels

_OF_ONE_SHAPE = ("gpt2", "llama")            # all batches of a cell, so that one graph serves them


class Workload(Generation):
    """A sequence model with its loss and optimizer, as a cell says. Raises errors.Unsupported."""

    def __init__(self, cell):
        settings.apply(cell)
        _refuse(cell)
        self._model = importlib.import_module("workloads.frameworks.mxnet.models." + cell.task)
        self.loop = settings.loop(cell, tasks.is_transformer(cell))
        self.cell, self.precision, self.layout = cell, settings.precision(cell), "native"
        self._device = settings.device(cell)
        self.attention = settings.attention(cell)
        self._numbers = "float64" if cell.precision == "float64" else "float32"
        mx.random.seed(cell.seed)
        self._sizes = sequence_tasks.sizes(cell)
        self._names = [parameter.name for parameter in sequence_tasks.parameters(cell)]
        self._packed = []
        if cell.lstm == "cudnn":
            self._packed = lstm_vector.packed(sequence_tasks.parameters(cell),
                                              sequence_tasks.SEQUENCES[cell.task].stepped)
        self._own = self._parameters()
        self._own.initialize(ctx=self._device)
        self._trainer = _Trainer(self._own, optimizers.of(cell), kvstore=None)
        self._trainer.still = [(self._own[layer.key].grad(), layer.still) for layer in self._packed]
        self._hybridize()

    def _hybridize(self, **bulks):
        is_static = self.cell.input == "synthetic" or self.cell.task in _OF_ONE_SHAPE
        self._call = (Graphs(self._arrays(), is_static, self.precision == "amp", **bulks) if self.loop == "hybridized"
                      else self._eagerly)
        self._readers = {}                       # by batch; they hold graphs

    def _eagerly(self, function, arrays):
        """What a function of weights and arrays gives."""
        return function(self._arrays(), arrays)

    def _parameters(self):
        """gluon's Parameters: of a packed layer one for all its arrays."""
        own, inside = gluon.ParameterDict(), {name for layer in self._packed for name in layer.names}
        for parameter in sequence_tasks.parameters(self.cell):
            if parameter.name not in inside:
                own.get(parameter.name, shape=parameter.shape, dtype=self._numbers, init="zeros",
                        grad_req="write" if parameter.is_trainable else "null")
        for layer in self._packed:
            own.get(layer.key, shape=(layer.size,), dtype=self._numbers, init="zeros")
        return own

    def parameters(self):
        """How many numbers the optimizer updates."""
        still = sum(layer.still for layer in self._packed)
        return sum(int(np.prod(own.shape)) for own in self._own.values() if own.grad_req != "null") - still

    def programs(self):
        """How many graphs were made: one for each shape of a batch."""
        return len(self._call) if self.loop == "hybridized" else 0

    def kernels(self):
        """{"lstm": the operator that runs the LSTM layers}, as facts; what RNN takes inside, it does not say."""
        has_lstm = any(name.endswith(".recurrent.weight") for name in self._names)
        kind = "plain operations" if self.cell.lstm == "cell" else "RNN, packed once" if self._packed else "RNN"
        return {"lstm": kind} if has_lstm else {}

    def load(self, weights):
        """Take the arrays of every parameter and running statistic by canonical name."""
        own = dict(weights, **{layer.key: layer.vector(weights) for layer in self._packed})
        for name, parameter in self._own.items():
            parameter.set_data(mx.nd.array(own[name], dtype=self._numbers))

    def weights(self):
        """The arrays by canonical name."""
        return self._canonical(self._arrays())

    def _canonical(self, own):
        """The canonical arrays by name of what lies under the parameters' own names, packed or not."""
        arrays = {name: array.asnumpy() for name, array in own.items()}
        for layer in self._packed:
            arrays.update(layer.arrays(arrays.pop(layer.key)))
        return {name: arrays[name] for name in self._names if name in arrays}

    def batches(self, batches):
        """The batches on the device, in the order given, over and over."""
        arranged = itertools.cycle([self._arranged(batch) for batch in batches])
        if self.cell.device == "gpu":
            arranged = loading.ahead(self._in(mx.cpu_pinned(), batch) for batch in arranged)
        return ((self._placed(batch),) for batch in arranged)

    def synthetic(self, batches):
        """The first batch, which lies on the device, over and over."""
        return itertools.repeat((self._placed(self._arranged(batches[0])),))

    def _arranged(self, batch):
        return {name: np.ascontiguousarray(array) for name, array in self._model.arrange(batch).items()}

    def _placed(self, batch):
        return self._in(self._device, batch)

    def _in(self, device, batch):
        """The batch's arrays there; a CPU uses numpy's own memory."""
        if device.device_type == "cpu":
            return {name: mx.nd.from_numpy(array) for name, array in batch.items()}
        return {name: array.as_in_context(device) if isinstance(array, mx.nd.NDArray)
                else mx.nd.array(array, device, array.dtype) for name, array in batch.items()}

    def _arrays(self):
        return {name: own.data() for name, own in self._own.items()}

    def _losses(self, batch):
        return self._call(self._loss_of, batch)[0]

    def _answer(self, batch):
        return self._call(self._logits_of, batch)[0]

    def _loss_of(self, weights, batch):
        """[loss] of a batch in training."""
        return self._logits_and_loss(weights, batch, Mode(self.cell.lstm, is_training=True))[1:]

    def _logits_of(self, weights, batch):
        """[logits] of a batch in evaluation; inference is forward alone."""
        mode = Mode(self.cell.lstm, is_training=False)
        return [sequence_tasks.logits(self._model.forward(weights, batch, self._sizes, mode))]

    def _logits_and_loss(self, weights, batch, mode):
        said = self._model.forward(weights, batch, self._sizes, mode)
        return [sequence_tasks.logits(said), self._model.loss(said, batch, self._sizes)]

    def value(self, handle):
        """The float of a loss, the array of logits in the canonical order: the lstm task's h lies time-major."""
        value = super().value(handle)
        return value.swapaxes(0, 1) if self.cell.task == "lstm" and not isinstance(value, float) else value

    def check(self, batch):
        """One update in training mode without dropout: what the model keeps, logits, loss, gradients, new weights."""
        names = []

        def made(weights, batch):
            kept = OrderedDict()
            said = self._logits_and_loss(
                weights, batch, Mode(self.cell.lstm, is_training=True, has_dropout=False, kept=kept))
            names.extend(kept)
            return said + list(kept.values())

        with autograd.record():
            logits, loss, *kept = self._call(made, self._placed(self._arranged(batch)))
        loss.backward()
        gradient = self._canonical({name: own.grad() for name, own in self._own.items() if own.grad_req != "null"})
        self._trainer.step(1)
        return {"activation": {name: array.asnumpy() for name, array in zip(names, kept)},
                "logits": self.value(logits), "loss": self.value(loss), "gradient": gradient, "weight": self.weights()}


class _Trainer(gluon.Trainer):
    """A Trainer that leaves some gradients' last numbers out: a packed LSTM's second bias stays zero."""

    still = ()                   # (gradient, how many)

    def step(self, batch_size, ignore_stale_grad=False):
        """One update of all parameters."""
        for gradient, count in self.still:
            gradient[-count:] = 0
        super().step(batch_size, ignore_stale_grad)


def _refuse(cell):
    """Raise Unsupported for what sequence models cannot be in MXNet."""
    if importlib.util.find_spec("workloads.frameworks.mxnet.models." + cell.task) is None:
        raise Unsupported("%s is not there for MXNet" % sequence_tasks.SEQUENCES[cell.task].title)
    if cell.init == "framework":
        raise Unsupported("the sequence models have evenbench's own weights in every framework")
    if cell.precision == "amp" and not tasks.is_transformer(cell):
        raise Unsupported("amp casts in MXNet's graphs, which only transformers are of its models of sequences")
    reason = lstm_kernels.missing("mxnet", cell.device, cell.lstm)
    if reason:
        raise Unsupported(reason)
