"""`evenbench run all`: the published studies in turn; results/all.json keeps which are done, for the same command."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from runner.errors import BenchError, DiskFull, InputError
from runner.processes import Say
from runner.results import store
from runner.study import file as study

NAME = "all"
KEPT = "all.json"


class StudyEnding(NamedTuple):
    """How one study went."""

    study: str
    is_ok: bool
    reason: str = ""         # of a study that did not run


def published(folder: Path, scale: str | None = None) -> list[str]:
    """The ids of the studies that repeat a publication, with a scale those that have it. Raises InputError."""
    return [name for name in study.available(folder) if _is_published(name, folder)
            and (not scale or scale in study.scales(name, folder))]


def _is_published(name: str, folder: Path) -> bool:
    """Also of a broken one, whose turn says what is wrong."""
    try:
        return study.repeats_publication(name, folder)
    except InputError:
        return True


def command(arguments: object) -> str:
    """The fingerprint by which the same command finds what it has left to do."""
    return hashlib.sha256(repr(arguments).encode()).hexdigest()[:16]


def unfinished(results: Path, fingerprint: str) -> dict[str, StudyEnding]:
    """The studies that the last `run all` has done, if it was the same command and did not come to its end."""
    try:
        kept = json.loads((results / KEPT).read_text())
        return {name: StudyEnding(str(name), is_ok is True, str(reason)) for name, is_ok, reason in kept["studies"]
                } if kept["command"] == fingerprint else {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def run(studies: Path, results: Path, fingerprint: str, scale: str | None, is_fresh: bool,
        one: Callable[[str], bool], say: Say) -> list[StudyEnding]:
    """Run every published study that has the scale, one after the other; one that fails does not stop the next.

    one(name) runs a study and says whether all of it went well. Raises DiskFull, and whatever ends the session.
    """
    store.check_usable(results)
    done = {} if is_fresh else unfinished(results, fingerprint)
    names = published(studies)
    endings: list[StudyEnding] = []
    for number, name in enumerate(names, 1):
        say(f"study {number} of {len(names)}, {name}" + (": done before" if name in done else ""))
        endings.append(done.get(name) or _run_study(name, studies, scale, one))
        if name not in done:
            if reason := endings[-1].reason:
                say(f"{name}: {reason}")
            store.write_beside(results, KEPT, json.dumps({"command": fingerprint, "studies": endings}))
    (results / KEPT).unlink(missing_ok=True)
    return endings


def _run_study(name: str, studies: Path, scale: str | None, one: Callable[[str], bool]) -> StudyEnding:
    try:
        if scale and scale not in study.scales(name, studies):
            return StudyEnding(name, True, f'left out: it has no scale "{scale}"')
        return StudyEnding(name, one(name))
    except DiskFull:
        raise
    except BenchError as error:
        return StudyEnding(name, False, str(error))
