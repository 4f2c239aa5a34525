"""The workload where execution is a graph's in a session: TensorFlow 1.15."""
import contextlib
import time

import numpy as np
import tensorflow as tf

from workloads import data
from workloads.for_tensorflow import feed, graph, model, operators, optimizers, phases, settings
from workloads.spec import tasks

v1 = tf.compat.v1
keras = tf.keras


class Feed:
    """The tensors of the next batch, inside the graph."""

    def __init__(self, images, labels):
        self.images, self.labels = images, labels
        self.fetches = {}          # mode -> what a step runs, built when it is first asked for


class Workload:
    """A table's model, its loss and its optimizer, and the steps of a cell."""

    def __init__(self, table, cell):
        """Raises Unsupported where the stack cannot do what the cell asks."""
        settings.apply(cell)
        self.cell = cell
        self.loop, self.precision, self.layout = settings.loop(cell), settings.precision(cell), settings.layout(cell)
        self._session = v1.Session(graph=tf.Graph(), config=settings.session_config(cell))
        with self._entered():
            v1.set_random_seed(cell.seed)
            policy, self._numbers = settings.dtypes(cell)
            self.net = model.Net(table, tasks.input_shape(cell.image), self.layout, policy)
            self.optimizer = optimizers.optimizer(cell, self._numbers)
            self._images, self._labels = self._placeholders()
            self._logits = self.net.network(self._images, training=False)
        if settings.may_lack_kernels(cell):
            self._try_a_step()

    def parameters(self):
        """How many numbers the optimizer updates."""
        return self.net.parameters()

    def load(self, weights):
        """Take the arrays of every parameter and running statistic by canonical name."""
        with self._entered():
            self.net.load(weights)

    def weights(self):
        """The arrays by canonical name."""
        with self._entered():
            return self.net.weights()

    def batches(self, images, labels):
        """The Feed of an endless pipeline in the graph."""
        def dataset(kept):
            return feed.pipeline(kept["images"], kept["labels"], self.cell.batch, self._numbers,
                                 feed.shuffle_seed(self.cell))
        return self._fed(dataset, {"images": self.net.native_images(images), "labels": labels})

    def passes(self, images, labels, ahead):
        """The Feed of the passes: each in the order, and with the moves, that the Passes say."""
        source = feed.PassFeed(self.net, images, labels, ahead, self.cell, self._numbers)
        return self._fed(source.dataset, source.arrays)

    def _fed(self, dataset, arrays):
        """The Feed of the Dataset of some arrays, which come in by placeholders: 2 GB are a graph's limit."""
        with self._entered():
            slots = {name: v1.placeholder(array.dtype, array.shape) for name, array in arrays.items()}
            batches = v1.data.make_initializable_iterator(dataset(slots))
            self._session.run(batches.initializer, {slots[name]: array for name, array in arrays.items()})
            return Feed(*batches.get_next())

    def synthetic(self, images, labels):
        """The Feed of one batch in variables; a constant's first operations would be computed once and for all."""
        with self._entered():
            kept = []
            for array in self._native(images, labels):
                slot = v1.placeholder(array.dtype, array.shape)
                variable = tf.Variable(slot, trainable=False, collections=[], use_resource=True)
                self._session.run(variable.initializer, {slot: array})
                kept.append(variable.read_value())
            return Feed(*kept)

    def train(self, batches, count, watch):
        """Take count steps of training, loading included; the watch gets each one's loss."""
        fetches = self._fetches(batches, "train", self._one_update)
        for _ in range(count):
            _, loss = self._session.run(fetches)
            watch.stepped(loss)

    def train_phases(self, batches, count, watch):
        """The same with the seconds of each phase, which are stamped inside the graph; loading begins with the call."""
        settings.demand_cpu(self.cell, "phases")
        fetches = self._fetches(batches, "phases", self._stamped_update)
        for _ in range(count):
            began = time.time()
            loss, times = self._session.run(fetches)
            watch.stepped(loss, dict(phases.seconds(times), load=float(times[0]) - began))

    def profile(self, batches, warmup, steps):
        """(calls, seconds) by TensorFlow's names over some steps of training."""
        settings.demand_cpu(self.cell, "operators")
        fetches = self._fetches(batches, "train", self._one_update)
        for _ in range(warmup):
            self._session.run(fetches)
        return operators.of_session(self._session, fetches, steps)

    def graph(self, batches):
        """What Grappler removes from the graph of a training step."""
        return graph.removed(self._session, self._fetches(batches, "train", self._one_update))

    def infer(self, batches, count, watch):
        """Take count forward passes in evaluation mode; the watch gets each one's logits."""
        fetches = self._fetches(batches, "infer", self._evaluated)
        for _ in range(count):
            watch.stepped(self._session.run(fetches))

    def sync(self, handle):
        """Nothing: a session returns when all that was fetched is done, and the update was."""

    def value(self, handle):
        """The float of a loss, the array of logits."""
        return handle if handle.ndim else float(handle)

    def predict(self, images):
        """Logits (n, classes) of uint8 images in evaluation mode."""
        with self._entered():
            return self._session.run(self._logits, {self._images: self._native(images, ())[0]})

    def check(self, images, labels):
        """Everything that one update computes, in canonical layouts: training mode without dropout."""
        with self._entered(), self.net.without_dropout():
            outputs, loss, gradients, update = self._checked_update()
            values = dict(zip((self._images, self._labels), self._native(images, labels)))
            outputs, loss, gradients, _ = keras.backend.get_session().run([outputs, loss, gradients, update], values)
        activation = {path: self.net.canonical(path, out) for path, out in zip(self.net.outputs, outputs)}
        return {"activation": activation, "logits": outputs[-1], "loss": float(loss),
                "gradient": self.net.canonical_arrays(self.net.network.trainable_weights, gradients),
                "weight": self.weights()}

    @contextlib.contextmanager
    def _entered(self):
        with self._session.graph.as_default(), self._session.as_default():
            yield

    def _fetches(self, batches, mode, build):
        """What a step of the mode runs on these batches."""
        if mode not in batches.fetches:
            with self._entered():
                batches.fetches[mode] = build(batches)
                keras.backend.get_session()            # initialises the variables that the optimizer just made
        return batches.fetches[mode]

    def _one_update(self, batches):
        """The update, and the loss before it."""
        logits = self.net.network(batches.images, training=True)
        loss = feed.loss(batches.labels, logits, self._numbers)
        return [self._apply(self.net.network, batches.images, self._gradients(loss)), loss]

    def _stamped_update(self, batches):
        """The loss before the update, and the stamps between its phases."""
        stamps = phases.Stamps()
        images, labels = stamps.after([batches.images, batches.labels])
        loss = feed.loss(labels, self.net.network(images, training=True), self._numbers)
        stamps.end([loss])
        with stamps.held():
            gradients = self._gradients(loss)
        stamps.end([self._apply(self.net.network, images, stamps.after(gradients))])
        return [loss, stamps.times()]

    def _checked_update(self):
        """Every place's output, the loss, the gradients and the update of what is fed."""
        outputs = self.net.every(self._images, training=True)
        loss = feed.loss(self._labels, outputs[-1], self._numbers)
        gradients = self._gradients(loss)
        return outputs, loss, gradients, self._apply(self.net.every, self._images, gradients)

    def _gradients(self, loss):
        return tf.gradients(loss, self.net.network.trainable_weights)

    def _apply(self, network, images, gradients):
        """The operation that updates weights and running statistics.

        After all gradients: while the backward pass holds a weight, an update must first copy it.
        """
        before = list(network.get_updates_for(images)) + list(gradients)
        with tf.control_dependencies(before), tf.name_scope(operators.OPTIMIZER):
            return self.optimizer.apply_gradients(zip(gradients, self.net.network.trainable_weights))

    def _evaluated(self, batches):
        return self.net.network(batches.images, training=False)

    def _native(self, images, labels):
        """Canonical images, normalised and in the layout's order, and labels."""
        return data.normalised(self.net.native_images(images), self._numbers), np.asarray(labels, np.int64)

    def _placeholders(self):
        shape = self.net.native_shape(tasks.input_shape(self.cell.image))
        return v1.placeholder(self._numbers, (None,) + shape), v1.placeholder(tf.int64, (None,))

    def _try_a_step(self):
        """Raise Unsupported where this CPU has no kernel for the model's layout."""
        shape = (1, tasks.CHANNELS, self.cell.image, self.cell.image)
        values = self._native(np.zeros(shape, np.uint8), np.zeros(1, np.int64))
        try:
            with self._entered():
                loss = feed.loss(self._labels, self.net.network(self._images, training=True), self._numbers)
                gradients = self._gradients(loss)
                keras.backend.get_session().run(gradients, dict(zip((self._images, self._labels), values)))
        except tf.errors.OpError as error:
            raise settings.no_kernel(self.cell, error) from None
