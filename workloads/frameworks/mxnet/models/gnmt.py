"""GNMT (spec/models/gnmt.py) in MXNet. Everything is (time, batch, numbers), but within the attention."""
import mxnet as mx

from workloads.frameworks.mxnet.models.blocks import cross_entropy, dense, dropout, embedding, linear
from workloads.frameworks.mxnet.models.recurrent import lstm
from workloads.spec.models.gnmt import DROPOUT, PADDING_BIAS, SMOOTHING


def arrange(batch):
    """As it is."""
    return batch


def forward(weights, batch, sizes, mode):
    """Logits (target time * batch, tokens known)."""
    x = mode.keep("encoder", encoder(weights, batch["source"].T, batch["source_lengths"], sizes, mode))
    bias = ((1 - batch["source_mask"]) * PADDING_BIAS).expand_dims(1)
    y = mode.keep("decoder", decoder(weights, batch["inputs"].T, x, bias, sizes, mode))
    return dense(weights, "classifier", y.reshape((-3, 0)))


def loss(logits, batch, sizes):
    """Step 5."""
    labels, real = (batch[name].T.reshape((-1,)) for name in ("labels", "weights"))
    return cross_entropy(logits, labels, real, SMOOTHING)


def encoder(weights, ids, lengths, sizes, mode):
    """Step 1, of ids (time, batch)."""
    x = dropout(embedding(weights, "embedding", ids), DROPOUT, mode)
    x = mode.keep("encoder.0", mx.nd.concat(
        lstm(weights, "encoder.0.forward", x, mode, lengths, time_major=True),
        lstm(weights, "encoder.0.backward", x, mode, lengths, is_reversed=True, time_major=True), dim=2))
    x = lstm(weights, "encoder.1", dropout(x, DROPOUT, mode), mode, time_major=True)
    for index in range(2, sizes.layers):
        x = lstm(weights, "encoder.%d" % index, dropout(x, DROPOUT, mode), mode, time_major=True) + x
    return x


def decoder(weights, ids, x, bias, sizes, mode):
    """Steps 2 to 4, of ids (time, batch) and the encoder's x."""
    y = dropout(embedding(weights, "embedding", ids), DROPOUT, mode)
    y = lstm(weights, "decoder.0", y, mode, time_major=True)
    context = mode.keep("attention", attended(weights, "attention", y, x, bias))
    y = lstm(weights, "decoder.1", mx.nd.concat(dropout(y, DROPOUT, mode), context, dim=2), mode, time_major=True)
    for index in range(2, sizes.layers):
        both = mx.nd.concat(dropout(y, DROPOUT, mode), context, dim=2)
        y = lstm(weights, "decoder.%d" % index, both, mode, time_major=True) + y
    return y


def attended(weights, name, y, x, bias):
    """Step 3: the context (target time, batch, numbers)."""
    x = x.swapaxes(0, 1)
    query = linear(weights, name + ".query", y.swapaxes(0, 1))
    key = linear(weights, name + ".key", x) + weights[name + ".bias"]
    direction = weights[name + ".score.weight"]
    direction = direction * (weights[name + ".score.gain"] / mx.nd.sqrt(mx.nd.sum(mx.nd.square(direction))))
    scores = mx.nd.FullyConnected(mx.nd.tanh(query.expand_dims(2) + key.expand_dims(1)), direction, num_hidden=1,
                                  no_bias=True, flatten=False).squeeze(axis=3) + bias
    return mx.nd.batch_dot(mx.nd.softmax(scores), x).swapaxes(0, 1)
