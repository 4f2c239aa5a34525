"""Downloads that resume: a .part file, the server's tag of it beside it, and the name only after size and checksum.

A server that answers with another file, ignores the range or ends early costs a new start or a new try, never a wrong
file. Tries that bring nothing new are counted, and after TRIES of them it ends with one line.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import requests

from runner import formatting
from runner.datasets.catalogue import Download
from runner.errors import DownloadFailed
from runner.paths import digest, writing
from runner.processes import Say

TRIES = 5
PAUSES = (1.0, 4.0, 15.0, 60.0)       # seconds before the next try
TIMEOUT = (20.0, 60.0)                # seconds until a connection stands, and without a byte
_CHUNK = 2**16                        # a block that breaks off is lost, so it is small
Told = Callable[[str, int, int], None]     # file, bytes there, bytes in all


class Net(NamedTuple):
    """The world of a download: how it asks, waits and says."""

    session: requests.Session
    sleep: Callable[[float], None] = time.sleep
    say: Say = print
    told: Told = lambda file, done, total: None


class _Broken(Exception):
    """This try brought no whole file; another may."""


def fetch(download: Download, folder: Path, net: Net) -> Path:
    """The file in the folder, downloaded if it is not there, its checksum verified. Raises DownloadFailed."""
    path = folder / download.file
    if path.is_file() and path.stat().st_size == download.size_bytes:
        verify(path, download)
        return path
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{download.file}.part"
    _until_whole(download, part, net)
    try:
        verify(part, download)
    except DownloadFailed:
        _forget(part)
        raise
    part.rename(path)
    _tag_path(part).unlink(missing_ok=True)
    return path


def missing_bytes(download: Download, folder: Path) -> int:
    """The bytes that are still to be downloaded."""
    if (folder / download.file).is_file():
        return 0
    return max(0, download.size_bytes - _size(folder / f"{download.file}.part"))


def verify(path: Path, download: Download) -> None:
    """Raise DownloadFailed unless size and checksum are the published ones."""
    size = path.stat().st_size
    if size != download.size_bytes:
        raise DownloadFailed(f"{path}: found {size} bytes, expected {download.size_bytes} from {download.address}")
    if not download.checksum:
        return
    kind, _, expected = download.checksum.partition(":")
    if (found := digest(path, kind)) != expected:
        raise DownloadFailed(f"{path}: found {kind} {found}, expected {expected}: not the file that was published; "
                             "it was refused, run the command again for a new one")


def _until_whole(download: Download, part: Path, net: Net) -> None:
    """Try until the part has every byte."""
    fruitless, before = 0, _size(part)
    while _size(part) != download.size_bytes:
        try:
            _try(download, part, net)
        except (_Broken, requests.RequestException) as error:
            fruitless = 1 if _size(part) > before else fruitless + 1
            before = max(before, _size(part))
            if fruitless >= TRIES:
                kept = f"{formatting.size(_size(part))} of {formatting.size(download.size_bytes)}"
                raise DownloadFailed(f"{download.address}: {_reason(error)}, {TRIES} times; {kept} are kept: "
                                     "the same command goes on from there") from error
            pause = PAUSES[min(fruitless, len(PAUSES)) - 1]
            net.say(f"{download.file}: {_reason(error)}; next try in {pause:.0f} s")
            net.sleep(pause)


def _try(download: Download, part: Path, net: Net) -> None:
    """One request, from where the part ends. Raises _Broken, DownloadFailed or what requests raises."""
    have = _size(part)
    if have > download.size_bytes:
        _forget(part)
        have = 0
    headers = {"Accept-Encoding": "identity", **_range(part, have)}
    with net.session.get(download.address, headers=headers, stream=True, timeout=TIMEOUT) as answer:
        is_more = (answer.status_code == requests.codes.partial_content
                   and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-"))
        if answer.status_code == requests.codes.requested_range_not_satisfiable:
            _forget(part)
            raise _Broken("the server has no such range of it")
        if not is_more:
            _accept(answer, download)
        _receive(answer, part, have if is_more else 0, download, net)


def _accept(answer: requests.Response, download: Download) -> None:
    """Raise unless the answer is the whole file."""
    if answer.status_code in (401, 403, 404, 410):
        raise DownloadFailed(f"{download.address}: the server says {answer.status_code} {answer.reason}: the address "
                             "is out of date, or needs a login; get the file by hand and name its folder")
    if answer.status_code != requests.codes.ok:
        raise _Broken(f"the server says {answer.status_code} {answer.reason}")
    length = answer.headers.get("Content-Length", "")
    if length.isdigit() and int(length) != download.size_bytes:
        raise DownloadFailed(f"{download.address}: found {length} bytes, expected {download.size_bytes}: "
                             "the publisher has another file there now")


def _receive(answer: requests.Response, part: Path, first: int, download: Download, net: Net) -> None:
    """Write the body from its place in the file on; a body that is too long is not taken."""
    tag = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
    _tag_path(part).write_text(tag)
    with part.open("r+b" if first else "wb") as file:
        file.seek(first)
        done = first
        for chunk in answer.iter_content(_CHUNK):
            if done + len(chunk) > download.size_bytes:
                raise DownloadFailed(f"{download.address}: more than the expected {download.size_bytes} bytes came")
            with writing(part):
                file.write(chunk)
            done += len(chunk)
            net.told(download.file, done, download.size_bytes)
        file.flush()
        os.fsync(file.fileno())
    if done < download.size_bytes:
        raise _Broken(f"it ended after {done} of {download.size_bytes} bytes")


def _range(part: Path, have: int) -> dict[str, str]:
    """Headers that ask for the rest of the same file."""
    path = _tag_path(part)
    tag = path.read_text(errors="replace") if path.is_file() else ""
    if not have or not tag or tag.startswith("W/"):        # a weak tag does not say that the bytes are the same
        return {}
    return {"Range": f"bytes={have}-", "If-Range": tag}


def _tag_path(part: Path) -> Path:
    return part.with_name(f"{part.name}.tag")


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    _tag_path(part).unlink(missing_ok=True)


def _size(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0


def _reason(error: Exception) -> str:
    """Why a try failed, in short: requests' own messages are a chain of nested ones."""
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection broke"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return str(error)
