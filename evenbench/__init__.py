"""evenbench as it is installed: one package, in which the repository's folders keep their names.

Its modules import one another as in a checkout, so the first call puts the package's own folder on the path: runner and
workloads are names of this process alone, and site-packages has one. To import evenbench changes nothing.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runner.application.read import Result


def _find_rooms() -> None:
    """Put the package's own folder on the path, where the rooms lie in it."""
    if (folder := Path(__file__).parent).joinpath("runner").is_dir() and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def load(name: "str | Path" = "latest", results: "str | Path" = "results") -> "Result":
    """The result of a folder or id: its ratios() and frame() (docs/export.md). Raises InputError."""
    _find_rooms()
    from runner.application import read
    from runner.results import store

    return read.summarized(store.located(str(name), Path(results)))


def main() -> None:
    """Run the command line."""
    _find_rooms()
    from runner.cli import main as run

    run()
