"""PyTorch as evenbench measures it: eager and compiled, on a CPU or one GPU. PyTorch 1.4 and later, Python 3.6."""
import itertools

import numpy as np
import torch
from torch import nn

from workloads.frameworks import contract
from workloads.frameworks.pytorch import model, settings
from workloads.frameworks.pytorch.steps import Steps, array, no_gradients
from workloads.inputs import images as data
from workloads.inputs import loading, passes
from workloads.inputs.records import PROCESSES, Samples, without_end
from workloads.process import errors
from workloads.spec import layers, tasks
from workloads.spec.measures import FORWARD

NAME = "pytorch"


def facts(cell):
    """What PyTorch says of itself, once the cell's Workload is built."""
    return dict({
        "framework": NAME,
        "version": torch.__version__,
        "device": torch.cuda.get_device_name(0) if cell.device == "gpu" else "cpu",
        "threads": torch.get_num_threads(),
        "inter_op_threads": torch.get_num_interop_threads(),
        "onednn": torch.backends.mkldnn.is_available() and bool(torch.backends.mkldnn.enabled),
        "build": _build(),
    }, **settings.gpu_facts() if cell.device == "gpu" else {})


def device_peak_bytes(cell):
    """The most that PyTorch's allocator held for tensors, and in all with its cache, on one GPU; {} on a CPU."""
    if cell.device != "gpu" or not hasattr(torch.cuda, "max_memory_reserved"):
        return {}
    gpus = range(torch.cuda.device_count())
    return {"allocated": max(torch.cuda.max_memory_allocated(gpu) for gpu in gpus),
            "reserved": max(torch.cuda.max_memory_reserved(gpu) for gpu in gpus)}


def _build():
    """The libraries that PyTorch was built with, without its compiler's flags."""
    shown = torch.__config__.show().split("Build settings")[0].splitlines()[1:]
    return "; ".join(line.strip(" -") for line in shown if line.strip(" -"))


def is_oom(error):
    """Whether an exception says that memory, the host's or the device's, ran out."""
    return errors.is_out_of_memory(error, RuntimeError)


def unbiased_variance(cell):
    """Whether a running variance is n / (n - 1) times the batch's, seen on the two values 0 and 2 of variance 1."""
    norm = nn.BatchNorm2d(1, momentum=1.0)
    norm(torch.tensor([0.0, 2.0]).reshape(2, 1, 1, 1))
    return bool(norm.running_var.item() > 1.5)


