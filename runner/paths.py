"""Where things lie: the checkout's own folders, and what is kept between sessions."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STUDIES, STACKS = ROOT / "studies", ROOT / "docker"
CACHE = Path("~/.cache/evenbench").expanduser()


def cache_folder() -> Path:
    """Where virtual environments and data are kept between sessions."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evenbench"
