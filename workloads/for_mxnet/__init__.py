"""Image tasks in gluon, one file for MXNet 1.7 (Python 3.6) and 1.9 (Python 3.11)."""
import contextlib
import ctypes
import os

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet.contrib import amp

from workloads import data
from workloads.errors import Unsupported
from workloads.for_mxnet import model, optimizers
from workloads.spec import layers, tasks

NAME = "mxnet"
_RUNNING = {"mean": "running_mean", "variance": "running_var"}
_OUT_OF_MEMORY = ("out of memory", "Memory allocation failed", "bad_alloc", "Failed to allocate")


def facts(cell):
    """What only the framework knows about itself."""
    enabled = sorted(name for name, feature in mx.runtime.Features().items() if feature.enabled)
    return {
        "framework": NAME,
        "version": mx.__version__,
        "device": cell.device,
        "threads": _openmp_threads(),
        "inter_op_threads": int(os.environ.get("MXNET_CPU_WORKER_NTHREADS", "1")),
        "onednn": _uses_onednn(),
        "build": " ".join(enabled),
    }


def _openmp_threads():
    """The threads that an operator may use, as the OpenMP library that MXNet loaded says; None where it has none."""
    with open("/proc/self/maps") as file:
        paths = {line.split()[-1] for line in file if "/libgomp" in line or "/libomp" in line or "/libiomp" in line}
    return max((ctypes.CDLL(path).omp_get_max_threads() for path in paths), default=None)


def _uses_onednn():
    """Whether float32 operators go to oneDNN, which MXNet 1 calls MKLDNN."""
    return mx.runtime.Features().is_enabled("MKLDNN") and os.environ.get("MXNET_MKLDNN_ENABLED", "1") != "0"


class Workload:
    """A task's net with loss and optimizer, ready to train, infer and be checked."""

    def __init__(self, table, cell):
        _refuse(cell)
        self.loop = "eager" if cell.loop == "eager" else "hybridized"
        self.layout = "nchw"
        self.precision = "amp (bfloat16)" if cell.precision == "amp" else cell.precision
        self._dtype = "float64" if cell.precision == "float64" else "float32"
        self._cell, self._device = cell, mx.gpu() if cell.device == "gpu" else mx.cpu()
        mx.random.seed(cell.seed)
        shape = tasks.input_shape(cell.image)
        self._net, self._blocks = model.build(table, shape)
        self._net.cast(self._dtype)
        self._net.initialize(ctx=self._device)
        self._own = _by_canonical_name(self._net.collect_params(), layers.parameters(table, shape))
        self._forward = _in_bfloat16(self._net) if cell.precision == "amp" else self._net
        self._loss = gluon.loss.SoftmaxCrossEntropyLoss()
        self._hybridize()
        self._trainer = gluon.Trainer(self._net.collect_params(), optimizers.of(cell), kvstore=None)

    def _hybridize(self):
        """Have the graphs built anew at the next call, where the loop has graphs."""
        for block in (self._forward, self._loss):
            block.hybridize(self.loop == "hybridized", static_alloc=True, static_shape=True)

    def parameters(self):
        """How many numbers the optimizer updates, as gluon counts them."""
        return sum(int(np.prod(own.shape)) for own in self._own.values() if own.grad_req != "null")

    def load(self, weights):
        """Take the arrays of every parameter and running statistic by canonical name; gluon's layouts are the same."""
        for name, array in weights.items():
            self._own[name].set_data(mx.nd.array(array, dtype=self._dtype))

    def weights(self):
        """The arrays by canonical name."""
        return {name: own.data().asnumpy() for name, own in self._own.items()}

    def batches(self, images, labels):
        """Batches through gluon's DataLoader in the order given, over and over."""
        loader = gluon.data.DataLoader(gluon.data.ArrayDataset(images, labels), self._cell.batch, last_batch="discard",
                                       batchify_fn=self._batchify, num_workers=0)
        while True:
            yield from loader

    def _batchify(self, samples):
        images, labels = zip(*samples)
        return self._batch(np.stack(images), labels)

    def _batch(self, images, labels):
        """Pixels (n, 3, height, width) and labels (n,) on the device; gluon's loss takes labels in the logits' type."""
        return self._pixels(images), mx.nd.array(labels, self._device, self._dtype)

    def _pixels(self, images):
        return mx.nd.array(data.normalised(images, self._dtype), self._device, self._dtype)

    def synthetic(self, images, labels):
        """One batch, over and over, that already lies on the device."""
        batch = self._batch(images, labels)
        mx.nd.waitall()
        while True:
            yield batch

    def train(self, batches, count, watch):
        """That many steps; the handle is the loss of each sample."""
        share = self._share(self._cell.batch)
        for _ in range(count):
            watch.loading()
            images, labels = next(batches)
            watch.loaded()
            with autograd.record():
                losses = self._loss(self._forward(images), labels)
            losses.backward(share)
            self._trainer.step(1)
            watch.stepped(losses)

    def _share(self, count):
        """Each sample's share of the mean loss: backward alone would give the gradient of the sum.

        Trainer.step(count) would divide too, but by a float32 number, also in float64.
        """
        return mx.nd.full((count,), 1.0 / count, self._device, self._dtype)

    def infer(self, batches, count, watch):
        """That many forward passes in evaluation mode; the handle is the logits."""
        for _ in range(count):
            watch.loading()
            images, _ = next(batches)
            watch.loaded()
            watch.stepped(self._forward(images))

    def sync(self, handle):
        """Wait for all that the engine still has to do: the updates come after the loss."""
        mx.nd.waitall()

    def value(self, handle):
        """The mean loss as a float, or logits as an array."""
        array = handle.asnumpy()
        return float(array.mean()) if array.ndim == 1 else array

    def predict(self, images):
        """Logits (n, classes) in evaluation mode, a batch at a time."""
        size = self._cell.batch
        return np.concatenate([self._forward(self._pixels(images[first:first + size])).asnumpy()
                               for first in range(0, len(images), size)])

    def check(self, images, labels):
        """One update by the loop that is measured, dropout off; every place's activations from a pass before it."""
        if self._forward is not self._net:
            raise Unsupported("check in amp: MXNet's casts are in the graph, where a layer's output cannot be seen")
        pixels, targets = self._batch(images, labels)
        with self._no_dropout():
            activation = self._activations(pixels)
            with autograd.record():
                logits = self._net(pixels)
                losses = self._loss(logits, targets)
            losses.backward(self._share(len(labels)))
        gradient = {name: own.grad().asnumpy() for name, own in self._own.items() if own.grad_req != "null"}
        self._trainer.step(1)
        return {"activation": activation, "logits": logits.asnumpy(), "loss": self.value(losses),
                "gradient": gradient, "weight": self.weights()}

    @contextlib.contextmanager
    def _no_dropout(self):
        """Rates are part of a graph, so it is built anew before and after."""
        rates = {block: block._rate for block in self._blocks.values() if isinstance(block, gluon.nn.Dropout)}
        for block in rates:
            block._rate = 0
        self._hybridize()
        yield
        for block, rate in rates.items():
            block._rate = rate
        self._hybridize()

    def _activations(self, pixels):
        """Every place's output in training mode by path; running statistics are left as they were."""
        found, before = {}, self.weights()
        self._net.hybridize(False)            # only then do inner blocks run by themselves and call their hooks
        hooks = [block.register_forward_hook(_keeping(found, path)) for path, block in self._blocks.items()]
        with autograd.train_mode():
            self._net(pixels)
        for hook in hooks:
            hook.detach()
        self.load(before)
        self._hybridize()
        return {path: out.asnumpy() for path, out in found.items()}


