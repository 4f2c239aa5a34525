"""A user's own keras.Model on whichever backend KERAS_BACKEND named. Keras 3, Python 3.11.

Steps in the loop fit are what users have: train_on_batch and predict_on_batch, which compile a program on TensorFlow
and JAX, and which wait for what they return. In the loop step they are keras_steps'. A model called directly is eager
on both, and is never timed.
"""
import importlib
import itertools

import keras
import numpy as np
from keras.src.backend.common import dtypes
from keras.src.models import Functional

from workloads.frameworks import contract
from workloads.frameworks.own import keras_steps
from workloads.frameworks.own.user_file import (
    CHECKED,
    UserFile,
    demand_repeatable,
    demand_training_repeatable,
    flat,
)
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

    def __init__(self, cell, folder):
        lane = own_model.lane(cell.source)
        backend = lane.framework
        settings = importlib.import_module("workloads.frameworks.%s.settings" % backend)
        settings.apply(cell)
        dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64"         # else JAX and PyTorch round float64 to float32
        keras.config.set_floatx("float64" if cell.precision == "float64" else "float32")
        keras.utils.set_random_seed(cell.seed % 2 ** 32)
        keras.utils.clear_session()                                # names count from one
        if cell.precision == "amp":
            keras.config.set_dtype_policy("mixed_bfloat16")
        self.cell, self.loop, self.precision = cell, cell.loop, cell.precision
        self._file = UserFile(cell, folder, lambda: dict(
            settings.of_numbers(), floatx=keras.config.floatx(), dtype_policy=keras.config.dtype_policy().name))
        self._model = self._file.made("model", keras.Model)
        self._demand_width()
        self._inputs, self._targets = self._file.batch()
        if not self._model.built:
            self._model(self._inputs)
        self.load(self._file.weights(self.weights()))
        self._words = _words_of(self._model)     # what the file's own compile() said
        if lane.mode:
            self._words["jit_compile"], self.loop = True, "%s, %s" % (self.loop, lane.mode)
        self._compile(self._file.call("optimizer") if self._file.function("optimizer")
                      else self._words.pop("optimizer", None) or _optimizer(cell))
        if backend == "jax":
            compiling = importlib.import_module("workloads.frameworks.jax.profiling.compiling")
            compiling.listen()
            self.compiled = compiling.so_far  # type: ignore[method-assign]

    def _compile(self, optimizer):
        self._model.compile(**dict(self._words, optimizer=optimizer, loss=self._loss()))
        self._steps = keras_steps.of(self._model) if self.loop == "step" else OnBatch(self._model)

    def _loss(self):
        if self._file.function("loss"):
            return self._file.call("loss")
        if self._targets is None or self._words.get("loss"):
            return self._words.get("loss")
        is_real = np.asarray(next(iter(flat(self._targets).values()))).dtype.kind == "f"
        return (keras.losses.MeanSquaredError() if is_real
                else keras.losses.SparseCategoricalCrossentropy(from_logits=True))

    def _demand_width(self):
        """Raise DataError where a layer computes in fewer bits than float32."""
        for layer in () if self.precision == "amp" else self._model._flatten_layers():
            if layer.compute_dtype in ("bfloat16", "float16"):
                raise DataError("%s: layer %s computes in %s, and the row is of float32: take it out; --set "
                                "precision=bf16 is there" % (self._file.name, layer.name, layer.compute_dtype))

    def load(self, weights):
        """Take the arrays by path."""
        for variable in self._model.weights:
            variable.assign(np.asarray(weights[variable.path]))

    def weights(self):
        """Copies of the arrays by path."""
        return {variable.path: _array(variable) for variable in self._model.weights}

    def parameters(self):
        """How many numbers the optimizer updates."""
        return int(sum(np.prod(variable.shape) for variable in self._model.trainable_variables))

    def synthetic(self):
        """One batch, over and over."""
        return itertools.repeat(self._steps.placed((self._inputs, self._targets)))

    def train(self, batches, count, watch):
        """Take count steps; the watch gets each one's loss."""
        for batch in contract.watched(batches, count, watch):
            watch.stepped(self._steps.train(*batch))

    def infer(self, batches, count, watch):
        """Take count passes; the watch gets each one's outputs."""
        for inputs, _ in contract.watched(batches, count, watch):
            watch.stepped(self._steps.infer(inputs))

    def sync(self, handle):
        """Return when the step is done."""
        self._steps.wait(handle)

    def value(self, handle):
        """The float of a loss, the array of the first output."""
        first = _array(next(iter(flat(handle).values())))
        return float(first) if first.ndim == 0 else first

    def check(self):
        """Arrays by kind: inference twice, then one update without dropout."""
        inputs, targets = self._steps.placed(self._file.batch(CHECKED))
        one, other = (_arrays(self._steps.infer(inputs)) for _ in range(2))
        demand_repeatable(self._file.name, one, other)
        if targets is None:                      # it only infers
            return {"inferred": one}
        _switch_dropout_off(self._model)
        before, optimizer, record = self.weights(), self._model.optimizer, Recorder(learning_rate=1.0)
        (activations, logits), (again, repeated) = (_layers(self._model, inputs) for _ in range(2))
        demand_training_repeatable(self._file.name, dict(activations, **logits), dict(again, **repeated))
        if not self._words.get("loss"):
            self._file.demand_classes(logits, _array(targets))
        self.load(before)                        # which a pass in training changes
        self._compile(record)
        loss = self.value(self._steps.train(inputs, targets))
        self._steps.settle()
        trained = [variable.path for variable in self._model.trainable_variables]
        gradients = {path: _array(each) for path, each in zip(trained, record.gradients)}
        self.load(before)
        self._compile(optimizer)
        self._steps.train(inputs, targets)
        self._steps.settle()
        new = self.weights()
        return {"inferred": one, "activation": activations, "logits": logits, "loss": {"loss": loss},
                "gradient": self._file.shared(gradients),
                "weight": self._file.shared({path: new.pop(path) for path in trained}),
                "statistic": self._file.shared(new)}


