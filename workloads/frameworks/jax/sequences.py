"""The sequence models as evenbench measures them in JAX. JAX 0.10 and later, Python 3.11."""
import importlib
import itertools

import jax
import numpy as np

from workloads.frameworks.jax import settings
from workloads.frameworks.jax.generating import Generation
from workloads.frameworks.jax.models import recurrent
from workloads.frameworks.jax.models.blocks import Mode
from workloads.frameworks.jax.steps import array
from workloads.inputs import loading
from workloads.process.errors import Unsupported
from workloads.spec import sequence_tasks
from workloads.spec.measures import FORWARD
from workloads.spec.models import lstm_kernels


def _turned(name, values):
    """A canonical array as it lies here, or back: an LSTM's weights are (in, gates), else each step turns them anew."""
    return np.ascontiguousarray(values.T) if name.endswith((recurrent.INPUT, recurrent.RECURRENT)) else values


class Workload(Generation):
    """A sequence model with its loss and optimizer, as a cell says. Raises errors.Unsupported.

    jax/models/<task>.py has what contract.Model says.
    """

    def __init__(self, cell):
        settings.apply(cell)
        if cell.init == "framework":
            raise Unsupported("the sequence models have evenbench's own weights in every framework")
        reason = lstm_kernels.missing("jax", cell.device, cell.lstm)
        if reason:
            raise Unsupported(reason)
        self.cell = cell
        self._device = settings.device(cell)
        self.loop, self.precision, self.layout = settings.loop(cell), settings.precision(cell), "native"
        self._products = settings.products(cell)
        self.attention = settings.attention_told(cell)
        self._model = importlib.import_module("workloads.frameworks.jax.models." + cell.task)
        self._sizes, self._parameters = sequence_tasks.sizes(cell), sequence_tasks.parameters(cell)
        numbers = "float64" if cell.precision == "float64" else "float32"
        self._begin({parameter.name: _turned(parameter.name, np.zeros(parameter.shape, numbers))
                     for parameter in self._parameters},
                    {parameter.name for parameter in self._parameters if parameter.is_trainable})

    def kernels(self):
        """{"lstm": what an LSTM layer of the model runs}, as facts."""
        hidden = [parameter.shape[1] for parameter in self._parameters if parameter.name.endswith(recurrent.RECURRENT)]
        if not hidden:
            return {}
        return {"lstm": recurrent.kernel_of(self.cell.lstm, hidden[0], self.cell.measure not in FORWARD)}

    def load(self, weights):
        """Take the arrays of every parameter and running statistic, by canonical name."""
        self._put({parameter.name: _turned(parameter.name, weights[parameter.name]) for parameter in self._parameters})

    def weights(self):
        """Copies of the arrays by canonical name."""
        arrays = self._arrays()
        return {parameter.name: _turned(parameter.name, array(arrays[parameter.name]))
                for parameter in self._parameters}

    def batches(self, batches):
        """The batches, in the order given, over and over: on the device, but that a CPU's program takes numpy's."""
        arranged = itertools.cycle([(self._arranged(batch),) for batch in batches])
        if self.cell.device == "cpu" and self.loop != "eager":
            return arranged                          # copied by the call itself, in a tenth of device_put's time
        # JAX has no pinned memory to ask for: the thread begins the copy
        return loading.for_device(self.cell, ((self._placed(batch),) for batch, in arranged))

    def synthetic(self, batches):
        """The first batch, which lies on the device, over and over."""
        return itertools.repeat((self._placed(self._arranged(batches[0])),))

    def _arranged(self, batch):
        """In the model's order; whole numbers as XLA counts, in 32 bits."""
        batch = self._model.arrange(batch)
        return {name: values.astype(np.int32) if values.dtype == np.int64 else values for name, values in batch.items()}

    def _placed(self, batch):
        return jax.device_put(batch, self._device)

    def _training_loss(self, weights, running, key, batch):
        mode = Mode(self.cell.lstm, True, key, self._products, attention=settings.attention(self.cell))
        said = self._model.forward(dict(weights, **running), batch, self._sizes, mode)
        return self._model.loss(said, batch, self._sizes), mode.statistics

    def _answering(self, weights, running, batch):
        mode = Mode(self.cell.lstm, False, None, self._products, attention=settings.attention(self.cell))
        return sequence_tasks.logits(self._model.forward(dict(weights, **running), batch, self._sizes, mode))

    def value(self, handle):
        """The float of a loss, the array of logits in the canonical order: the lstm task's h lies time-major."""
        value = super().value(handle)
        return value.swapaxes(0, 1) if self.cell.task == "lstm" and not isinstance(value, float) else value

    def check(self, batch):
        """One update in training mode without dropout: what the model keeps, logits, loss, gradients, new weights."""
        self._state, loss, logits, kept, gradients = self._program(self._checked)(
            self._state, self._placed(self._arranged(batch)))
        return {"activation": {name: array(kept[name]) for name in self._kept}, "logits": self.value(logits),
                "loss": float(loss), "weight": self.weights(),
                "gradient": {parameter.name: _turned(parameter.name, array(gradients[parameter.name]))
                             for parameter in self._parameters if parameter.is_trainable}}

    def _checked(self, state, batch):
        def loss_of(weights):
            mode = Mode(self.cell.lstm, True, None, self._products, {}, settings.attention(self.cell))
            said = self._model.forward(dict(weights, **state.running), batch, self._sizes, mode)
            self._kept = list(mode.kept)         # a program gives its results in the order of their names
            return self._model.loss(said, batch, self._sizes), (sequence_tasks.logits(said), mode.kept, mode.statistics)

        (loss, (logits, kept, running)), gradients = jax.value_and_grad(loss_of, has_aux=True)(state.weights)
        return self._update(state, gradients, running), loss, logits, kept, gradients
