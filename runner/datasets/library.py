"""The commands of `evenbench data`: list data sets, get, verify and prepare one."""

import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from runner import formatting, paths
from runner.datasets import catalogue, choice
from runner.datasets.archives import unpack
from runner.datasets.download import Net, fetch, missing_bytes
from runner.datasets.writing import Options, finished, whole
from runner.errors import DiskFull, InputError
from runner.processes import locked
from workloads.spec.data.datasets import DATA_SETS
from workloads.spec.data.prepared import FACTS, SEQUENCE_SETS

Free = Callable[[Path], int]
_UNPACKED_MORE = 1.1                  # than the catalogue's round number; beyond it lies another archive, or a bomb
_SPARE_BYTES = 500_000_000            # left on the disk by a download, for all else that goes on


def sources(cache: Path, name: str) -> Path:
    """Where the cache keeps a data set as published, for those that must be prepared."""
    return cache / "sources" / name


def listing(cache: Path) -> list[dict[str, Any]]:
    """A row a data set: what is here, the size of what is downloaded (None: by hand) and its licence."""
    rows = [{"data": choice.STAND_IN, "title": DATA_SETS[choice.STAND_IN].title,
             "here": "made when first needed", "size_bytes": 31_000_000, "licence": "CC BY 4.0 (UCI)", "checksum": "-"}]
    for name, known in catalogue.KNOWN.items():
        size = sum(download.size_bytes for download in known.downloads)
        rows.append({"data": name, "title": known.title, "here": _here(cache, name),
                     "size_bytes": size or None, "licence": known.licence,
                     "checksum": ", ".join(dict.fromkeys(map(_by, known.downloads))) or "-"})
    return rows


def for_people(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The listing with sizes as people read them; what has none is copied by hand."""
    return [{"size" if name == "size_bytes" else name: value if name != "size_bytes" else
             formatting.size(value) if value else "by hand" for name, value in row.items()} for row in rows]


def _by(download: catalogue.Download) -> str:
    return (download.by or "publisher's") if download.checksum else "none published"


def _here(cache: Path, name: str) -> str:
    """What the cache has of a data set, in a word or the fault that makes it useless."""
    if choice.cached(cache, name).is_dir():
        try:
            choice.verify(name, choice.cached(cache, name))
        except InputError as error:
            return str(error)
        return "ready"
    if sources(cache, name).is_dir():
        return f"to be prepared: evenbench data prepare {name}"
    files = [cache / "downloads" / f"{download.file}{end}" for download in catalogue.KNOWN[name].downloads
             for end in ("", ".part")]
    done = sum(path.stat().st_size for path in files if path.is_file())
    return f"{formatting.size(done)} downloaded" if done else "missing"


def get(name: str, cache: Path, net: Net, free: Free = paths.free_bytes) -> Path:
    """The folder of a data set, downloaded, verified and unpacked if it is not there.

    Raises InputError, DownloadFailed, DiskFull.
    """
    known = catalogue.known(name)
    if known.by_hand:
        raise InputError(f"data {name}: {known.by_hand}")
    target = sources(cache, name) if known.prepare else choice.cached(cache, name)
    with locked(cache / "downloads" / f"{name}.lock"):
        if target.is_dir():
            net.say(f"{name}: is in {target}")
            return target
        downloads = cache / "downloads"
        _room(known, downloads, free)
        net.say(f"{name}: {known.title}, licence: {known.licence}; {known.page}")
        archives = [fetch(download, downloads, net) for download in known.downloads]
        for download in known.downloads:
            if not download.checksum:
                net.say(f"{download.file}: no published checksum; its size is the expected one")
        _unpack_all(name, known, archives, target)
    for archive in archives:
        archive.unlink()
    net.say(f"{name}: unpacked to {target}")
    return target


def _room(known: catalogue.Known, downloads: Path, free: Free) -> None:
    """Raise DiskFull unless archive, unpacked data and a little more fit."""
    downloaded = sum(missing_bytes(download, downloads) for download in known.downloads)
    needed, has = downloaded + known.unpacked_bytes + _SPARE_BYTES, free(downloads)
    if has < needed:
        raise DiskFull(f"{downloads}: {formatting.size(has)} free, {formatting.size(needed)} needed for "
                       f"{known.title}: make room, or set XDG_CACHE_HOME to a larger disk")


def _unpack_all(name: str, known: catalogue.Known, archives: list[Path], target: Path) -> None:
    """Unpack beside the target, verify, and only then give it its name."""
    holder = target.with_name(f"{target.name}.unpacked")
    try:
        with whole(holder) as unfinished:
            for archive in archives:
                unpack(archive, unfinished, int(known.unpacked_bytes * _UNPACKED_MORE))
            inside = unfinished / known.inside
            if not inside.is_dir():
                raise InputError(f"{archives[0]}: found no folder {known.inside} in it")
            contents(name, inside)
        (holder / known.inside).rename(target)
    finally:
        shutil.rmtree(holder, ignore_errors=True)


def contents(name: str, folder: Path) -> str:
    """What is in a folder of a data set, in one line. Raises InputError naming the first missing or cut file."""
    if not folder.is_dir():
        raise InputError(f"data {name}: {folder}: no such folder")
    known = catalogue.KNOWN.get(name)
    if (folder / FACTS).is_file() or known is None or known.check is None:
        choice.verify(name, folder)
        return f"{folder}: {name} is whole and can be read by a run: --data {name}={folder}"
    return f"{folder}: {known.check(folder)}; next: `evenbench data prepare {name} --from {folder}`"


def verify(name: str, folder: Path | None, cache: Path) -> str:
    """What is in a data set's folder, or else in the cache's, in one line. Raises InputError."""
    if name != choice.STAND_IN:
        catalogue.known(name)
    here = paths.named(folder).absolute() if folder else choice.cached(cache, name)
    if folder is None and not here.is_dir() and sources(cache, name).is_dir():
        here = sources(cache, name)
    if folder is None and not here.is_dir():
        raise InputError(f"data {name}: not in the cache ({here}): run `evenbench data get {name}`, "
                         "or name its folder with --folder")
    return contents(name, here)


def prepare(name: str, source: Path | None, cache: Path, options: Options, say: Callable[[str], None]) -> Path:
    """The cache's folder of a data set, written from its published layout. Raises InputError."""
    ways = {each: known.prepare for each, known in catalogue.KNOWN.items() if known.prepare}
    if name not in ways:
        raise InputError(f'data prepare: found "{name}", expected one of {", ".join(ways)}')
    here = paths.named(source).absolute() if source else sources(cache, name)
    if not here.is_dir():
        raise InputError(f"data {name}: {here}: no such folder; run `evenbench data get {name}`, or name the folder of "
                         "the published data with --from")
    target = choice.cached(cache, name)
    with locked(cache / "downloads" / f"{name}.lock"), whole(target) as unfinished:
        facts = ways[name](here, unfinished, options, say)
        title = (DATA_SETS.get(name) or SEQUENCE_SETS[name]).title
        finished(unfinished, name, {"title": title, "licence": catalogue.KNOWN[name].licence, **facts})
    say(f"{name}: prepared in {target}; measure with --data {name}")
    return target
