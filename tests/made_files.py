"""Files that tests make."""

from collections.abc import Mapping
from pathlib import Path


def files(root: Path, texts: Mapping[str, str]) -> Path:
    """The folder, in which files of these names hold these texts."""
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def program(path: Path, text: str) -> Path:
    """A program of the shell's at that path."""
    files(path.parent, {path.name: f"#!/bin/sh\n{text}\n"})
    path.chmod(0o755)
    return path
