"""PyTorch on many nodes or GPUs: synchronous training with all-reduce, over Gloo between CPUs and NCCL between GPUs.

A process a GPU; or, without a mode, one process that drives all of them. PyTorch 1.4 and later.
"""
import datetime
import time

import numpy as np
import torch
import torch.distributed
from torch.nn.parallel import DistributedDataParallel

from workloads.frameworks import pytorch
from workloads.frameworks.pytorch import sequences, settings
from workloads.frameworks.pytorch.steps import Steps
from workloads.inputs import images
from workloads.process.errors import Unsupported
from workloads.spec import refusals
from workloads.spec.cluster import PATIENCE_SECONDS

_PROBES = 10


def serve(role, cell, cluster):
    """Raises Unsupported: all-reduce has workers alone."""
    raise Unsupported("PyTorch has no role %s" % role)


def Workload(table, cell, cluster):
    """The workload of the cell's mode; without a cluster, of many GPUs. Raises Unsupported."""
    return Distributed(table, cell, cluster) if cluster else Replicated(table, cell)


def Sequences(cell, cluster):
    """The same of a sequence model. Raises Unsupported."""
    if not cluster:
        raise Unsupported(refusals.many(refusals.of_version("pytorch", ""), cell))
    return DistributedSequences(cell, cluster)


class Replicated(pytorch.Workload):
    """One process whose net is copied to every GPU for each batch, which is cut into their parts: DataParallel."""

    mode = "DataParallel"

    def __init__(self, table, cell):
        if cell.device == "cpu" or settings.is_compiled(cell):
            raise Unsupported("DataParallel shares a batch between GPUs, in loop eager")
        if cell.precision == "amp":       # its threads enter autocast without a dtype, and each thread's own is float16
            raise Unsupported("DataParallel's threads would compute amp in float16, without scaling the loss: on many "
                              "GPUs amp trains with parallel = sync")
        super().__init__(table, cell)

    def _module(self):
        return torch.nn.DataParallel(self._net, list(range(self.cell.gpus)))


