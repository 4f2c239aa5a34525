"""Optimizers with the arithmetic that all frameworks share, as MXNet's own where that is equal. MXNet 1.7 and 1.9.

Gradients come in as the mean over the batch, so rescale_grad stays 1. Weight decay is an L2 term in the gradient of
every trainable parameter: gluon's wd_mult is 1 for all, also where the older Module interface leaves out biases.
"""
import math

import mxnet as mx
import numpy as np

MOMENTUM = 0.9
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


def of(cell):
    """The mx.optimizer.Optimizer of a cell."""
    if cell.precision == "float64":
        return Exact(cell.optimizer, learning_rate=cell.learning_rate, wd=cell.weight_decay)
    if cell.optimizer == "adamw":
        return AdamW(learning_rate=cell.learning_rate, wd=cell.weight_decay)
    if cell.optimizer == "adam":
        return Adam(learning_rate=cell.learning_rate, wd=cell.weight_decay)
    # v = mu v - lr g instead of v = mu v + g, w -= lr v: the same for a learning rate that never changes
    return mx.optimizer.SGD(learning_rate=cell.learning_rate, wd=cell.weight_decay,
                            momentum=MOMENTUM if cell.optimizer == "momentum" else 0.0)


class Adam(mx.optimizer.Adam):
    """MXNet's fused Adam with its epsilon beside the corrected second moment, as in Kingma and Ba 2015, algorithm 1.

    MXNet adds epsilon to the uncorrected root: lr sqrt(c2) / c1 m / (sqrt(v) + epsilon), where c2 is 1 - beta2 ** step.
    With epsilon sqrt(c2) in its place that is lr (m / c1) / (sqrt(v / c2) + epsilon).
    """

    def __init__(self, **settings):
        # the operator rounds them to float32; with others here the correction would miss the moments by 1e-5
        rounded = {"beta1": float(np.float32(BETA1)), "beta2": float(np.float32(BETA2))}
        super().__init__(epsilon=EPSILON, **dict(settings, **rounded))

    def update(self, index, weight, grad, state):
        """One parameter's update, in place."""
        step = self._index_update_count.get(index, self.begin_num_update) + 1
        self.epsilon = EPSILON * math.sqrt(1.0 - self.beta2 ** step)
        super().update(index, weight, grad, state)


class AdamW(Adam):
    """The same after each weight has lost learning_rate * weight_decay of itself (Loshchilov and Hutter 2019)."""

    def __init__(self, wd, **settings):
        super().__init__(wd=0.0, **settings)
        self._shrinking = wd

    def update(self, index, weight, grad, state):
        """One parameter's update, in place."""
        if self._shrinking:
            weight *= 1 - self._get_lr(index) * self._shrinking
        super().update(index, weight, grad, state)


class Exact(mx.optimizer.Optimizer):
    """SGD, momentum, Adam and AdamW in array arithmetic, for float64.

    The fused operators take learning rate and betas as float32, whatever the arrays are: an error of 2e-8 that float64
    is there to exclude.
    """

    def __init__(self, rule, **settings):
        super().__init__(**settings)
        self.rule = {"sgd": _plain, "momentum": _momentum, "adam": _adam, "adamw": _adam}[rule]
        self.is_decoupled = rule == "adamw"

    def create_state(self, index, weight):
        """The first and the second moment."""
        return mx.nd.zeros_like(weight), mx.nd.zeros_like(weight)

    def update(self, index, weight, grad, state):
        """One parameter's update, in place."""
        self._update_count(index)
        if self.is_decoupled:
            weight *= 1 - self._get_lr(index) * self._get_wd(index)
        slope = grad if self.is_decoupled else grad + self._get_wd(index) * weight
        weight -= self._get_lr(index) * self.rule(slope, state, self._index_update_count[index])


def _plain(slope, state, step):
    return slope


def _momentum(slope, state, step):
    state[0][:] = MOMENTUM * state[0] + slope
    return state[0]


def _adam(slope, state, step):
    first, second = state
    first[:] = BETA1 * first + (1 - BETA1) * slope
    second[:] = BETA2 * second + (1 - BETA2) * slope ** 2
    return first / (1 - BETA1 ** step) / ((second / (1 - BETA2 ** step)) ** 0.5 + EPSILON)