class OnBatch(keras_steps.Steps):
    """A model's steps as its users have them: from arrays, and waited for."""

    def __init__(self, model):
        super().__init__(model)
        self.train, self.infer = model.train_on_batch, model.predict_on_batch

    def placed(self, batch):
        """The arrays of a batch, which each step places on the device."""
        return batch


def _layers(model, inputs):
    """(each layer's outputs by name, the model's) of a pass in training; of a model without a graph its own alone."""
    logits = _arrays(keras_steps.called(model, inputs, True))
    if not isinstance(model, (keras.Sequential, Functional)):
        return {}, logits
    layers = {layer.name: layer.output for layer in model.layers if len(layer._inbound_nodes) == 1}
    given = keras.Model(model.inputs, layers)(inputs, training=True)      # in an order that is the backend's
    return _arrays({name: given[name] for name in layers}, ""), logits


def _words_of(model):
    """What the file's own compile() said that moves a step: optimizer, loss, how it is run; {} where there was none."""
    if not getattr(model, "compiled", False):
        return {}
    names = ("optimizer", "loss", "jit_compile", "run_eagerly")
    return dict({name: getattr(model, name) for name in names}, loss_weights=model.get_compile_config()["loss_weights"])


def _switch_dropout_off(model):
    """Let nothing be dropped any more: by whoever calls the backend for it, layers that draw their own, and recurrent
    layers' cells, which make masks only where they drop.
    """
    random = keras.src.backend.random
    random.dropout = lambda inputs, rate, noise_shape=None, seed=None: inputs
    for layer in model._flatten_layers():
        for name in {"rate", "dropout", "recurrent_dropout"}.intersection(vars(layer)):
            if name != "rate" or "Dropout" in type(layer).__name__:
                setattr(layer, name, 0.0)


def _array(values):
    return np.array(keras.ops.convert_to_numpy(values))


def _arrays(outputs, name="output"):
    return {name.lstrip("."): _array(each) for name, each in flat(outputs, name).items()}


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
