"""Writing a prepared data set: ragged arrays that grow on the disk, facts.json last, the folder renamed when whole."""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from runner import paths
from runner.errors import InputError
from workloads.spec.data.prepared import FACTS, FORMAT


class RaggedWriter:
    """Writes NAME.npy and NAME.offsets.npy. Values go to the disk as they come, the header last."""

    def __init__(self, folder: Path, name: str, dtype: "np.dtype[Any]", columns: int | None = None) -> None:
        self._path, self._offsets_path = folder / f"{name}.npy", folder / f"{name}.offsets.npy"
        self._dtype, self._row = dtype, () if columns is None else (columns,)
        self._offsets = [0]
        self._file: IO[bytes] = self._path.open("wb")
        self._write_header(0)

    def append(self, values: "np.ndarray[Any, Any]") -> None:
        """Add a sequence: (length,) or (length, columns)."""
        if values.shape[1:] != self._row:
            raise ValueError(f"found shape {values.shape}, expected a length and then the columns {self._row}")
        self._file.write(np.ascontiguousarray(values, dtype=self._dtype).tobytes())
        self._offsets.append(self._offsets[-1] + len(values))

    def __enter__(self) -> "RaggedWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        with self._file:
            if kind is None:
                self._file.seek(0)
                self._write_header(self._offsets[-1])
        if kind is None:
            np.save(self._offsets_path, np.array(self._offsets, np.int64))

    def _write_header(self, length: int) -> None:
        """That of an array of so many rows; numpy gives it the same size whatever the length."""
        npy.write_array_header_1_0(self._file, {"descr": npy.dtype_to_descr(self._dtype), "fortran_order": False,
                                                "shape": (length, *self._row)})


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
