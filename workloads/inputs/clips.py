"""Recorded sentences of a prepared data set: frames and characters. Python 3.6 and later, numpy only."""
import numpy as np

from workloads.inputs import ragged
from workloads.process.errors import DataError


def taken(folder: str, name: str, sizes, count: int, random):
    """So many (frames (time, bins), character ids from 1 on) in a random order, again from the first on where few fit.

    Clips that are too long for the sizes are left out. Raises DataError for data that is not whole or does not fit.
    """
    ragged.facts(folder, name)
    frames, text = ragged.ragged(folder, "frames"), ragged.ragged(folder, "characters")
    if len(frames) != len(text):
        raise DataError("%s: found %d clips in frames and %d in characters, expected as many"
                        % (folder, len(frames), len(text)))
    if frames[0].shape[1:] != (sizes.bins,):
        raise DataError("%s: found frames of shape %s, expected %d bins" % (folder, frames[0].shape[1:], sizes.bins))
    fitting = np.flatnonzero((frames.lengths <= sizes.length) & (np.minimum(frames.lengths, text.lengths) > 0))
    if not len(fitting):
        raise DataError("%s: found no clip of at most %d frames: choose another cell.length" % (folder, sizes.length))
    chosen = np.resize(fitting[random.permutation(len(fitting))], count)
    return [(frames[int(index)], text[int(index)].astype(np.int64)) for index in chosen]
