"""Packed text with masked tokens: WikiText-103's, or evenly drawn tokens.

Both have the lengths of spec/data/lengths.py, which are how the authors' code packs text. Of WikiText-103, articles
follow one another in a seeded order.
"""
from typing import NamedTuple

import numpy as np

from workloads.inputs import ragged
from workloads.inputs.padding import mask, padded
from workloads.process.errors import DataError
from workloads.spec.data.lengths import WIKITEXT_LONGEST, lengths
from workloads.spec.models import bert

PAD = 0
_MASKED, _REPLACED = 0.8, 0.9         # below the first a token becomes the mask, below the second any word
_ENDS = 2                             # marks of a sequence: one at each end


class Marks(NamedTuple):
    """The tokens that are no words; words come after them all."""

    pad: int
    unknown: int
    begin: int
    end: int
    mask: int

    @property
    def first_word(self):
        """The least token that is a word."""
        return max(self) + 1


MADE = Marks(PAD, 100, 101, 102, 103)         # those of the authors' vocabularies


def samples(sizes, count: int, seed: int, folder: str):
    """As inputs says: ids, the positions of the masked tokens among them, and labels, the tokens they were.

    Raises DataError for a length beyond the model's positions, and for data that is not whole.
    """
    if sizes.length > sizes.positions:
        raise DataError('cell: key "length": found %d, expected at most %d, the positions that the model has'
                        % (sizes.length, sizes.positions))
    random = np.random.RandomState(seed)
    drawn = [length - _ENDS for length, in lengths(bert.DATA, count, seed, float(sizes.length) / WIKITEXT_LONGEST)]
    marks = marks_of(folder) if folder else MADE
    tokens = read(sum(drawn), random, folder) if folder else random.randint(MADE.first_word, sizes.vocabulary,
                                                                           sum(drawn))
    tokens = np.where(tokens < sizes.vocabulary, tokens, marks.unknown)        # a small preset knows fewer words
    texts = np.split(tokens, np.cumsum(drawn)[:-1])
    return [_masked(np.concatenate([[marks.begin], text, [marks.end]]), marks, sizes, random) for text in texts]


def marks_of(folder: str):
    """The Marks of the prepared data set. Raises DataError."""
    content = ragged.facts(folder, bert.DATA)
    try:
        marks = Marks(**{name: int(content["made"]["marks"][name]) for name in Marks._fields})
    except (KeyError, TypeError, ValueError) as error:
        raise DataError('%s: facts.json: key "made": expected marks with %s, found no %s; prepare it again'
                        % (folder, ", ".join(Marks._fields), error)) from error
    if marks.pad != PAD:
        raise DataError("%s: facts.json: found pad %d, expected %d" % (folder, marks.pad, PAD))
    return marks


def read(count: int, random, folder: str):
    """So many tokens: articles behind one another in a random order, again from the first on where they are few."""
    articles = ragged.ragged(folder, "tokens")
    order = random.permutation(len(articles))
    ends = np.cumsum(articles.lengths[order])
    if not ends[-1]:
        raise DataError("%s: tokens.npy: found no token" % folder)
    taken = order[:np.searchsorted(ends, count) + 1]
    return np.resize(np.concatenate([articles[int(index)] for index in taken]), count)


def _masked(text: np.ndarray, marks, sizes, random):
    """A sample: 15 % of the text's tokens, its marks apart, masked as spec.bert says."""
    count = min(bert.predictions(sizes.length), max(1, round(0.15 * len(text))))
    positions = np.sort(1 + random.permutation(len(text) - _ENDS)[:count])
    draws, others = random.uniform(size=count), random.randint(marks.first_word, sizes.vocabulary, count)
    ids = text.astype(np.int64)
    labels = ids[positions]
    ids[positions] = np.where(draws < _MASKED, marks.mask, np.where(draws < _REPLACED, others, labels))
    return {"ids": ids, "positions": positions.astype(np.int64), "labels": labels}


def collate(sizes, samples, numbers, has_buckets: bool = False):
    """ids, types, mask (batch, time), 1 where a token is real; positions, labels, weights (batch, masked).

    Positions count through the whole batch, row after row. Where a sample has fewer masked tokens than the most,
    weights are 0.
    """
    texts, masked = [sample["ids"] for sample in samples], bert.predictions(sizes.length)
    most = sizes.length if has_buckets else 0
    ids = padded(texts, np.int64, most)
    positions, labels = np.zeros((2, len(samples), masked), np.int64)
    weights = np.zeros((len(samples), masked), numbers)
    for row, sample in enumerate(samples):
        count = len(sample["labels"])
        positions[row] = row * ids.shape[1]
        positions[row, :count] += sample["positions"]
        labels[row, :count], weights[row, :count] = sample["labels"], 1
    return {"ids": ids, "types": np.zeros_like(ids), "mask": mask(texts, numbers, most), "positions": positions,
            "labels": labels, "weights": weights}


def tokens(batch):
    """As inputs says."""
    return int(batch["mask"].sum()), batch["mask"].size
