"""Tacotron 2 (spec/models/tacotron2.py) in TensorFlow. Convolutions are (batch, time, numbers), the decoder's steps
(time, batch, numbers)."""
import tensorflow as tf

from workloads.frameworks.tensorflow.models.blocks import batch_norm, conv1d, dense, dropout, embedding, linear
from workloads.frameworks.tensorflow.models.recurrent import lstm, lstm_step, unrolled
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
    return frames + postnet(weights, frames, mode), frames, stops


def encoder(weights, text, characters, mode):
    """Step 1: (batch, characters, numbers)."""
    x = embedding(weights, "embedding", text)
    for index in range(CONVOLUTIONS):
        x = dropout(tf.nn.relu(convolution(weights, "encoder.conv.%d" % index, x, mode)), DROPOUT, mode)
    x = mode.keep("encoder.conv", x)
    return tf.concat([lstm(weights, "encoder.lstm.forward", x, mode, characters),
                      lstm(weights, "encoder.lstm.backward", x, mode, characters, is_reversed=True)], -1)


def convolution(weights, name, x, mode):
    """A convolution with its normalisation."""
    return batch_norm(weights, name + ".norm", conv1d(weights, name, x, TAPS // 2), EPSILON, DECAY, mode)


def decoder(weights, memory, batch, sizes, mode):
    """Steps 2 to 4: [h2, context] of every step, (batch, time, numbers)."""
    x = tf.transpose(batch["before"], (1, 0, 2))
    for index in range(2):
        x = dropout(tf.nn.relu(linear(weights, "prenet.%d" % index, x)), DROPOUT, mode)
    key = linear(weights, "attention.key", memory)
    bias = (1 - batch["mask"]) * PADDING_BIAS
    zeros = tf.zeros((tf.shape(memory)[0], sizes.decoder), memory.dtype)
    none = tf.zeros_like(bias)
    state = ((zeros, zeros), (zeros, zeros), tf.zeros_like(memory[:, 0]), none, none)
    outputs = unrolled(lambda now, state: step(weights, now, state, memory, key, bias, mode), x, state)
    return tf.transpose(outputs, (1, 0, 2))


def step(weights, x, state, memory, key, bias, mode):
    """([h2, context], the state after it): steps 3 and 4 of one frame, whose prenet is x (batch, numbers)."""
    first, second, context, share, shares = state
    first = lstm_step(weights, "decoder.0", tf.concat([x, context], -1), first, mode)
    first = (dropout(first[0], LSTM_DROPOUT, mode), first[1])
    second = lstm_step(weights, "decoder.1", first[0], second, mode)
    second = (dropout(second[0], LSTM_DROPOUT, mode), second[1])
    share = attended(weights, second[0], tf.stack([share, shares], -1), key, bias)
    context = tf.matmul(share[:, None], memory)[:, 0]
    return tf.concat([second[0], context], -1), (first, second, context, share, shares + share)


def attended(weights, query, before, key, bias):
    """Step 4: the share of each character, (batch, characters); before holds the last shares and their sum."""
    filters = weights["attention.filter.weight"]
    location = tf.nn.conv1d(before, tf.transpose(filters, (2, 1, 0)), 1, "SAME")       # an odd number of taps
    score = tf.tanh(linear(weights, "attention.query", query)[:, None] + key
                    + linear(weights, "attention.location", location))
    return tf.nn.softmax(linear(weights, "attention.score", score)[:, :, 0] + bias)


def postnet(weights, x, mode):
    """Step 6, of x (batch, time, bins)."""
    for index in range(POST_CONVOLUTIONS):
        x = convolution(weights, "post.%d" % index, x, mode)
        x = dropout(tf.tanh(x) if index < POST_CONVOLUTIONS - 1 else x, DROPOUT, mode)
    return x


def loss(said, batch, sizes):
    """Step 7."""
    after, frames, stops = said
    target, weights = batch["frames"], batch["weights"]
    count = tf.reduce_sum(weights)
    squares = tf.reduce_sum(((frames - target) ** 2 + (after - target) ** 2) * weights[:, :, None])
    crossed = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=batch["stops"], logits=stops) * weights)
    return squares / (count * int(target.shape[2])) + crossed / count
