"""Speech as workers read it: float16 frames and character ids, computed once so that all stacks read equal bytes.

A frame is the natural logarithm of a Hann window's magnitude spectrum (workloads/spec/data/framing.py); what is under
1e-5 counts as that, as in the public Tacotron 2 implementations. 36 million float16 frames of LibriSpeech fit on a
disk, and 0.01 of a logarithm is far below noise.
"""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from runner.datasets.writing import ragged, sources
from runner.errors import InputError
from workloads.spec.data.alphabets import ids
from workloads.spec.data.framing import Framing, frame_count

Signal = np.ndarray[Any, np.dtype[np.float64]]
_LEAST = 1e-5                   # of a magnitude, before its logarithm


def write(clips: Sequence[tuple[Path, str]], folder: Path, framing: Framing, letters: str,
          samples: Callable[[Path], Signal], bands: Signal | None = None) -> dict[str, Any]:
    """Write frames and characters of (sound file, text); their facts. Raises InputError for a file that cannot be read.

    samples: a file's, from -1 to 1. bands: (bins, window // 2 + 1), what a bin sums of a spectrum; None: it is a line.
    """
    texts, counts = hashlib.sha256(), {"clips": len(clips), "frames": 0, "characters": 0}
    if not clips:
        raise InputError("found no clips, expected --from to name the folder of the published ones")
    with ragged(folder, "frames", np.dtype(np.float16), framing.bins) as add_frames, \
            ragged(folder, "characters", np.dtype(np.uint8)) as add_characters:
        for path, text in clips:
            try:
                path.stat()
            except (OSError, ValueError) as error:       # ValueError: a name that no file can have
                raise InputError(f"{path}: no such file, though its text is there") from error
            frames = spectrogram(samples(path), framing, bands)
            numbers = ids(text.lower() if letters.islower() else text.upper(), letters)
            add_frames(frames)
            add_characters(np.array(numbers, np.uint8))
            counts["frames"] += len(frames)
            counts["characters"] += len(numbers)
            texts.update(f"{path.name} {hashlib.sha256(text.encode()).hexdigest()}\n".encode())
    return {"sources": sources(path for path, _ in clips), "counts": counts,
            "made": {**framing._asdict(), "letters": letters, "text_sha256": texts.hexdigest()}}


def spectrogram(signal: Signal, framing: Framing, bands: Signal | None = None
                ) -> "np.ndarray[Any, np.dtype[np.float32]]":
    """(frames, bins): the logarithm of each window's magnitudes, or of their sums in bands."""
    filled = np.pad(signal, (0, max(0, framing.window - len(signal))))
    count = frame_count(len(signal), framing)
    windows = np.lib.stride_tricks.sliding_window_view(filled, framing.window)[::framing.hop][:count]
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(framing.window) / framing.window)
    magnitudes = np.abs(np.fft.rfft(windows * hann, axis=1))
    summed = magnitudes if bands is None else magnitudes @ bands.T
    return np.asarray(np.log(np.maximum(summed, _LEAST)), np.float32)
