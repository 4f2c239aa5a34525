"""GNMT, translation by LSTM layers with attention, in its second public form (Wu et al. 2016; "GNMT v2").

    1. encoder: x = embedding of the source; layer 0 goes over it both ways, each way from the sequence's own ends, and
       its outputs lie side by side; layer 1 makes one width of them; from layer 2 on x = layer(x) + x
    2. decoder: y = layer 0 over the embedding of the target, moved by one (teacher forcing), from zeros
    3. attention of each y over the encoder's x (Bahdanau et al. 2015, normed as Salimans and Kingma 2016):
       score = gain v / |v| . tanh(query y + key x + bias), softmax over the source without its padding; context = the
       mean of x by these weights
    4. decoder layer 1: y = layer([y, context]); from layer 2 on y = layer([y, context]) + y
    5. logits = classifier of y; loss: cross-entropy with label smoothing 0.1, (1 - 0.1) times the target's and 0.1
       times the mean over all tokens, mean over the target tokens without padding

Dropout 0.2 on what goes into each LSTM layer, not on the context. Source: the PyTorch reference of MLPerf training 0.6
(rnn_translator, which is NVIDIA's GNMT v2), where attention is fed from the decoder's first layer to all later ones,
unlike the paper's; one embedding serves source and target. It divides the summed loss by the samples, not by the target
tokens: a factor of the learning rate. "MLPerf GNMT has 160,671,297 parameters": ours has one bias an LSTM layer where
PyTorch has two, 9 x 4 x 1024 fewer. Python 3.6 and later, standard library only.
"""
from typing import NamedTuple

from workloads.spec.layers import Parameter
from workloads.spec.models.lstm import gates

DATA = "wmt16"
SIDES = 2                      # source and target
DROPOUT = 0.2
SMOOTHING = 0.1
PADDING_BIAS = -10000.0        # on a padded source token's score: exp() of it is 0
PAD, UNKNOWN, BEGIN, END = range(4)       # the marks' ids as in the reference's vocabulary; words come after them
FIRST_WORD = 4


class Sizes(NamedTuple):
    """LSTM layers of encoder and of decoder, units of each and numbers a token, tokens known."""

    layers: int
    units: int
    vocabulary: int
    length: int                # tokens of the longest sequence, source or target, its end mark counted


# 32,317 byte pairs and marks of WMT'16 EN-DE, to the next multiple of 8, as the reference pads them for tensor cores
PRESETS = {"small": Sizes(4, 64, 1000, 24), "study": Sizes(4, 1024, 32320, 50)}


def parameters(sizes):
    """As spec.sequence_tasks says."""
    units = sizes.units
    encoder = (gates("encoder.0.forward", units, units) + gates("encoder.0.backward", units, units)
               + gates("encoder.1", 2 * units, units))
    decoder = gates("decoder.0", units, units)
    for index in range(2, sizes.layers):
        encoder += gates("encoder.%d" % index, units, units)
    for index in range(1, sizes.layers):
        decoder += gates("decoder.%d" % index, 2 * units, units)
    return ((Parameter("embedding.weight", "weight", (sizes.vocabulary, units)),) + encoder + decoder
            + _attention("attention", units) + (
                Parameter("classifier.weight", "weight", (sizes.vocabulary, units)),
                Parameter("classifier.bias", "bias", (sizes.vocabulary,))))


def _attention(name: str, units):
    return (Parameter(name + ".query.weight", "weight", (units, units)),
            Parameter(name + ".key.weight", "weight", (units, units)),
            Parameter(name + ".bias", "bias", (units,)),
            Parameter(name + ".score.weight", "weight", (1, units)),
            Parameter(name + ".score.gain", "gamma", (1,)))


def forward_flops(sizes):
    """As spec.sequence_tasks says: source and target of full length, each with its LSTM layers."""
    length, units = sizes.length, sizes.units
    encoder = 2 * _lstm(units, units) + _lstm(2 * units, units) + (sizes.layers - 2) * _lstm(units, units)
    decoder = _lstm(units, units) + (sizes.layers - 1) * _lstm(2 * units, units)
    attention = 2 * units * units + 2 * length * units              # query and key; scores and context
    return 2 * length * (encoder + decoder + attention + units * sizes.vocabulary)


def _lstm(inputs, units):
    """Multiply-adds of a layer's step."""
    return 4 * units * (inputs + units)
