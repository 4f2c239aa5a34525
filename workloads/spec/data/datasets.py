"""The image data sets by name: the files of their published layout and the bytes of a record. Standard library only."""
from typing import NamedTuple, Optional, Tuple

SIDE = 32                      # pixels of CIFAR's images; a prepared set's facts.json says its own


class DataSet(NamedTuple):
    """A data set in CIFAR's layout; each file is NAME.bin (binary) or NAME (Python pickle)."""

    title: str
    train: Tuple[str, ...]
    test: Tuple[str, ...]
    classes: int
    label_bytes: int                   # before each image of the binary layout; the last one is the class
    records: Optional[Tuple[int, int]]     # in each training and test file as published; None: any number
    is_stand_in: bool = False
    is_prepared: bool = False          # with facts.json, which says the images' side
    is_wide: bool = False              # the label bytes are one number, the lowest byte first
    usual: int = 0                     # training images where the files may hold any number


_BATCHES = tuple("data_batch_%d" % number for number in range(1, 6))
DATA_SETS = {
    "digits32": DataSet("handwritten digits of the UCI repository at 32x32, in CIFAR-10's layout", _BATCHES,
                        ("test_batch",), 10, 1, None, is_stand_in=True,
                        usual=10000),      # an epoch of LeNet-5 stays within seconds
    "cifar10": DataSet("CIFAR-10 (Krizhevsky 2009)", _BATCHES, ("test_batch",), 10, 1, (10000, 10000)),
    "cifar100": DataSet("CIFAR-100 (Krizhevsky 2009)", ("train",), ("test",), 100, 2, (50000, 10000)),
    "imagenet": DataSet("ImageNet (ILSVRC), prepared at a size of one's choice", ("train",), ("test",), 1000, 2, None,
                        is_prepared=True, is_wide=True, usual=1281167),   # ILSVRC 2012 (Russakovsky et al. 2015)
}


def train_images(name: str):
    """How many images a pass over the training part takes, as published or usual; 0 where it has no images."""
    if name not in DATA_SETS:
        return 0
    known = DATA_SETS[name]
    return len(known.train) * known.records[0] if known.records else known.usual


def record_bytes(name: str, side=SIDE):
    """The bytes of one labelled image in a binary file of the data set: the label, then three planes of side x side."""
    return DATA_SETS[name].label_bytes + 3 * side * side


def size_problem(name: str, stem, size, side=SIDE):
    """What is wrong with a binary file of so many bytes, as "found ..., expected ..."; None where nothing is."""
    known = DATA_SETS[name]
    record = record_bytes(name, side)
    if known.records:
        expected = known.records[stem in known.test] * record
        return None if size == expected else "found %d bytes, expected %d: cut short or another file" % (size, expected)
    if size and size % record == 0:
        return None
    return "found %d bytes, expected a multiple of %d: cut short" % (size, record)
