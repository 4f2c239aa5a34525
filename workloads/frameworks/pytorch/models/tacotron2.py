"""Tacotron 2 (spec/models/tacotron2.py) in PyTorch. Convolutions are (batch, numbers, time), the decoder's steps
(time, batch, numbers)."""
import torch
from torch import nn

from workloads.frameworks.pytorch.models.blocks import batch_norm, conv1d, dense, dropout, embedding, linear
from workloads.frameworks.pytorch.models.recurrent import lstm, lstm_step
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


def arrange(batch):
    """As it is."""
    return batch


def forward(weights, batch, sizes, mode):
    """(frames after the postnet (batch, time, bins), frames before it, stops (batch, time))."""
    memory = mode.keep("encoder", encoder(weights, batch["text"], batch["characters"], mode))
    outputs = decoder(weights, memory, batch, sizes, mode)
    frames = mode.keep("frames", dense(weights, "frame", outputs))
    stops = mode.keep("stops", dense(weights, "stop", outputs)[:, :, 0])
    return frames + postnet(weights, frames.transpose(1, 2), mode).transpose(1, 2), frames, stops


def encoder(weights, text, characters, mode):
    """Step 1: (batch, characters, numbers)."""
    x = embedding(weights, "embedding", text).transpose(1, 2)
    for index in range(CONVOLUTIONS):
        x = dropout(torch.relu(convolution(weights, "encoder.conv.%d" % index, x, mode)), DROPOUT, mode)
    x = mode.keep("encoder.conv", x.transpose(1, 2))
    return torch.cat([lstm(weights, "encoder.lstm.forward", x, mode, characters),
                      lstm(weights, "encoder.lstm.backward", x, mode, characters, is_reversed=True)], -1)


def convolution(weights, name, x, mode):
    """A convolution with its normalisation."""
    return batch_norm(weights, name + ".norm", conv1d(weights, name, x, TAPS // 2), EPSILON, DECAY, mode, axis=1)


def decoder(weights, memory, batch, sizes, mode):
    """Steps 2 to 4: [h2, context] of every step, (batch, time, numbers)."""
    x = batch["before"].transpose(0, 1)
    for index in range(2):
        x = dropout(torch.relu(linear(weights, "prenet.%d" % index, x)), DROPOUT, mode)
    key = linear(weights, "attention.key", memory)
    bias = (1 - batch["mask"]) * PADDING_BIAS
    zeros = memory.new_zeros(memory.shape[0], sizes.decoder)
    none = torch.zeros_like(bias)
    state = ((zeros, zeros), (zeros, zeros), torch.zeros_like(memory[:, 0]), none, none)
    outputs = []
    for now in x.unbind(0):
        output, state = step(weights, now, state, memory, key, bias, mode)
        outputs.append(output)
    return torch.stack(outputs, 1)


def step(weights, x, state, memory, key, bias, mode):
    """([h2, context], the state after it): steps 3 and 4 of one frame, whose prenet is x (batch, numbers)."""
    first, second, context, share, shares = state
    first = lstm_step(weights, "decoder.0", torch.cat([x, context], -1), first, mode)
    first = (dropout(first[0], LSTM_DROPOUT, mode), first[1])
    second = lstm_step(weights, "decoder.1", first[0], second, mode)
    second = (dropout(second[0], LSTM_DROPOUT, mode), second[1])
    share = attended(weights, second[0], torch.stack([share, shares], 1), key, bias)
    context = torch.matmul(share[:, None], memory)[:, 0]
    return torch.cat([second[0], context], -1), (first, second, context, share, shares + share)


def attended(weights, query, before, key, bias):
    """Step 4: the share of each character, (batch, characters); before holds the last shares and their sum."""
    filters = weights["attention.filter.weight"]
    location = nn.functional.conv1d(before, filters, None, 1, filters.shape[2] // 2).transpose(1, 2)
    score = torch.tanh(linear(weights, "attention.query", query)[:, None] + key
                       + linear(weights, "attention.location", location))
    return torch.softmax(linear(weights, "attention.score", score)[:, :, 0] + bias, -1)


def postnet(weights, x, mode):
    """Step 6, of x (batch, bins, time)."""
    for index in range(POST_CONVOLUTIONS):
        x = convolution(weights, "post.%d" % index, x, mode)
        x = dropout(torch.tanh(x) if index < POST_CONVOLUTIONS - 1 else x, DROPOUT, mode)
    return x


def loss(said, batch, sizes):
    """Step 7."""
    after, frames, stops = said
    target, weights = batch["frames"], batch["weights"]
    count = weights.sum()
    squares = (((frames - target) ** 2 + (after - target) ** 2) * weights[:, :, None]).sum() / (count * target.shape[2])
    crossed = nn.functional.binary_cross_entropy_with_logits(stops, batch["stops"], weights, reduction="sum")
    return squares + crossed / count
