"""Where things lie: the checkout's own folders, the user's own, and what is kept between sessions."""

import os
from collections.abc import Sequence
from pathlib import Path

from runner.errors import InputError

ROOT = Path(__file__).resolve().parents[1]
STUDIES, STACKS = ROOT / "studies", ROOT / "docker"
# folders with colons between, as PATH has them
OWN_STUDIES, OWN_STACKS, OWN_TASKS = "EVENBENCH_STUDIES", "EVENBENCH_STACKS", "EVENBENCH_TASKS"
CACHE = Path("~/.cache/evenbench").expanduser()


def cache_folder() -> Path:
    """Where virtual environments and data are kept between sessions."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evenbench"


def own_folders(variable: str) -> tuple[Path, ...]:
    """The folders that the user named with --studies, --stacks or --tasks, or in their variable. Raises InputError."""
    named = filter(None, os.environ.get(variable, "").split(os.pathsep))
    folders = tuple(Path(name).expanduser().absolute() for name in named)
    for each in folders:
        if not each.is_dir():
            option = variable.rpartition("_")[2].lower()
            raise InputError(f"--{option} or {variable}: found {each}, expected a folder")
    return folders


def name_own_folders(variable: str, folders: Sequence[Path]) -> None:
    """Let own_folders say these, as an option of the command line names them; without any it stays as it was."""
    if folders:
        os.environ[variable] = os.pathsep.join(str(each.absolute()) for each in folders)
