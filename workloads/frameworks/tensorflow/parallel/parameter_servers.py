"""Asynchronous training in many places: ParameterServerStrategy over gRPC. TensorFlow 2.4 and later.

A coordinator, in a place of its own, hands steps to the workers, each of which pulls weights from the servers, trains
on its next batch and pushes the gradients; the servers update.
"""
import collections
import contextlib

import numpy as np
import tensorflow as tf

from workloads.frameworks.tensorflow import feed, images_v2, optimizers, settings
from workloads.frameworks.tensorflow.profiling import phases
from workloads.process.errors import Unsupported

experimental = tf.distribute.experimental
# Steps that wait for each worker: enough that none runs dry while the coordinator hears of a step of the slowest.
_AHEAD = 16
# What the stamps of a step part; the optimizer's update is the server's, within the push.
_PARTS = ("load", "pull", "forward", "backward", "push")


def serve(role, cell, cluster):
    """Be a worker or a parameter server for the coordinator, until stopped. Raises Unsupported."""
    settings.refuse_parallel(cell)
    _refuse()
    threads = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=cell.cpus,
                                       inter_op_parallelism_threads=settings.inter_op_threads(cell))
    own = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    tf.distribute.Server(own.cluster_spec(), own.task_type, own.task_id, "grpc", threads).join()


def _refuse():
    if not hasattr(experimental, "coordinator"):
        raise Unsupported("TensorFlow %s has no ClusterCoordinator: it came with 2.4" % tf.__version__)


