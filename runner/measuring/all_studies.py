"""`evenbench run all`: the published studies in turn; results/all.jsonl keeps which are done, for the same command.

A line is {"event": "begin", "command"}, {"event": "study", "study", "ok", "reason"} or {"event": "end"}.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from runner.errors import BenchError, DiskFull, InputError
from runner.study import file as study

NAME = "all"
KEPT = "all.jsonl"
Say = Callable[[str], None]


class StudyEnding(NamedTuple):
    """How one study went."""

    study: str
    is_ok: bool
    reason: str = ""         # of a study that did not run


def published(folder: Path, scale: str | None = None) -> list[str]:
    """The ids of the studies that repeat a publication, with a scale those that have it. Raises InputError."""
    return [name for name in _published(folder) if not scale or scale in study.scales(name, folder)]


def _published(folder: Path) -> list[str]:
    """Also the broken ones, whose turn says what is wrong."""
    return [name for name in study.available(folder) if _is_published(name, folder)]


def _is_published(name: str, folder: Path) -> bool:
    try:
        return study.repeats_publication(name, folder)
    except InputError:
        return True


def command(arguments: object) -> str:
    """The fingerprint by which the same command finds what it has left to do."""
    return hashlib.sha256(repr(arguments).encode()).hexdigest()[:16]


def unfinished(results: Path, fingerprint: str) -> dict[str, StudyEnding]:
    """The studies that the last `run all` has done, if it was the same command and did not come to its end."""
    endings: dict[str, StudyEnding] = {}
    is_ours = False
    path = results / KEPT
    for line in path.read_text(errors="replace").splitlines() if path.is_file() else ():
        record = _record(line)
        match record.get("event"):
            case "begin":
                endings, is_ours = {}, record.get("command") == fingerprint
            case "study":
                name = str(record.get("study"))
                endings[name] = StudyEnding(name, record.get("ok") is True, str(record.get("reason", "")))
            case "end":
                endings, is_ours = {}, False
    return endings if is_ours else {}


def _record(line: str) -> dict[str, Any]:
    """A line's object; a torn one says nothing."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def run(studies: Path, results: Path, fingerprint: str, scale: str | None, is_fresh: bool,
        one: Callable[[str], bool], say: Say) -> list[StudyEnding]:
    """Run every published study that has the scale, one after the other; one that fails does not stop the next.

    one(name) runs a study and says whether all of it went well. Raises DiskFull, and whatever ends the session.
    """
    done = {} if is_fresh else unfinished(results, fingerprint)
    if not done:
        _append(results, {"event": "begin", "command": fingerprint})
    names = _published(studies)
    endings = []
    for number, name in enumerate(names, 1):
        if name in done:
            say(f"study {number} of {len(names)}, {name}: done before")
            endings.append(done[name])
            continue
        say(f"study {number} of {len(names)}, {name}")
        ending = _run_study(name, studies, scale, one)
        if ending.reason:
            say(f"{name}: {ending.reason}")
        _append(results, {"event": "study", "study": name, "ok": ending.is_ok, "reason": ending.reason})
        endings.append(ending)
    _append(results, {"event": "end"})
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


def _append(results: Path, record: dict[str, Any]) -> None:
    try:
        results.mkdir(parents=True, exist_ok=True)
        with (results / KEPT).open("a") as file:
            file.write(json.dumps(record) + "\n")
    except OSError as error:
        raise InputError(f"{results / KEPT}: {error.strerror}; choose another folder with --results") from error
