"""The course of a training: epoch by epoch its seconds, loss and accuracy. The workload is handed in.

A training is one run: an interrupted one keeps the epochs that it has told of, as the curve of a run that was killed,
and its repetition begins anew. To go on from a checkpoint was weighed and left: weights, the optimizer's
moments and the framework's random state would have to leave a worker that writes no files, and the curve would join two
processes, with two warm-ups, two first epochs and two places in memory, of which a run is to have one.
"""
import time

import numpy as np

from workloads.frameworks import contract
from workloads.process.errors import NotFinite
from workloads.spec.cell import Cell


def follow(course, batches) -> None:
    """Train all epochs; the workload tells the course as it goes."""
    course.workload.follow(batches, course.cell.epochs, course.steps, course)


class Course(contract.Watch):
    """The watch of whole epochs: an "epoch" event for each, training and validation timed apart."""

    def __init__(self, cell: Cell, workload, held_out, steps, emit, clock=time.perf_counter):
        """steps: of an epoch; held_out is None where there is nothing to classify."""
        self.cell, self.workload, self.steps = cell, workload, steps
        self._held_out, self._emit, self._clock = held_out, emit, clock
        self._index = 0
        self._handles = []

    def begun(self) -> None:
        """An epoch begins."""
        self._handles = []
        self._began = self._clock()

    def stepped(self, handle, phases=None) -> None:
        """A step is issued; handle is its loss."""
        self._handles.append(handle)

    def ended(self) -> None:
        """An epoch's last step is issued: wait for it, validate, tell. Raises NotFinite."""
        self.workload.sync(self._handles[-1])
        trained = self._clock()
        losses = [self.workload.value(handle) for handle in self._handles]
        if not np.isfinite(losses).all():
            raise NotFinite("the loss became %s in epoch %d" % (losses[-1], self._index))
        self._emit("epoch", index=self._index, steps=self.steps, train_seconds=trained - self._began,
                   loss=float(np.mean(losses)), **self._validated())
        self._index += 1

    def _validated(self):
        """What an epoch's event says of the held-out images."""
        if self._held_out is None:
            return {"validation_seconds": None, "accuracy": None}
        began = self._clock()
        confusion = self._confusion()
        return {"validation_seconds": self._clock() - began,
                "accuracy": float(np.trace(confusion) / confusion.sum()), "confusion": confusion.tolist()}

    def _confusion(self):
        """The matrix (true class, predicted class) of counts over all held-out images."""
        images, labels = self._held_out.images, self._held_out.labels
        matrix = np.zeros((self.cell.classes, self.cell.classes), dtype=np.int64)
        for first in range(0, len(labels), self.cell.batch):
            truth = labels[first:first + self.cell.batch]
            logits = self.workload.predict(_whole(images[first:first + self.cell.batch], self.cell.batch))
            np.add.at(matrix, (truth, np.argmax(logits[:len(truth)], axis=1)), 1)
        return matrix


def _whole(images, batch):
    """The images, the last batch's rest filled up with its first one: one shape, one graph."""
    return images if len(images) == batch else np.concatenate([images, images[:1].repeat(batch - len(images), axis=0)])
