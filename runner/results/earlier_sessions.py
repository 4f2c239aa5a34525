"""What records tell of earlier sessions: which one to resume, what a folder of results holds, how long runs took."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import Any, NamedTuple

from runner.errors import InputError
from runner.results import store


@dataclass(eq=False)
class Past:
    """A run, as its records tell it."""

    run: str
    key: str
    place: dict[str, Any]                    # {} where no worker was started
    cell: Mapping[str, Any]                  # by the plan before it; {} where that has none of the key
    ending: str = ""                         # "" where its runner was killed under it
    message: str = ""
    seconds: float | None = None             # without the wait for its first event in a launcher's queue
    queued: float | None = None              # seconds until the first event in such a queue; None where there was none

    @property
    def fingerprint(self) -> str:
        """Of what its stack was made of; "" where nobody said."""
        return str(self.place.get("fingerprint", ""))


class Kept(NamedTuple):
    """What an earlier, unfinished session with the same command left."""

    folder: Path
    ended: int = 0                           # runs
    seed: int | None = None                  # of the session's orders
    launcher: str = ""
    images: Mapping[str, str] = MappingProxyType({})           # that runs were started from, by stack


@dataclass
class Told:
    """What the records of a session's folder tell of its plan and runs, without what was measured."""

    first: store.Record = field(default_factory=dict)          # the session's own records
    session: store.Record = field(default_factory=dict)        # of the last resumption
    plan: store.Record | None = None                           # the last one
    runs: list[Past] = field(default_factory=list)
    products: list[store.Record] = field(default_factory=list)
    state: str = "unfinished"                                  # or why it was closed
    begun: dict[str, Past] = field(default_factory=dict)        # of the runs those without an ending, by name
    _cells: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def read(self, folder: Path) -> "Told":
        """Itself with all records of the folder. Raises InputError; what stood before the mistake is in it."""
        for record in store.read(folder):
            self._hear(record)
        return self

    def _hear(self, record: store.Record) -> None:
        match record["event"]:
            case "session":
                self.first, self.session, self.state = self.first or record, record, "unfinished"
            case "plan":
                self.plan = record
                self._cells.update({item["key"]: item["cell"] for item in record["cells"]})
            case "product":
                self.products.append(record)
            case "begin":
                self.runs.append(Past(record["run"], record["key"], record.get("place") or {},
                                      self._cells.get(record["key"], {})))
                self.begun[record["run"]] = self.runs[-1]
            case "line" if past := self.begun.get(record["run"]):
                if past.queued is None and past.place.get("queues") is True:
                    past.queued = record.get("at") or 0.0
            case "ending" if past := self.begun.pop(record["run"], None):
                past.ending, past.message = record["ending"], record.get("message", "")
                if record.get("seconds") is not None:
                    past.seconds = max(0.0, record["seconds"] - (past.queued or 0.0))
            case "closed":
                self.state = record["reason"]

    @property
    def ended(self) -> list[Past]:
        """The runs that have an ending."""
        return [past for past in self.runs if past.ending]

    def made_of(self) -> dict[str, str]:
        """The fingerprint of what each stack's runs were made of, by the stack's name."""
        return {past.cell["stack"]: past.fingerprint for past in self.runs if past.cell and past.place}


def of(folder: Path) -> Told:
    """What the records of a session's folder tell, read once as long as they stay as they are. Raises InputError."""
    try:
        seen = (folder / store.EVENTS).stat()
    except OSError:
        return Told().read(folder)             # which says what is wrong
    return _read(folder.absolute(), seen.st_size, seen.st_mtime_ns)


@cache
def _read(folder: Path, size: int, changed: int) -> Told:
    return Told().read(folder)


def unfinished(results: Path, command: str | list[str], key: str = "command") -> Kept | None:
    """The newest session folder of the same command (its fingerprint) that was not closed as done, or None.

    key: of the session's record, that holds the fingerprint.
    """
    return next((_kept(folder, told) for folder, told in _of_command(results, command, key) if told.state != "done"),
                None)


def finished(results: Path, command: str) -> Path | None:
    """The newest session folder of the same command that was closed as done, or None."""
    return next((folder for folder, told in _of_command(results, command, "command") if told.state == "done"), None)


def _of_command(results: Path, command: str | list[str], key: str) -> Iterator[tuple[Path, Told]]:
    """The session folders of a command, the newest first. Raises InputError for one that is damaged and has no end."""
    for path in sorted(results.glob(f"*/{store.EVENTS}"), reverse=True):
        try:
            if (told := of(path.parent)).first.get(key) == command:
                yield path.parent, told
        except InputError as error:
            first: store.Record = {}
            with suppress(InputError):
                first = next(store.read(path.parent), {})
            if first.get(key) != command:
                continue                       # somebody's broken file is no reason not to measure
            last = path.read_bytes().rstrip().rpartition(b"\n")[2]
            if not (b'"closed"' in last and b'"done"' in last):
                raise InputError(f"{error}: the interrupted session of this command cannot go on: mend that line, "
                                 "remove the folder, or begin a new session with --fresh") from error


def _kept(folder: Path, told: Told) -> Kept:
    seed = told.session.get("seed")
    return Kept(folder, len(told.ended), seed if isinstance(seed, int) else None, str(told.session.get("launcher", "")),
                {past.cell["stack"]: str(made) for past in told.runs
                 if past.cell and (made := past.place.get("image") or past.place.get("environment"))})


def listing(results: Path) -> list[dict[str, Any]]:
    """A line for every result: id, study, runs by ending, whether it is done."""
    listed = []
    for path in sorted(results.glob(f"*/{store.EVENTS}")):
        try:
            told = of(path.parent)
        except InputError as error:
            told = Told(state=f"unreadable: {error}")
        listed.append({"result": path.parent.name, "study": told.session.get("study", ""),
                       "launcher": told.session.get("launcher", ""), "runs": len(told.ended),
                       "ok": sum(past.ending == "ok" for past in told.runs), "state": told.state})
    return listed


def seconds_of(folder: Path) -> dict[str, float]:
    """The mean seconds of each cell's ok runs of a session, start-up included, by its key. Raises InputError."""
    of_key: dict[str, list[float]] = {}
    for past in of(folder).ended:
        if past.ending == "ok" and past.seconds is not None:
            of_key.setdefault(past.key, []).append(past.seconds)
    return {key: fmean(each) for key, each in of_key.items()}


def known_seconds(results: Path) -> dict[str, float]:
    """As seconds_of, of the last session that has each cell."""
    seconds: dict[str, float] = {}
    for path in sorted(results.glob(f"*/{store.EVENTS}")):
        with suppress(InputError):
            seconds.update(seconds_of(path.parent))
    return seconds
