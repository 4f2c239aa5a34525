"""Files that tests make."""

import io
import wave
from collections.abc import Mapping
from pathlib import Path


def files(root: Path, texts: Mapping[str, str | bytes]) -> Path:
    """The folder, in which files of these names hold these texts."""
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def sound(samples: bytes, rate: int = 22050) -> bytes:
    """A WAV file of 16-bit mono samples."""
    file = io.BytesIO()
    with wave.open(file, "wb") as clip:
        clip.setparams((1, 2, rate, 0, "NONE", ""))
        clip.writeframes(samples)
    return file.getvalue()


def program(path: Path, text: str) -> Path:
    """A program of the shell's at that path."""
    files(path.parent, {path.name: f"#!/bin/sh\n{text}\n"})
    path.chmod(0o755)
    return path
