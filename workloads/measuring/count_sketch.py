"""Arrays made small enough to send, so that two of them can still be compared: count sketches.

The entries, each times a seeded sign, are summed into WIDTH buckets (Charikar, Chen and Farach-Colton 2002; Alon,
Matias and Szegedy 1996). The sketch is linear, and the expected squared length of a difference's sketch is the squared
length of the difference, with a relative standard deviation of sqrt(2 / WIDTH), 4 %. An array of up to WIDTH entries
is sent whole.
"""
import base64
import zlib

import numpy as np

WIDTH = 1024


def sketch(name: str, array):
    """The buckets of an array, float64 (min(WIDTH, size),); the signs come from the name, equal in every stack."""
    flat = np.asarray(array, dtype=np.float64).ravel()
    if flat.size <= WIDTH:
        return flat
    random = np.random.RandomState(zlib.crc32(name.encode()))
    padded = np.zeros(-(-flat.size // WIDTH) * WIDTH)
    padded[:flat.size] = flat * _signs(random, flat.size)
    return padded.reshape(-1, WIDTH).sum(axis=0)


def _signs(random, size):
    bits = np.unpackbits(np.frombuffer(random.bytes(-(-size // 8)), dtype=np.uint8))[:size]
    return bits.astype(np.float64) * 2 - 1


def encoded(buckets):
    """Little-endian float64 in base64."""
    return base64.b64encode(np.asarray(buckets, dtype="<f8").tobytes()).decode()
