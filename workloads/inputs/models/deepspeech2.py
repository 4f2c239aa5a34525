"""Spoken sentences: LibriSpeech's, or seeded frames and characters in their lengths (spec/data/lengths.py)."""
import numpy as np

from workloads.inputs import clips
from workloads.inputs.padding import counts, padded
from workloads.spec.data.framing import LIBRISPEECH
from workloads.spec.data.lengths import LIBRISPEECH_CHARACTERS, LIBRISPEECH_SECONDS, lengths
from workloads.spec.models import deepspeech2 as spec

_FRAMES_A_SECOND = LIBRISPEECH.rate / LIBRISPEECH.hop


def samples(sizes, count: int, seed: int, folder: str):
    """As inputs says: frames (time, bins) and text (characters,), ids from 0 on: the blank is the last label.

    Raises DataError for data that is not whole or does not fit.
    """
    random = np.random.RandomState(seed)
    if folder:
        return [{"frames": frames, "text": characters - 1}
                for frames, characters in clips.taken(folder, spec.DATA, sizes, count, random)]
    scale = sizes.length / (LIBRISPEECH_SECONDS[-1][1] * _FRAMES_A_SECOND)
    return [_drawn(sizes, min(frames, sizes.length), characters, random)
            for frames, characters in lengths(spec.DATA, count, seed, scale)]


def _drawn(sizes, frames, characters, random):
    """No two equal characters follow each other, so that every text fits in as many steps as it has characters."""
    steps = random.randint(1, sizes.labels - 1, max(1, min(characters, spec.slid(frames, 0))))
    return {"frames": random.standard_normal((frames, sizes.bins)), "text": np.cumsum(steps) % (sizes.labels - 1)}


def collate(sizes, samples, numbers, has_buckets: bool = False):
    """frames (batch, time, bins), steps (batch,): real ones after the convolutions; text (batch, longest), characters.

    In padding, text is 0, which counts nowhere, as characters (batch,) says where it ends.
    """
    frames, text = [sample["frames"] for sample in samples], [sample["text"] for sample in samples]
    long = counts(frames)
    most, most_characters = _longest(sizes) if has_buckets else (0, 0)
    return {"frames": padded(frames, numbers, most), "lengths": long, "steps": spec.slid(long, 0),
            "text": padded(text, np.int64, most_characters), "characters": counts(text)}


def _longest(sizes):
    """Frames of the longest sample, and about its characters."""
    return sizes.length, max(1, round(sizes.length / _FRAMES_A_SECOND * LIBRISPEECH_CHARACTERS))


def tokens(batch):
    """As inputs says: frames."""
    return int(batch["lengths"].sum()), batch["frames"].shape[0] * batch["frames"].shape[1]
