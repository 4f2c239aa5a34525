"""The sequence models as evenbench measures them in TensorFlow: a session's graph in 1.15, tf.function or eager in 2.x.

tensorflow/models/<task>.py has what contract.Model says.
"""
import importlib
import itertools
from collections import OrderedDict

import numpy as np
import tensorflow as tf

from workloads.frameworks import contract
from workloads.frameworks.tensorflow import optimizers, settings, steps_v1
from workloads.frameworks.tensorflow.generating import Generation
from workloads.frameworks.tensorflow.models import recurrent
from workloads.frameworks.tensorflow.models.blocks import Mode, Weights, wide
from workloads.frameworks.tensorflow.profiling import operators
from workloads.inputs import loading
from workloads.process.errors import Unsupported
from workloads.spec import sequence_tasks, tasks

v1 = tf.compat.v1
_RECURRENT = ".recurrent.weight"


class _Arrays:
    """The variables of a model: by the names that its forward function asks for, and as they are stored."""

    def __init__(self, parameters, cell, dtypes, stepped=()):
        """dtypes: a Keras dtype or policy, and the variables' own; stepped: what single steps' layers begin with."""
        dtype, numbers = dtypes
        self.named, self.stored = Weights(), []
        shapes = {parameter.name: parameter.shape for parameter in parameters}
        layers = [name[:-len(_RECURRENT)] for name in shapes if name.endswith(_RECURRENT)]
        for name in layers:
            inputs, hidden = shapes[name + ".input.weight"][1], shapes[name + _RECURRENT][1]
            self.named[name] = recurrent.layer(name, inputs, hidden, cell, dtype, name.startswith(tuple(stepped)))
        self.layers = [self.named[name] for name in layers]
        self.named.computed = tf.as_dtype(numbers if layers else getattr(dtype, "compute_dtype", numbers))
        if settings.turns_weights(cell) and tasks.is_transformer(cell):
            self.named.turned = frozenset(
                parameter.name for parameter in parameters
                if parameter.kind == "weight" and not parameter.name.startswith("embeddings."))
        for parameter in parameters:
            if parameter.name.startswith(tuple(name + "." for name in layers)):
                layer = self.named[parameter.name.rsplit(".", 2 if parameter.kind == "weight" else 1)[0]]
                self.stored += [stored for stored in layer.stored if stored.names[0] == parameter.name]
            else:
                is_turned = parameter.name in self.named.turned
                way, shape = (np.transpose, parameter.shape[::-1]) if is_turned else (_same, parameter.shape)
                variable = recurrent.variable(shape, numbers, parameter.is_trainable)
                self.named[parameter.name] = variable
                self.stored.append(recurrent.Stored(variable, (parameter.name,), way,
                                                    lambda array, way=way: [way(array)]))

    @property
    def variables(self):
        """All of them."""
        return [stored.variable for stored in self.stored]

    def trained(self):
        """What the optimizer updates."""
        return [variable for variable in self.variables if variable.trainable]

    def native(self, weights):
        """The variables' arrays of canonical ones by name."""
        return [stored.native(*[weights[name] for name in stored.names]) for stored in self.stored]

    def canonical(self, variables, values):
        """The canonical arrays by name of such variables' values, or of their gradients."""
        known, arrays = {id(stored.variable): stored for stored in self.stored}, OrderedDict()
        for variable, value in zip(variables, values):
            stored = known[id(variable)]
            arrays.update(zip(stored.names, map(np.ascontiguousarray, stored.canonical(np.asarray(value)))))
        return arrays


def _same(array):
    return array


