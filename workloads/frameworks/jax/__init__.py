"""JAX as evenbench measures it: plain jax.numpy, lax and jit, on a CPU or one GPU. JAX 0.10 and later, Python 3.11."""
import itertools

import jax
import jaxlib
import numpy as np

from workloads.frameworks import contract
from workloads.frameworks.jax import model, settings
from workloads.frameworks.jax.steps import Steps, array, cross_entropy
from workloads.inputs import images as data
from workloads.inputs import loading, passes
from workloads.process import errors
from workloads.spec import layers, tasks

NAME = "jax"


def facts(cell):
    """What JAX says of itself, once the cell's Workload is built; threads are counted in this process."""
    device = settings.device(cell)
    return dict({
        "framework": NAME,
        "version": jax.__version__,
        "device": device.device_kind if cell.device == "gpu" else "cpu",
        "threads": settings.threads(),
        "inter_op_threads": 1,                 # a program's operations follow one another
        "onednn": False,
        "build": "jaxlib %s; %s" % (jaxlib.__version__, " ".join(device.client.platform_version.split())),
    }, **settings.gpu_facts(cell) if cell.device == "gpu" else {})


def device_peak_bytes(cell):
    """The most that XLA's allocator held on the GPU; {} on a CPU, where it does not tell."""
    return settings.device_peak_bytes(cell) if cell.device == "gpu" else {}


def is_oom(error):
    """Whether an exception says that memory, the host's or the device's, ran out."""
    return errors.is_out_of_memory(error, RuntimeError)


def unbiased_variance(cell):
    """Whether a running variance is n / (n - 1) times the batch's: never, the adapter's own is the biased one."""
    return False


CUT_DEVIATION = 0.87962566103423978     # the standard deviation of a normal distribution that is cut at two of its own


