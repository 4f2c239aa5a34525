"""The small files in which the kernel tells what there is."""

from itertools import takewhile
from pathlib import Path


def content(path: Path) -> str:
    """What a file says; "" where it is not there or not to be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def first_cpu(root: Path = Path("/")) -> dict[str, str]:
    """What the kernel says of the first CPU, by the names of /proc/cpuinfo; root: of the file system."""
    lines = takewhile(str.strip, content(root / "proc/cpuinfo").splitlines())
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
