"""One LSTM layer (workloads/spec/lstm.py) in TensorFlow, batch-major, as Keras and mahorker have it."""
import tensorflow as tf

from workloads.for_tensorflow.recurrent import lstm


def forward(weights, batch, sizes, mode):
    """(h of every step, the loss)."""
    h = mode.keep("lstm", lstm(weights, "lstm", batch["x"], mode))
    return h, 0.5 * tf.reduce_mean(h * h)
