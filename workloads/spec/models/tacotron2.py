"""Tacotron 2's sequence-to-sequence part, characters to mel spectrogram (Shen et al. 2018), as dai2022 has it.

    1. encoder: embedding of the characters; 3 convolutions of 5 taps, each with batch normalisation, rectifier, dropout
       0.5; one LSTM layer both ways, each way from the sequence's own ends, outputs side by side
    2. prenet of the frame before (teacher forcing, zeros first): twice a product without bias, rectifier, dropout 0.5
    3. each step: h1 = LSTM layer of [prenet, context], h2 = LSTM layer of h1, dropout 0.1 behind both for zoneout
    4. attention of h2 over the encoder's outputs, location-sensitive (Chorowski et al. 2015): score = v . tanh(query h2
       + key x + location of a convolution of 31 taps over the weights before and over their sum so far), then softmax
       over the characters without padding; context = the mean of x by these weights
    5. frame = dense of [h2, context]; stop = dense of the same, one number
    6. postnet: 5 convolutions of 5 taps with batch normalisation, tanh (not the last), dropout 0.5; added to the frames
    7. loss: mean squared error of frames before and after the postnet, plus the stop's binary cross-entropy (1 from a
       sample's last frame on), each the mean over real frames

dai2022: "the decoder is two LSTM layers followed by attention", which is how the public TensorFlow implementation of
Rayhane-mamah has it; the public PyTorch one of NVIDIA (28,193,153 parameters) has attention between the layers, so that
the second takes [h1, context]. Dimensions are those that both share. Batch normalisation counts padding; its running
variance is the biased one. Python 3.6 and later, standard library only.
"""
from typing import NamedTuple

from workloads.spec.data.framing import LJSPEECH
from workloads.spec.layers import Parameter
from workloads.spec.models.deepspeech2 import norm
from workloads.spec.models.lstm import gates

DATA = "ljspeech"
EPSILON, DECAY = 1e-5, 0.9
DROPOUT, LSTM_DROPOUT = 0.5, 0.1
TAPS, CONVOLUTIONS, POST_CONVOLUTIONS = 5, 3, 5
PADDING_BIAS = -10000.0          # on a padded character's score: exp() of it is 0


class Sizes(NamedTuple):
    """Characters known, numbers of each, LSTM units of the encoder each way, of the decoder, and the other widths."""

    symbols: int
    embedding: int
    encoder: int
    prenet: int
    decoder: int
    attention: int
    filters: int
    taps: int                  # of the location's convolution
    post: int
    bins: int
    length: int                # frames of the longest sample


# 148 symbols: NVIDIA's table; 10.10 s, LJSpeech's longest
PRESETS = {"small": Sizes(148, 32, 32, 32, 32, 16, 4, 7, 32, LJSPEECH.bins, 40),
           "study": Sizes(148, 512, 256, 256, 1024, 128, 32, 31, 512, LJSPEECH.bins, 866)}


def parameters(sizes):
    """As spec.sequence_tasks says."""
    memory, both = 2 * sizes.encoder, sizes.decoder + 2 * sizes.encoder
    encoder = (Parameter("embedding.weight", "weight", (sizes.symbols, sizes.embedding)),)
    for index in range(CONVOLUTIONS):
        encoder += _convolution("encoder.conv.%d" % index, sizes.embedding, sizes.embedding)
    for way in ("forward", "backward"):
        encoder += gates("encoder.lstm." + way, sizes.embedding, sizes.encoder)
    decoder = (Parameter("prenet.0.weight", "weight", (sizes.prenet, sizes.bins)),
               Parameter("prenet.1.weight", "weight", (sizes.prenet, sizes.prenet)))
    decoder += gates("decoder.0", sizes.prenet + memory, sizes.decoder)
    decoder += gates("decoder.1", sizes.decoder, sizes.decoder)
    attention = tuple(Parameter("attention." + name, "weight", shape) for name, shape in (
        ("query.weight", (sizes.attention, sizes.decoder)), ("key.weight", (sizes.attention, memory)),
        ("filter.weight", (sizes.filters, 2, sizes.taps)), ("location.weight", (sizes.attention, sizes.filters)),
        ("score.weight", (1, sizes.attention))))
    heads = (Parameter("frame.weight", "weight", (sizes.bins, both)), Parameter("frame.bias", "bias", (sizes.bins,)),
             Parameter("stop.weight", "weight", (1, both)), Parameter("stop.bias", "bias", (1,)))
    post = ()
    for index in range(POST_CONVOLUTIONS):
        post += _convolution("post.%d" % index, *post_channels(sizes, index))
    return encoder + decoder + attention + heads + post


def post_channels(sizes, index: int):
    """(in, out) of a convolution of the postnet."""
    return (sizes.bins if index == 0 else sizes.post, sizes.bins if index == POST_CONVOLUTIONS - 1 else sizes.post)


def _convolution(name: str, channels, filters):
    return (Parameter(name + ".weight", "weight", (filters, channels, TAPS)),
            Parameter(name + ".bias", "bias", (filters,))) + norm(name + ".norm", filters)


def characters(sizes):
    """The characters of a sample of full length, for FLOPs: LJSpeech has 1,308,678 in 86,117 s."""
    return max(1, round(sizes.length * LJSPEECH.hop / LJSPEECH.rate * 1308678.0 / 86117.0))


def forward_flops(sizes):
    """As spec.sequence_tasks says."""
    text, memory = characters(sizes), 2 * sizes.encoder
    encoder = text * (CONVOLUTIONS * TAPS * sizes.embedding ** 2
                      + 2 * 4 * sizes.encoder * (sizes.embedding + sizes.encoder) + sizes.attention * memory)
    layers = 4 * sizes.decoder * (sizes.prenet + memory + sizes.decoder) + 8 * sizes.decoder ** 2
    attention = sizes.attention * sizes.decoder + text * (
        2 * sizes.taps * sizes.filters + sizes.filters * sizes.attention + sizes.attention + memory)
    step = (sizes.prenet * (sizes.bins + sizes.prenet) + layers + attention
            + (sizes.bins + 1) * (sizes.decoder + memory))
    post = sum(TAPS * channels * filters for channels, filters in
               (post_channels(sizes, index) for index in range(POST_CONVOLUTIONS)))
    return 2 * (encoder + sizes.length * (step + post))
