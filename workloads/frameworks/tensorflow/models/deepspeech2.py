"""Deep Speech 2 (spec/models/deepspeech2.py) in TensorFlow. Convolutions are (batch, time, bins, channels), as a CPU
has kernels for; from step 2 on everything is (time, batch, numbers)."""
import tensorflow as tf

from workloads.frameworks.tensorflow.models.blocks import batch_norm, conv2d, dense, masked
from workloads.frameworks.tensorflow.models.recurrent import lstm
from workloads.spec.models.deepspeech2 import CLIP, DECAY, EPSILON, WINDOWS, width


def arrange(batch):
    """As it is."""
    return batch


def forward(weights, batch, sizes, mode):
    """Logits (time, batch, labels)."""
    x = mode.keep("conv", convolutions(weights, batch["frames"], batch["steps"], sizes, mode))
    for index in range(sizes.layers):
        x = mode.keep("lstm.%d" % index, both_ways(weights, "lstm.%d" % index, x, batch["steps"], mode, index))
    x = batch_norm(weights, "head.norm", x, EPSILON, DECAY, mode)
    return dense(weights, "head", x)


def convolutions(weights, frames, steps, sizes, mode):
    """Step 1: (time, batch, channels * bins)."""
    x = frames[:, :, :, None]
    for index, window in enumerate(WINDOWS):
        name = "conv.%d" % index
        x = masked(conv2d(weights, name, x, window.stride, window.pad), steps)
        x = tf.clip_by_value(batch_norm(weights, name + ".norm", x, EPSILON, DECAY, mode), 0.0, CLIP)
        x = masked(x, steps)
    x = tf.transpose(x, (1, 0, 3, 2))
    return tf.reshape(x, (tf.shape(x)[0], tf.shape(x)[1], width(sizes)))


def both_ways(weights, name, x, steps, mode, index):
    """A layer of step 2."""
    if index:
        x = batch_norm(weights, name + ".norm", x, EPSILON, DECAY, mode)
    return (lstm(weights, name + ".forward", x, mode, steps, time_major=True)
            + lstm(weights, name + ".backward", x, mode, steps, is_reversed=True, time_major=True))


def loss(logits, batch, sizes):
    """Step 4; TensorFlow's operation takes the last label as the blank. It runs on the host, on a GPU too."""
    real = tf.sequence_mask(batch["characters"], tf.shape(batch["text"])[1])
    text = tf.cast(tf.boolean_mask(batch["text"], real), tf.int32)
    labels = tf.SparseTensor(tf.where(real), text, tf.cast(tf.shape(batch["text"]), tf.int64))
    losses = tf.compat.v1.nn.ctc_loss(labels, logits, tf.cast(batch["steps"], tf.int32))
    return tf.reduce_mean(losses)
