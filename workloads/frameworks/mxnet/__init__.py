"""MXNet as evenbench measures it: gluon, hybridized and eager. MXNet 1.7 (Python 3.6) and 1.9 (Python 3.11)."""
import contextlib
import itertools

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon

from workloads.frameworks import contract
from workloads.frameworks.mxnet import model, optimizers, settings
from workloads.frameworks.mxnet.graphs import in_bfloat16
from workloads.frameworks.mxnet.profiling import operators
from workloads.frameworks.mxnet.steps import Steps
from workloads.inputs import images as data
from workloads.inputs import loading, passes
from workloads.inputs.records import PROCESSES, Samples, without_end
from workloads.process import errors
from workloads.spec import layers, tasks

NAME = "mxnet"

_RUNNING = {"mean": "running_mean", "variance": "running_var"}


def facts(cell):
    """What MXNet says of itself."""
    return dict({
        "framework": NAME,
        "version": mx.__version__,
        "device": cell.device,
        "threads": settings.threads(),
        "inter_op_threads": settings.inter_op_threads(),
        "onednn": settings.uses_onednn(),
        "build": " ".join(sorted(name for name, feature in mx.runtime.Features().items() if feature.enabled)),
    }, **settings.gpu_facts() if cell.device == "gpu" else {})


def device_peak_bytes(cell):
    """{}: MXNet 1 does not tell."""
    return {}


def is_oom(error):
    """Whether an exception says that memory, the host's or the device's, ran out."""
    return errors.is_out_of_memory(error, mx.base.MXNetError)


def unbiased_variance(cell):
    """Whether a running variance is n / (n - 1) times the batch's, seen on the two values 0 and 4 of variance 4."""
    norm = gluon.nn.BatchNorm(momentum=0.0, in_channels=1)
    norm.initialize()
    with autograd.record():
        normed = norm(mx.nd.array([0.0, 4.0]).reshape((2, 1, 1, 1)))
    normed.backward()                          # only there does MXNet update running statistics
    return bool(norm.running_var.data().asscalar() > 6.0)


