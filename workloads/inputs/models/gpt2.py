"""Text of one length with the token that follows each: WikiText-103's, or evenly drawn tokens.

Of WikiText-103, prepared as bytes or as BERT's word pieces, articles follow one another in a seeded order; GPT-2's own
byte pairs are not made here. A token that the model does not know is the set's mark for unknown ones.
"""
import numpy as np

from workloads.inputs.models import bert
from workloads.process.errors import DataError


def samples(sizes, count: int, seed: int, folder: str):
    """As inputs says: ids, and labels, the tokens that follow them.

    Raises DataError for a length beyond the model's positions, and for data that is not whole.
    """
    if sizes.length > sizes.positions:
        raise DataError('cell: key "length": found %d, expected at most %d, the positions that the model has'
                        % (sizes.length, sizes.positions))
    random, each = np.random.RandomState(seed), sizes.length + 1
    if folder:
        tokens = bert.read(count * each, random, folder)
        tokens = np.where(tokens < sizes.vocabulary, tokens, bert.marks_of(folder).unknown)
    else:
        tokens = random.randint(0, sizes.vocabulary, count * each)
    return [{"ids": text[:-1], "labels": text[1:]} for text in tokens.astype(np.int64).reshape(count, each)]


def collate(sizes, samples, numbers, has_buckets: bool = False):
    """ids, labels (batch, time): all of one length, so nothing is padded."""
    return {name: np.stack([sample[name] for sample in samples]) for name in ("ids", "labels")}


def tokens(batch):
    """As inputs says."""
    return batch["ids"].size, batch["ids"].size
