"""An image task: a model's table with the sizes it was made for. Python 3.6 and later, standard library only."""
from typing import NamedTuple

CHANNELS = 3


class Task(NamedTuple):
    """Classify (3, image, image) with cross-entropy."""

    table: tuple
    image: int            # pixels it was made for
    least: int            # pixels below which a layer's window no longer fits
    classes: int
    title: str


def input_shape(image):
    """The shape of one sample, without the batch."""
    return (CHANNELS, image, image)
