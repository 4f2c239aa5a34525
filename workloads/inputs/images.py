"""Images as CIFAR's binary or pickle layout holds them, seeded synthetic ones, and what every pipeline does to them.

Images are uint8 (n, 3, height, width), labels int64 (n,). Python 3.6 and later, numpy only.
"""
import hashlib
import os
from typing import NamedTuple

import numpy as np

from workloads.inputs import pickled
from workloads.process.errors import DataError
from workloads.spec.cell import Cell
from workloads.spec.data import prepared
from workloads.spec.data.datasets import DATA_SETS, SIDE, record_bytes, size_problem
from workloads.spec.duration import is_open

MOST_BYTES = 2 ** 28             # of normalised images that open-ended steps go round: more than any cache holds

# by the cell's switch and whether it measures epochs
_ORDERS = {("seeded", False): "seeded permutation, the same in every pass",
           ("seeded", True): "seeded permutation, another one in every epoch",
           ("framework", False): "the framework's own shuffling of a seeded choice",
           ("framework", True): "the framework's own shuffling"}


class Images(NamedTuple):
    """A data set's arrays and where they came from."""

    images: np.ndarray
    labels: np.ndarray
    facts: dict

    @property
    def inputs(self):
        """What a workload's batches and synthetic take."""
        return self.images, self.labels

    def first(self, count: int):
        """What a workload's check takes: a batch of so many."""
        return self.images[:count], self.labels[:count]

    def part(self, rank: int, count: int):
        """Every count-th of them, from rank on: one worker's shard."""
        labels = self.labels[rank::count]
        facts = dict(self.facts, images=len(labels), shard="%d of %d" % (rank, count))
        return Images(np.ascontiguousarray(self.images[rank::count]), labels, facts)


def synthetic(cell: Cell):
    """Seeded noise of the cell's size, one batch of it."""
    random = np.random.RandomState(cell.seed)
    images = random.randint(0, 256, (cell.batch, 3, cell.image, cell.image), dtype=np.uint8)
    labels = random.randint(0, cell.classes, cell.batch).astype(np.int64)
    return Images(images, labels, {"name": "synthetic", "images": cell.batch})


def read(folder: str, cell: Cell, part="train"):
    """The images of a part ("train" or "test") in the cell's seeded order, scaled to its size, as many as it can use.

    Raises DataError where the folder has no such data set, a file is cut short or a label is out of range.
    """
    pixels = side(folder, cell.data)
    parts = [_file(path, cell.data, stem, pixels) for stem, path in paths(folder, cell.data, part)]
    images, labels = (np.concatenate(arrays) for arrays in zip(*parts))
    if labels.min() < 0 or labels.max() >= cell.classes:
        raise DataError("%s: found label %d, expected labels below classes = %d"
                        % (folder, labels.max(), cell.classes))
    order = np.random.RandomState(cell.seed).permutation(len(labels))
    if cell.measure != "epochs":
        order = order[:max(cell.batch, _used(cell))]
    elif cell.images and part == "train":
        order = order[:cell.images]
    if part == "train" and len(order) < cell.batch:
        raise DataError("%s: found %d images, expected at least a batch of %d" % (folder, len(order), cell.batch))
    facts = {"name": cell.data, "images": len(order), "sha256": _digest(images, labels),
             "stand_in": DATA_SETS[cell.data].is_stand_in, "order": _ORDERS[cell.order, cell.measure == "epochs"]}
    return Images(scaled(images[order], cell.image), labels[order].astype(np.int64), facts)


def _used(cell: Cell):
    """The images that a run takes; where it takes open-ended steps, as many as fit in MOST_BYTES, over and over."""
    if is_open(cell):
        return MOST_BYTES // (4 * 3 * cell.image ** 2)
    return (cell.warmup + cell.steps) * cell.batch


def paths(folder: str, name: str, part):
    """The (stem, path) of each file of a part."""
    if name not in DATA_SETS:
        raise DataError('data set "%s" is unknown; known: %s' % (name, ", ".join(sorted(DATA_SETS))))
    if not os.path.isdir(folder):
        raise DataError("%s: no such folder; name the one that holds %s with --data" % (folder, name))
    return [(stem, _path(folder, name, stem)) for stem in getattr(DATA_SETS[name], part)]


def _path(folder: str, name: str, stem):
    for candidate in (stem + ".bin", stem):
        path = os.path.join(folder, candidate)
        if os.path.isfile(path):
            return path
    raise DataError("%s: found no %s.bin and no %s, expected the files of %s" % (folder, stem, stem, name))


def side(folder: str, name: str):
    """The pixels of a side of the stored images."""
    if not DATA_SETS[name].is_prepared:
        return SIDE
    try:
        return prepared.facts(folder, name)["made"].get("image", SIDE)
    except prepared.FactsError as error:
        raise DataError(str(error)) from error


def _file(path: str, name: str, stem, side):
    return _binary(path, name, stem, side) if path.endswith(".bin") else _pickled(path, name)


def _binary(path: str, name: str, stem, side):
    problem = size_problem(name, stem, os.path.getsize(path), side)
    if problem:
        raise DataError("%s: %s" % (path, problem))
    records = np.fromfile(path, dtype=np.uint8).reshape(-1, record_bytes(name, side))
    head = DATA_SETS[name].label_bytes
    images = records[:, head:].reshape(-1, 3, side, side)
    if DATA_SETS[name].is_wide:
        return images, records[:, :head].astype(np.int64) @ 256 ** np.arange(head)
    return images, records[:, head - 1]


def _pickled(path: str, name: str):
    images, labels = pickled.batch(path, b"fine_labels" if name == "cifar100" else b"labels")
    if images.shape != (len(labels), 3 * SIDE * SIDE):
        raise DataError("%s: found %s images and %d labels" % (path, images.shape, len(labels)))
    return images.reshape(-1, 3, SIDE, SIDE), labels


def _digest(images, labels):
    digest = hashlib.sha256(images)
    digest.update(labels.astype(np.int64))
    return digest.hexdigest()


def scaled(images, size):
    """The images at size x size pixels, each the nearest of the old ones: the same bytes in every framework."""
    if images.shape[-1] == size:
        return np.ascontiguousarray(images)
    nearest = np.arange(size) * images.shape[-1] // size
    return np.ascontiguousarray(images[:, :, nearest[:, None], nearest])


def normalised(images, dtype="float32", order="K"):
    """Pixels as numbers from -1 to 1; order: as numpy's, of the array in memory."""
    pixels = np.asarray(images).astype(dtype, order)
    pixels /= np.dtype(dtype).type(127.5)               # in place: a whole data set's memory is asked for once
    pixels -= np.dtype(dtype).type(1)
    return pixels