class Workload(Steps, contract.Images):
    """A table's model, its loss and optimizer, as a cell says. Raises errors.Unsupported."""

    def __init__(self, table, cell):
        settings.apply(cell)
        self.cell = cell
        self._table, self._device = table, settings.device(cell)
        self.loop, self.precision, self.layout = settings.loop(cell), settings.precision(cell), settings.layout(cell)
        self._numbers = "float64" if cell.precision == "float64" else "float32"
        self._form = model.Form(self.layout, settings.products(cell), has_own_depthwise=cell.device == "cpu",
                                attention=settings.attention(cell))
        self.attention = settings.attention_told(cell)
        self._parameters = layers.parameters(table, tasks.input_shape(cell.image))
        self._begin(self._own(_initial(self._parameters, cell, self._numbers)),
                    {parameter.name for parameter in self._parameters if parameter.is_trainable})

    def load(self, weights):
        """Take the arrays of every parameter and running statistic, by canonical name."""
        self._put(self._own({parameter.name: weights[parameter.name] for parameter in self._parameters}))

    def _own(self, arrays):
        return {name: model.own(each, self.layout) for name, each in arrays.items()}

    def weights(self):
        """Copies of the arrays by canonical name."""
        arrays = self._arrays()
        return {parameter.name: array(model.canonical(arrays[parameter.name], self.layout))
                for parameter in self._parameters}

    def batches(self, images, labels):
        """Normalised batches on the device, over and over, in the cell's order; a rest is dropped."""
        orders = loading.orders(self.cell, len(labels), self._shuffling(len(labels)))
        return self._fed(loading.gathered((self._normalised(images), labels.astype(np.int32)), orders, self.cell.batch))

    def passes(self, images, labels, ahead):
        """The same pass by pass: each in the order, and with the moves, that the Passes say."""
        images = self._normalised(passes.around(images, ahead.moves))
        return self._fed(ahead.batches(images, labels, self.cell, self._shuffling(len(labels))))

    def _fed(self, batches):
        """The batches on the device; while a GPU computes, the next one is gathered and copied.

        A CPU's program takes numpy's.
        """
        if self.cell.device == "cpu" and self.loop != "eager":
            return batches                # copied by the call itself, in a fifth of device_put's time
        placed = (self._placed(*batch) for batch in batches)
        return loading.for_device(self.cell, placed)      # JAX has no pinned memory to ask for: the thread copies

    def _shuffling(self, count):
        """A function that gives the numbers below count in JAX's own order, another one for each pass."""
        keys = (jax.random.fold_in(jax.random.key(self.cell.seed), index) for index in itertools.count())
        return lambda: np.asarray(jax.random.permutation(next(keys), count))

    def _normalised(self, images):
        """Whole arrays, once, in the layout's order: a batch is one gather."""
        return data.normalised(model.images(images, self.layout), self._numbers)

    def _placed(self, images, labels):
        return jax.device_put((images, labels.astype(np.int32)), self._device)

    def synthetic(self, images, labels):
        """One batch that lies on the device, over and over."""
        return itertools.repeat(self._placed(self._normalised(images), labels))

    def _training_loss(self, weights, running, key, images, labels):
        mode = model.Mode(self._form, True, key)
        logits = model.forward(self._table, dict(weights, **running), images, mode)
        return cross_entropy(logits, labels), mode.statistics

    def _answering(self, weights, running, images, labels):
        mode = model.Mode(self._form, False)
        return model.forward(self._table, dict(weights, **running), images, mode)

    def predict(self, images):
        """The logits (n, classes) of uint8 images in evaluation mode, a batch at a time."""
        answer, logits = self._program(self._answering), []
        for first in range(0, len(images), self.cell.batch):
            some = images[first:first + self.cell.batch]
            batch = self._placed(self._normalised(some), np.zeros(len(some)))
            logits.append(array(answer(self._state.weights, self._state.running, *batch)))
        return np.concatenate(logits)

    def check(self, images, labels):
        """One update in training mode without dropout: every activation, logits, loss, gradients, new weights."""
        batch = self._placed(self._normalised(images), labels)
        self._state, loss, logits, kept, gradients = self._program(self._checked)(self._state, *batch)
        return {"activation": {path: model.channels_first(array(kept[path]), self.layout) for path in self._paths()},
                "logits": array(logits), "loss": self.value(loss),
                "gradient": {parameter.name: array(model.canonical(gradients[parameter.name], self.layout))
                             for parameter in self._parameters if parameter.is_trainable},
                "weight": self.weights()}

    def _paths(self):
        """Those of all layers, in order of computation: a program gives its results in the order of their names."""
        return [leaf.path for leaf in layers.leaves(self._table, tasks.input_shape(self.cell.image))]

    def _checked(self, state, images, labels):
        def loss_of(weights):
            mode = model.Mode(self._form, True, kept={})
            logits = model.forward(self._table, dict(weights, **state.running), images, mode)
            return cross_entropy(logits, labels), (logits, mode.kept, mode.statistics)

        (loss, (logits, kept, running)), gradients = jax.value_and_grad(loss_of, has_aux=True)(state.weights)
        return self._update(state, gradients, running), loss, logits, kept, gradients


def _initial(parameters, cell, numbers):
    """JAX has no initialisation of its own: flax's, as jax.nn has it: LeCun's normal weights, and zeros for biases.

    numpy draws them: JAX would compile a program for each shape, which takes longer than a short run's steps. Where
    seeded ones are loaded next, none are drawn.
    """
    random, arrays = np.random.default_rng(cell.seed), {}
    for parameter in parameters:
        if parameter.kind == "weight" and cell.init != "seeded":
            arrays[parameter.name] = _lecun_normal(random, parameter.shape).astype(numbers)
        else:
            arrays[parameter.name] = np.full(parameter.shape, parameter.kind in ("gamma", "variance"), numbers)
    return arrays


def _lecun_normal(random, shape):
    """Normal draws cut at two standard deviations, of variance one over the inputs (the shape but its first axis)."""
    draws = random.standard_normal(shape, np.float32)
    outside = np.abs(draws) > 2
    while outside.any():
        draws[outside] = random.standard_normal(int(outside.sum()), np.float32)
        outside = np.abs(draws) > 2
    return draws / (CUT_DEVIATION * np.sqrt(np.prod(shape[1:])))