class _Common(contract.Sequences):
    """What both kinds of execution share."""

    _ran = contract.OF_HEIRS

    def _build(self, cell):
        """The model, its variables and the optimizer. Raises Unsupported."""
        if cell.init == "framework":
            raise Unsupported("the sequence models have evenbench's own weights in every framework")
        self.cell = cell
        self.loop, self.precision, self.layout = settings.loop(cell), settings.precision(cell), "native"
        if self.loop == "fit":
            raise Unsupported("Keras' fit takes models of Keras; the models of sequences are functions")
        self.attention = settings.attention(cell)
        dtype, self._numbers = settings.dtypes(cell)
        if cell.precision == "amp" and settings.is_half(cell):
            dtype = settings.half_policy()       # cuDNN's LSTM has float16, which inference needs no loss scaling for
        self._model = importlib.import_module("workloads.frameworks.tensorflow.models." + cell.task)
        self._sizes = sequence_tasks.sizes(cell)
        self._arrays = _Arrays(sequence_tasks.parameters(cell), cell, (dtype, self._numbers),
                               sequence_tasks.SEQUENCES[cell.task].stepped)
        if cell.precision == "amp" and not self._arrays.layers:
            _try_halves(cell, self._arrays.named.computed)
        self.optimizer = optimizers.optimizer(cell, self._numbers)

    def parameters(self):
        """How many numbers the optimizer updates."""
        still = sum(stored.still for stored in self._arrays.stored)
        return sum(int(np.prod(variable.shape)) for variable in self._trained()) - still

    def kernels(self):
        """{"lstm": the operations that an LSTM layer of the model really runs, by TensorFlow's profiler}, as facts."""
        layers = self._arrays.layers
        if not layers:
            return {}
        said = recurrent.kernel_of(self._ran(layers[0]))
        called = layers[0].called
        return {"lstm": called + ", as called" if called and called not in said else said}

    def _trained(self):
        return self._arrays.trained()

    def _forward(self, batch, mode):
        return self._model.forward(self._arrays.named, batch, self._sizes, mode)

    def _logits_and_loss(self, batch, mode):
        """(logits, loss) of a batch; inference is forward alone."""
        said = self._forward(batch, mode)
        return wide(sequence_tasks.logits(said)), self._model.loss(said, batch, self._sizes)

    def _evaluated(self, batch):
        return wide(sequence_tasks.logits(self._forward(batch, Mode(self.cell.lstm, is_training=False))))

    def _arranged(self, batch):
        return self._model.arrange(batch)

    def _seen(self, names, kept, logits, loss, gradients):
        """What a check says."""
        return {"activation": OrderedDict(zip(names, map(np.asarray, kept))), "logits": np.asarray(logits),
                "loss": float(loss), "gradient": self._arrays.canonical(self._trained(), gradients),
                "weight": self.weights()}


class _Functions(_Common, Generation):
    """TensorFlow 2."""

    def __init__(self, cell):
        """Raises Unsupported where the stack cannot do what the cell asks."""
        settings.apply(cell)
        tf.random.set_seed(cell.seed)
        self._build(cell)
        self._prepare()

    def load(self, weights):
        """Take the arrays of every parameter and running statistic by canonical name."""
        for variable, array in zip(self._arrays.variables, self._arrays.native(weights)):
            variable.assign(array)

    def weights(self):
        """The arrays by canonical name."""
        return self._arrays.canonical(self._arrays.variables, [variable.numpy() for variable in self._arrays.variables])

    def _ran(self, layer):
        """The names of the operations of one call of a layer; none where TensorFlow has no profiler for it."""
        run = tf.function(layer.run_once, autograph=False)
        run()
        try:
            return tuple(operators.profiled(run))
        except Unsupported:
            return ()

    def batches(self, batches):
        """The batches on the device, in the order given, over and over."""
        arranged = [self._arranged(batch) for batch in batches]
        signature = _signature(arranged)
        self._specify(signature)
        placed = ((self._placed(batch),) for batch in itertools.cycle(arranged))
        return loading.for_device(self.cell, placed)         # there is no pinned memory to ask TensorFlow for

    def synthetic(self, batches):
        """The first batch, which lies on the device, over and over."""
        batch = self._arranged(batches[0])
        self._specify(_signature([batch]))
        return itertools.repeat((self._placed(batch),))

    def _specify(self, signature):
        """Have the functions traced once for all these batches; batches of one shape need no signature for that.

        Checking one takes 2 % of a small LSTM's step.
        """
        has_one_shape = all(spec.shape.is_fully_defined() for spec in signature.values())
        self._signature = None if has_one_shape else [signature]
        self._prepare()

    def _compiled(self, function):
        if self.loop == "eager":
            return function
        return tf.function(function, autograph=False, input_signature=getattr(self, "_signature", None),
                           **settings.of_function(self.cell))

    def _placed(self, batch):
        return {name: tf.constant(array) for name, array in batch.items()}

    def _loss(self, batch):
        return self._logits_and_loss(batch, Mode(self.cell.lstm, is_training=True))[1]

    def check(self, batch):
        """One update in training mode without dropout: what the model keeps, logits, loss, gradients, new weights."""
        names = []
        batch = self._arranged(batch)
        self._specify(_signature([batch]))

        def update(batch):
            kept = OrderedDict()
            with tf.GradientTape() as tape:
                mode = Mode(self.cell.lstm, is_training=True, has_dropout=False, kept=kept)
                logits, loss = self._logits_and_loss(batch, mode)
            gradients = [tf.convert_to_tensor(each) for each in tape.gradient(loss, self._trained())]
            self._apply(gradients)
            names[:] = kept
            return [wide(each) for each in kept.values()], logits, loss, gradients

        return self._seen(names, *self._compiled(update)(self._placed(batch)))


