"""The workload where execution is eager: TensorFlow 2.x. One tf.function a step, or the cell's other loop."""
import collections
import inspect
import itertools
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from workloads.frameworks import contract
from workloads.frameworks.tensorflow import feed, model, optimizers, settings, steps_v2
from workloads.inputs import images as data
from workloads.inputs import loading, passes
from workloads.spec import tasks

keras = tf.keras


class Workload(steps_v2.Steps, contract.Images):
    """A table's model, its loss and its optimizer, and the steps of a cell."""

    loader = feed.LOADER

    def __init__(self, table, cell):
        """Raises Unsupported where the stack cannot do what the cell asks."""
        settings.apply(cell)
        self.cell = cell
        self.loop, self.precision, self.layout = settings.loop(cell), settings.precision(cell), settings.layout(cell)
        tf.random.set_seed(cell.seed)
        policy, self._numbers = settings.dtypes(cell)
        self.attention = settings.attention(cell)
        self.net = model.Net(table, tasks.input_shape(cell.image), self.layout, policy,
                             settings.turns_weights(cell))
        self.optimizer = optimizers.optimizer(cell, self._numbers)
        self._prepare()
        self._checked = self._compiled(self._checked_update)
        if self.loop == "fit":
            self._compile_fit()
        if settings.may_lack_kernels(cell):
            self._try_a_step()

    @property
    def loading(self):  # type: ignore[override]
        """How batches are loaded, where not as everywhere, as a fact."""
        how = "one batch ahead" if self.cell.device == "gpu" else "nothing ahead"
        return feed.LOADING % how if self.loop == "fit" else None

    def parameters(self):
        """How many numbers the optimizer updates."""
        return self.net.parameters()

    def load(self, weights):
        """Take the arrays of every parameter and running statistic by canonical name."""
        self.net.load(weights)

    def weights(self):
        """The arrays by canonical name."""
        return self.net.weights()

    def batches(self, images, labels):
        """An endless iterator of batches; for loop=fit the dataset, which each call of train begins anew."""
        images = self._native(images)
        if self.loop == "fit":
            return feed.pipeline(tf.constant(images), tf.constant(labels), self.cell)
        orders = loading.orders(self.cell, len(labels), self._shuffled(len(labels)))
        return self._fed(loading.gathered((images, labels), orders, self.cell.batch))

    def passes(self, images, labels, ahead):
        """The same pass by pass: each in the order, and with the moves, that the Passes say."""
        if self.loop == "fit":
            return feed.PassFeed(self.net, images, labels, ahead, self.cell, self._numbers).dataset()
        images = self._native(passes.around(images, ahead.moves))
        return self._fed(ahead.batches(images, labels, self.cell, self._shuffled(len(labels))))

    def _native(self, images):
        """Canonical uint8 images, normalised and in the layout's order."""
        return data.normalised(self.net.native_images(images), self._numbers)

    def _shuffled(self, count):
        """A function that gives TensorFlow's own order of a pass."""
        orders = iter(feed.shuffled(count, self.cell).batch(count).repeat())
        return lambda: next(orders).numpy()

    def _fed(self, batches):
        """The batches of arrays on the device; while a GPU computes, the next one is gathered and copied."""
        placed = (self._placed(*batch) for batch in batches)
        return loading.for_device(self.cell, placed)         # there is no pinned memory to ask TensorFlow for

    def _placed(self, images, labels):
        return tf.constant(images), tf.constant(labels)

    def loaded(self, records):
        """Batches that tf.data reads, over and over; for loop=fit the dataset."""
        batches = feed.from_disk(records, self.net, self.cell, self._numbers)
        return batches if self.loop == "fit" else iter(batches)

    def synthetic(self, images, labels):
        """An endless iterator of one batch that lies on the device."""
        batch = self._tensors(images, labels)
        return tf.data.Dataset.from_tensors(batch).repeat() if self.loop == "fit" else itertools.repeat(batch)

    def train(self, batches, count, watch):
        """Take count steps of training; the watch gets each one's loss, which stays on the device."""
        if self.loop == "fit":
            self._fit(batches, count, watch)
            return
        super(Workload, self).train(batches, count, watch)

    def follow(self, batches, count, steps, course):
        """As elsewhere; Keras' fit drives all epochs in one call, and the course is told of steps and epochs."""
        if self.loop != "fit":
            super(Workload, self).follow(batches, count, steps, course)
            return
        self.net.network.fit(batches, epochs=count, steps_per_epoch=steps, verbose=0, callbacks=[_Followed(course)])

    def sync(self, handle):
        """Read the value. On a CPU a step returns when all of it is done; a GPU copies the value behind its work."""
        super(Workload, self).sync(handle.mean if isinstance(handle, RunningLoss) else handle)

    def value(self, handle):
        """The float of a loss, the array of logits."""
        return handle.last() if isinstance(handle, RunningLoss) else super(Workload, self).value(handle)

    def predict(self, images):
        """Logits (n, classes) of uint8 images in evaluation mode."""
        return np.asarray(self._logits(self._tensors(images, ())[0]))

    def check(self, images, labels):
        """Everything that one update computes, in canonical layouts: training mode without dropout."""
        with self.net.without_dropout():
            outputs, loss, gradients = self._checked(*self._tensors(images, labels))
        activation = {path: self.net.canonical(path, out) for path, out in zip(self.net.outputs, outputs)}
        return {"activation": activation, "logits": np.asarray(outputs[-1]), "loss": float(loss),
                "gradient": self.net.canonical_arrays(self.net.network.trainable_weights, gradients),
                "weight": self.weights()}

    def _trained(self):
        return self.net.network.trainable_weights

    def _loss(self, images, labels):
        return feed.loss(labels, self.net.network(images, training=True), self._numbers)

    def _checked_update(self, images, labels):
        """Every place's output, the loss and the gradients of one update."""
        with tf.GradientTape() as tape:
            outputs = [tf.cast(output, self._numbers) for output in self.net.all_outputs(images, training=True)]
            loss = feed.loss(labels, outputs[-1], self._numbers)
        gradients = tape.gradient(loss, self.net.network.trainable_weights)
        self._apply(gradients)
        return outputs, loss, gradients

    def _evaluated(self, images):
        return tf.cast(self.net.network(images, training=False), self._numbers)      # amp: numpy has no bfloat16

    def _tensors(self, images, labels):
        """Canonical images, normalised and in the layout's order, and labels, on the device."""
        return self._placed(self._native(images), np.asarray(labels, np.int64))

    def _try_a_step(self):
        """Raise Unsupported where this CPU has no kernel for the model's layout or precision."""
        before = self.weights()
        shape = (1,) + tasks.input_shape(self.cell.image)
        batch = self._tensors(np.zeros(shape, np.uint8), np.zeros(1, np.int64))
        try:
            self._compiled(self._checked_gradients)(*batch)
        except tf.errors.OpError as error:
            raise settings.no_kernel(self.cell, error) from None
        self.load(before)

    def _checked_gradients(self, images, labels):
        return self._differentiated(images, labels)[1]()

    def _compile_fit(self):
        """Hand the same optimizer and loss to Keras' own loop."""
        switches = {"jit_compile": False} if "jit_compile" in inspect.signature(keras.Model.compile).parameters else {}
        self.net.network.compile(self.optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                                 **switches)         # Keras 3 would choose XLA by itself: that is loop=xla

    def _fit(self, dataset, count, watch):
        self.net.network.fit(dataset, steps_per_epoch=count, verbose=0, callbacks=[_Stepped(watch)])


