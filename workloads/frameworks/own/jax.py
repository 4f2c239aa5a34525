"""A user's own pure functions init(key) and apply(parameters, inputs). JAX 0.10."""
import itertools
import re

import jax
import jax.numpy as jnp
import numpy as np

from workloads.frameworks.jax import settings
from workloads.frameworks.jax.steps import Steps, array, cross_entropy
from workloads.frameworks.own.user_file import (
    CHECKED,
    UserFile,
    demand_repeatable,
    flat,
    mapped,
)
from workloads.process.errors import DataError


class Workload(Steps):
    """The file's functions with their loss and the cell's optimizer. Raises Unsupported, DataError."""

    layout = "native"

    def __init__(self, cell, folder):
        settings.apply(cell)
        self.cell, self._device = cell, settings.device(cell)
        self.loop, self.precision = settings.loop(cell), settings.precision(cell)
        self._file = UserFile(cell, folder, settings.of_numbers)
        self._apply = self._file.function("apply")
        self._lost = self._file.loss(cross_entropy, lambda one, other: jnp.square(one - other).mean())
        leaves, self._tree = jax.tree.flatten(self._file.call("init", jax.random.key(cell.seed)))
        self._names = ["" for _ in leaves]
        for path, index in flat(jax.tree.unflatten(self._tree, list(range(len(leaves)))), "").items():
            self._names[index] = path.lstrip(".")
        if not leaves or not all(self._names) or not all(jnp.issubdtype(jnp.asarray(leaf).dtype, jnp.floating)
                                                         for leaf in leaves):
            raise DataError("%s: init(key): expected dicts, lists and tuples of floating-point arrays"
                            % self._file.name)
        numbers = "float64" if cell.precision == "float64" else "float32"
        own = {name: np.asarray(leaf, numbers) for name, leaf in zip(self._names, leaves)}
        self._begin(self._file.weights(own), set(own))

    def load(self, weights):
        """Take the arrays by the file's own names."""
        self._put(weights)

    def weights(self):
        """Copies of the arrays by name."""
        return {name: array(values) for name, values in self._arrays().items()}

    def synthetic(self):
        """One batch, over and over."""
        return itertools.repeat(self._batch())

    def _batch(self, *number):
        inputs, targets = mapped(_narrow, self._file.batch(*number))
        return jax.device_put((inputs, targets), self._device)

    def _applied(self, weights, inputs):
        tree = jax.tree.unflatten(self._tree, [weights[name] for name in self._names])
        return self._apply(tree, inputs)

    def _answering(self, weights, running, inputs, targets):
        return self._applied(weights, inputs)

    def _training_loss(self, weights, running, key, inputs, targets):
        return self._lost_of(weights, running, inputs, targets), {}

    def sync(self, handle):
        """Return when the program is done: its results are there together."""
        jax.block_until_ready(handle)

    def check(self):
        """Arrays by kind: inference twice, then one update."""
        inputs, targets = self._batch(CHECKED)
        self._demand_width(inputs, targets)
        answer = self._program(self._answering)
        one, other = (_arrays(answer(self._state.weights, {}, inputs, targets)) for _ in range(2))
        demand_repeatable(self._file.name, one, other)
        if targets is None:                      # it only infers
            return {"inferred": one}

        def loss_of(weights):
            outputs = self._applied(weights, inputs)
            return self._lost(outputs, targets), outputs

        self._file.demand_classes(one, array(targets))
        (loss, outputs), gradients = jax.jit(jax.value_and_grad(loss_of, has_aux=True))(self._state.weights)
        self._state, _ = self._program(self._step)(self._state, inputs, targets)
        return {"inferred": one, "logits": _arrays(outputs), "loss": {"loss": float(loss)},
                "gradient": self._file.shared({name: array(values) for name, values in gradients.items()}),
                "weight": self._file.shared(self.weights())}


    def _demand_width(self, inputs, targets):
        """Raise DataError where the file's functions compute in fewer bits than float32."""
        with self._file.ran():
            program = str(jax.make_jaxpr(self._answering if targets is None else self._lost_of)(
                self._state.weights, {}, inputs, targets))
        narrow = re.search(r":(bf16|f16|f8\w*)\[", program)
        if narrow:
            raise DataError("%s: it computes in %s, and the row is of float32: mixed precision of models of your own "
                            "is not there" % (self._file.name, narrow.group(1)))

    def _lost_of(self, weights, running, inputs, targets):
        return self._lost(self._applied(weights, inputs), targets)


def _narrow(values):
    """Whole numbers as XLA counts, in 32 bits."""
    return values.astype(np.int32) if values.dtype == np.int64 else values


def _arrays(outputs):
    return {name: array(each) for name, each in flat(outputs).items()}
