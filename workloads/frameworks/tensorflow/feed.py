"""Batches through TensorFlow's own pipeline, for those who take nothing else. TensorFlow 1.15 and 2.x.

Others are handed what numpy gathers (workloads/inputs/loading.py): Keras' fit and the workers of a coordinator take
tf.data. There, too, data are normalised before, a batch is one gather, and nothing is done ahead on a CPU.
"""
import numpy as np
import tensorflow as tf

from workloads.inputs import images as data
from workloads.inputs import passes as drawn

LOADER = "tf.data, which caches what it decoded"
LOADING = "each batch gathered at once by tf.data, data normalised before; %s"


def normalised(images, dtype):
    """As inputs.images.normalised, of a tensor."""
    return tf.cast(images, dtype) / 127.5 - 1


def pipeline(images, labels, cell):
    """The endless tf.data.Dataset of (images, labels), in the order given or shuffled; the rest of a pass is dropped.

    images are normalised, in the layout's order.
    """
    numbers = shuffled(int(labels.shape[0]), cell).batch(cell.batch, drop_remainder=True)
    return _ahead(numbers.map(lambda some: (tf.gather(images, some), tf.gather(labels, some))).repeat(), cell)


def from_disk(records, net, cell, dtype):
    """The endless tf.data.Dataset that reads inputs.records' Records, and keeps what it decoded from the first pass on.

    As TensorFlow's guide of tf.data has it: cache, shuffle, batch, prefetch.
    """
    nearest = np.arange(cell.image) * records.side // cell.image

    def decoded(record):
        record = tf.io.decode_raw(record, tf.uint8)
        head = tf.cast(record[:records.label_bytes], tf.int64)
        label = tf.reduce_sum(head * 256 ** np.arange(records.label_bytes)) if records.is_wide else head[-1]
        image = tf.reshape(record[records.label_bytes:], (3, records.side, records.side))
        image = tf.gather(tf.gather(image, nearest, axis=1), nearest, axis=2)
        return normalised(image if net.layout == "nchw" else tf.transpose(image, (1, 2, 0)), dtype), label

    read = tf.data.FixedLengthRecordDataset(list(records.paths), records.record_bytes)
    kept = read.shard(records.step, records.rank).map(decoded).cache()
    if cell.order == "framework":
        kept = kept.shuffle(records.facts["images"], cell.seed)
    return kept.batch(cell.batch, drop_remainder=True).repeat().prefetch(tf.data.experimental.AUTOTUNE)


def shuffled(count, cell):
    """The Dataset of the numbers of a pass, by TensorFlow's own shuffling where the cell says so."""
    numbers = tf.data.Dataset.range(count)
    return numbers.shuffle(count, cell.seed) if cell.order == "framework" else numbers


def _ahead(batches, cell):
    """The Dataset, one batch ahead for a GPU, and none on a CPU, whatever tf.data would do by itself."""
    if cell.device == "gpu":
        return batches.prefetch(1)
    options = tf.data.Options()
    if hasattr(options.experimental_optimization, "inject_prefetch"):
        options.experimental_optimization.inject_prefetch = False
    return batches.with_options(options)


class PassFeed:
    """The finite tf.data.Dataset of the batches of some Passes, for Keras' fit.

    Orders are known ahead, so a batch is one gather. Moving images is numpy's work, a call a batch.
    """

    def __init__(self, net, images, labels, ahead, cell, dtype):
        """images are uint8 and canonical."""
        self._net, self._ahead, self._cell, self._dtype = net, ahead, cell, dtype
        self._images = data.normalised(net.native_images(drawn.around(images, ahead.moves)), dtype)
        self._labels = tf.constant(labels)

    def dataset(self):
        """The Dataset."""
        batch = self._cell.batch
        if self._ahead.orders is None:
            numbers = shuffled(len(self._labels), self._cell)
            numbers = numbers.batch(batch, drop_remainder=True).repeat(self._ahead.count)
        else:
            numbers = tf.data.Dataset.from_tensor_slices(self._ahead.orders.reshape(-1, batch))
        if self._ahead.moves is None:
            images = tf.constant(self._images)
            read = numbers.map(lambda some: (tf.gather(images, some), tf.gather(self._labels, some)))
        else:
            moves = tf.data.Dataset.from_tensor_slices(self._ahead.moves.reshape(-1, batch, 3))
            read = tf.data.Dataset.zip((numbers, moves)).map(
                lambda some, moves: (self._moving(some, moves), tf.gather(self._labels, some)))
        return _ahead(read, self._cell)

    def _moving(self, numbers, moves):
        """The tensor of a batch of moved images in the layout's order."""
        side = self._cell.image
        images = tf.numpy_function(lambda some, by: drawn.moved_batch(self._images, some, by, size=side),
                                   (numbers, moves), self._dtype)
        images.set_shape((self._cell.batch,) + self._net.native_shape((3, side, side)))
        return images


def loss(labels, logits, dtype):
    """The cross-entropy, the mean over the batch; amp's logits are cast first."""
    logits = tf.cast(logits, dtype)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
