"""Deep Speech 2, speech to characters (Amodei et al. 2016), with LSTM layers, as dai2022 has it.

    1. spectrogram (time, bins); two convolutions over (time, bins) with batch normalisation and clipped rectifiers
       min(max(x, 0), 20); what lies past a sample's end is zero before and after each normalisation
    2. channels and bins side by side; LSTM layers both ways, each way from the sample's own ends, the ways added; batch
       normalisation of what goes into each but the first
    3. batch normalisation; logits = dense of every step: characters, and the blank last
    4. loss: connectionist temporal classification (Graves et al. 2006), -log p of the whole text, mean over the batch

Batch normalisation counts padded steps as zeros; its running variance is the biased one. Source of the dimensions: the
public PyTorch implementation deepspeech.pytorch (SeanNaren), five layers of 800 units, kernels of 11 steps by 41 and 21
bins with strides (2, 2) and (1, 2). It has no bias in its last layer, which ours has. Python 3.6 and later, standard
library only.
"""
from typing import NamedTuple

from workloads.spec.data.framing import LIBRISPEECH
from workloads.spec.layers import Parameter
from workloads.spec.models.lstm import gates

DATA = "librispeech"
EPSILON, DECAY = 1e-5, 0.9
CLIP = 20.0


class Window(NamedTuple):
    """A convolution's sizes over (time, bins)."""

    kernel: tuple
    stride: tuple
    pad: tuple


WINDOWS = (Window((11, 41), (2, 2), (5, 20)), Window((11, 21), (1, 2), (5, 10)))


class Sizes(NamedTuple):
    """Bins of a frame, channels of both convolutions, LSTM layers and their units, labels (the last is the blank)."""

    bins: int
    channels: int
    layers: int
    units: int
    labels: int
    length: int                # frames of the longest sample


# 26 letters, space, apostrophe, blank; 27.2 s, LibriSpeech's longest here
PRESETS = {"small": Sizes(LIBRISPEECH.bins, 4, 2, 32, 29, 120), "study": Sizes(LIBRISPEECH.bins, 32, 5, 800, 29, 2719)}


def slid(size, axis, windows=WINDOWS):
    """How many steps (axis 0) or bins (axis 1) are left after the convolutions of so many."""
    for window in windows:
        size = (size + 2 * window.pad[axis] - window.kernel[axis]) // window.stride[axis] + 1
    return size


def width(sizes):
    """Numbers of a step that goes into the LSTM layers."""
    return sizes.channels * slid(sizes.bins, 1)


def parameters(sizes):
    """As spec.sequence_tasks says."""
    listed, channels = (), 1
    for index, window in enumerate(WINDOWS):
        name = "conv.%d" % index
        listed += (Parameter(name + ".weight", "weight", (sizes.channels, channels) + window.kernel),
                  Parameter(name + ".bias", "bias", (sizes.channels,))) + norm(name + ".norm", sizes.channels)
        channels = sizes.channels
    inputs = width(sizes)
    for index in range(sizes.layers):
        name = "lstm.%d" % index
        listed += norm(name + ".norm", inputs) if index else ()
        listed += gates(name + ".forward", inputs, sizes.units) + gates(name + ".backward", inputs, sizes.units)
        inputs = sizes.units
    return listed + norm("head.norm", inputs) + (Parameter("head.weight", "weight", (sizes.labels, inputs)),
                                                Parameter("head.bias", "bias", (sizes.labels,)))


def norm(name: str, count: int):
    """The Parameters of a batch normalisation."""
    return tuple(Parameter(name + "." + kind, kind, (count,)) for kind in ("gamma", "beta", "mean", "variance"))


def forward_flops(sizes):
    """As spec.sequence_tasks says."""
    adds, channels, shape = 0, 1, [sizes.length, sizes.bins]
    for window in WINDOWS:
        shape = [slid(size, axis, (window,)) for axis, size in enumerate(shape)]
        adds += shape[0] * shape[1] * sizes.channels * channels * window.kernel[0] * window.kernel[1]
        channels = sizes.channels
    inputs = width(sizes)
    for _ in range(sizes.layers):
        adds += shape[0] * 2 * 4 * sizes.units * (inputs + sizes.units)
        inputs = sizes.units
    return 2 * (adds + shape[0] * sizes.labels * inputs)
