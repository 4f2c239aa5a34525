"""The workload where execution is a graph's in a session: TensorFlow 1.15."""
import numpy as np
import tensorflow as tf

from workloads.frameworks import contract
from workloads.frameworks.tensorflow import feed, model, optimizers, settings, steps_v1
from workloads.inputs import images as data
from workloads.inputs import loading, passes
from workloads.spec import tasks

v1 = tf.compat.v1
keras = tf.keras


class Workload(steps_v1.Steps, contract.Images):
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
            self.attention = settings.attention(cell)
            self.net = model.Net(table, tasks.input_shape(cell.image), self.layout, policy,
                                 settings.turns_weights(cell))
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
        """The Feed of batches without end."""
        images, labels = self._native(images, labels)
        orders = loading.orders(self.cell, len(labels), self._shuffled(len(labels)))
        return self._fed(loading.gathered((images, labels), orders, self.cell.batch))

    def passes(self, images, labels, ahead):
        """The Feed of the passes: each in the order, and with the moves, that the Passes say."""
        images, labels = self._native(passes.around(images, ahead.moves), labels)
        return self._fed(ahead.batches(images, labels, self.cell, self._shuffled(len(labels))))

    def _shuffled(self, count):
        """A function that gives TensorFlow's own order of a pass."""
        with self._entered():
            order = v1.data.make_one_shot_iterator(feed.shuffled(count, self.cell).batch(count).repeat()).get_next()
        return lambda: self._session.run(order)

    def _fed(self, batches):
        """The Feed of batches of arrays."""
        batches = loading.for_device(self.cell, batches)
        with self._entered():
            return steps_v1.Feed(*self._placeholders(self.cell.batch), batches=batches)

    def synthetic(self, images, labels):
        """The Feed of one batch in variables; a constant's first operations would be computed once and for all."""
        with self._entered():
            return steps_v1.Feed(*[self._kept(array) for array in self._native(images, labels)])

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

    def _trained(self):
        return self.net.network.trainable_weights

    def _differentiable(self, images, labels):
        loss = feed.loss(labels, self.net.network(images, training=True), self._numbers)
        return loss, self.net.network.get_updates_for(images)

    def _checked_update(self):
        """Every place's output, the loss, the gradients and the update of what is fed."""
        outputs = self.net.all_outputs(self._images, training=True)
        loss = feed.loss(self._labels, outputs[-1], self._numbers)
        gradients = self._exchanged(self._gradients(loss))
        update = self._apply(gradients, self.net.all_outputs.get_updates_for(self._images))
        return outputs, self._over_all(loss), gradients, update

    def _evaluated(self, images):
        return self.net.network(images, training=False)

    def _native(self, images, labels):
        """Canonical images, normalised and in the layout's order, and labels."""
        return data.normalised(self.net.native_images(images), self._numbers), np.asarray(labels, np.int64)

    def _placeholders(self, batch=None):
        """For images and labels, of any number or of so many."""
        shape = self.net.native_shape(tasks.input_shape(self.cell.image))
        return v1.placeholder(self._numbers, (batch,) + shape), v1.placeholder(tf.int64, (batch,))

    def _try_a_step(self):
        """Raise Unsupported where this CPU has no kernel for the model's layout."""
        shape = (1,) + tasks.input_shape(self.cell.image)
        values = self._native(np.zeros(shape, np.uint8), np.zeros(1, np.int64))
        try:
            with self._entered():
                loss = feed.loss(self._labels, self.net.network(self._images, training=True), self._numbers)
                gradients = self._gradients(loss)
                keras.backend.get_session().run(gradients, dict(zip((self._images, self._labels), values)))
        except tf.errors.OpError as error:
            raise settings.no_kernel(self.cell, error) from None
