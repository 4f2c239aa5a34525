"""Read sentences: LJSpeech's, or seeded characters and frames in their lengths (spec/lengths.py)."""
import numpy as np

from workloads import ragged
from workloads.spec import tacotron2 as spec
from workloads.spec.lengths import lengths

_LONGEST_FRAMES = spec.PRESETS["study"].length


def samples(sizes, count, seed, folder):
    """As inputs says: text (characters,) and frames (time, bins)."""
    random = np.random.RandomState(seed)
    if folder is not None:
        return _real(sizes, count, random, folder)
    scale = float(sizes.length) / _LONGEST_FRAMES
    return [{"text": random.randint(1, sizes.symbols, characters),
             "frames": random.standard_normal((min(frames, sizes.length), sizes.bins))}
            for frames, characters in lengths(spec.DATA, count, seed, scale)]


def _real(sizes, count, random, folder):
    """Sentences in a seeded order, those that are too long for the sizes left out."""
    frames, text = ragged.ragged(folder, "frames"), ragged.ragged(folder, "characters")
    fitting = [i for i in random.permutation(len(frames)) if frames.lengths[i] <= sizes.length]
    chosen = [fitting[i % len(fitting)] for i in range(count)]
    return [{"frames": frames[i], "text": text[i]} for i in chosen]


def collate(sizes, samples, numbers):
    """text (batch, characters), characters (batch,); frames, what comes before them, and stops (batch, time), weights.

    Padding is 0 in text and frames; weights are 1 where a frame is real, stops from a sample's last frame on.
    """
    longest = max(len(sample["frames"]) for sample in samples)
    frames = np.zeros((len(samples), longest, sizes.bins), numbers)
    text = np.zeros((len(samples), max(len(sample["text"]) for sample in samples)), np.int64)
    stops, weights = np.zeros(frames.shape[:2], numbers), np.zeros(frames.shape[:2], numbers)
    for row, sample in enumerate(samples):
        count = len(sample["frames"])
        frames[row, :count], text[row, :len(sample["text"])] = sample["frames"], sample["text"]
        stops[row, count - 1:], weights[row, :count] = 1, 1
    before = np.concatenate([np.zeros_like(frames[:, :1]), frames[:, :-1]], axis=1)
    mask = np.zeros(text.shape, numbers)
    for row, sample in enumerate(samples):
        mask[row, :len(sample["text"])] = 1
    return {"text": text, "characters": np.array([len(sample["text"]) for sample in samples], np.int64),
            "mask": mask, "frames": frames, "before": before, "stops": stops, "weights": weights}


def tokens(batch):
    """As inputs says: frames."""
    return int(batch["weights"].sum()), batch["weights"].size
