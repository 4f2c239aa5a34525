"""Read sentences: LJSpeech's, or seeded characters and frames in their lengths (spec/data/lengths.py)."""
import numpy as np

from workloads.inputs import clips
from workloads.inputs.padding import counts, mask, padded
from workloads.spec.data.lengths import lengths
from workloads.spec.models import tacotron2 as spec

_LONGEST_FRAMES = spec.PRESETS["study"].length


def samples(sizes, count: int, seed: int, folder: str):
    """As inputs says: text (characters,) and frames (time, bins).

    Raises DataError for data that is not whole or does not fit.
    """
    random = np.random.RandomState(seed)
    if folder:
        return [{"text": characters, "frames": frames}
                for frames, characters in clips.taken(folder, spec.DATA, sizes, count, random)]
    scale = float(sizes.length) / _LONGEST_FRAMES
    return [{"text": random.randint(1, sizes.symbols, characters),
             "frames": random.standard_normal((min(frames, sizes.length), sizes.bins))}
            for frames, characters in lengths(spec.DATA, count, seed, scale)]


def collate(sizes, samples, numbers, has_buckets: bool = False):
    """text (batch, characters), characters (batch,); frames, what comes before them, and stops (batch, time), weights.

    Padding is 0 in text and frames; weights are 1 where a frame is real, stops from a sample's last frame on.
    """
    text, said = [sample["text"] for sample in samples], [sample["frames"] for sample in samples]
    most, most_characters = (sizes.length, spec.characters(sizes)) if has_buckets else (0, 0)
    frames = padded(said, numbers, most)
    stops = np.ones(frames.shape[:2], numbers)
    for row, count in enumerate(counts(said)):
        stops[row, :count - 1] = 0
    before = np.concatenate([np.zeros_like(frames[:, :1]), frames[:, :-1]], axis=1)
    return {"text": padded(text, np.int64, most_characters), "characters": counts(text),
            "mask": mask(text, numbers, most_characters), "frames": frames, "before": before, "stops": stops,
            "weights": mask(said, numbers, most)}


def tokens(batch):
    """As inputs says: frames."""
    return int(batch["weights"].sum()), batch["weights"].size
