"""Prepared data sets of a few sequences."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from runner.datasets.writing import finished, ragged


def prepared(folder: Path, name: str, made: Mapping[str, Any] | None = None, **files: Sequence[Any]) -> str:
    """A prepared data set with these files of sequences: frames are arrays of rows, tokens are lists of numbers."""
    folder.mkdir(exist_ok=True)
    for file, sequences in files.items():
        arrays = [np.asarray(sequence) for sequence in sequences]
        is_frames = arrays[0].ndim == 2
        dtype: np.dtype[Any] = np.dtype(np.float16 if is_frames else np.int32)
        with ragged(folder, file, dtype, arrays[0].shape[1] if is_frames else None) as append:
            for array in arrays:
                append(array.astype(dtype))
    finished(folder, name, {"title": "t", "licence": "l", "sources": {}, "counts": {}, "made": dict(made or {})})
    return str(folder)
