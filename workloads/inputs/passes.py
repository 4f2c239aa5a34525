"""In which order each pass over the training images takes them, and how it moves them. Python 3.6, numpy only.

Both are drawn here from the cell's seed, for all passes before the first begins, and the moving is done here too, so
that every framework's own pipeline hands out the same bytes in the same order. With order=framework the framework
shuffles by its own means, from the same seed; its moves are drawn here all the same, by the place in the pass.
"""
from typing import Any, NamedTuple

import numpy as np

_MOVES = 1               # tells the stream of the moves from that of the order


class Passes(NamedTuple):
    """What a pipeline needs to know of cell.epochs passes of so many samples, a whole number of batches.

    orders: int32 (count, samples), or None where the framework shuffles. moves: uint8 (count, samples, 3), rows and
    columns from the corner of the padded image and whether it is mirrored, or None where images stay as they are.
    """

    count: int
    samples: int
    orders: Any
    moves: Any

    def keys(self, index, shuffled):
        """What a sampler gives out in pass index: numbers of samples, with their moves where there are some.

        shuffled: the numbers in the framework's own order, for which it is asked only where that is wanted.
        """
        order = shuffled if self.orders is None else self.orders[index].tolist()
        return order if self.moves is None else list(zip(order, self.moves[index]))


def drawn(cell, available):
    """The Passes of a cell over so many samples; each pass leaves out what fills no batch, another rest each time."""
    samples = available // cell.batch * cell.batch
    orders = moves = None
    if cell.order == "seeded":
        orders = np.stack([_order(cell, index, available)[:samples] for index in range(cell.epochs)])
    if cell.augment != "none":
        moves = np.stack([_moves(cell, index, samples) for index in range(cell.epochs)])
    return Passes(cell.epochs, samples, orders, moves)


def _order(cell, index, available):
    """The first pass takes the samples as data.read has permuted them; RandomState's streams are frozen."""
    if index == 0:
        return np.arange(available, dtype=np.int32)
    return np.random.RandomState([cell.seed, index]).permutation(available).astype(np.int32)


def _moves(cell, index, samples):
    random = np.random.RandomState([cell.seed, index, _MOVES])
    ends = 2 * margin(cell.image) + 1, 2 * margin(cell.image) + 1, 2 if cell.augment == "flip_crop" else 1
    return np.stack([random.randint(0, end, samples) for end in ends], axis=1).astype(np.uint8)


def margin(image):
    """The pixels of padding on each side: 4 of 32, as He et al. 2015 (Deep Residual Learning, section 4.2) have it."""
    return image // 8


def padded(images):
    """The uint8 images (n, 3, side, side) with black around them."""
    width = margin(images.shape[-1])
    return np.pad(images, ((0, 0), (0, 0), (width, width), (width, width)), "constant")


def moved(image, move, size):
    """The part (3, size, size) of a padded image that a move says, mirrored where it says so."""
    top, left, is_mirrored = (int(number) for number in move)
    part = image[:, top:top + size, left:left + size]
    return np.ascontiguousarray(part[:, :, ::-1] if is_mirrored else part)


class Moved:
    """Padded images, labels as a data set of a framework's loader: (number, move) -> (image (3, size, size), label)."""

    def __init__(self, images, labels, size):
        self._images, self._labels, self._size = images, labels, size

    def __len__(self):
        return len(self._labels)

    def __getitem__(self, key):
        number, move = key
        return moved(self._images[number], move, self._size), self._labels[number]
