"""Values that the shell offers, from names of files and from tables: nothing is planned, read or asked of an engine."""

from pathlib import Path

import typer

from runner import paths
from runner.results import store
from runner.study import file
from workloads.spec.cell import CHOICES, FIELDS
from workloads.spec.tasks import NAMES

LISTS = ("stacks", "outdated", "tasks", "studies", "results")


def studies(context: typer.Context) -> list[str]:
    """The ids of studies."""
    return file.available((paths.STUDIES, *map(Path, context.params.get("own_studies") or ())))


def stacks(context: typer.Context, incomplete: str) -> list[str]:
    """The names of stacks, after what stands before the last comma."""
    folders = (paths.STACKS, *map(Path, context.params.get("own_stacks") or ()))
    before, comma, _ = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in sorted(
        path.parent.name for folder in folders for path in folder.glob("*/stack.toml"))]


def results(context: typer.Context) -> list[str]:
    """The ids of results, the newest first, and latest."""
    folders = store.folders(Path(context.params.get("results") or store.RESULTS))
    return [store.LATEST, *(folder.name for folder in reversed(folders))]


def settings(incomplete: str) -> list[str]:
    """The keys of --set; after one the values that it may have, where they are few."""
    key, sign, _ = incomplete.partition("=")
    if not sign:
        return [f"{name}=" for name in FIELDS if name not in ("stack", "data", "source")]
    return [f"{key}={value}" for value in (tasks() if key == "task" else CHOICES.get(key, ()))]


def tasks() -> list[str]:
    """The names of tasks."""
    return list(NAMES)
