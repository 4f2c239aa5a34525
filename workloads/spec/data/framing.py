"""How speech becomes frames: one rule for the real recordings and for the lengths of their stand-ins.

Standard library only.
"""
from typing import NamedTuple


class Framing(NamedTuple):
    """Windows over a signal, from its first sample on, without padding at its ends."""

    rate: int         # samples a second
    window: int       # samples that a frame sees; also the length of its Fourier transform
    hop: int          # samples from one frame to the next
    bins: int         # numbers in a frame
    is_mel: bool      # else the linear spectrum, window // 2 + 1 bins


# Tacotron 2 (Shen et al. 2018, section 2.2) has 50 ms and 12.5 ms; the public implementations take these powers of two
LJSPEECH = Framing(22050, 1024, 256, 80, True)
# Deep Speech 2 (Amodei et al. 2016): the spectrum of 20 ms windows; every 10 ms in the public implementations
LIBRISPEECH = Framing(16000, 320, 160, 161, False)


def frame_count(samples, framing):
    """The frames of so many samples, at least one: a signal shorter than a window is filled up with zeros."""
    return 1 + max(0, samples - framing.window) // framing.hop
