"""The lstm task on a bare library, time-major. Python 3.6 and later."""
import itertools
import time

import numpy as np

from workloads.frameworks import contract
from workloads.frameworks.library import interface, settings
from workloads.spec import sequence_tasks

_KINDS = ("lstm.input.weight", "lstm.recurrent.weight", "lstm.bias")
_MOMENTUM = 0.9


class Workload(contract.Sequences):
    """One LSTM layer, its loss and its update, all in the library. Raises errors.Unsupported."""

    loop, layout, precision = "C++", "native", "float32"

    def __init__(self, cell):
        settings.demand(cell, interface.NAME)
        self.cell = cell
        sizes = sequence_tasks.sizes(cell)
        self._layer = interface.Layer(sizes.hidden, sizes.hidden, cell.batch, sizes.length, cell.measure != "infer",
                                      cell.lstm != "skip_input")
        self._update = (cell.learning_rate, cell.weight_decay, _MOMENTUM if cell.optimizer == "momentum" else 0.0)

    def parameters(self):
        """How many numbers are updated."""
        return sum(array.size for array in self._layer.weights())

    def kernels(self):
        """{"lstm": the kernels that the library says it runs}, as facts."""
        return {"lstm": self._layer.kernel()}

    def load(self, weights):
        """Take the arrays by canonical name."""
        self._layer.load([weights[name] for name in _KINDS])

    def weights(self):
        """The arrays by canonical name."""
        return dict(zip(_KINDS, self._layer.weights()))

    def batches(self, batches):
        """The batches, in the order given, over and over."""
        return itertools.cycle([_arranged(batch) for batch in batches])

    def synthetic(self, batches):
        """The first batch, over and over."""
        return itertools.repeat(_arranged(batches[0]))

    def train(self, batches, count, watch):
        """Take count steps of training; the watch gets the number of each one's loss, which stays in the library."""
        for x in contract.watched(batches, count, watch):
            self._layer.place(x)
            self._layer.forward()
            loss = self._layer.loss()
            self._layer.backward()
            self._layer.update(*self._update)
            watch.stepped(loss)

    def train_phases(self, batches, count, watch):
        """The same with a wait behind each phase; the watch gets each step's seconds by phase, too."""
        for x in contract.watched(batches, count, watch):
            began = time.perf_counter()
            self._layer.place(x)
            self._layer.forward()
            loss = self._layer.loss()
            self._layer.wait()
            forward = time.perf_counter()
            self._layer.backward()
            self._layer.wait()
            backward = time.perf_counter()
            self._layer.update(*self._update)
            self._layer.wait()
            watch.stepped(loss, phases={"forward": forward - began, "backward": backward - forward,
                                        "update": time.perf_counter() - backward})

    def infer(self, batches, count, watch):
        """Take count forward passes; the watch gets nothing: h stays in the library."""
        for x in contract.watched(batches, count, watch):
            self._layer.place(x)
            self._layer.forward()
            watch.stepped(None)

    def sync(self, handle):
        """Wait once for all that was issued; on a CPU every call returns when its work is done."""
        if self.cell.device == "gpu":
            self._layer.wait()

    def value(self, handle):
        """The float of a loss; for inference's None h of the last step, (batch, length, hidden)."""
        return self._h() if handle is None else self._layer.kept_loss(handle)

    def _h(self):
        return np.ascontiguousarray(self._layer.output().transpose(1, 0, 2))

    def check(self, batch):
        """One update: activations, logits, loss, gradients, new weights."""
        self._layer.place(_arranged(batch))
        self._layer.forward()
        loss = self._layer.kept_loss(self._layer.loss())
        self._layer.backward()
        gradient = dict(zip(_KINDS, self._layer.gradients()))
        self._layer.update(*self._update)
        h = self._h()
        return {"activation": {"lstm": h}, "logits": h, "loss": loss, "gradient": gradient, "weight": self.weights()}


def _arranged(batch):
    """x as (time, batch, hidden), float32."""
    return np.ascontiguousarray(batch["x"].transpose(1, 0, 2), np.float32)
