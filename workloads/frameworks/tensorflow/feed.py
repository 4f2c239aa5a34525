"""Batches through TensorFlow's own pipeline. TensorFlow 1.15 and 2.x."""
import numpy as np
import tensorflow as tf

from workloads.inputs import images as data
from workloads.inputs import passes as drawn


def pipeline(images, labels, batch, dtype, shuffle_seed=None):
    """The endless tf.data.Dataset of (images, labels), in the order given or shuffled; the rest of a pass is dropped.

    images are uint8 in the layout's order: the one transposition lies before the pipeline. Each image is normalised
    once and kept; a batch is copied together while the step before it runs.
    """
    samples = tf.data.Dataset.from_tensor_slices((images, labels))
    samples = samples.map(lambda image, label: (tf.cast(image, dtype) / 127.5 - 1, label)).cache()
    if shuffle_seed is not None:
        samples = samples.shuffle(int(labels.shape[0]), shuffle_seed)
    return samples.batch(batch, drop_remainder=True).repeat().prefetch(1)


def shuffle_seed(cell):
    """What pipeline takes: the seed where TensorFlow shuffles, else None."""
    return cell.seed if cell.order == "framework" else None


class PassFeed:
    """The finite tf.data.Dataset of the batches of some Passes; arrays are what it keeps, by name.

    Orders are known ahead, so a batch is one gather. Moving images is numpy's work, a call a batch.
    """

    def __init__(self, net, images, labels, ahead, cell, dtype):
        """images are uint8 and canonical."""
        self._net, self._ahead, self._cell, self._dtype = net, ahead, cell, dtype
        self._moved = None
        self.arrays = {"labels": labels}
        if ahead.moves is None:
            self.arrays["images"] = data.normalised(net.native_images(images), dtype)
        else:
            self._moved = drawn.Moved(data.normalised(drawn.padded(images), dtype), labels, cell.image)
        if ahead.orders is not None:
            self.arrays["orders"] = ahead.orders.reshape(-1, cell.batch)

    def dataset(self, kept):
        """The Dataset; kept has a tensor for each of the arrays."""
        batch = self._cell.batch
        if self._ahead.orders is None:
            count = len(self.arrays["labels"])
            numbers = tf.data.Dataset.range(count).shuffle(count, self._cell.seed)
            numbers = numbers.batch(batch, drop_remainder=True).repeat(self._ahead.count)
        else:
            numbers = tf.data.Dataset.from_tensor_slices(kept["orders"])
        if self._ahead.moves is None:
            read = numbers.map(lambda some: (tf.gather(kept["images"], some), tf.gather(kept["labels"], some)))
        else:
            moves = tf.data.Dataset.from_tensor_slices(self._ahead.moves.reshape(-1, batch, 3))
            read = tf.data.Dataset.zip((numbers, moves)).map(
                lambda some, moves: (self._moving(some, moves), tf.gather(kept["labels"], some)))
        return read.prefetch(1)

    def _moving(self, numbers, moves):
        """The tensor of a batch of moved images in the layout's order."""
        images = tf.numpy_function(self._moved_batch, (numbers, moves), self._dtype)
        side = self._cell.image
        images.set_shape((self._cell.batch,) + self._net.native_shape((3, side, side)))
        return images

    def _moved_batch(self, numbers, moves):
        return self._net.native_images(np.stack([self._moved[key][0] for key in zip(numbers, moves)]))


def loss(labels, logits, dtype):
    """The cross-entropy, the mean over the batch; amp's logits are cast first."""
    logits = tf.cast(logits, dtype)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
