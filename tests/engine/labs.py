"""Several machines on this one, which scripts beside the engine's starter make and take away."""

import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner import paths


def script_of(name: str, bridge: str, what: str, **variables: str) -> tuple[Callable[..., Any], Path]:
    """What calls the lab's script with a word, such as up, and the lab's new folder; skips where it cannot be here.

    bridge: the network that stands while such a lab is up; what: its machines, in words.
    """
    lab = paths.ROOT.parent / "shared" / "engine" / name
    if not lab.is_file():
        pytest.skip(f"no {lab}: {what} on one machine to test with")
    if os.geteuid() != 0:
        pytest.skip(f"{lab} needs root")
    if Path("/sys/class/net", bridge).exists():
        pytest.skip(f"a lab is up already: end it with `{lab} down`")
    folder = Path(tempfile.mkdtemp(prefix="lab", dir="/tmp"))        # short: the path of a socket

    def call(*words: str) -> None:
        subprocess.run([str(lab), *words], env={**os.environ, "LAB": str(folder), **variables}, check=True,
                       capture_output=True)

    return call, folder
