"""The steps of a cell where execution is eager, whatever its model: a tf.function a step, or none. TensorFlow 2.x."""
import numpy as np
import tensorflow as tf

from workloads.frameworks import contract
from workloads.frameworks.tensorflow import optimizers, settings, waits
from workloads.frameworks.tensorflow.optimizers import LARGE
from workloads.frameworks.tensorflow.profiling import operators, phases, trace
from workloads.process.errors import Unsupported


class Steps(contract.Workload):
    """Training and inference by self.optimizer.

    Who inherits it has cell, loop and optimizer, calls _prepare, and says what a batch, a tuple, is made to:
    _loss(*batch) in training, _evaluated(first of the batch) in evaluation; and what the optimizer updates: _trained().
    """

    optimizer = _loss = _evaluated = _trained = contract.OF_HEIRS

    def _prepare(self):
        """Make the functions that steps call, after the variables that they may not make themselves with XLA."""
        if optimizers.IS_KERAS_3:
            self.optimizer.build(self._trained())
        self._update, self._logits = self._compiled(self._one_update), self._compiled(self._evaluated)
        self._answer = self._compiled(self._evaluated_to_wait_for) if waits.needs_scalar(self.cell) else self._logits
        self._stamped = self._compiled(self._stamped_update)

    def _compiled(self, function):
        """The function as the cell's loop calls it."""
        if self.loop == "eager":
            return function
        return tf.function(function, autograph=False, **settings.of_function(self.cell))

    def train(self, batches, count, watch):
        """Take count steps of training; the watch gets each one's loss, which stays on the device."""
        for batch in contract.watched(batches, count, watch):
            watch.stepped(self._update(*batch))

    def train_phases(self, batches, count, watch):
        """The same with the seconds of each phase, which are stamped inside the step. Raises Unsupported."""
        self._demand_function("phases")
        for batch in contract.watched(batches, count, watch):
            loss, times = self._stamped(*batch)
            watch.stepped(loss, phases.seconds(times))

    def profile(self, batches, warmup, steps):
        """(calls, seconds) by TensorFlow's names over some steps of training. Raises Unsupported."""
        self._demand_function("operators")
        self._run(batches, warmup)
        return operators.profiled(lambda: self._run(batches, steps))

    def recorder(self):
        """See contract.Workload."""
        settings.demand_cpu(self.cell, "operators")
        return operators.Recorder()

    def trace(self, batches, warmup, steps):
        """The Trace of so many training steps on a GPU, after the warm-up. Raises Unsupported."""
        if self.loop == "fit":
            raise Unsupported("kernels are traced in loops whose steps we take, not in Keras' fit")
        self._run(batches, warmup)
        return trace.traced(lambda: self._run_ahead(batches, steps))

    def _run_ahead(self, batches, count):
        """As _run with one wait, at the end, as the other frameworks' traces have: a wait a step would make gaps."""
        loss = None
        for _ in range(count):
            loss = self._update(*next(batches))
        self.sync(loss)

    def _run(self, batches, count):
        for _ in range(count):
            self.sync(self._update(*next(batches)))

    def _demand_function(self, what):
        settings.demand_cpu(self.cell, what)
        if self.loop != "tf.function":
            raise Unsupported("%s are measured in loop native or graph (tf.function), not %s" % (what, self.cell.loop))

    def infer(self, batches, count, watch):
        """Take count forward passes in evaluation mode; the watch gets each one's logits."""
        for batch in contract.watched(batches, count, watch):
            first = batch[0]
            watch.stepped(self._answer(first))

    def sync(self, handle):
        """Wait for a step. On a CPU it returns when all of it is done; a GPU copies a loss behind its work."""
        waits.wait(handle, self.cell)

    def value(self, handle):
        """The float of a loss, the array of logits."""
        array = np.asarray(handle[0] if isinstance(handle, tuple) else handle)
        return array if array.ndim else float(array)

    def _evaluated_to_wait_for(self, *batch):
        """The logits, and one of them, which is copied to the host in their place."""
        logits = self._evaluated(*batch)
        return logits, tf.cast(tf.reshape(logits, [-1])[0], tf.float32)

    def _one_update(self, *batch):
        """The loss before the update."""
        loss, gradients = self._differentiated(*batch)
        self._apply(gradients())
        return loss

    def _differentiated(self, *batch):
        """The loss, and a function that gives the gradients times a seed."""
        with tf.GradientTape() as tape:
            loss = self._loss(*batch)
        return loss, lambda seed=None: _gradients(tape, loss, self._trained(), seed)

    def _stamped_update(self, *batch):
        """The loss before the update, and the stamps between its phases."""
        stamps = phases.Stamps()
        batch = tf.nest.pack_sequence_as(batch, stamps.after(tf.nest.flatten(batch)))
        loss, gradients = self._differentiated(*batch)
        stamps.end([loss])
        with stamps.held():
            gradients = gradients(self._seed(loss))
        gradients = stamps.after(gradients)
        stamps.end(self._updated(self._exchanged(gradients, stamps)))
        return loss, stamps.times()

    def _seed(self, loss):
        """What the backward pass begins with."""
        return tf.ones_like(loss)

    def _exchanged(self, gradients, stamps):
        """The same: there is nobody to exchange them with."""
        return gradients

    def _updated(self, gradients):
        """The weights after the update, which a stamp can wait for."""
        self._apply(gradients)
        return [variable.read_value() for variable in self._variables()]

    def _variables(self):
        """What the optimizer updates, as tf.Variable: Keras 3 wraps them."""
        return [weight if isinstance(weight, tf.Variable) else weight.value for weight in self._trained()]

    def _before_update(self, gradients):
        """All of them where a weight is large: while the backward pass holds it, an update must first copy it.

        VGG16's update takes 150 ms so, and 42 after the backward pass. Smaller nets lose by the wait.
        """
        is_large = any(weight.shape.num_elements() >= LARGE for weight in self._variables())
        return gradients if is_large else ()

    def _apply(self, gradients):
        """What the optimizer returns: in Keras 2 the update's operation."""
        with tf.name_scope(operators.OPTIMIZER), tf.control_dependencies(self._before_update(gradients)):
            return self.optimizer.apply_gradients(zip(gradients, self._trained()))


def _gradients(tape, loss, variables, seed):
    """The gradients times the seed, under a name that the profile knows: sums of them have none of their own.

    Dense ones: an optimizer's sparse update of an embedding is not the other frameworks' arithmetic.
    """
    with tf.name_scope(operators.GRADIENTS):
        return [tf.convert_to_tensor(gradient) for gradient in tape.gradient(loss, variables, seed)]
