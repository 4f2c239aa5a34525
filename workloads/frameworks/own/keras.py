"""A user's own keras.Model on whichever backend KERAS_BACKEND named. Keras 3, Python 3.11.

Steps are what users have: train_on_batch and predict_on_batch, which compile a program on TensorFlow and JAX, and which
wait for what they return. A model called directly is eager, and is never timed.
"""
import importlib
import itertools

import keras
import numpy as np
from keras.src.backend.common import dtypes

from workloads.frameworks import contract
from workloads.frameworks.own.user_file import CHECKED, UserFile, demand_repeatable, flat
from workloads.process.errors import DataError, Unsupported
from workloads.spec.models import own_model


class Recorder(keras.optimizers.Optimizer):
    """Adds each gradient to a variable, and updates nothing: the one way to gradients that all backends have.

    By assign_add: `assign` of TensorFlow's slices (of embeddings) is wrong in silence.
    """

    def build(self, variables):
        """Make a variable for each gradient."""
        super().build(variables)
        self.gradients = [self.add_variable_from_reference(each, name="gradient") for each in variables]

    def update_step(self, gradient, variable, learning_rate):
        """Add the gradient to its variable."""
        self.assign_add(self.gradients[self._get_variable_index(variable)], gradient)


class Workload(contract.Workload):
    """The file's model() with its loss() and optimizer(), or the cell's. Raises Unsupported, DataError."""

    layout = "native"

    def __init__(self, cell):
        backend = own_model.BY_NAME[own_model.loads(cell.source).lane].framework
        settings = importlib.import_module("workloads.frameworks.%s.settings" % backend)
        settings.apply(cell)
        if cell.precision not in ("float32", "float64"):
            raise Unsupported("precision %s is not there for Keras models" % cell.precision)
        dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64"         # else JAX and PyTorch round float64 to float32
        keras.config.set_floatx(cell.precision)
        keras.utils.set_random_seed(cell.seed % 2 ** 32)
        keras.utils.clear_session()                                # names count from one
        self.cell, self.loop, self.precision = cell, "fit", cell.precision
        self._file = UserFile(cell)
        self._model = self._file.call("model")
        if not isinstance(self._model, keras.Model):
            raise DataError("%s: model(): found %s, expected a keras.Model" % (
                self._file.name, type(self._model).__name__))
        self._inputs, self._targets = self._file.batch()
        if not self._model.built:
            self._model(self._inputs)
        self.load(self._file.weights(self.weights()))
        self._compile(self._file.call("optimizer") if self._file.has("optimizer") else _optimizer(cell))

    def _compile(self, optimizer):
        self._model.compile(optimizer=optimizer, loss=self._loss())

    def _loss(self):
        if self._file.has("loss"):
            return self._file.call("loss")
        if self._targets is None:
            return None
        is_real = np.asarray(next(iter(flat(self._targets).values()))).dtype.kind == "f"
        return (keras.losses.MeanSquaredError() if is_real
                else keras.losses.SparseCategoricalCrossentropy(from_logits=True))

    def load(self, weights):
        """Take the arrays by path."""
        for variable in self._model.weights:
            variable.assign(np.asarray(weights[variable.path]))

    def weights(self):
        """Copies of the arrays by path."""
        return {variable.path: np.array(_array(variable)) for variable in self._model.weights}

    def parameters(self):
        """How many numbers the optimizer updates."""
        return int(sum(np.prod(variable.shape) for variable in self._model.trainable_variables))

    def synthetic(self):
        """One batch, over and over."""
        return itertools.repeat((self._inputs, self._targets))

    def train(self, batches, count, watch):
        """Take count steps by train_on_batch; the watch gets each one's loss."""
        for _ in range(count):
            watch.loading()
            inputs, targets = next(batches)
            watch.loaded()
            watch.stepped(self._model.train_on_batch(inputs, targets))

    def infer(self, batches, count, watch):
        """Take count passes by predict_on_batch; the watch gets each one's outputs."""
        for _ in range(count):
            watch.loading()
            inputs, _ = next(batches)
            watch.loaded()
            watch.stepped(self._model.predict_on_batch(inputs))

    def sync(self, handle):
        """Nothing: both return numbers that are there."""

    def value(self, handle):
        """The float of a loss, the array of the first output."""
        first = next(iter(flat(handle).values()))
        return float(first) if np.ndim(first) == 0 else np.array(first)

    def check(self):
        """Arrays by kind: inference twice, then one update without dropout."""
        inputs, targets = self._file.batch(CHECKED)
        one, other = (_arrays(self._model.predict_on_batch(inputs)) for _ in range(2))
        demand_repeatable(self._file.name, one, other)
        if targets is None:                      # it only infers
            return {"inferred": one}
        for layer in self._model._flatten_layers():
            if "Dropout" in type(layer).__name__:
                layer.rate = 0.0
        before = self.weights()
        optimizer, record = self._model.optimizer, Recorder(learning_rate=1.0)
        self._compile(record)
        loss = float(np.asarray(self._model.train_on_batch(inputs, targets)))
        trained = [variable.path for variable in self._model.trainable_variables]
        gradients = {path: np.array(_array(each)) for path, each in zip(trained, record.gradients)}
        self.load(before)
        self._compile(optimizer)
        self._model.train_on_batch(inputs, targets)
        new = self.weights()
        return {"inferred": one, "loss": {"loss": loss}, "gradient": self._file.shared(gradients),
                "weight": self._file.shared({path: new[path] for path in trained}),
                "statistic": {path: values for path, values in new.items() if path not in trained}}


def _array(variable):
    return keras.ops.convert_to_numpy(variable)


def _arrays(outputs):
    return {name: np.array(each) for name, each in flat(outputs).items()}


def _optimizer(cell):
    """The cell's, as the other tasks have it."""
    rate, decay = cell.learning_rate, cell.weight_decay
    if decay and cell.optimizer != "adamw":
        raise Unsupported("weight_decay of a Keras model is there with optimizer=adamw")
    if cell.optimizer in ("adam", "adamw"):
        words = {"weight_decay": decay} if cell.optimizer == "adamw" else {}
        kind = keras.optimizers.AdamW if words else keras.optimizers.Adam
        return kind(learning_rate=rate, beta_1=0.9, beta_2=0.999, epsilon=1e-8, **words)
    return keras.optimizers.SGD(learning_rate=rate, momentum=0.9 if cell.optimizer == "momentum" else 0.0)
