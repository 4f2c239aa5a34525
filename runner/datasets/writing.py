"""Writing a prepared data set: ragged arrays that grow on the disk, facts.json last, the folder renamed when whole."""

import hashlib
import json
import shutil
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from runner import paths
from runner.errors import InputError
from workloads.spec.data.prepared import FACTS, FORMAT

Append = Callable[["np.ndarray[Any, Any]"], None]


@contextmanager
def ragged(folder: Path, name: str, dtype: "np.dtype[Any]", columns: int | None = None) -> Iterator[Append]:
    """Write NAME.npy and NAME.offsets.npy. Values go to the disk as they come, the header last.

    What it lends adds a sequence: (length,) or (length, columns).
    """
    row = () if columns is None else (columns,)
    offsets = [0]

    def append(values: "np.ndarray[Any, Any]") -> None:
        if values.shape[1:] != row:
            raise ValueError(f"found shape {values.shape}, expected a length and then the columns {row}")
        file.write(np.ascontiguousarray(values, dtype=dtype).tobytes())
        offsets.append(offsets[-1] + len(values))

    def write_header() -> None:              # numpy gives it the same size whatever the length
        npy.write_array_header_1_0(file, {"descr": npy.dtype_to_descr(dtype), "fortran_order": False,
                                          "shape": (offsets[-1], *row)})

    with (folder / f"{name}.npy").open("wb") as file:
        write_header()
        yield append
        file.seek(0)
        write_header()
    np.save(folder / f"{name}.offsets.npy", np.array(offsets, np.int64))


def copy_records(source: Path, folder: Path, asked: Namespace) -> dict[str, Any]:
    """Write a set whose files of records are taken as they are; its facts."""
    files = sorted(source.glob("*.bin"))
    for path in files:
        shutil.copyfile(path, folder / path.name)
    return {"sources": sources(files), "counts": {"files": len(files)}, "made": {}}


def finished(folder: Path, name: str, facts: Mapping[str, Any]) -> str:
    """Write facts.json: these facts, the size of every file beside it, and the digest of all, which is returned."""
    written = [path for path in sorted(folder.iterdir()) if path.name != FACTS]
    files, digest = {path.name: path.stat().st_size for path in written}, str(sources(written)["sha256"])
    text = json.dumps({"format": FORMAT, "name": name, **facts, "files": files, "sha256": digest}, indent=2)
    (folder / FACTS).write_text(text + "\n", encoding="utf-8")
    return digest


@contextmanager
def whole(folder: Path) -> Iterator[Path]:
    """A temporary folder to fill. It takes the given name once all went well, in place of what had that name."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as beside:
        unfinished = Path(beside, folder.name)
        unfinished.mkdir()
        with paths.writing(folder):
            yield unfinished
        unfinished.chmod(0o755)        # containers read it as another user
        if folder.exists():
            shutil.rmtree(folder)
        unfinished.rename(folder)


def sources(files: Iterable[Path]) -> dict[str, Any]:
    """What facts.json says of files: how many, their bytes, and the SHA-256 over their names and digests, in order."""
    digest, sizes = hashlib.sha256(), []
    for path in files:
        digest.update(f"{path.name} {paths.digest(path)}\n".encode())
        sizes.append(path.stat().st_size)
    return {"files": len(sizes), "bytes": sum(sizes), "sha256": digest.hexdigest()}


def text_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file without their ends. Raises InputError."""
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for line in file:
                yield line.rstrip("\r\n")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text: {error.reason} at byte {error.start}") from error