def _try_halves(cell, dtype):
    """Raise Unsupported where a transformer's operations have no kernel in the type; no GPU was tried."""
    if cell.device == "gpu":
        raise Unsupported("TensorFlow's transformers were not tried in bfloat16 on a GPU")
    x = tf.Variable(tf.ones((1, 2, 2)))
    try:
        with tf.GradientTape() as tape:
            half = tf.cast(x, dtype)
            half = tf.matmul(half, half)
            for function in (tf.math.erf, tf.tanh, tf.nn.swish):
                half = function(half)
        tape.gradient(half, x)
    except (tf.errors.OpError, TypeError) as error:
        raise settings.no_kernel(cell, error) from error


def _signature(batches):
    """The tf.TensorSpec of each array of such batches: a dimension in which they differ is left open."""
    specs = {}
    for name, first in batches[0].items():
        shapes = zip(*[batch[name].shape for batch in batches])
        specs[name] = tf.TensorSpec([sizes[0] if len(set(sizes)) == 1 else None for sizes in shapes], first.dtype, name)
    return specs


class _Session(_Common, steps_v1.Steps, contract.Sequences):
    """TensorFlow 1."""

    def __init__(self, cell):
        """Raises Unsupported where the stack cannot do what the cell asks."""
        settings.apply(cell)
        self._session = v1.Session(graph=tf.Graph(), config=settings.session_config(cell))
        with self._entered():
            v1.set_random_seed(cell.seed)
            self._build(cell)
            variables = self._arrays.variables
            self._slots = [v1.placeholder(variable.dtype.base_dtype, variable.shape) for variable in variables]
            self._loading = [v1.assign(variable, slot) for variable, slot in zip(variables, self._slots)]
            tf.keras.backend.get_session()            # initialises the variables of Keras' layers

    def load(self, weights):
        """Take the arrays of every parameter and running statistic by canonical name, in one call."""
        with self._entered():
            self._session.run(self._loading, dict(zip(self._slots, self._arrays.native(weights))))

    def weights(self):
        """The arrays by canonical name."""
        with self._entered():
            return self._arrays.canonical(self._arrays.variables, self._session.run(self._arrays.variables))

    def _ran(self, layer):
        """The names of the operations of one call of a layer; this process is timed afterwards, so without CUPTI."""
        with self._entered():
            return tuple(operators.of_session(self._session, layer.run_once(), 1, itertools.repeat(None),
                                              v1.RunOptions.SOFTWARE_TRACE))

    def batches(self, batches):
        """The Feed of the batches, in the order given, over and over."""
        arranged = [self._arranged(batch) for batch in batches]
        with self._entered():
            slots = {name: v1.placeholder(spec.dtype, spec.shape) for name, spec in _signature(arranged).items()}
        batches = ((batch,) for batch in itertools.cycle(arranged))
        return steps_v1.Feed(slots, batches=loading.for_device(self.cell, batches))

    def synthetic(self, batches):
        """The Feed of the first batch in variables."""
        with self._entered():
            return steps_v1.Feed({name: self._kept(array) for name, array in self._arranged(batches[0]).items()})

    def _differentiable(self, batch, has_dropout=True):
        mode = Mode(self.cell.lstm, is_training=True, has_dropout=has_dropout)
        return self._logits_and_loss(batch, mode)[1], mode.moved

    def check(self, batch):
        """One update in training mode without dropout: what the model keeps, logits, loss, gradients, new weights."""
        with self._entered():
            kept = OrderedDict()
            mode = Mode(self.cell.lstm, is_training=True, has_dropout=False, kept=kept)
            parts = {name: self._kept(array) for name, array in self._arranged(batch).items()}
            logits, loss = self._logits_and_loss(parts, mode)
            gradients = self._exchanged(self._gradients(loss))
            update = self._apply(gradients, mode.moved)
            session = tf.keras.backend.get_session()
            values = session.run([list(kept.values()), logits, self._over_all(loss), gradients, update])
        return self._seen(kept, *values[:4])


Workload = _Functions if tf.executing_eagerly() else _Session
