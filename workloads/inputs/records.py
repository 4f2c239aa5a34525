"""Images that the frameworks' own loaders read from disk, record by record, while steps run: input = loader.

A record is the label and three planes of bytes, in the binary layout of workloads/spec/data/datasets.py; Samples is a
data set as PyTorch's and gluon's DataLoader take it, TensorFlow's tf.data reads the files by itself. Every loader takes
records in the files' order or the framework's, brings each to the cell's size by its nearest pixels, and normalises it
as inputs.images does. What lies in the kernel's page cache is read from there. Python 3.6 and later, numpy only.
"""
import os
from typing import NamedTuple

import numpy as np

from workloads.inputs import images as data
from workloads.process.errors import DataError
from workloads.spec.cell import Cell
from workloads.spec.data.datasets import DATA_SETS, record_bytes

PROCESSES = 2                # of a DataLoader: as in PyTorch's tutorial of CIFAR-10; krisilias does not say

_ORDERS = {"seeded": "the files'", "framework": "the framework's own shuffling"}


class Records(NamedTuple):
    """The files of a data set's training part, and which of their records one worker reads: every step-th from rank."""

    paths: tuple
    counts: tuple                # records in each file
    record_bytes: int
    label_bytes: int
    is_wide: bool                # the label's bytes are one number, the lowest first; else the last one is the class
    side: int                    # pixels
    facts: dict
    rank: int = 0
    step: int = 1

    @property
    def inputs(self):
        """What a workload's loaded takes."""
        return (self,)

    def part(self, rank: int, count: int):
        """One worker's shard."""
        images = len(range(rank, sum(self.counts), count))
        return self._replace(rank=rank, step=count,
                             facts=dict(self.facts, images=images, shard="%d of %d" % (rank, count)))


def found(folder: str, cell: Cell):
    """The Records of the cell's data set in a folder. Raises DataError where its files are not of the binary layout."""
    side = data.side(folder, cell.data)
    paths = tuple(path for _, path in data.paths(folder, cell.data, "train"))
    for path in paths:
        if not path.endswith(".bin"):
            raise DataError("%s: found a Python pickle, expected %s.bin: input = loader reads the binary layout, which "
                            "data/%s/prepare.py fetches" % (path, os.path.basename(path), cell.data))
    known, size = DATA_SETS[cell.data], record_bytes(cell.data, side)
    counts = tuple(os.path.getsize(path) // size for path in paths)
    facts = {"name": cell.data, "images": sum(counts), "stand_in": known.is_stand_in, "order": _ORDERS[cell.order]}
    return Records(paths, counts, size, known.label_bytes, known.is_wide, side, facts)


class Samples:
    """(normalised image, label) by number, each read from its file when it is asked for.

    Images are (3, size, size), or (size, size, 3) where the layout is "nhwc"; labels numbers of the type `labels`.
    """

    def __init__(self, records, size, numbers, layout="nchw", labels=np.int64):
        self._records, self._size, self._numbers, self._layout, self._labels = records, size, numbers, layout, labels
        self._files = [os.open(path, os.O_RDONLY) for path in records.paths]
        self._firsts = np.cumsum((0,) + records.counts)

    def __len__(self):
        return len(range(self._records.rank, int(self._firsts[-1]), self._records.step))

    def __getitem__(self, index: int):
        number = self._records.rank + int(index) * self._records.step
        file = int(np.searchsorted(self._firsts, number, "right")) - 1
        records = self._records
        place = (number - int(self._firsts[file])) * records.record_bytes
        record = np.frombuffer(os.pread(self._files[file], records.record_bytes, place), np.uint8)
        pixels = record[records.label_bytes:].reshape(1, 3, records.side, records.side)
        image = data.normalised(data.scaled(pixels, self._size)[0], self._numbers)
        if self._layout == "nhwc":
            image = np.ascontiguousarray(image.transpose(1, 2, 0))
        return image, self._labels(_label(record, records))


def _label(record, records):
    """The class that a record's first bytes say."""
    head = record[:records.label_bytes].astype(np.int64)
    return (head * 256 ** np.arange(len(head))).sum() if records.is_wide else head[-1]


def without_end(loader):
    """A loader's batches, pass after pass, each of which it begins anew."""
    while True:
        for batch in loader:
            yield batch
