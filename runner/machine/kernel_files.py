"""The small files in which the kernel tells what there is."""

from pathlib import Path


def content(path: Path) -> str:
    """What a file says; "" where it is not there or not to be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
