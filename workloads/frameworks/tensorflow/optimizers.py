"""The optimizers, with the arithmetic that all frameworks share. Keras 2 (TensorFlow 1.15 to 2.15) and Keras 3.

    sgd        w -= rate * g
    momentum   v = 0.9 v + g; w -= rate * v            (Keras: v = 0.9 v - rate * g; w += v; equal at a constant rate)
    adam       w -= rate * m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + epsilon)

    adamw      w -= rate * weight_decay * w; then adam (Loshchilov and Hutter 2019)

where g is the gradient plus weight_decay * w, but for adamw the gradient alone.
"""
import numpy as np
import tensorflow as tf

keras = tf.keras
IS_KERAS_3 = hasattr(keras.optimizers.Optimizer, "apply")
LARGE = 2 ** 24                # numbers of a weight that no cache holds: 64 MiB in float32
ADAM = {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-8}
# What apply_gradients takes where the workers' gradients are summed already; Keras 3 has no such argument.
EXCHANGED = {} if IS_KERAS_3 else {"experimental_aggregate_gradients": False}


def optimizer(cell, dtype):
    """The Keras optimizer of a cell, for weights of dtype."""
    family = keras.optimizers if IS_KERAS_3 else getattr(keras.optimizers, "legacy", keras.optimizers)
    rate, exact = _rate(cell, dtype), _exactly(dtype)
    if cell.optimizer in ("adam", "adamw"):
        kind = _decoupled(_adam(family.Adam)) if cell.optimizer == "adamw" else _adam(family.Adam)
        made = kind(rate, **{name: exact(value) for name, value in ADAM.items() if name != "epsilon"})
    elif cell.optimizer == "momentum":
        made = _decaying(family.SGD)(rate, momentum=exact(0.9))
    else:
        made = _decaying(family.SGD)(rate)
    if cell.optimizer == "adamw":
        made.shrunk = cell.learning_rate * cell.weight_decay
    else:
        made.decayed = cell.weight_decay
    return made


def _rate(cell, dtype):
    """The learning rate as a constant: as a plain number it would become a float32 variable, in float64 too."""
    return lambda: tf.constant(cell.learning_rate, dtype)


def _exactly(dtype):
    """A function that wraps a number so that Keras does not round it to float32 first."""
    if not IS_KERAS_3:
        return lambda value: lambda: tf.constant(value, dtype)
    return np.float64 if dtype == "float64" else float       # a numpy scalar in float32 would promote to float64


def _decaying(kind):
    """The optimizer class with an L2 term in the gradient of every parameter; Keras 3's own weight_decay is AdamW's."""

    class Decaying(kind):  # type: ignore[misc, valid-type]
        """See _decaying."""

        decayed = 0.0

        def apply_gradients(self, grads_and_vars, *args, **kwargs):
            """Update the variables."""
            pairs = [(self._with_decay(gradient, variable), variable) for gradient, variable in grads_and_vars]
            return super(Decaying, self).apply_gradients(pairs, *args, **kwargs)

        def _all_reduce_sum_gradients(self, grads_and_vars):
            """Keras 3 always sums them over the workers, and would add each one's decay: the workload has done it."""
            return list(grads_and_vars)

        def _with_decay(self, gradient, variable):
            return gradient + self.decayed * variable if self.decayed else gradient

    return Decaying


def _adam(kind):
    """Adam with the paper's epsilon: Keras adds it to sqrt(v) before the bias correction, where it stands for
    epsilon * sqrt(1 - beta_2^t); so that is what Keras is given, and its own update stays."""

    class Adam(_decaying(kind)):  # type: ignore[misc]
        """See _adam."""

        def _prepare_local(self, device, dtype, apply_state):
            super(Adam, self)._prepare_local(device, dtype, apply_state)
            state = apply_state[(device, dtype)]
            state["epsilon"] = tf.cast(ADAM["epsilon"], dtype) * tf.sqrt(1 - state["beta_2_power"])

        def apply_gradients(self, grads_and_vars, *args, **kwargs):
            """Update the variables, all of them with one epsilon: Keras 3 takes it from here."""
            pairs = list(grads_and_vars)
            if IS_KERAS_3:
                step = tf.cast(self.iterations + 1, pairs[0][0].dtype)
                self.epsilon = ADAM["epsilon"] * tf.sqrt(1 - tf.constant(ADAM["beta_2"], step.dtype) ** step)
            return super(Adam, self).apply_gradients(pairs, *args, **kwargs)

    return Adam


def _decoupled(kind):
    """The optimizer class, before whose update each variable loses a share; legacy Keras has no AdamW of its own."""

    class Decoupled(kind):  # type: ignore[misc, valid-type]
        """See _decoupled."""

        shrunk = 0.0

        def _resource_apply_dense(self, grad, var, apply_state=None):
            """Keras 2's update of one variable."""
            with tf.control_dependencies([var.assign_sub(self.shrunk * var)] if self.shrunk else []):
                return super(Decoupled, self)._resource_apply_dense(grad, var, apply_state)

        def update_step(self, gradient, variable, learning_rate):
            """Keras 3's update of one variable."""
            if self.shrunk:
                self.assign_sub(variable, self.shrunk * variable)
            return super(Decoupled, self).update_step(gradient, variable, learning_rate)

    return Decoupled
