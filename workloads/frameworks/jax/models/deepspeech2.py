"""Deep Speech 2 (spec/models/deepspeech2.py) in JAX. From step 2 on everything is (time, batch, numbers)."""
import jax
import jax.numpy as jnp
from jax import lax

from workloads.frameworks.jax.models.blocks import batch_norm, conv2d, dense, log_softmax, masked
from workloads.frameworks.jax.models.recurrent import lstm
from workloads.spec.models.deepspeech2 import CLIP, DECAY, EPSILON, WINDOWS


def arrange(batch):
    """As it is."""
    return batch


def forward(weights, batch, sizes, mode):
    """Logits (time, batch, labels)."""
    x = mode.keep("conv", convolutions(weights, batch["frames"], batch["steps"], mode))
    for index in range(sizes.layers):
        x = mode.keep("lstm.%d" % index, both_ways(weights, "lstm.%d" % index, x, batch["steps"], mode, index))
    x = batch_norm(weights, "head.norm", x, EPSILON, DECAY, mode)
    return dense(weights, "head", x, mode)


def convolutions(weights, frames, steps, mode):
    """Step 1: (time, batch, channels * bins)."""
    x = frames[:, None]
    for index, window in enumerate(WINDOWS):
        name = "conv.%d" % index
        x = masked(conv2d(weights, name, x, window.stride, window.pad, mode), steps, 2)
        x = jnp.clip(batch_norm(weights, name + ".norm", x, EPSILON, DECAY, mode, axis=1), 0.0, CLIP)
        x = masked(x, steps, 2)
    x = x.transpose(2, 0, 1, 3)
    return x.reshape(x.shape[:2] + (-1,))


def both_ways(weights, name, x, steps, mode, index):
    """A layer of step 2."""
    if index:
        x = batch_norm(weights, name + ".norm", x, EPSILON, DECAY, mode)
    return (lstm(weights, name + ".forward", x, mode, steps, time_major=True)
            + lstm(weights, name + ".backward", x, mode, steps, is_reversed=True, time_major=True))


def loss(logits, batch, sizes):
    """Step 4."""
    return ctc(log_softmax(logits), batch["text"], batch["steps"], batch["characters"], sizes.labels - 1).mean()


_NEVER = -1e30          # the logarithm of next to nothing: minus infinity would make gradients NaN


@jax.named_scope("loss")
def ctc(log_p, text, steps, characters, blank):
    """-log p (batch,) of each text (batch, longest) under log_p (time, batch, labels), up to each sample's own steps.

    The forward recursion of Graves et al. 2006 (equations 6 to 8) over the text with a blank around each character; its
    gradient is JAX's.
    """
    batch, longest = text.shape
    states = jnp.full((batch, 2 * longest + 1), blank, text.dtype).at[:, 1::2].set(text)
    # from two states before: over a blank, between different characters alone
    skips = (states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])
    skips = jnp.where(jnp.pad(skips, ((0, 0), (2, 0))), 0.0, _NEVER).astype(log_p.dtype)
    said = jnp.take_along_axis(log_p, jnp.broadcast_to(states, log_p.shape[:1] + states.shape), -1)
    first = jnp.where(jnp.arange(states.shape[1]) < 2, said[0], _NEVER)

    def step(before, now):
        index, here = now
        one, two = (jnp.pad(before[:, :-back], ((0, 0), (back, 0)), constant_values=_NEVER) for back in (1, 2))
        after = _log_sum(before, one, two + skips) + here
        return jnp.where((index < steps)[:, None], after, before), None

    last, _ = lax.scan(step, first, (jnp.arange(1, log_p.shape[0]), said[1:]))
    ends = jnp.take_along_axis(last, jnp.stack([2 * characters, jnp.maximum(2 * characters - 1, 0)], -1), -1)
    return -_log_sum(ends[:, 0], jnp.where(characters > 0, ends[:, 1], _NEVER))


def _log_sum(*logarithms):
    """The logarithm of the sum of what they are logarithms of."""
    most = jnp.max(jnp.stack(logarithms), 0)
    most = lax.stop_gradient(most)
    return most + jnp.log(sum(jnp.exp(each - most) for each in logarithms))
