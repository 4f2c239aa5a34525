"""In which order each pass over the training images takes them, and how it moves them. Python 3.6, numpy only.

Both are drawn here from the cell's seed, for all passes before the first begins, and the moving is done here too, so
that every framework's own pipeline hands out the same bytes in the same order. With order=framework the framework
shuffles by its own means, from the same seed; its moves are drawn here all the same, by the place in the pass.
"""
from typing import Any, NamedTuple

import numpy as np

from workloads.inputs import loading
from workloads.spec.cell import Cell

_MOVES = 1               # tells the stream of the moves from that of the order


class Passes(NamedTuple):
    """What a pipeline needs to know of cell.epochs passes of so many samples, a whole number of batches.

    orders: int32 (count, samples), or None where the framework shuffles. moves: uint8 (count, samples, 3), rows and
    columns from the corner of the padded image and whether it is mirrored, or None where images stay as they are.
    """

    count: int                # type: ignore[assignment]      # not tuple's method
    samples: int
    orders: Any
    moves: Any

    def batches(self, images, labels, cell: Cell, shuffled, empty=np.empty):
        """(images, labels) of each batch, pass by pass.

        images are normalised, and have their padding where they are moved; shuffled() is the framework's own order of
        a pass, asked for only where that is wanted; empty(shape, dtype) makes what a batch is gathered into.
        """
        for index in range(self.count):
            order = shuffled() if self.orders is None else self.orders[index]
            for first in range(0, self.samples, cell.batch):
                some = order[first:first + cell.batch]
                if self.moves is None:
                    batch = loading.taken(images, some, empty)
                else:
                    batch = moved_batch(images, some, self.moves[index, first:first + cell.batch], cell.image, empty)
                yield batch, loading.taken(labels, some, empty)


def drawn(cell: Cell, available):
    """The Passes of a cell over so many samples; each pass leaves out what fills no batch, another rest each time."""
    samples = available // cell.batch * cell.batch
    orders = moves = None
    if cell.order == "seeded":
        orders = np.stack([_order(cell, index, available)[:samples] for index in range(cell.epochs)])
    if cell.augment != "none":
        moves = np.stack([_moves(cell, index, samples) for index in range(cell.epochs)])
    return Passes(cell.epochs, samples, orders, moves)


def _order(cell: Cell, index: int, available):
    """The first pass takes the samples as data.read has permuted them; RandomState's streams are frozen."""
    if index == 0:
        return np.arange(available, dtype=np.int32)
    return np.random.RandomState([cell.seed, index]).permutation(available).astype(np.int32)


def _moves(cell: Cell, index: int, samples):
    random = np.random.RandomState([cell.seed, index, _MOVES])
    ends = 2 * margin(cell.image) + 1, 2 * margin(cell.image) + 1, 2 if cell.augment == "flip_crop" else 1
    return np.stack([random.randint(0, end, samples) for end in ends], axis=1).astype(np.uint8)


def margin(image):
    """The pixels of padding on each side: 4 of 32, as He et al. 2015 (Deep Residual Learning, section 4.2) have it."""
    return image // 8


def around(images, moves):
    """The images as moves want them: with black around them where there are any."""
    return images if moves is None else padded(images)


def padded(images):
    """The uint8 images (n, 3, side, side) with black around them."""
    width = margin(images.shape[-1])
    return np.pad(images, ((0, 0), (0, 0), (width, width), (width, width)), "constant")


def moved(image, move, size):
    """The part (3, size, size) of a padded image that a move says, mirrored where it says so."""
    return np.ascontiguousarray(_part(image, move, size, 1))


def moved_batch(images, some, moves, size, empty=np.empty):
    """Some of padded images, each moved: in the order (3, size, size), or (size, size, 3) where they lie so."""
    is_last = images.shape[-1] == 3
    batch = empty((len(some),) + ((size, size, 3) if is_last else (3, size, size)), images.dtype)
    for row, (number, move) in enumerate(zip(some, moves)):
        batch[row] = _part(images[number], move, size, 0 if is_last else 1)
    return batch


def _part(image, move, size, axis):
    """What of an image a move shows; axis: that of its rows, before that of its columns."""
    top, left, is_mirrored = (int(number) for number in move)
    before = (slice(None),) * axis
    part = image[before + (slice(top, top + size), slice(left, left + size))]
    return part[before + (slice(None), slice(None, None, -1))] if is_mirrored else part