class Workload(Steps, contract.Images):
    """A table's model, its loss and optimizer, as a cell says. Raises errors.Unsupported."""

    loader = "DataLoader, %d processes" % PROCESSES

    def __init__(self, table, cell):
        settings.apply(cell)
        self.cell = cell
        self._device = settings.device(cell)
        self.loop, self.precision = settings.loop(cell), settings.precision(cell)
        self._numbers = "float64" if cell.precision == "float64" else "float32"
        dtype = getattr(torch, self._numbers)
        self.layout = settings.layout(cell, self._device, dtype)
        self._format = torch.channels_last if self.layout == "nhwc" else torch.contiguous_format
        torch.manual_seed(cell.seed)
        self._leaves = layers.leaves(table, tasks.input_shape(cell.image))
        self._parameters = layers.parameters(table, tasks.input_shape(cell.image))
        self._net = model.build(table, tasks.input_shape(cell.image)).to(self._device, dtype)
        self._net = self._net.to(memory_format=self._format)
        self.attention = settings.attention(cell)
        if self.attention == settings.FUSED:
            model.fuse_attention(self._net)
        if cell.measure not in FORWARD:              # to make one takes PyTorch 2 a second
            self._optimize(settings.optimizer(cell, self._net.parameters()))
        self._forward = self._module()
        self._loss = self._cross_entropy
        if cell.precision == "amp":
            autocast = torch.autocast(self._device.type, dtype=torch.bfloat16)
            self._forward, self._loss = autocast(self._forward), autocast(self._loss)

    def _module(self):
        """What a batch is given to: the net, compiled where the loop says so."""
        if not settings.is_compiled(self.cell):
            return self._net
        return settings.compiled(self._net, self.cell)

    def load(self, weights):
        """Copy the arrays of every parameter and running statistic, by canonical name, into the net."""
        with torch.no_grad():
            for name, tensor in model.tensors(self._net, self._parameters).items():
                tensor.copy_(torch.from_numpy(weights[name]))

    def weights(self):
        """Copies of the arrays by canonical name."""
        return {name: array(tensor) for name, tensor in model.tensors(self._net, self._parameters).items()}

    def batches(self, images, labels):
        """Normalised batches on the device, over and over, in the cell's order; a rest is dropped."""
        orders = loading.orders(self.cell, len(labels), lambda: torch.randperm(len(labels)).numpy())
        return self._fed(loading.gathered((self._native(images), labels), orders, self.cell.batch, self._empty))

    def passes(self, images, labels, ahead):
        """The same pass by pass: each in the order, and with the moves, that the Passes say."""
        images = self._native(passes.around(images, ahead.moves))
        return self._fed(ahead.batches(images, labels, self.cell, lambda: torch.randperm(len(labels)).numpy(),
                                       self._empty))

    def _native(self, images):
        """uint8 images normalised, and in the order in which the net has them in memory."""
        return data.normalised(images if self.layout == "nchw" else images.transpose(0, 2, 3, 1), self._numbers, "C")

    def _empty(self, shape, dtype):
        """An array in memory that PyTorch aligned, pinned where a GPU copies it."""
        return torch.empty(shape, dtype=getattr(torch, str(dtype)), pin_memory=self._device.type == "cuda").numpy()

    def _fed(self, batches):
        """The batches of arrays on the device; what _empty made stays where it is until it is copied there."""
        batches = loading.for_device(self.cell, batches)
        return (self._placed(self._canonical(torch.from_numpy(images)), torch.from_numpy(labels))
                for images, labels in batches)

    def _canonical(self, images):
        """The same memory seen as (n, 3, height, width)."""
        return images if self.layout == "nchw" else images.permute(0, 3, 1, 2)

    def loaded(self, records):
        """Batches that a DataLoader reads, over and over."""
        samples = Samples(records, self.cell.image, self._numbers, self.layout)
        loader = torch.utils.data.DataLoader(
            samples, self.cell.batch, shuffle=self.cell.order == "framework", drop_last=True, num_workers=PROCESSES,
            pin_memory=self._device.type == "cuda", multiprocessing_context="fork")     # who opened files shares them
        return (self._placed(self._canonical(images), labels) for images, labels in without_end(loader))

    def synthetic(self, images, labels):
        """One batch that lies on the device, over and over."""
        images, labels = self._batch(images, labels)
        return itertools.repeat((images.clone(), labels))     # in memory that PyTorch aligned, as its own loaders' is

    def _batch(self, images, labels):
        return self._placed(torch.from_numpy(data.normalised(images, self._numbers)), torch.from_numpy(labels))

    def _placed(self, images, labels):
        """Both on the device, the images in the net's layout; no copy where they already are."""
        images = images.to(self._device, non_blocking=True, memory_format=self._format)
        return images, labels.to(self._device, non_blocking=True)

    def _answer(self, images, labels):
        return self._forward(images)

    def _cross_entropy(self, images, labels):
        return nn.functional.cross_entropy(self._forward(images), labels)

    def predict(self, images):
        """The logits (n, classes) of uint8 images in evaluation mode, a batch at a time."""
        self._net.eval()
        logits = []
        with no_gradients():
            for first in range(0, len(images), self.cell.batch):
                some = images[first:first + self.cell.batch]
                logits.append(array(self._forward(self._batch(some, np.zeros(len(some), np.int64))[0])))
        return np.concatenate(logits)

    def check(self, images, labels):
        """One update in training mode without dropout: every activation, logits, loss, gradients, new weights.

        A compiled net has no activations of its own: there they are left out.
        """
        self._net.train()
        for module in self._net.modules():
            if isinstance(module, nn.Dropout):
                module.eval()
        activations = {}
        images, labels = self._batch(images, labels)
        hooks = self._hooks(activations)
        logits = self._forward(images)
        for hook in hooks:
            hook.remove()
        loss = nn.functional.cross_entropy(logits.float() if logits.dtype == torch.bfloat16 else logits, labels)
        self._optimizer.zero_grad(**self._clearing)
        loss.backward()
        self._exchange()
        own = model.tensors(self._net, self._parameters)
        gradients = {p.name: array(own[p.name].grad) for p in self._parameters if p.is_trainable}
        self._optimizer.step()
        return {"activation": activations, "logits": array(logits), "loss": self.value(loss.detach()),
                "gradient": gradients, "weight": self.weights()}

    def _hooks(self, activations):
        """Hooks that copy each place's output into activations, before a later layer overwrites it in place."""
        if settings.is_compiled(self.cell):
            return []
        modules = dict(self._net.named_modules())
        return [modules[leaf.path].register_forward_hook(_keeping(activations, leaf.path)) for leaf in self._leaves]


def _keeping(activations, path):
    def hook(module, inputs, output):
        activations[path] = array(output)
    return hook
