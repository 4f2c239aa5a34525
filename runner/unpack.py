"""Unpacking archives of others: nothing lands outside the folder, and a broken archive is named."""

import lzma
import tarfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from runner.errors import DownloadFailed


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a tar (plain, gz, bz2, xz) or zip archive into a folder. Raises DownloadFailed."""
    try:
        if zipfile.is_zipfile(archive):
            _unzip(archive, folder)
        else:
            with tarfile.open(archive) as opened:
                opened.extractall(folder, filter="data")
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError) as error:
        raise DownloadFailed(f"{archive}: not an archive that can be unpacked: {error}") from error
    except OSError as error:
        raise DownloadFailed(f"{archive}: not unpacked to {folder}: {error.strerror or error}") from error


def _unzip(archive: Path, folder: Path) -> None:
    """Zip has no filter of its own: names that leave the folder are refused, not bent into it."""
    with zipfile.ZipFile(archive) as opened:
        for name in opened.namelist():
            path = PurePosixPath(name.replace("\\", "/"))
            if path.is_absolute() or ".." in path.parts:
                raise DownloadFailed(f'{archive}: found "{name}", which leads out of the folder: not unpacked')
        opened.extractall(folder)
