"""results/<id>/events.jsonl: append-only, one JSON object a line, flushed line by line. Raw samples, never means.

A record is {"event": ...}: session, plan, product, begin, line, ending, closed. A line's "at" is the seconds since the
launch. The session record's "schema" must be the reader's own. A last line that a killed writer left torn is left out.
A file SHA256SUMS (runner/results/manifest.py) stands beside the events of a session that has ended.
"""

import errno
import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Self

from pydantic_core import from_json

from runner import paths
from runner.errors import DiskFull, InputError
from runner.results import error_output, manifest

SCHEMA = 3
EVENTS = "events.jsonl"
_APPENDING = os.O_WRONLY | os.O_APPEND | os.O_CREAT
Record = dict[str, Any]


class Store:
    """The open file of a session. An append returns once the kernel has the line."""

    def __init__(self, folder: Path) -> None:
        """Make or open the folder. Raises InputError where it cannot be written, DiskFull where there is no space."""
        self.folder = folder
        self.path = folder / EVENTS
        with _writing(self.path):
            folder.mkdir(parents=True, exist_ok=True)
            if (folder / manifest.NAME).exists() and EVENTS in manifest.differing(folder):
                raise InputError(f"{self.path}: changed since its session wrote it (`sha256sum -c {manifest.NAME}`): "
                                 "put it back, or begin a new session with --fresh")
            _drop_torn_line(self.path)
            self._file = os.fdopen(paths.not_through_links(str(self.path), _APPENDING), "ab", buffering=0)
            _keep_others_out(self._file, self.path)
            (folder / manifest.NAME).unlink(missing_ok=True)        # what is appended from here on is not in it

    def append(self, record: Record) -> None:
        """Write a record, unless of the moment ("now"). Raises InputError, or DiskFull: what was before stays."""
        if record["event"] == "now":
            return
        if record["event"] == error_output.EVENT:
            self._append_error_output({name: of for name, of in record.items() if name != "event"})
            return
        if record["event"] == "begin":
            self._check_there()
        line = json.dumps(record, allow_nan=False).encode() + b"\n"
        end = self._file.seek(0, os.SEEK_END)
        with _writing(self.path):
            try:
                while line:
                    line = line[self._file.write(line) :]
                if record["event"] in ("ending", "closed"):
                    os.fsync(self._file.fileno())
            except OSError:
                os.truncate(self.path, end)
                raise

    def _check_there(self) -> None:
        """Raise InputError where the folder was removed or renamed: nobody would find what is appended."""
        is_there = False
        with suppress(OSError):
            is_there = os.path.samestat(os.fstat(self._file.fileno()), self.path.stat())
        if not is_there:
            raise InputError(f"{self.path}: removed or renamed while the session ran: put it back, and the same "
                             "command goes on")

    def _append_error_output(self, record: Record) -> None:
        path = self.folder / error_output.NAME
        with _writing(path):
            _drop_torn_line(path)
            with open(path, "ab", opener=paths.not_through_links) as file:
                file.write(json.dumps(record, allow_nan=False).encode() + b"\n")

    def close(self) -> None:
        """No append after this; the manifest is written. Raises DiskFull; InputError where the folder is gone."""
        self._file.close()
        with _writing(self.folder):
            sums = manifest.sums(self.folder)
        _replace(self.folder / manifest.NAME, manifest.text(sums))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_usable(results: Path) -> None:
    """Raise InputError or DiskFull where no session can be written into a folder of results, which is made."""
    if not results.absolute().parent.is_dir():
        raise InputError(f"--results {results}: there is no folder {results.parent}: make it, or name another one")
    with _writing(results):
        paths.usable(results)


def _keep_others_out(file: IO[bytes], path: Path) -> None:
    """Lock a session's file, where its file system has locks. Raises InputError while another session has it."""
    with suppress(OSError):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            raise InputError(f"{path}: another evenbench session is writing it: wait for it, or end it") from error


def _drop_torn_line(path: Path) -> None:
    """Cut off what a killed writer left behind its last whole line."""
    if os.path.lexists(path):
        with open(path, "r+b", opener=paths.not_through_links) as file:
            content = file.read()
            if content and not content.endswith(b"\n"):
                file.truncate(content.rfind(b"\n") + 1)


