"""Tacotron 2 (spec/models/tacotron2.py) in MXNet. Convolutions are (batch, numbers, time), the decoder's steps
(time, batch, numbers)."""
import mxnet as mx

from workloads.frameworks.mxnet.models.blocks import batch_norm, conv1d, dense, dropout, embedding, linear
from workloads.frameworks.mxnet.models.recurrent import lstm, lstm_step
from workloads.spec.models.tacotron2 import (
    CONVOLUTIONS,
    DECAY,
    DROPOUT,
    EPSILON,
    LSTM_DROPOUT,
    PADDING_BIAS,
    POST_CONVOLUTIONS,
    TAPS,
)

nd = mx.nd


def arrange(batch):
    """As it is."""
    return batch


def forward(weights, batch, sizes, mode):
    """(frames after the postnet (batch, time, bins), frames before it, stops (batch, time))."""
    memory = mode.keep("encoder", encoder(weights, batch["text"], batch["characters"], mode))
    outputs = decoder(weights, memory, batch, sizes, mode)
    frames = mode.keep("frames", dense(weights, "frame", outputs))
    stops = mode.keep("stops", dense(weights, "stop", outputs).squeeze(axis=2))
    return frames + postnet(weights, frames.swapaxes(1, 2), mode).swapaxes(1, 2), frames, stops


def encoder(weights, text, characters, mode):
    """Step 1: (batch, characters, numbers)."""
    x = embedding(weights, "embedding", text).swapaxes(1, 2)
    for index in range(CONVOLUTIONS):
        x = dropout(nd.relu(convolution(weights, "encoder.conv.%d" % index, x, mode)), DROPOUT, mode)
    x = mode.keep("encoder.conv", x.swapaxes(1, 2))
    return nd.concat(lstm(weights, "encoder.lstm.forward", x, mode, characters),
                     lstm(weights, "encoder.lstm.backward", x, mode, characters, is_reversed=True), dim=2)


def convolution(weights, name, x, mode):
    """A convolution with its normalisation."""
    return batch_norm(weights, name + ".norm", conv1d(weights, name, x, TAPS // 2), EPSILON, DECAY, mode, axis=1)


def decoder(weights, memory, batch, sizes, mode):
    """Steps 2 to 4: [h2, context] of every step, (batch, time, numbers)."""
    x = batch["before"].swapaxes(0, 1)
    for index in range(2):
        x = dropout(nd.relu(linear(weights, "prenet.%d" % index, x)), DROPOUT, mode)
    key = linear(weights, "attention.key", memory)
    bias = (1 - batch["mask"]) * PADDING_BIAS
    zeros = nd.zeros((memory.shape[0], sizes.decoder), memory.context, memory.dtype)
    none = nd.zeros_like(bias)
    state = ((zeros, zeros), (zeros, zeros), nd.zeros_like(memory[:, 0]), none, none)
    outputs = []
    for now in x:
        output, state = step(weights, now, state, memory, key, bias, mode)
        outputs.append(output)
    return nd.stack(*outputs, axis=1)


def step(weights, x, state, memory, key, bias, mode):
    """([h2, context], the state after it): steps 3 and 4 of one frame, whose prenet is x (batch, numbers)."""
    first, second, context, share, shares = state
    first = lstm_step(weights, "decoder.0", nd.concat(x, context, dim=1), first, mode)
    first = (dropout(first[0], LSTM_DROPOUT, mode), first[1])
    second = lstm_step(weights, "decoder.1", first[0], second, mode)
    second = (dropout(second[0], LSTM_DROPOUT, mode), second[1])
    share = attended(weights, second[0], nd.stack(share, shares, axis=1), key, bias)
    context = nd.batch_dot(share.expand_dims(1), memory).squeeze(axis=1)
    return nd.concat(second[0], context, dim=1), (first, second, context, share, shares + share)


def attended(weights, query, before, key, bias):
    """Step 4: the share of each character, (batch, characters); before holds the last shares and their sum."""
    filters = weights["attention.filter.weight"]
    location = nd.Convolution(before, filters, kernel=filters.shape[2:], pad=(filters.shape[2] // 2,),
                              num_filter=filters.shape[0], no_bias=True).swapaxes(1, 2)
    score = nd.tanh(linear(weights, "attention.query", query).expand_dims(1) + key
                    + linear(weights, "attention.location", location))
    return nd.softmax(linear(weights, "attention.score", score).squeeze(axis=2) + bias)


def postnet(weights, x, mode):
    """Step 6, of x (batch, bins, time)."""
    for index in range(POST_CONVOLUTIONS):
        x = convolution(weights, "post.%d" % index, x, mode)
        x = dropout(nd.tanh(x) if index < POST_CONVOLUTIONS - 1 else x, DROPOUT, mode)
    return x


def loss(said, batch, sizes):
    """Step 7; the stop's binary cross-entropy is max(s, 0) - s t + log(1 + exp(-|s|))."""
    after, frames, stops = said
    target, weights, ends = batch["frames"], batch["weights"], batch["stops"]
    count = weights.sum()
    squares = (((frames - target) ** 2 + (after - target) ** 2) * weights.expand_dims(2)).sum()
    crossed = ((nd.relu(stops) - stops * ends + nd.log1p(nd.exp(-nd.abs(stops)))) * weights).sum()
    return squares / (count * target.shape[2]) + crossed / count
