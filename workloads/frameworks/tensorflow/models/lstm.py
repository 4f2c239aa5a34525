"""One LSTM layer (spec/models/lstm.py) in TensorFlow, batch-major, as Keras and mahorker have it."""
import tensorflow as tf

from workloads.frameworks.tensorflow.models.recurrent import lstm


def arrange(batch):
    """As it is."""
    return batch


def forward(weights, batch, sizes, mode):
    """h of every step."""
    return mode.keep("lstm", lstm(weights, "lstm", batch["x"], mode))


def loss(h, batch, sizes):
    """Half the mean of h squared."""
    return 0.5 * tf.reduce_mean(h * h)
