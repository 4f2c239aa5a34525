"""Batches through TensorFlow's own pipeline. TensorFlow 1.15 and 2.x."""
import tensorflow as tf


def pipeline(images, labels, batch, dtype):
    """The endless tf.data.Dataset of (images, labels) in the order given; the rest of a pass is dropped.

    images are uint8 in the layout's order: the one transposition lies before the pipeline. Each image is normalised
    once and kept; a batch is copied together while the step before it runs.
    """
    samples = tf.data.Dataset.from_tensor_slices((images, labels))
    samples = samples.map(lambda image, label: (tf.cast(image, dtype) / 127.5 - 1, label)).cache()
    return samples.batch(batch, drop_remainder=True).repeat().prefetch(1)


def loss(labels, logits, dtype):
    """The cross-entropy, the mean over the batch; amp's logits are cast first."""
    logits = tf.cast(logits, dtype)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
