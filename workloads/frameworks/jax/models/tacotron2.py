"""Tacotron 2 (spec/models/tacotron2.py) in JAX. Convolutions are (batch, numbers, time), the decoder's steps
(time, batch, numbers)."""
import jax
import jax.numpy as jnp
from jax import lax

from workloads.frameworks.jax.models.blocks import batch_norm, conv1d, dense, dropout, embedding, linear, matmul
from workloads.frameworks.jax.models.recurrent import lstm, lstm_step
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
    frames = mode.keep("frames", dense(weights, "frame", outputs, mode))
    stops = mode.keep("stops", dense(weights, "stop", outputs, mode)[:, :, 0])
    return frames + postnet(weights, frames.swapaxes(1, 2), mode).swapaxes(1, 2), frames, stops


def encoder(weights, text, characters, mode):
    """Step 1: (batch, characters, numbers)."""
    x = embedding(weights, "embedding", text).swapaxes(1, 2)
    for index in range(CONVOLUTIONS):
        x = dropout(jax.nn.relu(convolution(weights, "encoder.conv.%d" % index, x, mode)), DROPOUT, mode)
    x = mode.keep("encoder.conv", x.swapaxes(1, 2))
    return jnp.concatenate([lstm(weights, "encoder.lstm.forward", x, mode, characters),
                            lstm(weights, "encoder.lstm.backward", x, mode, characters, is_reversed=True)], -1)


def convolution(weights, name, x, mode):
    """A convolution with its normalisation."""
    return batch_norm(weights, name + ".norm", conv1d(weights, name, x, TAPS // 2, mode), EPSILON, DECAY, mode, axis=1)


def decoder(weights, memory, batch, sizes, mode):
    """Steps 2 to 4: [h2, context] of every step, (batch, time, numbers)."""
    x = batch["before"].swapaxes(0, 1)
    for index in range(2):
        x = dropout(jax.nn.relu(linear(weights, "prenet.%d" % index, x, mode)), DROPOUT, mode)
    key = linear(weights, "attention.key", memory, mode)
    bias = (1 - batch["mask"]) * PADDING_BIAS
    zeros = jnp.zeros((memory.shape[0], sizes.decoder), bias.dtype)
    none = jnp.zeros_like(bias)
    state = ((zeros, zeros), (zeros, zeros), jnp.zeros(memory[:, 0].shape, bias.dtype), none, none)
    # dropout behind the LSTM layers: the scan's body is traced once, so what it draws is drawn for all steps before
    masks = _masks((x.shape[0], 2) + zeros.shape, bias.dtype, mode)

    def one(state, now):
        output, state = step(weights, now[0], state, memory, key, bias, now[1], mode)
        return state, output

    return lax.scan(one, state, (x, masks))[1].swapaxes(0, 1)


def _masks(shape, numbers, mode):
    """What h of each step is multiplied with, for both LSTM layers."""
    return dropout(jnp.ones(shape, numbers), LSTM_DROPOUT, mode)


def step(weights, x, state, memory, key, bias, masks, mode):
    """([h2, context], the state after it): steps 3 and 4 of one frame, whose prenet is x (batch, numbers)."""
    numbers = bias.dtype                         # the state keeps its type, whatever products are made in
    first, second, context, share, shares = state
    first = _wide(lstm_step(weights, "decoder.0", jnp.concatenate([x, context], -1), first, mode), numbers)
    first = (first[0] * masks[0], first[1])
    second = _wide(lstm_step(weights, "decoder.1", first[0], second, mode), numbers)
    second = (second[0] * masks[1], second[1])
    share = attended(weights, second[0], jnp.stack([share, shares], 1), key, bias, mode)
    context = matmul(share[:, None], memory, mode)[:, 0].astype(numbers)
    return jnp.concatenate([second[0], context], -1), (first, second, context, share, shares + share)


def _wide(state, numbers):
    return tuple(array.astype(numbers) for array in state)


def attended(weights, query, before, key, bias, mode):
    """Step 4: the share of each character, (batch, characters); before holds the last shares and their sum."""
    before, filters = mode.cast(before, weights["attention.filter.weight"])
    pad = filters.shape[2] // 2
    location = lax.conv_general_dilated(before, filters, (1,), [(pad, pad)], dimension_numbers=("NCH", "OIH", "NCH"))
    score = jnp.tanh(linear(weights, "attention.query", query, mode)[:, None] + key
                     + linear(weights, "attention.location", location.swapaxes(1, 2), mode))
    return jax.nn.softmax(linear(weights, "attention.score", score, mode)[:, :, 0] + bias, -1)


def postnet(weights, x, mode):
    """Step 6, of x (batch, bins, time)."""
    for index in range(POST_CONVOLUTIONS):
        x = convolution(weights, "post.%d" % index, x, mode)
        x = dropout(jnp.tanh(x) if index < POST_CONVOLUTIONS - 1 else x, DROPOUT, mode)
    return x


@jax.named_scope("loss")
def loss(said, batch, sizes):
    """Step 7."""
    target, weights = batch["frames"], batch["weights"]
    after, frames, stops = (each.astype(target.dtype) for each in said)
    count = weights.sum()
    squares = (((frames - target) ** 2 + (after - target) ** 2) * weights[:, :, None]).sum() / (count * target.shape[2])
    # log(1 + exp(stop)) - stop * label, without an overflow
    crossed = ((jax.nn.softplus(stops) - stops * batch["stops"]) * weights).sum()
    return squares + crossed / count
