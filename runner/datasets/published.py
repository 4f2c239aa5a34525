"""What each data/NAME/prepare.py shares: its download, checked, and the folder that workers read, written whole."""

import runpy
import shutil
import tarfile
import time
import zipfile
import zlib
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import requests

from runner import formatting, paths
from runner.datasets import choice
from runner.datasets.writing import finished, whole
from runner.errors import BenchError, InputError
from runner.processes import Say, locked
from workloads.spec.data.datasets import DATA_SETS
from workloads.spec.data.prepared import SEQUENCE_SETS

PAUSES = (1.0, 4.0, 15.0, 60.0)       # seconds before the next try
_TIMEOUT = (20.0, 60.0)               # seconds until a connection stands, and without a byte
_CHUNK = 2**16
_TOLD_EVERY = 2**28                   # bytes


class Download(NamedTuple):
    """A file of a publisher's."""

    address: str
    size_bytes: int
    checksum: str = ""        # "md5:..." or "sha256:..."; "": nobody published one

    @property
    def file(self) -> str:
        """Its name."""
        return self.address.rpartition("/")[2]


class Published(NamedTuple):
    """A data set where its publisher has it. Addresses and sizes were written down in 2026."""

    name: str
    page: str
    licence: str
    downloads: tuple[Download, ...]       # none: its publisher gives it to registered users alone
    inside: str = ""                      # the folder in the archives that holds the data

    @property
    def title(self) -> str:
        """As tables have it."""
        return (DATA_SETS.get(self.name) or SEQUENCE_SETS[self.name]).title


def listing(cache: Path) -> list[dict[str, Any]]:
    """A row a data set: what is here, the bytes to download (None: by hand), its licence and its command."""
    every = (runpy.run_path(str(path))["SET"] for path in sorted(paths.ROOT.glob("data/*/prepare.py")))
    return [{"data": choice.STAND_IN, "title": DATA_SETS[choice.STAND_IN].title, "here": "drawn when first needed",
             "size_bytes": 31_000_000, "licence": "CC BY 4.0 (UCI)", "command": ""},
            *({"data": one.name, "title": one.title, "here": _here(cache, one.name),
               "size_bytes": sum(download.size_bytes for download in one.downloads) or None, "licence": one.licence,
               "command": choice.command(one.name)} for one in every)]


def for_people(rows: Iterable[dict[str, Any]]) -> list[dict[str, str]]:
    """The listing with sizes as people read them, without commands."""
    return [{"data": row["data"], "title": row["title"], "here": row["here"], "licence": row["licence"],
             "size": formatting.size(row["size_bytes"]) if row["size_bytes"] else "by hand"} for row in rows]


def _here(cache: Path, name: str) -> str:
    """What the cache has of a data set, in a word or the fault that makes it useless."""
    folder = choice.cached(cache, name)
    try:
        if folder.is_dir():
            choice.verify(name, folder)
            return "ready"
    except InputError as error:
        return str(error)
    return "downloaded" if (cache / "sources" / name).is_dir() else "missing"


# writes what is published in the first folder to the second, as options say; what facts.json says of it
Write = Callable[[Path, Path, Namespace], dict[str, Any]]


def run(published: Published, write: Write, **options: dict[str, Any]) -> None:
    """The script of a data set; options: its own, each with what ArgumentParser is told of it."""
    parser = ArgumentParser(description=f"{published.title}. Licence: {published.licence}.", epilog=published.page)
    parser.add_argument("--from", dest="source", type=Path, help="the published data's folder, else it is downloaded")
    parser.add_argument("--limit", type=int, default=0, help="samples at most; 0: all")
    for name, about in options.items():
        parser.add_argument(f"--{name}", **about)
    asked = parser.parse_args()
    try:
        prepared(published, write, asked, paths.cache_folder())
    except (BenchError, OSError) as error:
        parser.exit(2, f"{published.name}: {error}\n")


