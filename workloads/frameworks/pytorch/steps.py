"""The steps of a cell in PyTorch, whatever its model. PyTorch 1.4 and later."""
import inspect
import time

import numpy as np
import torch

from workloads.frameworks import contract
from workloads.frameworks.pytorch import settings
from workloads.frameworks.pytorch.profiling import operators, trace
from workloads.frameworks.pytorch.profiling.device_clock import DeviceClock
from workloads.process.errors import Unsupported
from workloads.spec.refusals import ON_A_GPU

no_gradients = getattr(torch, "inference_mode", torch.no_grad)


class Steps(contract.Workload):
    """Training and inference of a net, a torch.nn.Module, on a device.

    Who inherits it has _net, _device, calls _optimize, and says what a batch, a tuple, is made to: _loss(*batch) in
    training, _answer(*batch) in evaluation.
    """

    _net = _device = _loss = _answer = _sample = contract.OF_HEIRS

    def _optimize(self, optimizer):
        """Update the net's parameters by this torch.optim.Optimizer."""
        self._optimizer = optimizer
        takes_none = "set_to_none" in inspect.signature(optimizer.zero_grad).parameters
        self._clearing = {"set_to_none": True} if takes_none else {}

    def parameters(self):
        """How many numbers the optimizer updates."""
        return sum(parameter.numel() for parameter in self._net.parameters() if parameter.requires_grad)

    def train(self, batches, count, watch):
        """Take count steps of training; the watch gets each one's loss, which stays on the device."""
        self._net.train()
        for batch in contract.watched(batches, count, watch):
            watch.stepped(self._step(*batch))

    def _step(self, *batch):
        self._optimizer.zero_grad(**self._clearing)
        loss = self._loss(*batch)
        loss.backward()
        self._exchange()
        self._optimizer.step()
        return loss.detach()

    def _exchange(self):
        """Between the backward pass and the update: nothing, where no one else trains."""

    def train_phases(self, batches, count, watch):
        """As train; the watch gets each step's seconds by phase, too. Clearing the gradients is part of the update."""
        self._net.train()
        for batch in contract.watched(batches, count, watch):
            loss, seconds = self._stamped(*batch)
            watch.stepped(loss, phases=self._phases(*seconds))

    def _stamped(self, *batch):
        """(loss, seconds) of a step's parts: clearing, forward, backward, exchange, update."""
        stamps = [time.perf_counter()]

        def stamp():
            self.sync(None)
            stamps.append(time.perf_counter())

        self._optimizer.zero_grad(**self._clearing)
        stamp()
        loss = self._loss(*batch)
        stamp()
        loss.backward()
        stamp()
        self._exchange()
        stamp()
        self._optimizer.step()
        stamp()
        return loss.detach(), [after - before for before, after in zip(stamps, stamps[1:])]

    def _phases(self, clearing, forward, backward, exchange, update):
        """The seconds of a step's parts by phase."""
        return {"forward": forward, "backward": backward, "update": clearing + update}

    def profile(self, batches, warmup, steps):
        """{operator: (calls, seconds)} over steps training steps, by PyTorch's names for them. Raises Unsupported."""
        if self._device.type == "cuda":
            raise Unsupported(ON_A_GPU)
        self._net.train()
        for _ in range(warmup):
            self._step(*next(batches))
        return operators.profiled(lambda: self._step(*next(batches)), steps, self._unnamed())

    def recorder(self):
        """See contract.Workload."""
        if self._device.type == "cuda":
            raise Unsupported(ON_A_GPU)
        return operators.Recorder(settings.is_compiled(self.cell))

    def trace(self, batches, warmup, steps):
        """The Trace of so many training steps on a GPU, after the warm-up."""
        self._net.train()
        self._run(batches, warmup)
        return trace.traced(lambda: self._run(batches, steps))

    def _run(self, batches, count):
        for _ in range(count):
            self._step(*next(batches))
        self.sync(None)

    def _unnamed(self):
        """The methods of a step that its operators' names do not tell: {name: (owner, method)}."""
        return {"optimizer.step": (self._optimizer, "step")}

    def infer(self, batches, count, watch):
        """Take count forward passes in evaluation mode; the watch gets each one's logits."""
        self._net.eval()
        with no_gradients():
            for batch in contract.watched(batches, count, watch):
                watch.stepped(self._answer(*batch))

    def compiled(self):
        """See contract.Workload."""
        return inductor() if settings.is_compiled(self.cell) else {}

    def device_clock(self):
        """The GPU's own clock, None on a CPU."""
        return DeviceClock() if self._device.type == "cuda" else None

    def sync(self, handle):
        """Return when the device is idle; a CPU's operators return when they are done."""
        if self._device.type == "cuda":
            torch.cuda.synchronize()

    def value(self, handle):
        """The float of a loss, the array of logits."""
        return float(handle) if handle.dim() == 0 else array(handle)


def inductor():
    """What torch.compile made so far in this process, by its own timers: {"programs": count, "seconds": ..., ...}.

    Forward and backward passes are programs of their own. Names of the timers are those of PyTorch 2.13; one that is
    missing counts as none.
    """
    from torch._dynamo import utils  # is there since the net was compiled; alone it takes a second
    times = utils.compilation_time_metrics
    seconds = times.get("compile_fx_inner", [])
    whole = sum(sum(times.get(name, [])) for name in ("_compile.compile_inner", "backward._backward_impl"))
    return {"programs": len(seconds), "seconds": sum(seconds), "tracing_seconds": max(0.0, whole - sum(seconds))}


def array(tensor):
    """A copy as a numpy array; bfloat16, which numpy lacks, becomes float32."""
    tensor = tensor.detach().cpu()
    return np.array((tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy(), order="C")
