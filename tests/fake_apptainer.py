"""An apptainer that starts no container: it writes down how it was called, and says what it is told."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

_PROGRAM = """#!{python}
import json, pathlib, sys
folder = pathlib.Path({folder!r})
said = json.loads((folder / "said").read_text())
words = sys.argv[1:]
with (folder / "calls").open("a") as calls:
    calls.write(json.dumps(words) + "\\n")
if "--version" in words:
    print("apptainer version 1.4.5")
elif "inspect" in words:
    print(json.dumps({{"data": {{"attributes": {{"labels": said["labels"]}}}}}}))
elif "build" in words:
    pathlib.Path(words[-2]).write_text("an image")
    sys.exit(said["build"])
elif words[-1] == "true":
    print("FATAL:   " + said["groups"], file=sys.stderr)
    sys.exit(255 if said["groups"] else 0)
else:
    sys.stdout.write(said["lines"])
    sys.exit(said["exit"])
"""


class FakeApptainer:
    """What it says, which may be changed, and how it was called."""

    def __init__(self, folder: Path, **said: Any) -> None:
        self._folder = folder
        self._said = {"labels": {}, "build": 0, "groups": "", "lines": "", "exit": 0}
        self.says(**said)

    def says(self, **said: Any) -> None:
        self._said |= said
        (self._folder / "said").write_text(json.dumps(self._said))

    def calls(self, word: str) -> list[list[str]]:
        """The words of each call so far that has this one."""
        lines = (self._folder / "calls").read_text().splitlines()
        return [words for words in map(json.loads, lines) if word in words]


def install(monkeypatch: pytest.MonkeyPatch, folder: Path) -> FakeApptainer:
    """One on PATH, before any real one."""
    (folder / "bin").mkdir()
    (folder / "calls").touch()
    program = folder / "bin" / "apptainer"
    program.write_text(_PROGRAM.format(python=sys.executable, folder=str(folder)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return FakeApptainer(folder)
