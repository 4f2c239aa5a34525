"""The readable reference: what every framework has to compute, in float64, forward only. Python 3.6 and later."""
import numpy as np

from workloads.frameworks.numpy import model
from workloads.inputs import images as data
from workloads.spec import layers, tasks

NAME = "numpy"


class Workload:
    """A table's model on images (n, 3, image, image); dropout is off in both modes."""

    def __init__(self, table, cell):
        self.table = table
        self.shape = tasks.input_shape(cell.image)
        self._weights = {}

    def parameters(self):
        """How many numbers an optimizer would update."""
        return layers.parameter_count(self.table, self.shape)

    def load(self, weights):
        """Take the arrays of every parameter and running statistic by canonical name."""
        self._weights = {name: np.asarray(array, dtype=np.float64) for name, array in weights.items()}

    def weights(self):
        """The arrays by canonical name."""
        return dict(self._weights)

    def logits(self, images, is_training=False):
        """(n, classes) of uint8 images; training mode normalises by the batch's own statistics."""
        return self._forward(images, is_training)[0]

    def activations(self, images, is_training=True):
        """Every leaf's output by its path, in order of computation."""
        return self._forward(images, is_training)[1]

    def loss(self, images, labels):
        """The cross-entropy in training mode, the mean over the batch."""
        return model.cross_entropy(self.logits(images, is_training=True), labels)

    def _forward(self, images, is_training):
        done = model.Pass(self._weights, is_training, {})
        logits = model.run(self.table, data.normalised(images, "float64"), done)
        return logits, done.activations
