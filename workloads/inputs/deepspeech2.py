"""Spoken sentences: LibriSpeech's, or seeded frames and characters in their lengths (spec/lengths.py)."""
import numpy as np

from workloads import ragged
from workloads.spec import deepspeech2 as spec
from workloads.spec.framing import LIBRISPEECH
from workloads.spec.lengths import LIBRISPEECH_SECONDS, lengths

_FRAMES_A_SECOND = LIBRISPEECH.rate / LIBRISPEECH.hop


def samples(sizes, count, seed, folder):
    """As inputs says: frames (time, bins) and text (characters,)."""
    random = np.random.RandomState(seed)
    if folder is not None:
        return _real(sizes, count, random, folder)
    scale = sizes.length / (LIBRISPEECH_SECONDS[-1][1] * _FRAMES_A_SECOND)
    return [_drawn(sizes, min(frames, sizes.length), characters, random)
            for frames, characters in lengths(spec.DATA, count, seed, scale)]


def _drawn(sizes, frames, characters, random):
    """No two equal characters follow each other, so that every text fits in as many steps as it has characters."""
    steps = random.randint(1, sizes.labels - 1, max(1, min(characters, spec.slid(frames, 0))))
    return {"frames": random.standard_normal((frames, sizes.bins)), "text": np.cumsum(steps) % (sizes.labels - 1)}


def _real(sizes, count, random, folder):
    """Sentences in a seeded order, those that are too long for the sizes left out."""
    frames, text = ragged.ragged(folder, "frames"), ragged.ragged(folder, "characters")
    fitting = [i for i in random.permutation(len(frames)) if frames.lengths[i] <= sizes.length]
    chosen = [fitting[i % len(fitting)] for i in range(count)]
    return [{"frames": frames[i], "text": text[i]} for i in chosen]


def collate(sizes, samples, numbers):
    """frames (batch, time, bins), steps (batch,): real ones after the convolutions; text (batch, longest), characters.

    In padding, text is 0, which counts nowhere, as characters (batch,) says where it ends.
    """
    longest = max(len(sample["frames"]) for sample in samples)
    frames = np.zeros((len(samples), longest, sizes.bins), numbers)
    text = np.zeros((len(samples), max(len(sample["text"]) for sample in samples)), np.int64)
    for row, sample in enumerate(samples):
        frames[row, :len(sample["frames"])], text[row, :len(sample["text"])] = sample["frames"], sample["text"]
    counts = [len(sample["frames"]) for sample in samples]
    return {"frames": frames, "lengths": np.array(counts, np.int64),
            "steps": np.array([spec.slid(count, 0) for count in counts], np.int64),
            "text": text, "characters": np.array([len(sample["text"]) for sample in samples], np.int64)}


def tokens(batch):
    """As inputs says: frames."""
    return int(batch["lengths"].sum()), batch["frames"].shape[0] * batch["frames"].shape[1]
