"""The steps of a cell in JAX, whatever its model. JAX 0.10 and later.

Arrays are never changed, so what a step changes is one State, which a step takes and gives back: by jax.jit as one
program, in which the old arrays' memory is the new ones' (donated). In the loop eager the same functions run operation
by operation.
"""
import time
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from workloads.frameworks import contract
from workloads.frameworks.jax import optimizers
from workloads.frameworks.jax.profiling import compiling, operators
from workloads.process.errors import Unsupported
from workloads.spec.refusals import ON_A_GPU


class State(NamedTuple):
    """Dicts of arrays by canonical name, what the optimizer remembers, the key of dropout and the steps so far.

    The key is plain numbers, which a program turns into a key: to hand one over takes 5 microseconds of each step more.
    """

    weights: Any              # what the optimizer updates
    running: Any              # running statistics
    moments: Any
    key: Any
    step: Any


class Steps(contract.Workload):
    """Training and inference of a model on a device.

    Who inherits it has cell, _device and loop, calls _begin, and says what a batch, a tuple, is made to:
    _training_loss(weights, running, key, *batch), which gives (loss, new running statistics), and
    _answering(weights, running, *batch), the logits in evaluation.
    """

    _device = _training_loss = _answering = contract.OF_HEIRS

    _is_recorded = False         # whether programs are read once they are made

    def _begin(self, arrays, trainable):
        """Start from such arrays, of which the optimizer updates the trainable."""
        compiling.listen()
        self._trainable = trainable
        self._programs = {}
        self._put(arrays)

    def _put(self, arrays):
        arrays = {name: np.array(array) for name, array in arrays.items()}
        weights = {name: array for name, array in arrays.items() if name in self._trainable}
        running = {name: array for name, array in arrays.items() if name not in self._trainable}
        key = np.array([self.cell.seed], ">u8").view(">u4").astype(np.uint32)     # as jax.random.key, which compiles
        state = State(weights, running, optimizers.moments(self.cell, weights), key, np.zeros((), np.int32))
        self._state = self._settled(state)

    def _settled(self, state):
        """The State bound to the device, as a step's results are: else the second step would be compiled again."""
        return jax.device_put(state, self._device)

    def _arrays(self):
        """All arrays of the model by canonical name, as they lie on the device."""
        return dict(self._state.weights, **self._state.running)

    def parameters(self):
        """How many numbers the optimizer updates."""
        return sum(array.size for array in self._state.weights.values())

    def _program(self, function, donated=()):
        """The function as the loop runs it: as one program, made once, or operation by operation."""
        if self.loop == "eager":
            return function
        name = function.__name__
        if name not in self._programs:
            made = self._made(function, donated)
            self._programs[name] = operators.Program(made) if self._is_recorded else made
        return self._programs[name]

    def _made(self, function, donated):
        """The function as one program, to which the arguments of those numbers are given up."""
        return jax.jit(function, donate_argnums=donated)

    def train(self, batches, count, watch):
        """Take count steps of training; the watch gets each one's loss, which stays on the device."""
        step = self._program(self._step, donated=(0,))
        for batch in contract.watched(batches, count, watch):
            self._state, loss = step(self._state, *batch)
            watch.stepped(loss)

    def _step(self, state, *batch):
        """(the State after a step, its loss)."""
        (loss, running), gradients = jax.value_and_grad(self._training_loss, has_aux=True)(
            state.weights, state.running, self._drawing(state), *batch)
        return self._update(state, self._exchanged(gradients), running), loss

    def _drawing(self, state):
        """The key of a step's dropout."""
        return jax.random.fold_in(jax.random.wrap_key_data(state.key), state.step)

    def _exchanged(self, gradients):
        """What the update takes, where nobody else trains: the gradients themselves."""
        return gradients

    def _update(self, state, gradients, running):
        """The State after an update."""
        with jax.named_scope("optimizer"):
            weights, moments = optimizers.updated(self.cell, state.weights, gradients, state.moments, state.step + 1)
        return State(weights, dict(state.running, **running), moments, state.key, state.step + 1)

    def train_phases(self, batches, count, watch):
        """As train; the watch gets each step's seconds by phase, too.

        A step is three programs here instead of one, and what XLA would fuse across them is not.
        """
        forward, backward = self._program(self._forward_phase), self._program(self._backward_phase)
        update = self._program(self._update, donated=(0,))
        for batch in contract.watched(batches, count, watch):
            stamps = _Stamps()
            loss, running, pull = stamps.after("forward", forward(self._state, *batch))
            gradients = self._exchange_phase(stamps.after("backward", backward(pull, loss)), stamps)
            self._state = stamps.after("update", update(self._state, gradients, running))
            watch.stepped(loss, phases=stamps.seconds)

    def _exchange_phase(self, gradients, stamps):
        """The gradients for the update; those of many workers are exchanged, and stamped, here."""
        return gradients

    def _forward_phase(self, state, *batch):
        """(loss, new running statistics, what the backward pass needs, which is a function and a tree of arrays)."""
        key = self._drawing(state)
        loss, pull, running = jax.vjp(
            lambda weights: self._training_loss(weights, state.running, key, *batch), state.weights, has_aux=True)
        return loss, running, pull

    def _backward_phase(self, pull, loss):
        """The gradients."""
        return pull(jnp.ones_like(loss))[0]

    def infer(self, batches, count, watch):
        """Take count forward passes in evaluation mode; the watch gets each one's logits."""
        answer = self._program(self._answering)
        weights, running = self._state.weights, self._state.running
        for batch in contract.watched(batches, count, watch):
            watch.stepped(answer(weights, running, *batch))

    def profile(self, batches, warmup, steps):
        """{operator: (calls, seconds)} over steps training steps, by XLA's names for them. Raises Unsupported."""
        recorder = self.recorder()
        self._run(batches, max(1, warmup))
        return operators.profiled(recorder, lambda: self._run(batches, 1), steps)

    def recorder(self):
        """See contract.Workload."""
        if self.cell.device == "gpu":
            raise Unsupported(ON_A_GPU)
        if self.loop == "eager":
            raise Unsupported("operators are timed in the loop xla: eager makes a program of each")
        self._is_recorded, self._programs = True, {}
        return operators.Recorder(self._programs.values)

    def trace(self, batches, warmup, steps):
        """The Trace of so many training steps on a GPU, after the warm-up."""
        self._run(batches, max(1, warmup))
        return operators.traced(lambda: self._run(batches, steps))

    def _run(self, batches, count):
        """So many steps of training, waited for at their end."""
        step, loss = self._program(self._step, donated=(0,)), None
        for _ in range(count):
            self._state, loss = step(self._state, *next(batches))
        self.sync(loss)

    def sync(self, handle):
        """Return when the device has done all that was asked of it."""
        if self.loop == "eager":                  # operation by operation the update comes after the loss
            jax.block_until_ready(self._state)
        handle.block_until_ready()                # a program's results are there together

    def value(self, handle):
        """The float of a loss, the array of logits."""
        return float(handle) if handle.ndim == 0 else array(handle)

    def compiled(self):
        """What XLA compiled so far in this process: {"programs": count, "seconds": ..., "tracing_seconds": ...}."""
        return compiling.so_far()


class _Stamps:
    """The seconds of a step's phases by name, from now on."""

    def __init__(self):
        self.seconds, self._began = {}, time.perf_counter()

    def after(self, phase, results):
        """The results, once they are there; the phase ends with them, and the next one begins."""
        jax.block_until_ready(results)
        now = time.perf_counter()
        self.seconds[phase], self._began = now - self._began, now
        return results


def array(values):
    """A copy as a numpy array; bfloat16, which numpy lacks, becomes float32."""
    return np.array(values.astype(jnp.float32) if values.dtype == jnp.bfloat16 else values, order="C")


@jax.named_scope("loss")
def cross_entropy(logits, labels):
    """The mean of -log p(label): logits (..., classes), labels (...)."""
    log_p = jax.nn.log_softmax(logits.astype(jnp.float32) if logits.dtype == jnp.bfloat16 else logits, -1)
    return -jnp.take_along_axis(log_p, labels[..., None], -1).mean()
