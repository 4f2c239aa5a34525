"""Stored sessions: each one's plan and runs, without what was measured.

A session's file is read once, as long as its size and time stay. Which session to resume, what a folder of results
holds and how long runs took are asked of these values; what was measured is runner.results.reader's.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any

from runner.errors import InputError
from runner.grouping import grouped
from runner.results import records, store
from runner.results.records import Product


@dataclass(eq=False)
class StoredRun:
    """A run of a stored session."""

    key: str
    place: dict[str, Any]                    # {} where no worker was started
    cell: Mapping[str, Any]                  # by the plan before the run; {} where that has none of the key
    ending: str = ""                         # "" where its runner was killed
    seconds: float | None = None

    @property
    def fingerprint(self) -> str:
        """Fingerprint of its stack; "" where none was recorded."""
        return str(self.place.get("fingerprint", ""))


@dataclass
class Session:
    """A stored session: its plan and its runs."""

    folder: Path = Path()
    first: store.Record = field(default_factory=dict)          # the first session record
    last: store.Record = field(default_factory=dict)           # the session record of the last resumption
    plan: store.Record = field(default_factory=dict)           # the last one
    runs: list[StoredRun] = field(default_factory=list)
    products: list[Product] = field(default_factory=list)
    state: str = "unfinished"                                  # or the reason of its last closing
    _begun: dict[str, StoredRun] = field(default_factory=dict)         # runs without an ending, by name
    _cells: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def _hear(self, record: store.Record) -> None:
        if record["event"] == "session":
            self.first, self.last, self.state = self.first or record, record, "unfinished"
        match records.read(record):
            case records.Plan() as plan:
                self.plan = record
                self._cells.update({each.key: each.cell for each in plan.cells})
            case Product() as product:
                self.products.append(product)
            case records.Begin() as begin:
                self.runs.append(StoredRun(begin.key, begin.place or {}, self._cells.get(begin.key, {})))
                self._begun[begin.run] = self.runs[-1]
            case records.Ending() as ending if run := self._begun.pop(ending.run, None):
                run.ending, run.seconds = ending.ending, ending.seconds
            case records.Closed() as closed:
                self.state = closed.reason

    @property
    def id(self) -> str:
        """The result's id."""
        return str(self.first.get("id", ""))

    @property
    def ended(self) -> list[StoredRun]:
        """The runs that have an ending."""
        return [run for run in self.runs if run.ending]

    @property
    def launcher(self) -> str:
        """The launcher's name."""
        return str(self.last.get("launcher", ""))

    def made_of(self) -> dict[str, str]:
        """The fingerprint of each stack's runs, by the stack's name."""
        return {run.cell["stack"]: run.fingerprint for run in self.runs if run.cell and run.place}

    def images(self) -> dict[str, str]:
        """The image or environment of each stack's runs, by the stack's name."""
        return {run.cell["stack"]: str(made) for run in self.runs
                if run.cell and (made := run.place.get("image") or run.place.get("environment"))}


def read(folder: Path) -> Session:
    """The session in a folder. Raises InputError."""
    seen = None
    with suppress(OSError):                # reading says what is wrong
        seen = (folder / store.EVENTS).stat()
    return _read(folder, seen and (seen.st_ino, seen.st_size, seen.st_mtime_ns))


@cache
def _read(folder: Path, seen: tuple[int, int, int] | None) -> Session:
    session = Session(folder)
    for number, record in enumerate(store.read(folder), 1):
        try:
            session._hear(record)
        except ValueError as error:
            raise InputError(f"{folder / store.EVENTS}:{number}: {record['event']}: {error}") from error
    return session


def unfinished(results: Path, command: str | list[str], key: str = "command") -> Session | None:
    """The newest session of the same command, by that key of its record, that was not closed as done, or None."""
    return next((each for each in of_command(results, command, key) if each.state != "done"), None)


def finished(results: Path, command: str) -> Session | None:
    """The newest session of the same command that was closed as done, or None."""
    return next((each for each in of_command(results, command) if each.state == "done"), None)


def of_command(results: Path, command: str | list[str], key: str = "command") -> Iterator[Session]:
    """The sessions of a command, the newest first. Raises InputError for a damaged session that was not closed."""
    for folder in reversed(store.folders(results)):
        try:
            if (session := read(folder)).first.get(key) == command:
                yield session
        except InputError as error:
            first: store.Record = {}
            with suppress(InputError):
                first = next(store.read(folder), {})
            if first.get(key) != command:
                continue                       # somebody's broken file is no reason not to measure
            last = (folder / store.EVENTS).read_bytes().rstrip().rpartition(b"\n")[2]
            if not (b'"closed"' in last and b'"done"' in last):
                raise InputError(f"{error}: the interrupted session of this command cannot go on: mend that line, "
                                 "remove the folder, or begin a new session with --fresh") from error


def listing(results: Path) -> list[dict[str, Any]]:
    """A row for every result: id, study, runs by ending, whether it is done."""
    listed = []
    for folder in store.folders(results):
        try:
            session = read(folder)
        except InputError as error:
            session = Session(state=f"unreadable: {error}")
        listed.append({"result": folder.name, "study": session.last.get("study", ""),
                       "launcher": session.launcher, "runs": len(session.ended),
                       "ok": sum(run.ending == "ok" for run in session.runs), "state": session.state})
    return listed


def seconds_of(folder: Path) -> dict[str, float]:
    """The mean seconds of each cell's ok runs in a session, start-up included, by cell key. Raises InputError."""
    timed = [(run.key, run.seconds) for run in read(folder).ended if run.ending == "ok" and run.seconds is not None]
    return {key: fmean(seconds for _, seconds in of_key) for key, of_key in grouped(timed, itemgetter(0)).items()}


def known_seconds(results: Path) -> dict[str, float]:
    """As seconds_of, from the newest session that has each cell."""
    seconds: dict[str, float] = {}
    for folder in store.folders(results):
        with suppress(InputError):
            seconds.update(seconds_of(folder))
    return seconds
