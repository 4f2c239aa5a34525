"""Earlier sessions: which one to resume, what a folder of results holds, how long runs took."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from runner.errors import InputError
from runner.results import store
from runner.results.contract import FINAL


class Left(NamedTuple):
    """A run that was begun and has no ending: its runner was killed under it."""

    run: str
    attempt: int
    place: dict[str, Any]
    heard: dict[str, int]                    # how many lines are in the record, by place; "" of the only one


class Kept(NamedTuple):
    """What an earlier, unfinished session with the same command left."""

    folder: Path
    finished: frozenset[tuple[str, int]]     # (cell key, round) that need no other run
    attempts: dict[tuple[str, int], int]     # runs begun so far
    seed: int | None = None                  # of the session's orders
    left: Mapping[tuple[str, int], Left] = MappingProxyType({})


def unfinished(results: Path, command: str, key: str = "command") -> Kept | None:
    """The newest session folder of the same command (its fingerprint) that was not closed as done, or None.

    key: of the session's record, that holds the fingerprint.
    """
    for folder in sorted(results.glob("*/"), reverse=True):
        if not (folder / store.EVENTS).is_file():
            continue
        try:
            kept = _kept(folder, command, key)
        except InputError:
            continue                           # somebody's broken file is no reason not to measure
        if kept is not None:
            return kept
    return None


def _kept(folder: Path, command: str, key: str) -> Kept | None:
    """What a folder holds for a command; None where it is another's, or done."""
    finished: set[tuple[str, int]] = set()
    attempts: dict[tuple[str, int], int] = {}
    begun: dict[str, tuple[str, int]] = {}
    is_ours, is_done = False, False
    seed: int | None = None
    left: dict[str, Left] = {}
    for record in store.read(folder):
        match record["event"]:
            case "session":
                is_ours = record.get(key) == command
                seed = record["seed"] if isinstance(record.get("seed"), int) else None
                is_done = False                  # another stage, whose runner may have been killed before it said so
            case "begin":
                run = begun[record["run"]] = (record["key"], record["round"])
                attempts[run] = attempts.get(run, 0) + 1
                if record.get("place"):
                    attempt = record.get("attempt")
                    left[record["run"]] = Left(record["run"], attempt if isinstance(attempt, int) else attempts[run],
                                               record["place"], {})
            case "line" if record["run"] in left:
                place, counts = str(record["line"].get("place", "")), left[record["run"]].heard
                counts[place] = counts.get(place, 0) + 1
            case "ending":
                left.pop(record["run"], None)
                if record["run"] in begun and record["ending"] in FINAL:
                    finished.add(begun[record["run"]])
            case "closed":
                is_done = record["reason"] == "done"
    of = {begun[run]: each for run, each in left.items()}
    return Kept(folder, frozenset(finished), attempts, seed, of) if is_ours and not is_done else None


def listing(results: Path) -> list[dict[str, Any]]:
    """A line for every result: id, study, runs by ending, whether it is done."""
    return [_listed(path.parent) for path in sorted(results.glob(f"*/{store.EVENTS}"))]


def _listed(folder: Path) -> dict[str, Any]:
    row: dict[str, Any] = {"result": folder.name, "study": "", "launcher": "", "runs": 0, "ok": 0,
                           "state": "unfinished"}
    try:
        for record in store.read(folder):
            match record["event"]:
                case "session":
                    row.update(study=record.get("study"), launcher=record.get("launcher"), state="unfinished")
                case "ending":
                    row["runs"] += 1
                    row["ok"] += 1 if record["ending"] == "ok" else 0
                case "closed":
                    row["state"] = record["reason"]
    except InputError as error:
        row["state"] = f"unreadable: {error}"
    return row


def made_of(folder: Path) -> dict[str, str]:
    """The fingerprint of what each stack's runs were made of, by the stack's name."""
    stacks: dict[str, str] = {}
    fingerprints: dict[str, str] = {}
    for record in store.read(folder):
        match record["event"]:
            case "plan":
                stacks.update({item["key"]: item["cell"]["stack"] for item in record["cells"]})
            case "begin" if record["key"] in stacks and record.get("place"):
                fingerprints[stacks[record["key"]]] = str(record["place"].get("fingerprint", ""))
    return fingerprints


def known_seconds(results: Path) -> dict[str, float]:
    """The seconds of each cell's last finished run, start-up included, by the cell's key.

    A run that was taken over says only how long it took since then, and is left out.
    """
    seconds: dict[str, float] = {}
    for path in sorted(results.glob(f"*/{store.EVENTS}")):
        try:
            records = list(store.read(path.parent))
        except InputError:
            continue
        keys = {record["run"]: record["key"] for record in records if record["event"] == "begin"}
        waits = _waits(records)
        seconds.update({keys[record["run"]]: max(0.0, record["seconds"] - waits.get(record["run"], 0.0))
                        for record in records
                        if record["event"] == "ending" and record["ending"] == "ok" and record["run"] in keys
                        and not record.get("rejoined") and _is_time(record.get("seconds"))})
    return seconds


def _waits(records: Iterable[store.Record]) -> dict[str, float]:
    """How long runs of a launcher with a queue took to their first event: how long they waited, nobody recorded."""
    waits: dict[str, float | None] = {}
    for record in records:
        match record:
            case {"event": "begin", "run": run, "place": {"queues": True}}:
                waits[run] = None
            case {"event": "line", "run": run, "at": at} if run in waits and waits[run] is None and _is_time(at):
                waits[run] = at
    return {run: seconds for run, seconds in waits.items() if seconds is not None}


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and 0 <= value < math.inf
