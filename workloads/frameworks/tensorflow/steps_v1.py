"""The steps of a cell where execution is a graph's in a session, whatever its model: TensorFlow 1.15."""
import contextlib
import time

import tensorflow as tf

from workloads.frameworks import contract
from workloads.frameworks.tensorflow import settings
from workloads.frameworks.tensorflow.optimizers import LARGE
from workloads.frameworks.tensorflow.profiling import grappler, operators, phases, trace

v1 = tf.compat.v1
keras = tf.keras


class Feed:
    """The tensors of the next batch: parts, each a tensor or a dict of them, and what a step feeds to them."""

    def __init__(self, *parts, **fed):
        """batches: an iterator of arrays as parts nest, where parts are placeholders; without it, they hold values."""
        self.parts = parts
        self.fetches = {}          # mode -> what a step runs, built when it is first asked for
        self._slots, self._batches = tf.nest.flatten(parts), fed.get("batches")

    def __next__(self):
        """What the next step feeds; None where it feeds nothing."""
        if self._batches is None:
            return None
        return dict(zip(self._slots, tf.nest.flatten(next(self._batches))))


class Steps(contract.Workload):
    """Training and inference in self._session by self.optimizer.

    Who inherits it has cell, and says what a batch's parts are made to: _differentiable(*parts), which gives the loss
    and the operations that move running statistics, in training; _evaluated(first part) in evaluation; and what the
    optimizer updates: _trained().
    """

    _session = optimizer = _differentiable = _evaluated = _trained = contract.OF_HEIRS

    def train(self, batches, count, watch):
        """Take count steps of training, loading included; the watch gets each one's loss."""
        fetches = self._fetches(batches, "train", self._one_update)
        for values in contract.watched(batches, count, watch):
            _, loss = self._session.run(fetches, values)
            watch.stepped(loss)

    def train_phases(self, batches, count, watch):
        """The same with the seconds of each phase, which are stamped inside the graph; loading begins with the call."""
        settings.demand_cpu(self.cell, "phases")
        fetches = self._fetches(batches, "phases", self._stamped_update)
        for _ in range(count):
            began = time.time()
            loss, times = self._session.run(fetches, next(batches))
            watch.stepped(loss, dict(phases.seconds(times), load=float(times[0]) - began))

    def profile(self, batches, warmup, steps):
        """(calls, seconds) by TensorFlow's names over some steps of training."""
        settings.demand_cpu(self.cell, "operators")
        fetches = self._fetches(batches, "train", self._one_update)
        for _ in range(warmup):
            self._session.run(fetches, next(batches))
        return operators.of_session(self._session, fetches, steps, batches)

    def trace(self, batches, warmup, steps):
        """The Trace of so many training steps on a GPU, after the warm-up."""
        fetches = self._fetches(batches, "train", self._one_update)
        for _ in range(warmup):
            self._session.run(fetches, next(batches))
        return trace.of_session(self._session, fetches, steps, batches)

    def graph(self, batches):
        """What Grappler removes from the graph of a training step."""
        return grappler.removed(self._session, self._fetches(batches, "train", self._one_update), next(batches))

    def infer(self, batches, count, watch):
        """Take count forward passes in evaluation mode; the watch gets each one's logits.

        On a GPU it gets their tensor: a session returns when the device is done (TF_SYNC_ON_FINISH), so running the
        operation waits as the other frameworks do, and fetching its output would copy that to the host in each step. On
        a CPU what is fetched is handed over without a copy.
        """
        logits = self._fetches(batches, "infer", lambda *parts: self._evaluated(parts[0]))
        fetched = logits.op if self.cell.device == "gpu" else logits
        for values in contract.watched(batches, count, watch):
            output = self._session.run(fetched, values)
            self._inferred = values
            watch.stepped(logits if fetched is logits.op else output)

    def sync(self, handle):
        """Nothing: a session returns when all that was fetched is done, and the update was."""

    def value(self, handle):
        """The float of a loss, the array of logits; of a GPU's inference, that of one pass more."""
        if isinstance(handle, tf.Tensor):
            return self._session.run(handle, self._inferred)
        return handle if handle.ndim else float(handle)

    @contextlib.contextmanager
    def _entered(self):
        with self._session.graph.as_default(), self._session.as_default():
            yield

    def _kept(self, array):
        """The tensor of an array in a variable; a constant's first operations would be computed once and for all."""
        slot = v1.placeholder(array.dtype, array.shape)
        variable = tf.Variable(slot, trainable=False, collections=[], use_resource=True)
        self._session.run(variable.initializer, {slot: array})
        return variable.read_value()

    def _fetches(self, batches, mode, build):
        """What a step of the mode runs on these batches."""
        if mode not in batches.fetches:
            with self._entered():
                batches.fetches[mode] = build(*batches.parts)
                keras.backend.get_session()            # initialises the variables that the optimizer just made
        return batches.fetches[mode]

    def _one_update(self, *parts):
        """The update, and the loss before it."""
        loss, moved = self._differentiable(*parts)
        return [self._apply(self._exchanged(self._gradients(loss)), moved), loss]

    def _stamped_update(self, *parts):
        """The loss before the update, and the stamps between its phases."""
        stamps = phases.Stamps()
        parts = tf.nest.pack_sequence_as(parts, stamps.after(tf.nest.flatten(parts)))
        loss, moved = self._differentiable(*parts)
        stamps.end([loss])
        with stamps.held():
            gradients = self._gradients(loss)
        gradients = self._exchanged(stamps.after(gradients), stamps)
        stamps.end([self._apply(gradients, moved)])
        return [loss, stamps.times()]

    def _exchanged(self, gradients, stamps=None):
        """The same: there is nobody to exchange them with."""
        return gradients

    def _over_all(self, loss):
        """The same: there are no other workers."""
        return loss

    def _gradients(self, loss):
        """Dense ones: an optimizer's sparse update of an embedding is not the other frameworks' arithmetic.

        With a gate none leaves an operation before all of that operation's, so the weight that it used is free.
        """
        found = tf.gradients(loss, self._trained(), gate_gradients=self._updates_early())
        return [tf.convert_to_tensor(gradient) for gradient in found]

    def _apply(self, gradients, moved):
        """The operation that updates the weights, with those that move running statistics.

        While the backward pass holds a weight, an update must first copy it: without gates it waits for all gradients.
        """
        awaited = list(moved) + ([] if self._updates_early() else list(gradients))
        with tf.control_dependencies(awaited), tf.name_scope(operators.OPTIMIZER):
            return self.optimizer.apply_gradients(zip(gradients, self._trained()))

    def _updates_early(self):
        """Whether each weight is updated beside the rest of the backward pass.

        A large weight's update waits for memory while the rest computes: a step of VGG16 takes 4.9 s so, and 5.4 after
        the backward pass. LeNet-5 and BERT would be 3 to 6 % slower by the gates (docs/measurements.md). AdamW shrinks
        a weight whether its gradient is there or not, so it waits.
        """
        is_large = any(weight.shape.num_elements() >= LARGE for weight in self._trained())
        return is_large and self.cell.optimizer != "adamw"