class RunningLoss(NamedTuple):
    """What Keras' fit tells after a batch: the mean loss of all batches since its start, and what it was `span` before.

    Keras adds losses up in float32: each is off by up to 6e-8 of their sum, which is 2 % of a loss after 400,000 steps.
    So the loss that is told is the mean of the last 1 + index // 1000 batches: it is off by 0.1 % there.
    """

    index: int                # type: ignore[assignment]      # not tuple's method
    mean: Any
    before: Any
    span: int = 1

    def last(self):
        """The mean loss of the last `span` batches alone."""
        mean = float(np.asarray(self.mean, np.float64))
        if self.index < self.span:
            return mean
        return mean + (self.index + 1 - self.span) * (mean - float(np.asarray(self.before, np.float64))) / self.span


class _Stepped(keras.callbacks.Callback):  # type: ignore[name-defined]
    """Tells the watch of every batch; the logs stay tensors."""

    _supports_tf_logs = True

    def __init__(self, watch):
        super(_Stepped, self).__init__()
        self._watch, self._means = watch, collections.deque()

    def on_train_batch_end(self, batch, logs=None):
        """A step is over."""
        mean = logs["loss"]
        # before 2.2, where Model has no train_step, it is the batch's own loss
        self._watch.stepped(self._running(batch, mean) if hasattr(keras.Model, "train_step") else mean)

    def _running(self, batch, mean):
        """The mean with the one of the batches that its loss is not to be of."""
        if not batch:
            self._means.clear()                        # an epoch begins anew
        self._means.append(mean)
        span = min(1 + batch // 1000, len(self._means) - 1) if batch else 1
        while len(self._means) > span + 1:
            self._means.popleft()
        return RunningLoss(batch, mean, self._means[0] if batch else None, span)


class _Followed(_Stepped):
    """Tells a course of the epochs, too."""

    def on_epoch_begin(self, epoch, logs=None):
        """An epoch begins."""
        self._watch.begun()

    def on_epoch_end(self, epoch, logs=None):
        """An epoch's last batch is over."""
        self._watch.ended()