class Workload(images_v2.Workload):
    """The coordinator's: its model's variables lie on the servers."""

    is_coordinator = True
    communication = "full"
    loading = feed.LOADING % "nothing ahead"

    def __init__(self, table, cell, cluster):
        """Joins the others. Raises Unsupported where the stack cannot do what the cell asks."""
        _refuse()
        settings.apply(cell)
        self._workers, self._steps = cluster.workers, {}
        self._strategy = experimental.ParameterServerStrategy(tf.distribute.cluster_resolver.TFConfigClusterResolver())
        self._coordinator = experimental.coordinator.ClusterCoordinator(self._strategy)
        with self._strategy.scope():
            super(Workload, self).__init__(table, cell)

    def batches(self, images, labels):
        """Iterators over all images, one for each worker, which keeps them."""
        kept = tf.constant(self.net.native_images(images)), tf.constant(labels)
        return self._spread(lambda: feed.pipeline(feed.normalised(kept[0], self._numbers), kept[1], self.cell))

    def loaded(self, records):
        """Iterators of tf.data, one for each worker, which reads all records from its own disk and keeps them."""
        return self._spread(lambda: feed.from_disk(records, self.net, self.cell, self._numbers))

    def synthetic(self, images, labels):
        """Iterators over one batch, one for each worker, which keeps it."""
        kept = self._tensors(images[:self.cell.batch], labels[:self.cell.batch])
        return self._spread(lambda: tf.data.Dataset.from_tensors(kept).repeat())

    def _spread(self, dataset):
        return iter(self._coordinator.create_per_worker_dataset(dataset))

    def train(self, batches, count, watch):
        """Take count steps for each worker, whoever takes them; the watch is told of each by its worker's clock."""
        self._take(self._timed_update, batches, count, watch, lambda times: None)

    def train_phases(self, batches, count, watch):
        """The same with the seconds of each phase, which are stamped inside the step."""
        self._take(self._stamped_update, batches, count, watch, _phases)

    def profile(self, batches, warmup, steps):
        """Raises Unsupported."""
        raise Unsupported("the profiler sees the operators of its own process: the coordinator has none")

    def check(self, images, labels):
        """Raises Unsupported."""
        raise Unsupported("asynchronous workers make no update together: check in parallel = none or allreduce")

    def _take(self, update, batches, count, watch, phases_of):
        """Tell the watch of each step: from the end of the worker's step before, so that waiting for it counts."""
        step = self._steps.get(update.__name__)
        if step is None:                         # traced once, however often steps are asked for
            step = self._steps[update.__name__] = self._compiled(lambda iterator: self._step(update, iterator))
        ends = {}
        for worker, numbers in self._results(step, batches, count * self._workers):
            times, loss = numbers[:-1], float(numbers[-1])
            stamped = phases_of(times)
            if stamped and worker in ends:
                stamped["dispatch"] = float(times[0] - ends[worker])
            watch.told(worker, float(times[-1] - ends.get(worker, times[0])), loss, stamped)
            ends[worker] = times[-1]
        self._coordinator.join()

    def _results(self, step, batches, count):
        """(worker, what its step returned) of count steps, in the order in which they were handed out."""
        waiting = collections.deque()
        for _ in range(count):
            waiting.append(self._coordinator.schedule(step, (batches,)))
            if len(waiting) > _AHEAD * self._workers:
                yield self._result(waiting.popleft())
        while waiting:
            yield self._result(waiting.popleft())

    def _result(self, remote):
        """The numbers, and the worker whose device holds them."""
        numbers = self._coordinator.fetch(remote)
        device = tf.DeviceSpec.from_string(remote._get_values().device)
        return device.task, numbers

    def _step(self, update, iterator):
        """What a worker runs: stamps and loss in one vector, so that one message brings it."""
        began = tf.timestamp()
        with tf.control_dependencies([began]):
            images, labels = next(iterator)
        loss, times = self._strategy.run(update, (began, images, labels))
        return tf.concat([times, [tf.cast(loss, times.dtype)]], 0)

    def _timed_update(self, began, images, labels):
        """The loss before the update, and the stamps around the step."""
        loss, gradients = self._differentiated(images, labels)
        stamps = phases.Stamps(began)
        stamps.end(self._updated(gradients()))
        return loss, stamps.times()

    def _stamped_update(self, began, images, labels):
        """The same with the stamps between its phases: all weights are pulled, then used."""
        stamps = phases.Stamps(began)
        images, labels = stamps.after([images, labels])
        with stamps.held():
            pulled = [variable.read_value() for variable in self._variables()]
        pulled, (images, labels) = _split(stamps.after(pulled + [images, labels]), len(pulled))
        with tf.GradientTape() as tape, self._standing_in(pulled):
            tape.watch(pulled)
            loss = feed.loss(labels, self.net.network(images, training=True), self._numbers)
        stamps.end([loss])
        with stamps.held():
            gradients = tape.gradient(loss, pulled)
        gradients = stamps.after(gradients)
        stamps.end(self._updated(gradients))
        return loss, stamps.times()

    def _before_update(self, gradients):
        """Nothing: each goes to its server as it comes."""
        return []

    def _updated(self, gradients):
        """What a stamp can wait for: the update's operation, in Keras 3 reads that stay with the servers."""
        operation = self._apply(gradients)
        if not optimizers.IS_KERAS_3:
            return [operation]
        reads = []
        for variable in self._variables():
            with tf.device(variable.device):
                reads.append(variable.read_value())
        return reads

    def _standing_in(self, tensors):
        """While it lasts, Keras' layers compute with these tensors instead of pulling each weight where it is used."""
        if optimizers.IS_KERAS_3:
            return _in_scope(self.net.network, tensors)
        return _in_attributes(self.net.network.layers, dict(zip(map(id, self._variables()), tensors)))


@contextlib.contextmanager
def _in_scope(network, tensors):
    """Keras 3 has a scope for it, which also keeps the running statistics' new values to itself."""
    with tf.keras.StatelessScope(list(zip(network.trainable_weights, tensors))) as scope:
        yield
    for weight in network.non_trainable_weights:
        value = scope.get_current_value(weight)
        if value is not None:
            weight.assign(value)


@contextlib.contextmanager
def _in_attributes(layers, tensors):
    """Keras 2 has none: the layers' attributes are changed past its bookkeeping; tensors by id of the variable."""
    before = [(layer, dict(vars(layer))) for layer in layers]
    for layer, attributes in before:
        vars(layer).update({name: tensors[id(value)] for name, value in attributes.items() if id(value) in tensors})
    try:
        yield
    finally:
        for layer, attributes in before:
            vars(layer).update(attributes)


def _split(values, count):
    return values[:count], values[count:]


def _phases(times):
    """The seconds by name: both ways to the servers are communication."""
    phases_of_step = dict(zip(_PARTS, np.diff(times).tolist()))
    phases_of_step["communication"] = phases_of_step.pop("pull") + phases_of_step.pop("push")
    return phases_of_step
