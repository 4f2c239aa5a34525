"""LSTM layers in JAX, by the cell's switch lstm: plain operations in lax.scan, for which XLA has no kernel.

    native, cudnn   a small layer's inference on a CPU makes both products in every step, as flax's nn.RNN does; else
                    the inputs' product of all steps is made at once before the scan
    cell            both products in every step

On a GPU cudnn would be cuDNN's own, which jax.experimental.rnn calls; it is not offered, so that cudnn is of CPUs.
"""
import jax
import jax.numpy as jnp
from jax import lax

_SMALL = 256           # units, up to which inference is faster by both in the step (docs/measurements.md)
INPUT, RECURRENT = ".input.weight", ".recurrent.weight"        # how their names end; here they lie as (in, gates)


@jax.named_scope("lstm")
def lstm(weights, name, x, mode, lengths=None, is_reversed=False, time_major=False):
    """h of every step, in x's order, of the LSTM called name over x (batch, time, numbers), from zeros.

    time_major: x and h are (time, batch, numbers). With lengths, h past a sample's end is zero, and a reversed layer
    begins at the sample's own end.
    """
    if not time_major:
        return lstm(weights, name, x.swapaxes(0, 1), mode, lengths, is_reversed, True).swapaxes(0, 1)
    order = _reversal(x, lengths) if is_reversed else None
    x = x if order is None else _ordered(x, order)
    h = _scanned(weights, name, x, mode)
    h = h if order is None else _ordered(h, order)
    if lengths is None:
        return h
    return h * (_steps(x) < lengths[None]).astype(h.dtype)[..., None]


@jax.named_scope("lstm")
def lstm_step(weights, name, x, state, mode):
    """(h, c) after one step of the LSTM called name; x (batch, numbers), state (h, c), each (batch, hidden)."""
    arrays = _arrays(weights, name, mode)
    return _cell(jnp.matmul(*mode.cast(x, arrays[0])) + arrays[2], state, arrays[1])


def kernel_of(kind, hidden, is_training):
    """What runs an LSTM of so many units, as a fact."""
    where = "of all steps before it" if _is_whole(kind, hidden, is_training) else "in every step"
    return "plain operations in lax.scan, the inputs' product %s" % where


def _is_whole(kind, hidden, is_training):
    """Whether the inputs' product is made of all steps at once."""
    return kind != "cell" and (is_training or hidden > _SMALL or jax.default_backend() != "cpu")


def _arrays(weights, name, mode):
    """Input and recurrent weights, (in, gates), and the bias."""
    return mode.cast(*(weights[name + part] for part in (INPUT, RECURRENT, ".bias")))


def _scanned(weights, name, x, mode):
    kernel, recurrent, bias = _arrays(weights, name, mode)
    x, = mode.cast(x)
    zeros = jnp.zeros((x.shape[1], recurrent.shape[0]), x.dtype)
    is_whole = _is_whole(mode.lstm, recurrent.shape[0], mode.is_training)
    x = jnp.matmul(x, kernel) + bias if is_whole else x
    # backward each step adds to the gradient of what the scan is given: of four gates apart it does so faster
    is_split = is_whole and mode.is_training and jax.default_backend() == "cpu"
    gates = jnp.split(recurrent, 4, -1) if is_split else (recurrent,)

    def step(state, now):
        now = now if is_whole else jnp.matmul(now, kernel) + bias
        state = _cell(now, state, jnp.concatenate(gates, -1))
        return state, state[0]

    return lax.scan(step, (zeros, zeros), x)[1]


def _cell(gates, state, recurrent):
    """(h, c) of a step, gates being what its input makes of them."""
    h, c = state
    h = h.astype(recurrent.dtype)
    i, f, g, o = jnp.split(gates + jnp.matmul(h, recurrent), 4, -1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(c), c


def _steps(x):
    return jnp.arange(x.shape[0])[:, None]


def _reversal(x, lengths):
    """(time, batch): the step of x that comes at each step of its reversal."""
    steps = _steps(x)
    if lengths is None:
        return jnp.broadcast_to(x.shape[0] - 1 - steps, x.shape[:2])
    return jnp.where(steps < lengths[None], lengths[None] - 1 - steps, steps)


def _ordered(x, order):
    return jnp.take_along_axis(x, order[..., None], 0, mode="promise_in_bounds")
