"""What is made before anything is measured: images, locks, a model's file to begin with."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from runner import paths, screen
from runner.errors import InputError, unknown
from runner.paths import Places
from runner.stacks import definition, engine, images, locking, sif
from runner.stacks.definition import chosen_names


def build(names: Sequence[str] | None, places: Places, is_pruning: bool) -> None:
    """Build the images; is_pruning: remove those that are out of date instead. Raises InputError."""
    known, client = definition.all_images(places.stacks), engine.connect()
    if is_pruning:
        images.prune(client, list(known.values()), screen.say)
        return
    for name in chosen_names(names, known):
        if foreign := known[name].foreign:
            raise InputError(foreign)
        images.build(client, known[name], screen.say)


def image_files(names: Sequence[str] | None, places: Places, is_pruning: bool, source: str) -> None:
    """Make Apptainer's files of the stacks, and say where they lie; is_pruning: as build's. Raises InputError."""
    known = definition.read_all(places.stacks)
    if is_pruning:
        sif.prune(known.values(), paths.cache_folder(), screen.say)
        return
    for name in chosen_names(names, known):
        screen.say(str(sif.ready(known[name], paths.cache_folder(), screen.say, source).path))


def lock(names: Sequence[str] | None, places: Places) -> None:
    """Write the locks of these images, or of all. Raises InputError, BuildFailed."""
    known = definition.all_images(places.stacks)
    for name in chosen_names(names, known):
        paths.write_whole(known[name].lock, locking.relock(known[name]))
        screen.say(f"{name}: wrote {known[name].lock}")


def begin_model(kind: str, file: Path) -> None:
    """Write a model's file. Raises InputError."""
    templates = {path.stem: path for path in sorted((paths.STUDIES / "models").glob("*.py"))}
    if kind not in templates:
        raise unknown("init: kind", kind, templates)
    if file.suffix != ".py":
        raise InputError(f"init: found {file}, expected a name that ends with .py, by which `run` knows a model")
    try:
        with file.open("x", encoding="utf-8") as written:
            written.write(templates[kind].read_text(encoding="utf-8"))
    except FileExistsError as error:
        raise InputError(f"{file}: it is there already, expected a new file's name: `evenbench init {kind} other.py`"
                         ) from error
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from error
    screen.say(f"{file}: written; next: evenbench run {shlex.quote(str(file))}")
