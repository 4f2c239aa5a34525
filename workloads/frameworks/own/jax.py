"""A user's own pure functions init(key) and apply(parameters, inputs). JAX 0.4.18 and later."""
import itertools
import re

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import tree_flatten_with_path, tree_leaves, tree_map, tree_unflatten

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
        made, self._tree = tree_flatten_with_path(self._file.call("init", jax.random.key(cell.seed)))
        leaves, self._names = [leaf for _, leaf in made], [".".join(map(_name, path)) for path, _ in made]
        if not leaves or not all(self._names) or not all(
                jnp.issubdtype(getattr(leaf, "dtype", type(leaf)), jnp.floating) for leaf in leaves):
            raise DataError("%s: init(key): expected dicts, lists and tuples of floating-point arrays"
                            % self._file.name)
        self._optimizer = self._file.function("optimizer") and self._file.call("optimizer")
        if self._optimizer and not {"init", "update"} <= {*dir(self._optimizer)}:
            raise DataError("%s: optimizer(): found %s, expected a gradient transformation, such as optax.adam(1e-3)"
                            % (self._file.name, type(self._optimizer).__name__))
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

    def _planted(self, arrays):
        """Arrays by name as the file's own tree."""
        return tree_unflatten(self._tree, [arrays[name] for name in self._names])

    def _applied(self, weights, inputs):
        half, tree = settings.products(self.cell), self._planted(weights)
        if half is None:
            return self._apply(tree, inputs)
        return _in(jnp.float32, self._apply(_in(half, tree), _in(half, inputs)))

    def _put(self, arrays):
        super()._put(arrays)
        if self._optimizer:
            moments = tree_map(jnp.array, self._optimizer.init(self._planted(self._state.weights)))   # not shared
            self._state = self._settled(self._state._replace(moments=moments))

    def _update(self, state, gradients, running):
        if not self._optimizer:
            return super()._update(state, gradients, running)
        weights, moments = self._planted(state.weights), state.moments
        changes, moments = self._optimizer.update(self._planted(gradients), moments, weights)
        weights = tree_map(lambda weight, change: (weight + change).astype(weight.dtype), weights, changes)
        return state._replace(weights=dict(zip(self._names, tree_leaves(weights))), moments=moments,
                              step=state.step + 1)

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
        if narrow and self.precision != "amp":
            raise DataError("%s: it computes in %s, and the row is of float32: take it out; --set "
                            "precision=bf16 is there" % (self._file.name, narrow.group(1)))

    def _lost_of(self, weights, running, inputs, targets):
        return self._lost(self._applied(weights, inputs), targets)


def _name(key):
    """A step of the path to an array: a dict's key, a place in a list, a field."""
    return str(next((getattr(key, name) for name in ("key", "idx", "name") if hasattr(key, name)), key))


def _in(kind, tree):
    """The tree with its real numbers in another type."""
    return tree_map(lambda each: each.astype(kind) if jnp.issubdtype(each.dtype, jnp.floating) else each, tree)


def _narrow(values):
    """Whole numbers as XLA counts, in 32 bits."""
    return values.astype(np.int32) if values.dtype == np.int64 else values


def _arrays(outputs):
    return {name: array(each) for name, each in flat(outputs).items()}
