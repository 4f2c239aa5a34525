"""evenbench as it is installed: one package, in which the repository's folders keep their names."""

import sys
from importlib.util import find_spec
from pathlib import Path


def load(name="latest", results="results"):
    """The result of a folder or id: its ratios() and frame() (docs/export.md). Raises InputError."""
    name_folders()
    from runner.cli.notebook import load as read

    return read(name, results)


def name_folders():
    """Make runner and workloads importable: an editable installation's lie in the checkout, others' here."""
    runner = find_spec("evenbench.runner")
    if runner is None or runner.origin is None:
        sys.exit("evenbench: its folder runner is missing from the installation; install it again")
    folder = str(Path(runner.origin).parents[1])
    if folder not in sys.path:
        sys.path.insert(0, folder)