@contextmanager
def _writing(path: Path, remedy: str = "choose another folder with --results") -> Iterator[None]:
    """Let an error of writing be InputError or DiskFull, with the remedy."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"{path}: the disk is full; make room (`docker system df`, `evenbench images --prune`), "
                           "then give the same command again: finished rounds are kept") from error
        why = "it is a link, and nothing is written through links" if error.errno == errno.ELOOP else error.strerror
        raise InputError(f"{path}: {why}; {remedy}") from error


def read(folder: Path) -> Iterator[Record]:
    """The records of a session's folder, in order. Raises InputError with file and line where one is no record."""
    path, session = folder / EVENTS, None
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: found no plain file, expected a session's events")
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    return                     # torn by a killed writer
                try:
                    record = _record(line)
                except ValueError as error:
                    raise InputError(f"{path}:{number}: {error}") from error
                if record["event"] == "session":
                    session = session or record.get("id")
                    if record.get("id") not in (None, session):
                        raise InputError(f"{path}:{number}: found a second session, {record.get('id')}, after "
                                         f"{session}: expected a folder and a file for each")
                yield record
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; `evenbench list results` shows what there is") from error


def _record(line: bytes) -> Record:
    """The line's record. Raises ValueError with what is wrong with it."""
    try:
        record = from_json(line)           # in a third of json's time
    except ValueError:
        try:
            record = json.loads(line)      # which reads half surrogates too, and says what is wrong
        except (ValueError, RecursionError) as error:
            raise ValueError(f"not JSON: {str(error)[:80]}") from error
    if not isinstance(record, dict) or not isinstance(record.get("event"), str):
        raise ValueError('expected an object with "event"')
    if record["event"] == "session":
        schema = record.get("schema")
        if not isinstance(schema, int) or schema < 1:
            raise ValueError(f"schema: found {schema!r}, expected a number from 1 to {SCHEMA}")
        if schema < SCHEMA:
            raise ValueError(f"schema {schema} is from before turns, which this evenbench does not read: measure it "
                             "again")
        if schema > SCHEMA:
            raise ValueError(f"schema {schema} is newer than this evenbench reads ({SCHEMA}): update it")
    return record


def write_beside(folder: Path, name: str, text: str) -> None:
    """Write a file beside the events, whole or not at all, and add it to their manifest."""
    _replace(folder / name, text + "\n")
    try:
        sums = manifest.read(folder)
    except InputError:                         # no session has ended here
        return
    _replace(folder / manifest.NAME, manifest.text({**sums, name: paths.digest(folder / name)}))


def _replace(path: Path, text: str) -> None:
    """As paths.write_whole. Raises InputError, DiskFull."""
    with _writing(path, "name another file, or another folder with --results"):
        paths.write_whole(path, text)


LATEST = "latest"
RESULTS = Path("results")        # of a command without --results


def folders(results: Path) -> list[Path]:
    """The folders of all results, the oldest first."""
    return [path.parent for path in sorted(results.glob(f"*/{EVENTS}"))]


def located(name: str, results: Path) -> Path:
    """The folder of a result by id, its beginning or path; of "latest" the newest. Raises InputError."""
    found = folders(results)
    if not name:
        raise InputError('found "" as a result, expected an id, its beginning, a folder, or latest')
    if name == LATEST:
        if not found:
            raise InputError(f"{results}: no results yet; `evenbench run quick` makes some")
        return found[-1]
    for folder in (results / name, Path(name)):
        if (folder / EVENTS).is_file():
            return folder
    begin_so = [folder for folder in found if folder.name.startswith(name)]
    if not begin_so:
        raise InputError(f'no result "{name}" in {results}; `evenbench list results` shows what there is')
    if len(begin_so) > 1:
        raise InputError(f'result "{name}": found {len(begin_so)} that begin so, expected one: '
                         f"{', '.join(folder.name for folder in begin_so[:4])}{', ...' if len(begin_so) > 4 else ''}")
    return begin_so[0]
