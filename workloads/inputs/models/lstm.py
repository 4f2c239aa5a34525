"""Seeded normal vectors, all of one length."""
import numpy as np


def samples(sizes, count: int, seed: int, folder: str):
    """As inputs says."""
    random = np.random.RandomState(seed)
    return [{"x": random.standard_normal((sizes.length, sizes.hidden))} for _ in range(count)]


def collate(sizes, samples, numbers, has_buckets: bool = False):
    """x (batch, length, hidden)."""
    return {"x": np.stack([sample["x"] for sample in samples]).astype(numbers)}


def tokens(batch):
    """As inputs says."""
    count = batch["x"].shape[0] * batch["x"].shape[1]
    return count, count
