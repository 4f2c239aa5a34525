"""Unpacking strangers' archives: only files and folders, inside the folder, of at most the expected size."""

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Self

from runner.errors import DownloadFailed

_MOST_FILES = 200_000          # LibriSpeech has 31,000
_LONGEST_HEADER = 2**20        # bytes; a name is at most 4096 long
_READ_WHOLE = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME,
               tarfile.GNUTYPE_LONGLINK)
# zipfile and tarfile let through what a broken header makes their helpers raise
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, ValueError, LookupError,
           RuntimeError, OverflowError)


def unpack(archive: Path, folder: Path, most_bytes: int) -> None:
    """Unpack a tar (plain, gz, bz2, xz) or zip into a folder. Raises DownloadFailed, also above most_bytes."""
    try:
        if zipfile.is_zipfile(archive):
            _unzip(archive, folder, most_bytes)
        else:
            with tarfile.open(archive, tarinfo=_Member) as opened:
                opened.extractall(folder, _plain(opened, archive, most_bytes), filter="data")
    except _BROKEN as error:
        raise DownloadFailed(f"{archive}: not an archive that can be unpacked: {error}") from error
    except OSError as error:
        raise DownloadFailed(f"{archive}: not unpacked to {folder}: {error.strerror or error}") from error


class _Member(tarfile.TarInfo):
    """A member of a tar. What stands before one, such as a long name, is read whole: it may be no larger than that."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        member = super().frombuf(buf, encoding, errors)
        if member.type in _READ_WHOLE and member.size > _LONGEST_HEADER:
            raise tarfile.ReadError(f"a header of {member.size} bytes")
        return member


def _plain(opened: tarfile.TarFile, archive: Path, most_bytes: int) -> Iterator[tarfile.TarInfo]:
    """The members one by one, each looked at before it is unpacked."""
    size = 0
    for count, member in enumerate(opened, 1):
        if not member.isfile() and not member.isdir():
            raise DownloadFailed(f'{archive}: found "{member.name}", which is neither a file nor a folder: '
                                 "not unpacked")
        size += member.size
        _refuse_larger(archive, count, size, most_bytes)
        yield member


def _refuse_larger(archive: Path, files: int, size: int, most_bytes: int) -> None:
    if files > _MOST_FILES or size > most_bytes:
        raise DownloadFailed(f"{archive}: holds more than the expected {most_bytes} bytes in at most {_MOST_FILES} "
                             "files: not unpacked")


def _unzip(archive: Path, folder: Path, most_bytes: int) -> None:
    """Unpack a zip. Names that lead out of the folder are refused; links become files."""
    with zipfile.ZipFile(archive) as opened:
        members = opened.infolist()
        for member in members:
            path = PurePosixPath(member.filename.replace("\\", "/"))
            if path.is_absolute() or ".." in path.parts:
                raise DownloadFailed(f'{archive}: found "{path}", which leads out of the folder: not unpacked')
        _refuse_larger(archive, len(members), sum(member.file_size for member in members), most_bytes)
        opened.extractall(folder)
