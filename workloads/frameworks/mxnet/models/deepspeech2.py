"""Deep Speech 2 (spec/models/deepspeech2.py) in MXNet. From step 2 on everything is (time, batch, numbers)."""
import mxnet as mx
import numpy as np

from workloads.frameworks.mxnet.models.blocks import batch_norm, conv2d, dense, masked
from workloads.frameworks.mxnet.models.recurrent import lstm
from workloads.process.errors import Unsupported
from workloads.spec.models.deepspeech2 import CLIP, DECAY, EPSILON, WINDOWS


def arrange(batch):
    """As it is."""
    return batch


def forward(weights, batch, sizes, mode):
    """Logits (time, batch, labels)."""
    x = mode.keep("conv", convolutions(weights, batch["frames"], batch["steps"], mode))
    for index in range(sizes.layers):
        x = mode.keep("lstm.%d" % index, both_ways(weights, "lstm.%d" % index, x, batch["steps"], mode, index))
    x = batch_norm(weights, "head.norm", x, EPSILON, DECAY, mode)
    return dense(weights, "head", x)


def convolutions(weights, frames, steps, mode):
    """Step 1: (time, batch, channels * bins)."""
    x = frames.expand_dims(1)
    for index, window in enumerate(WINDOWS):
        name = "conv.%d" % index
        x = masked(conv2d(weights, name, x, window.stride, window.pad), steps, 2)
        x = mx.nd.clip(batch_norm(weights, name + ".norm", x, EPSILON, DECAY, mode, axis=1), 0.0, CLIP)
        x = masked(x, steps, 2)
    return x.transpose((2, 0, 1, 3)).reshape((0, 0, -1))


def both_ways(weights, name, x, steps, mode, index):
    """A layer of step 2."""
    if index:
        x = batch_norm(weights, name + ".norm", x, EPSILON, DECAY, mode)
    return (lstm(weights, name + ".forward", x, mode, steps, time_major=True)
            + lstm(weights, name + ".backward", x, mode, steps, is_reversed=True, time_major=True))


def loss(logits, batch, sizes):
    """Step 4. Raises Unsupported: MXNet's operation is for float32."""
    if logits.dtype == np.float64:
        raise Unsupported("MXNet's CTCLoss has no float64 form: check it with --precision float32")
    text, steps, characters = (batch[name].astype(logits.dtype) for name in ("text", "steps", "characters"))
    return mx.nd.CTCLoss(logits, text, steps, characters, use_data_lengths=True, use_label_lengths=True,
                         blank_label="last").mean()