class _Worker(Steps):
    """One of the workers, each with its own batches; their gradients' mean is what every one of them steps along.

    Running statistics are each worker's own. communication is "exposed" with DistributedDataParallel, which exchanges
    while the backward pass still computes (a compiled one gives all its gradients at its end); "full" with
    overlap=off, one all-reduce of all gradients after it. Raises Unsupported.
    """

    def _join(self, cell, cluster):
        """Meet the others, before anything else."""
        settings.apply(cell)
        is_gpu = settings.device(cell).type == "cuda"
        if is_gpu:
            torch.cuda.set_device(cluster.process)
        backend = "nccl" if is_gpu else "gloo"
        self.mode = "DistributedDataParallel over %s" % {"nccl": "NCCL", "gloo": "Gloo"}[backend]
        self.communication = "full" if cell.overlap == "off" else "exposed"
        self._workers, self._compute_seconds = cluster.workers, None
        torch.distributed.init_process_group(backend, timeout=datetime.timedelta(seconds=PATIENCE_SECONDS))

    def _in_buckets(self, module):
        """The module, whose gradients are exchanged in buckets as they come."""
        self._buckets = DistributedDataParallel(module, broadcast_buffers=False)
        return self._buckets

    def _exchange(self):
        """Each gradient becomes the mean over the workers, where no bucket saw to it."""
        if self.communication == "exposed":
            return
        gradients = [parameter.grad for parameter in self._net.parameters()]
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        self._mean(flat)
        for gradient, mean in zip(gradients, flat.split([gradient.numel() for gradient in gradients])):
            gradient.copy_(mean.view_as(gradient))

    def _mean(self, tensor):
        """Replace a tensor by its mean over the workers."""
        torch.distributed.all_reduce(tensor)
        tensor /= self._workers

    def train(self, batches, count, watch):
        """As one worker's; all leave it together."""
        super().train(batches, count, watch)
        torch.distributed.barrier()

    def train_phases(self, batches, count, watch):
        """As one worker's, with the phase "communication".

        Where it is full, it is the all-reduce with what it takes to put the gradients together and back. Where it is
        exposed, it is what the backward pass takes longer than one without any exchange: "backward" is then the
        median of such passes, measured between warm-up and timed steps, and "communication" of a step may be negative.
        In the warm-up steps before that, "backward" holds both. Steps may be asked for in parts, the first of which has
        the warm-up's.
        """
        if self.communication == "exposed" and self._compute_seconds is None:
            warmup = min(self.cell.warmup, count)
            super().train_phases(batches, warmup, watch)
            count -= warmup
            self._compute_seconds = self._compute_only(watch)
            torch.distributed.barrier()
            watch.resumed()
        super().train_phases(batches, count, watch)
        torch.distributed.barrier()

    def _phases(self, clearing, forward, backward, exchange, update):
        """The seconds of a step's parts by phase."""
        compute = backward if self._compute_seconds is None else self._compute_seconds
        return dict(super()._phases(clearing, forward, compute, exchange, update),
                    communication=backward - compute + exchange)

    def _compute_only(self, watch):
        """Median seconds of backward passes without exchange; weights and running statistics stay as they are."""
        batch = self._sample()
        kept = [buffer.clone() for buffer in self._net.buffers()]
        self._net.train()
        seconds = []
        with self._buckets.no_sync():
            for _ in range(_PROBES):
                self._optimizer.zero_grad(**self._clearing)
                loss = self._loss(*batch)
                self.sync(loss)
                began = time.perf_counter()
                loss.backward()
                self.sync(loss)
                seconds.append(time.perf_counter() - began)
                watch.probed()
        for buffer, before in zip(self._net.buffers(), kept):
            buffer.copy_(before)
        return float(np.median(seconds))

    def profile(self, batches, warmup, steps):
        """As one worker's; all leave it together."""
        used = super().profile(batches, warmup, steps)
        torch.distributed.barrier()
        return used

    def _unnamed(self):
        """The exchange that is a step of its own, too."""
        own = {} if self.communication == "exposed" else {"exchange": (self, "_exchange")}
        return dict(super()._unnamed(), **own)

    def check(self, *batch):
        """One update, each worker with its own part of the global batch: mean loss, mean gradients, new weights.

        No activations and no logits: each worker has those of its own part.
        """
        checked = super().check(*batch)  # type: ignore[misc]
        loss = torch.tensor(checked["loss"], dtype=torch.float64, device=self._device)
        self._mean(loss)
        torch.distributed.barrier()
        return dict(checked, activation={}, logits=np.zeros(0), loss=float(loss))


class Distributed(_Worker, pytorch.Workload):
    """A worker with a table's model."""

    def __init__(self, table, cell, cluster):
        self._join(cell, cluster)
        super().__init__(table, cell)
        torch.manual_seed(cell.seed + cluster.worker)      # each worker drops out its own

    def _module(self):
        """The net is compiled inside of DistributedDataParallel: around it, torch.compile of 2.13 compiles nothing."""
        return super()._module() if self.communication == "full" else self._in_buckets(super()._module())

    def _sample(self):
        sample = images.synthetic(self.cell)
        return self._batch(sample.images, sample.labels)

    def _hooks(self, activations):
        return []


class DistributedSequences(_Worker, sequences.Workload):
    """A worker with a sequence model, whose batches may be longer or shorter than the others' at the time."""

    def __init__(self, cell, cluster):
        if cell.measure == "check":
            raise Unsupported("the sequence models' checks are of one worker")
        self._join(cell, cluster)
        super().__init__(cell)
        torch.manual_seed(cell.seed + cluster.worker)
        self._losses = _Losses(self._net, super()._loss)
        if self.communication == "exposed":
            self._in_buckets(self._losses)

    def _loss(self, batch):
        return (self._losses if self.communication == "full" else self._buckets)(batch)

    def _sample(self):
        return next(self._kept)

    def synthetic(self, batches):
        """As alone; the phases' probes take the first batch, too."""
        self._kept = super().synthetic(batches)
        return self._kept

    def batches(self, batches):
        """As alone; the phases' probes take the first batch."""
        self._kept = super().synthetic(batches)
        return super().batches(batches)


class _Losses(torch.nn.Module):
    """A model as DistributedDataParallel takes it: its weights, and the loss of a batch."""

    def __init__(self, net, loss):
        super().__init__()
        self.net, self._loss = net, loss

    def forward(self, batch):
        """The loss."""
        return self._loss(batch)
