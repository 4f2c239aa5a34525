"""Deep Speech 2 (spec/models/deepspeech2.py) in PyTorch. From step 2 on everything is (time, batch, numbers)."""
import torch
from torch import nn

from workloads.frameworks.pytorch.models.blocks import batch_norm, conv2d, dense, masked
from workloads.frameworks.pytorch.models.recurrent import lstm
from workloads.spec.models.deepspeech2 import CLIP, DECAY, EPSILON, WINDOWS


def arrange(batch):
    """The lengths twice: ctc_loss reads its own on the host."""
    return dict(batch, **{name + ".host": batch[name] for name in ("steps", "characters")})


def forward(weights, batch, sizes, mode):
    """Logits (time, batch, labels)."""
    x = mode.keep("conv", convolutions(weights, batch["frames"], batch["steps"], mode))
    for index in range(sizes.layers):
        x = mode.keep("lstm.%d" % index, both_ways(weights, "lstm.%d" % index, x, batch["steps"], mode, index))
    x = batch_norm(weights, "head.norm", x, EPSILON, DECAY, mode)
    return dense(weights, "head", x)


def convolutions(weights, frames, steps, mode):
    """Step 1: (time, batch, channels * bins)."""
    x = frames[:, None]
    for index, window in enumerate(WINDOWS):
        name = "conv.%d" % index
        x = masked(conv2d(weights, name, x, window.stride, window.pad), steps, 2)
        x = nn.functional.hardtanh(batch_norm(weights, name + ".norm", x, EPSILON, DECAY, mode, axis=1), 0.0, CLIP)
        x = masked(x, steps, 2)
    return x.permute(2, 0, 1, 3).flatten(2)


def both_ways(weights, name, x, steps, mode, index):
    """A layer of step 2."""
    if index:
        x = batch_norm(weights, name + ".norm", x, EPSILON, DECAY, mode)
    return (lstm(weights, name + ".forward", x, mode, steps, time_major=True)
            + lstm(weights, name + ".backward", x, mode, steps, is_reversed=True, time_major=True))


def loss(logits, batch, sizes):
    """Step 4."""
    log_p = nn.functional.log_softmax(logits.float() if logits.dtype == torch.bfloat16 else logits, -1)
    return nn.functional.ctc_loss(log_p, batch["text"], batch["steps.host"], batch["characters.host"],
                                  blank=sizes.labels - 1, reduction="none").mean()
