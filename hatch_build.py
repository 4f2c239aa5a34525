"""What a build adds to the repository's files: the version, and runner/revision.json, which says what was built.

An installed evenbench has no repository to ask.
"""

import json
import re
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).resolve().parent
KEPT = HERE / "runner" / "revision.json"            # of an archive of the sources


def git(*words: str) -> str:
    """What git answers of this folder; "" where it is no repository of ours."""
    if not (HERE / ".git").exists():
        return ""
    try:
        answer = subprocess.run(["git", "-C", str(HERE), *words], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return answer.stdout.strip()


def revision() -> dict[str, Any]:
    """{"commit", "changed", "version"}: the version is runner/__init__.py's at its tag, else a development version.

    An archive of the sources says what it was made of; a folder without either knows its version alone.
    """
    if KEPT.is_file():
        return dict(json.loads(KEPT.read_text()))
    (version,) = re.findall(r'__version__ = "([^"]+)"', (HERE / "runner/__init__.py").read_text())
    commit = git("rev-parse", "HEAD")
    if not commit:
        return {"version": version}
    if f"v{version}" not in git("tag", "--points-at", "HEAD").split():
        version = f"{version}.dev{git('rev-list', '--count', 'HEAD')}+g{commit[:9]}"
    return {"commit": commit, "changed": bool(git("status", "--porcelain")), "version": version}


class Revision(BuildHookInterface):
    """Puts revision.json beside the code; an editable installation asks git."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write it where no file of the checkout changes."""
        if version != "editable":
            self._folder = TemporaryDirectory()
            path = Path(self._folder.name, KEPT.name)
            path.write_text(json.dumps(revision(), sort_keys=True) + "\n")
            inside = KEPT.relative_to(HERE)
            build_data["force_include"][str(path)] = str(
                Path("evenbench", inside) if self.target_name == "wheel" else inside)
