"""The optimizers as pure functions over dicts of arrays. JAX 0.4.18 and later.

Weight decay is L2: gradient + weight_decay * weight is what the optimizer sees; but for adamw (Loshchilov and Hutter
2019), which takes learning_rate * weight_decay of each weight, biases and normalisation too, and then is adam.
Adam is w - learning_rate * m_hat / (sqrt(v_hat) + 1e-8), both moments corrected for their bias.
"""
import jax.numpy as jnp
import numpy as np
from jax.tree_util import tree_map


def moments(cell, weights):
    """What the cell's optimizer remembers, before its first step: a tuple of dicts like the weights'."""
    count = {"sgd": 0, "momentum": 1, "adam": 2, "adamw": 2}[cell.optimizer]
    return tuple(tree_map(np.zeros_like, weights) for _ in range(count))


def updated(cell, weights, gradients, remembered, step):
    """(weights, moments) after the update number step, which counts from 1."""
    if cell.weight_decay and cell.optimizer == "adamw":
        kept = 1 - cell.learning_rate * cell.weight_decay
        weights = tree_map(lambda weight: kept * weight, weights)
    elif cell.weight_decay:
        gradients = tree_map(lambda gradient, weight: gradient + cell.weight_decay * weight, gradients, weights)
    if cell.optimizer in ("adam", "adamw"):
        return _adam(cell, weights, gradients, remembered, step)
    if cell.optimizer == "momentum":
        gradients = tree_map(lambda old, gradient: 0.9 * old + gradient, remembered[0], gradients)
        remembered = (gradients,)
    return tree_map(lambda weight, slope: weight - cell.learning_rate * slope, weights, gradients), remembered


def _adam(cell, weights, gradients, remembered, step):
    first = tree_map(lambda old, gradient: 0.9 * old + 0.1 * gradient, remembered[0], gradients)
    second = tree_map(lambda old, gradient: 0.999 * old + 0.001 * gradient * gradient, remembered[1], gradients)

    def moved(weight, mean, square):
        count = step.astype(weight.dtype)
        root = jnp.sqrt(square / (1 - 0.999 ** count)) + 1e-8
        return weight - cell.learning_rate / (1 - 0.9 ** count) * mean / root

    return tree_map(moved, weights, first, second), (first, second)
