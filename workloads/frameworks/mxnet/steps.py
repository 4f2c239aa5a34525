"""The steps of a cell in MXNet, whatever its model. MXNet 1.7 and 1.9."""
import mxnet as mx
from mxnet import autograd

from workloads.frameworks import contract
from workloads.frameworks.mxnet.profiling import operators, phases, trace


class Steps(contract.Workload):
    """Training and inference by a gluon.Trainer, self._trainer.

    Who inherits it says what a batch, a tuple, is made to: _losses(*batch) in training, of which _head() is what the
    backward pass begins with, _answer(*batch) in evaluation; and how its graphs are made, _hybridize(**bulks).
    """

    _trainer = _losses = _answer = contract.OF_HEIRS

    _update = "update"                # the phase in which the trainer takes its step

    def train(self, batches, count, watch):
        """Take count steps of training; the watch gets the losses of each one's samples."""
        head = self._head()
        for batch in contract.watched(batches, count, watch):
            with autograd.record():
                losses = self._losses(*batch)
            losses.backward(head)
            self._trainer.step(1)
            watch.stepped(losses)

    def train_phases(self, batches, count, watch):
        """The same with a wait after every phase; the watch gets their seconds too."""
        head = self._head()
        for batch in contract.watched(batches, count, watch):
            stamps = phases.Stamps()
            with autograd.record():
                losses = self._losses(*batch)
            stamps.ended("forward")
            losses.backward(head)
            stamps.ended("backward")
            self._trainer.step(1)
            stamps.ended(self._update)
            watch.stepped(losses, stamps.seconds)

    def _head(self):
        """What the backward pass begins with; None: ones."""

    def profile(self, batches, warmup, steps):
        """(calls, seconds) of every operator by MXNet's name over so many steps after the warm-up; none in bulk."""
        self._hybridize(**operators.ALONE)
        if warmup:
            self.train(batches, warmup, contract.Watch())
        with self._profiled() as used:
            self.train(batches, steps, contract.Watch())
        self._hybridize()
        return used

    def _profiled(self):
        """A block, and the dict of what ran in it."""
        return operators.profiled()

    def recorder(self):
        """See contract.Workload; from then on no operators run in bulk."""
        self._hybridize(**operators.ALONE)
        return trace.Recorder()

    def trace(self, batches, warmup, steps):
        """The Trace of so many training steps on a GPU, after the warm-up; none in bulk."""
        self._hybridize(**operators.ALONE)
        self._run(batches, warmup)
        record = trace.traced(lambda: self._run(batches, steps))
        self._hybridize()
        return record

    def _hybridize(self, **bulks):
        """Have the graphs built anew at the next call, where the loop has graphs."""
        raise NotImplementedError

    def _run(self, batches, count):
        if count:
            self.train(batches, count, contract.Watch())
        mx.nd.waitall()

    def infer(self, batches, count, watch):
        """Take count forward passes in evaluation mode; the watch gets each one's logits."""
        for batch in contract.watched(batches, count, watch):
            watch.stepped(self._answer(*batch))

    def sync(self, handle):
        """Wait for all that the engine still has to do: the updates come after the loss."""
        mx.nd.waitall()

    def value(self, handle):
        """The mean loss as a float, or logits as an array."""
        array = handle.asnumpy()
        return float(array.mean()) if array.ndim == 1 else array
