"""The image data sets by name: the files of their published layout and the bytes of a record. Standard library only."""
from typing import NamedTuple, Optional, Tuple

PIXEL_BYTES = 3 * 32 * 32      # one image: red, green and blue planes of 32 x 32


class DataSet(NamedTuple):
    """A data set in CIFAR's layout; each file is NAME.bin (binary) or NAME (Python pickle)."""

    title: str
    train: Tuple[str, ...]
    test: Tuple[str, ...]
    classes: int
    label_bytes: int                   # before each image of the binary layout; the last one is the class
    records: Optional[Tuple[int, int]]     # in each training and test file as published; None: any number
    is_stand_in: bool = False


_BATCHES = tuple("data_batch_%d" % number for number in range(1, 6))
DATA_SETS = {
    "digits32": DataSet("handwritten digits of scikit-learn at 32x32, in CIFAR-10's layout", _BATCHES, ("test_batch",),
                        10, 1, None, is_stand_in=True),
    "cifar10": DataSet("CIFAR-10 (Krizhevsky 2009)", _BATCHES, ("test_batch",), 10, 1, (10000, 10000)),
    "cifar100": DataSet("CIFAR-100 (Krizhevsky 2009)", ("train",), ("test",), 100, 2, (50000, 10000)),
}


def record_bytes(name):
    """The bytes of one labelled image in a binary file of the data set."""
    return DATA_SETS[name].label_bytes + PIXEL_BYTES


def size_problem(name, stem, size):
    """What is wrong with a binary file of so many bytes, as "found ..., expected ..."; None where nothing is."""
    known = DATA_SETS[name]
    record = record_bytes(name)
    if known.records:
        wanted = known.records[stem in known.test] * record
        return None if size == wanted else "found %d bytes, expected %d: cut short or another file" % (size, wanted)
    if size and size % record == 0:
        return None
    return "found %d bytes, expected a multiple of %d: cut short" % (size, record)
