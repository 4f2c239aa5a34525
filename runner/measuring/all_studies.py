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


class Turn(NamedTuple):
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


def command(words: object) -> str:
    """The fingerprint by which the same command finds what it has left to do."""
    return hashlib.sha256(repr(words).encode()).hexdigest()[:16]


def unfinished(results: Path, wanted: str) -> dict[str, Turn]:
    """The studies that the last `run all` has done, if it was the same command and did not come to its end."""
    found: dict[str, Turn] = {}
    is_ours = False
    path = results / KEPT
    for line in path.read_text(errors="replace").splitlines() if path.is_file() else ():
        record = _record(line)
        match record.get("event"):
            case "begin":
                found, is_ours = {}, record.get("command") == wanted
            case "study":
                name = str(record.get("study"))
                found[name] = Turn(name, record.get("ok") is True, str(record.get("reason", "")))
            case "end":
                found, is_ours = {}, False
    return found if is_ours else {}


def _record(line: str) -> dict[str, Any]:
    """A line's object; a torn one says nothing."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def run(studies: Path, results: Path, wanted: str, scale: str | None, is_fresh: bool,
        one: Callable[[str], bool], say: Say) -> list[Turn]:
    """Run every published study that has the scale, one after the other; one that fails does not stop the next.

    one(name) runs a study and says whether all of it went well. Raises DiskFull, and whatever ends the session.
    """
    done = {} if is_fresh else unfinished(results, wanted)
    if not done:
        _append(results, {"event": "begin", "command": wanted})
    names = _published(studies)
    turns = []
    for number, name in enumerate(names, 1):
        if name in done:
            say(f"study {number} of {len(names)}, {name}: done before")
            turns.append(done[name])
            continue
        say(f"study {number} of {len(names)}, {name}")
        turn = _turn(name, studies, scale, one)
        if turn.reason:
            say(f"{name}: {turn.reason}")
        _append(results, {"event": "study", "study": name, "ok": turn.is_ok, "reason": turn.reason})
        turns.append(turn)
    _append(results, {"event": "end"})
    return turns


def _turn(name: str, studies: Path, scale: str | None, one: Callable[[str], bool]) -> Turn:
    try:
        if scale and scale not in study.scales(name, studies):
            return Turn(name, True, f'left out: it has no scale "{scale}"')
        return Turn(name, one(name))
    except DiskFull:
        raise
    except BenchError as error:
        return Turn(name, False, str(error))


def _append(results: Path, record: dict[str, Any]) -> None:
    try:
        results.mkdir(parents=True, exist_ok=True)
        with (results / KEPT).open("a") as file:
            file.write(json.dumps(record) + "\n")
    except OSError as error:
        raise InputError(f"{results / KEPT}: {error.strerror}; choose another folder with --results") from error