class Workload(Steps, contract.Images):
    """A table's net, its loss and optimizer, as a cell says. Raises errors.Unsupported.

    With a key-value store the optimizer runs on its servers.
    """

    loader = "gluon's DataLoader, %d processes" % PROCESSES

    def __init__(self, table, cell, store=None):
        settings.apply(cell)
        self.cell = cell
        self.loop, self.precision = settings.loop(cell), settings.precision(cell)
        self.layout = settings.layout(cell)
        self._device = settings.device(cell)
        self.attention = settings.attention(cell)
        self._numbers = "float64" if cell.precision == "float64" else "float32"
        mx.random.seed(cell.seed)
        np.random.seed(cell.seed % 2 ** 32)       # gluon shuffles by numpy's
        shape = tasks.input_shape(cell.image)
        self._net, self._blocks = model.build(table, shape)
        self._net.cast(self._numbers)
        self._net.initialize(ctx=self._contexts())
        self._own = _by_canonical_name(self._net.collect_params(), layers.parameters(table, shape))
        self._loss = gluon.loss.SoftmaxCrossEntropyLoss()
        self._hybridize()
        self._updated = _alike_together(self._own)
        self._trainer = gluon.Trainer(self._updated, optimizers.of(cell), kvstore=store)

    def _contexts(self):
        """Where the arrays lie."""
        return [self._device]

    def _hybridize(self, **bulks):
        """Have the graphs built anew at the next call, where the loop has graphs."""
        self._forward = _in_bfloat16(self._net) if self.cell.precision == "amp" else self._net
        for block in (self._forward, self._loss):
            block.hybridize(self.loop == "hybridized", static_alloc=True, static_shape=True, **bulks)

    def parameters(self):
        """How many numbers the optimizer updates, as gluon counts them."""
        return sum(int(np.prod(own.shape)) for own in self._own.values() if own.grad_req != "null")

    def load(self, weights):
        """Take the arrays of every parameter and running statistic by canonical name; gluon's layouts are the same."""
        for name, array in weights.items():
            self._own[name].set_data(mx.nd.array(array, dtype=self._numbers))

    def weights(self):
        """The arrays by canonical name."""
        return {name: own.list_data()[0].asnumpy() for name, own in self._own.items()}

    def batches(self, images, labels):
        """Normalised batches on the device, over and over, in the cell's order; a rest is dropped."""
        orders = loading.orders(self.cell, len(labels), self._shuffled(len(labels)))
        return self._fed(loading.gathered(self._native(images, labels), orders, self.cell.batch))

    def passes(self, images, labels, ahead):
        """The same pass by pass: each in the order, and with the moves, that the Passes say."""
        images, labels = self._native(passes.around(images, ahead.moves), labels)
        return self._fed(ahead.batches(images, labels, self.cell, self._shuffled(len(labels))))

    def _native(self, images, labels):
        """Images normalised, and labels in the logits' type, which gluon's loss wants."""
        return data.normalised(images, self._numbers), labels.astype(self._numbers)

    def _shuffled(self, count):
        """A function that gives gluon's own order of a pass."""
        sampler = gluon.data.RandomSampler(count)
        return lambda: np.fromiter(sampler, np.int64, count)

    def _fed(self, batches):
        """The batches of arrays on the device; for a GPU, through pinned memory."""
        if self.cell.device == "gpu":
            batches = loading.ahead(tuple(mx.nd.array(array, mx.cpu_pinned(), self._numbers) for array in batch)
                                    for batch in batches)
        return (self._placed(*batch) for batch in batches)

    def loaded(self, records):
        """Batches that gluon's DataLoader reads, over and over."""
        samples = Samples(records, self.cell.image, self._numbers, labels=np.dtype(self._numbers).type)
        loader = gluon.data.DataLoader(samples, self.cell.batch, self.cell.order == "framework", last_batch="discard",
                                       num_workers=PROCESSES, pin_memory=self.cell.device == "gpu")
        return (tuple(array.as_in_context(self._device) for array in batch) for batch in without_end(loader))

    def synthetic(self, images, labels):
        """One batch that lies on the device, over and over."""
        return itertools.repeat(self._batch(images, labels))

    def _batch(self, images, labels):
        return self._placed(data.normalised(images, self._numbers), labels)

    def _placed(self, images, labels):
        """Both on the device; gluon's loss takes labels in the logits' type. A CPU uses numpy's own memory."""
        if self.cell.device == "cpu":
            return tuple(mx.nd.from_numpy(array.astype(self._numbers, copy=False)) for array in (images, labels))
        return tuple(array.as_in_context(self._device) if isinstance(array, mx.nd.NDArray)
                     else mx.nd.array(array, self._device, self._numbers) for array in (images, labels))

    def _head(self):
        return self._share(self.cell.batch)

    def _losses(self, images, labels):
        return self._loss(self._forward(images), labels)

    def _answer(self, images, labels):
        return self._forward(images)

    def profile(self, batches, warmup, steps):
        """See Steps."""
        return operators.with_kind(super().profile(batches, warmup, steps), self._net)

    def _share(self, count):
        """Each sample's share of the mean loss: backward alone would give the gradient of the sum.

        Trainer.step(count) would divide too, but by a float32 number, also in float64.
        """
        return mx.nd.full((count,), 1.0 / count, self._device, self._numbers)

    def predict(self, images):
        """The logits (n, classes) of uint8 images in evaluation mode, a batch at a time."""
        logits = []
        for first in range(0, len(images), self.cell.batch):
            some = images[first:first + self.cell.batch]
            logits.append(self._forward(self._batch(some, np.zeros(len(some)))[0]).asnumpy())
        return np.concatenate(logits)

    def check(self, images, labels):
        """One update by the loop that is measured, dropout off; every place's activations from a pass before it."""
        pixels, targets = self._batch(images, labels)
        with self._no_dropout():
            # amp's graph does not show a layer's output
            activation = self._activations(pixels) if self._forward is self._net else {}
            with autograd.record():
                logits = self._forward(pixels)
                losses = self._loss(logits, targets)
            losses.backward(self._share(len(labels)))
        gradient = {name: own.grad() for name, own in self._own.items() if own.grad_req != "null"}
        checked = self._seen(losses, gradient)
        self._trainer.step(1)
        return dict(checked, activation=activation, logits=logits.asnumpy(), weight=self.weights())

    def _seen(self, losses, gradient):
        """The mean loss and the gradient as they leave a check."""
        return {"loss": self.value(losses), "gradient": {name: array.asnumpy() for name, array in gradient.items()}}

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
        """Every place's output in training mode by path; without a backward pass running statistics stay."""
        outputs = {}
        self._net.hybridize(False)            # only then do inner blocks run by themselves and call their hooks
        hooks = [block.register_forward_hook(_keeping(outputs, path)) for path, block in self._blocks.items()]
        with autograd.train_mode():
            self._net(pixels)
        for hook in hooks:
            hook.detach()
        self._hybridize()
        return {path: out.asnumpy() for path, out in outputs.items()}


def _keeping(outputs, path):
    def hook(block, inputs, output):
        outputs[path] = output
    return hook


def _by_canonical_name(native, parameters):
    """gluon's Parameter of each of the table's, by the table's name."""
    own = {}
    for parameter in parameters:
        path, kind = parameter.name.rsplit(".", 1)
        own[parameter.name] = native[layers.join(path, _RUNNING.get(kind, kind))]
    return own


def _alike_together(own):
    """gluon's Parameters by kind: beta, bias, gamma, weight.

    MXNet updates four at once, one behind the other in the order that it is given, or else of their names. gluon's own
    names bring those of a kind together; by our paths a large weight comes with small vectors, and ResNet-50's update
    took 77 ms in place of 46 (gluon's own: 60).
    """
    return [own[name] for name in sorted(own, key=lambda name: name.rsplit(".", 1)[-1])]


def _in_bfloat16(net):
    """The net by a graph with casts, sharing its float32 parameters; float32 logits."""
    pixels = mx.sym.var("pixels", dtype="float32")
    return gluon.SymbolBlock(in_bfloat16(net(pixels), ["pixels"]), pixels, params=net.collect_params())