def _keeping(found, path):
    def hook(block, inputs, output):
        found[path] = output
    return hook


def _refuse(cell):
    """Raise Unsupported for what this stack cannot do."""
    if cell.device == "gpu" and not mx.context.num_gpus():
        raise Unsupported("device gpu: this MXNet sees none")
    if cell.loop not in ("native", "graph", "eager"):
        raise Unsupported("loop %s: gluon has a hybridized loop (graph) and an eager one" % cell.loop)
    if cell.layout == "nhwc":
        raise Unsupported("layout nhwc: MXNet's convolution on a CPU takes only NCHW")
    if cell.precision == "tf32":
        raise Unsupported("precision tf32: MXNet has no switch for it, and a CPU no such numbers")
    if cell.precision == "amp" and (cell.device == "gpu" or cell.loop == "eager" or not _uses_onednn()):
        raise Unsupported("precision amp: MXNet's casts to bfloat16 need oneDNN on a CPU and the hybridized loop")
    if cell.onednn != "default" and _uses_onednn() != (cell.onednn == "on"):
        raise Unsupported("onednn %s: not in this build, or MXNET_MKLDNN_ENABLED was not set to say so before MXNet "
                          "was imported" % cell.onednn)


def _by_canonical_name(found, parameters):
    """gluon's Parameter of each of the table's, by the table's name."""
    own = {}
    for parameter in parameters:
        path, kind = parameter.name.rsplit(".", 1)
        own[parameter.name] = found[layers.join(path, _RUNNING.get(kind, kind))]
    return own


def _in_bfloat16(net):
    """The net with MXNet's list of casts in its graph, sharing its float32 parameters; float32 logits.

    amp.init does the same to every net that is built later in the process. bfloat16 needs no scaling of the loss: its
    exponents are float32's. float16 does not run on a CPU ("FP16 gemm on cpu not implemented").
    """
    pixels = mx.sym.var("pixels", dtype="float32")
    logits = amp.convert_symbol(net(pixels), "bfloat16", data_names=["pixels"])
    return gluon.SymbolBlock(mx.sym.amp_cast(logits, dtype="float32"), pixels, params=net.collect_params())


def unbiased_variance(cell):
    """Whether the running variance grows by n / (n - 1) times the batch's variance, tried on four numbers."""
    norm = gluon.nn.BatchNorm(momentum=0.0, in_channels=1)
    norm.initialize()
    with autograd.train_mode():
        norm(mx.nd.array([0.0, 1.0, 2.0, 3.0]).reshape((4, 1, 1, 1))).wait_to_read()
    return float(norm.running_var.data().asscalar()) > 1.4       # 1.25, or 5/3


def is_oom(error):
    """Whether an error says that memory ran out."""
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, mx.base.MXNetError) and any(words in str(error) for words in _OUT_OF_MEMORY)
