"""Pairs of sentences: WMT'16's, or evenly drawn tokens in their lengths (spec/lengths.py)."""
import numpy as np

from workloads.spec import gnmt
from workloads.spec.lengths import WMT16_LONGEST, lengths

PAD, UNKNOWN, BEGIN, END = range(4)       # as in the reference's vocabulary; words come after them
FIRST_WORD = 4


def samples(sizes, count, seed, folder):
    """As inputs says: source and target, each with its end mark."""
    random = np.random.RandomState(seed)
    return [{"source": _sentence(sizes, source, random), "target": _sentence(sizes, target, random)}
            for source, target in lengths(gnmt.DATA, count, seed, float(sizes.length) / WMT16_LONGEST)]


def _sentence(sizes, length, random):
    return np.append(random.randint(FIRST_WORD, sizes.vocabulary, length - 1), END)


def collate(sizes, samples, numbers):
    """source (batch, time) with source_lengths (batch,) and source_mask; inputs, labels, weights (batch, target time).

    inputs are the target moved by one, from BEGIN on; mask and weights are 1 where a token is real.
    """
    source, source_mask = _padded([sample["source"] for sample in samples], numbers)
    labels, weights = _padded([sample["target"] for sample in samples], numbers)
    inputs, _ = _padded([np.append(BEGIN, sample["target"][:-1]) for sample in samples], numbers)
    counts = np.array([len(sample["source"]) for sample in samples], np.int64)
    return {"source": source, "source_lengths": counts, "source_mask": source_mask, "inputs": inputs,
            "labels": labels, "weights": weights}


def _padded(sentences, numbers):
    """The sentences in one array with PAD behind them, and its mask."""
    ids = np.full((len(sentences), max(map(len, sentences))), PAD, np.int64)
    mask = np.zeros(ids.shape, numbers)
    for row, sentence in enumerate(sentences):
        ids[row, :len(sentence)], mask[row, :len(sentence)] = sentence, 1
    return ids, mask


def tokens(batch):
    """As inputs says: of source and target."""
    real = int(batch["source_mask"].sum() + batch["weights"].sum())
    return real, batch["source_mask"].size + batch["weights"].size
