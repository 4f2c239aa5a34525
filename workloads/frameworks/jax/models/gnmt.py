"""GNMT (spec/models/gnmt.py) in JAX. Everything is (time, batch, numbers), but within the attention."""
import jax
import jax.numpy as jnp

from workloads.frameworks.jax.models.blocks import cross_entropy, dense, dropout, embedding, linear, matmul
from workloads.frameworks.jax.models.recurrent import lstm
from workloads.spec.models.gnmt import DROPOUT, PADDING_BIAS, SMOOTHING


def arrange(batch):
    """As it is."""
    return batch


def forward(weights, batch, sizes, mode):
    """Logits (target time * batch, tokens known)."""
    x = mode.keep("encoder", encoder(weights, batch["source"].T, batch["source_lengths"], sizes, mode))
    bias = ((1 - batch["source_mask"]) * PADDING_BIAS)[:, None, :]
    y = mode.keep("decoder", decoder(weights, batch["inputs"].T, x, bias, sizes, mode))
    return dense(weights, "classifier", y.reshape(-1, y.shape[-1]), mode)


def loss(logits, batch, sizes):
    """Step 5."""
    return cross_entropy(logits, batch["labels"].T.reshape(-1), batch["weights"].T.reshape(-1), SMOOTHING)


def encoder(weights, ids, lengths, sizes, mode):
    """Step 1, of ids (time, batch)."""
    x = dropout(embedding(weights, "embedding", ids), DROPOUT, mode)
    x = mode.keep("encoder.0", jnp.concatenate([
        lstm(weights, "encoder.0.forward", x, mode, lengths, time_major=True),
        lstm(weights, "encoder.0.backward", x, mode, lengths, is_reversed=True, time_major=True)], -1))
    x = lstm(weights, "encoder.1", dropout(x, DROPOUT, mode), mode, time_major=True)
    for index in range(2, sizes.layers):
        x = lstm(weights, "encoder.%d" % index, dropout(x, DROPOUT, mode), mode, time_major=True) + x
    return x


def decoder(weights, ids, x, bias, sizes, mode):
    """Steps 2 to 4, of ids (time, batch) and the encoder's x."""
    y = dropout(embedding(weights, "embedding", ids), DROPOUT, mode)
    y = lstm(weights, "decoder.0", y, mode, time_major=True)
    context = mode.keep("attention", attended(weights, "attention", y, x, bias, mode))
    y = lstm(weights, "decoder.1", jnp.concatenate([dropout(y, DROPOUT, mode), context], -1), mode, time_major=True)
    for index in range(2, sizes.layers):
        both = jnp.concatenate([dropout(y, DROPOUT, mode), context], -1)
        y = lstm(weights, "decoder.%d" % index, both, mode, time_major=True) + y
    return y


def attended(weights, name, y, x, bias, mode):
    """Step 3: the context (target time, batch, numbers)."""
    x = x.swapaxes(0, 1)
    query = linear(weights, name + ".query", y.swapaxes(0, 1), mode)
    key = linear(weights, name + ".key", x, mode) + weights[name + ".bias"]
    direction = weights[name + ".score.weight"][0]
    direction = direction * (weights[name + ".score.gain"] / jnp.linalg.norm(direction))
    scores = matmul(jnp.tanh(query[:, :, None] + key[:, None]), direction, mode) + bias
    return matmul(jax.nn.softmax(scores, -1), x, mode).swapaxes(0, 1)
