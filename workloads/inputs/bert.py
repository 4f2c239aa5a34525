"""Packed text with masked tokens: WikiText-103's, or evenly drawn tokens in its lengths (spec/lengths.py)."""
import numpy as np

from workloads.errors import DataError
from workloads.spec import bert
from workloads.spec.lengths import WIKITEXT_LONGEST, lengths

# as in the authors' vocabularies; words come after them
PAD, UNKNOWN, CLASSIFY, SEPARATE, MASK = 0, 100, 101, 102, 103
FIRST_WORD = 104
_MASKED, _REPLACED = 0.8, 0.9         # below the first a token becomes MASK, below the second any word


def samples(sizes, count, seed, folder):
    """As inputs says: ids, the positions of the masked tokens among them, and labels, the tokens they were.

    Raises DataError for a length beyond the model's positions.
    """
    if sizes.length > sizes.positions:
        raise DataError('cell: key "length": found %d, expected at most %d, the positions that the model has'
                        % (sizes.length, sizes.positions))
    random = np.random.RandomState(seed)
    return [_masked(text, sizes, random) for text in _drawn(sizes, count, seed, random)]


def _drawn(sizes, count, seed, random):
    """Arrays of tokens with their marks."""
    for drawn, in lengths(bert.DATA, count, seed, float(sizes.length) / WIKITEXT_LONGEST):
        words = random.randint(FIRST_WORD, sizes.vocabulary, drawn - 2)
        yield np.concatenate([[CLASSIFY], words, [SEPARATE]])


def _masked(text, sizes, random):
    """A sample: 15 % of the text's tokens, its marks apart, masked as spec.bert says."""
    count = min(bert.predictions(sizes.length), max(1, int(round(0.15 * len(text)))))
    places = np.sort(1 + random.permutation(len(text) - 2)[:count])
    draws, words = random.uniform(size=count), random.randint(FIRST_WORD, sizes.vocabulary, count)
    ids = text.astype(np.int64)
    labels = ids[places]
    ids[places] = np.where(draws < _MASKED, MASK, np.where(draws < _REPLACED, words, labels))
    return {"ids": ids, "positions": places.astype(np.int64), "labels": labels}


def collate(sizes, samples, numbers):
    """ids, types (batch, time); mask (batch, time), 1 where a token is real; positions, labels, weights (batch, masked).

    Positions count through the whole batch, row after row. Where a sample has fewer masked tokens than the most,
    weights are 0.
    """
    time, masked = max(len(sample["ids"]) for sample in samples), bert.predictions(sizes.length)
    ids, mask = np.full((len(samples), time), PAD, np.int64), np.zeros((len(samples), time), numbers)
    positions, labels = np.zeros((2, len(samples), masked), np.int64)
    weights = np.zeros((len(samples), masked), numbers)
    for row, sample in enumerate(samples):
        tokens, count = len(sample["ids"]), len(sample["labels"])
        ids[row, :tokens], mask[row, :tokens] = sample["ids"], 1
        positions[row] = row * time
        positions[row, :count] += sample["positions"]
        labels[row, :count], weights[row, :count] = sample["labels"], 1
    return {"ids": ids, "types": np.zeros_like(ids), "mask": mask, "positions": positions, "labels": labels,
            "weights": weights}


def tokens(batch):
    """As inputs says."""
    return int(batch["mask"].sum()), batch["mask"].size
