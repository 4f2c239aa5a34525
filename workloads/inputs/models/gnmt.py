"""Pairs of sentences: WMT'16's in a seeded order, or evenly drawn tokens in their lengths (spec/data/lengths.py)."""
import numpy as np

from workloads.inputs import ragged
from workloads.inputs.padding import counts, mask, padded
from workloads.process.errors import DataError
from workloads.spec.data.lengths import WMT16_LONGEST, lengths
from workloads.spec.models import gnmt
from workloads.spec.models.gnmt import BEGIN, END, FIRST_WORD, UNKNOWN


def samples(sizes, count: int, seed: int, folder: str):
    """As inputs says: source and target, each with its end mark. Raises DataError for data that is not whole."""
    random = np.random.RandomState(seed)
    if folder:
        return _read(sizes, count, random, folder)
    return [{"source": _sentence(sizes, source, random), "target": _sentence(sizes, target, random)}
            for source, target in lengths(gnmt.DATA, count, seed, float(sizes.length) / WMT16_LONGEST)]


def _sentence(sizes, length: int, random):
    return np.append(random.randint(FIRST_WORD, sizes.vocabulary, length - 1), END)


def _read(sizes, count: int, random, folder: str):
    """Pairs that are not too long, in a random order, again from the first on where they are few."""
    ragged.facts(folder, gnmt.DATA)
    source, target = ragged.ragged(folder, "source"), ragged.ragged(folder, "target")
    if len(source) != len(target):
        raise DataError("%s: found %d sentences in source and %d in target, expected pairs"
                        % (folder, len(source), len(target)))
    longest = np.maximum(source.lengths, target.lengths)
    fitting = np.flatnonzero((longest <= sizes.length) & (np.minimum(source.lengths, target.lengths) > 0))
    if not len(fitting):
        raise DataError("%s: found no pair of at most %d tokens: choose another cell.length" % (folder, sizes.length))
    taken = np.resize(fitting[random.permutation(len(fitting))], count)
    return [{"source": _known(source[int(index)], sizes), "target": _known(target[int(index)], sizes)}
            for index in taken]


def _known(sentence, sizes):
    """The sentence's ids, those beyond a small preset's vocabulary as UNKNOWN."""
    return np.where(sentence < sizes.vocabulary, sentence, UNKNOWN).astype(np.int64)


def collate(sizes, samples, numbers, has_buckets: bool = False):
    """source (batch, time) with source_lengths (batch,) and source_mask; inputs, labels, weights (batch, target time).

    inputs are the target moved by one, from BEGIN on; mask and weights are 1 where a token is real.
    """
    source, target = [sample["source"] for sample in samples], [sample["target"] for sample in samples]
    moved = [np.append(BEGIN, sentence[:-1]) for sentence in target]
    most = sizes.length if has_buckets else 0
    return {"source": padded(source, np.int64, most), "source_lengths": counts(source),
            "source_mask": mask(source, numbers, most), "inputs": padded(moved, np.int64, most),
            "labels": padded(target, np.int64, most), "weights": mask(target, numbers, most)}


def tokens(batch):
    """As inputs says: of source and target."""
    real = int(batch["source_mask"].sum() + batch["weights"].sum())
    return real, batch["source_mask"].size + batch["weights"].size