def prepared(published: Published, write: Write, asked: Namespace, cache: Path, say: Say = print) -> Path:
    """The cache's folder of the data set, written anew. Raises BenchError, OSError."""
    target = choice.cached(cache, published.name)
    with locked(cache / "downloads" / f"{published.name}.lock"):
        source = paths.named(asked.source).absolute() if asked.source else _unpacked(published, cache, say)
        if not source.is_dir():
            raise InputError(f"{source}: no such folder, expected the published {published.title}")
        with whole(target) as unfinished:
            facts = write(source, unfinished, asked)
            digest = finished(unfinished, published.name, {"title": published.title, "licence": published.licence,
                                                           **facts})
            choice.verify(published.name, unfinished)
    say(f"{published.name}: {facts['counts']} in {target}, sha256 {digest}; measure with --data {published.name}")
    return target


def _unpacked(published: Published, cache: Path, say: Say) -> Path:
    """The folder of the published data, downloaded and unpacked if it is not there."""
    target = cache / "sources" / published.name
    if not published.downloads:
        raise InputError(f"its publisher gives it to registered users alone: download it from {published.page} and "
                         "name its folder with --from")
    if not target.is_dir():
        archives = [fetch(download, cache / "downloads", say) for download in published.downloads]
        with whole(target) as unfinished:
            for archive in archives:
                how = {} if archive.suffix == ".zip" else {"filter": "data"}
                try:
                    shutil.unpack_archive(archive, unfinished, **how)  # type: ignore[arg-type]
                except (shutil.ReadError, tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError) as error:
                    raise BenchError(f"{archive}: not an archive that can be unpacked: {error}") from error
        for archive in archives:
            archive.unlink()
    return target / published.inside


def fetch(download: Download, folder: Path, say: Say = print, sleep: Callable[[float], None] = time.sleep) -> Path:
    """The file, downloaded from where an earlier try ended, of the published size and digest. Raises BenchError."""
    path, part = folder / download.file, folder / f"{download.file}.part"
    folder.mkdir(parents=True, exist_ok=True)
    if path.is_file():
        return path
    for pause in (*PAUSES, None):
        try:
            _receive(download, part, say)
            break
        except requests.RequestException as error:
            if pause is None:
                raise BenchError(f"{download.address}: {error}; {formatting.size(_size(part))} are kept: the same "
                                 "command goes on from there") from error
            say(f"{download.file}: {error}; next try in {pause:.0f} s")
            sleep(pause)
    kind, _, expected = download.checksum.partition(":")
    if expected and (found := paths.digest(part, kind)) != expected:
        part.unlink()
        raise BenchError(f"{download.address}: found {kind} {found}, expected {expected}: not the file that was "
                         "published")
    return part.rename(path)


def _receive(download: Download, part: Path, say: Say) -> None:
    """Write what is missing of a file. Raises BenchError, or what requests raises where another try may help."""
    if (done := _size(part)) == download.size_bytes:
        return
    asked = {"Accept-Encoding": "identity", **({"Range": f"bytes={done}-"} if done else {})}
    with requests.get(download.address, headers=asked, stream=True, timeout=_TIMEOUT) as answer:
        if 400 <= answer.status_code < 500:
            part.unlink(missing_ok=True)
            raise BenchError(f"{download.address}: the server says {answer.status_code} {answer.reason}: get the "
                             "file by hand and name its folder with --from")
        answer.raise_for_status()
        goes_on = answer.status_code == requests.codes.partial_content
        done = done if goes_on else 0
        with part.open("ab" if goes_on else "wb", buffering=0) as file:
            for chunk in answer.iter_content(_CHUNK):
                with paths.writing(part):
                    file.write(chunk)
                if done // _TOLD_EVERY < (done := done + len(chunk)) // _TOLD_EVERY:
                    say(f"{download.file}: {formatting.size(done)} of {formatting.size(download.size_bytes)}")
                if done > download.size_bytes:
                    break
    if done > download.size_bytes:
        part.unlink()
        raise BenchError(f"{download.address}: more than the expected {download.size_bytes} bytes came")
    if done < download.size_bytes:
        raise requests.ConnectionError(f"it ended after {done} of {download.size_bytes} bytes")


def _size(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0
