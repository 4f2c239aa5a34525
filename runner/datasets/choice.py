"""The data that runs read: a folder of the user's, the cache's, or the real digits written in CIFAR's layout."""

import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from runner import paths
from runner.datasets.writing import whole
from runner.errors import InputError
from runner.processes import locked
from workloads.spec.data import prepared
from workloads.spec.data.datasets import DATA_SETS, SIDE, size_problem
from workloads.spec.models import own_model

STAND_IN = "digits32"
DIGITS = Path(__file__).with_name("digits.csv.gz")
_TEST_DIGITS = 297             # of the 1,797, drawn at random (docs/curves.md says why); the other 1,500 are repeated
NAMES = (*DATA_SETS, *prepared.SEQUENCE_SETS, own_model.DATA)
_NEXT = re.compile(rf",(?=(?:{'|'.join(NAMES)})(?:=|,|$))")      # a folder's name may have a comma, too


class Data(NamedTuple):
    """A data set's name and the folder that workers read."""

    name: str
    folder: Path


def chosen(argument: str | None, cache: Path) -> Data:
    """The Data of `NAME=FOLDER`, a NAME in the cache, or for none the stand-in, written or not. Raises InputError."""
    if argument is None or argument == STAND_IN:
        return Data(STAND_IN, digits32_folder(cache))
    name, separator, folder = argument.partition("=")
    if name not in NAMES or not (folder if separator else name != own_model.DATA):
        raise InputError(f'--data: found "{argument}", expected NAME=FOLDER, or NAME of what the cache holds, '
                         f'with NAME one of {", ".join(NAMES)}')
    path = paths.named(folder).absolute() if separator else cached(cache, name)
    if not separator and not path.is_dir():
        raise InputError(f"--data {name}: not in the cache ({path}): run `{command(name)}`, or name its "
                         f"folder: --data {name}=FOLDER")
    verify(name, path)
    return Data(name, path)


def several(argument: str | None, cache: Path) -> tuple[Data, ...]:
    """The Data of NAME=FOLDER,NAME=FOLDER; cells that name no other read the first. Raises InputError."""
    data_sets = tuple(chosen(word, cache) for word in (_NEXT.split(argument) if argument else [None]))
    if len({data.name for data in data_sets}) < len(data_sets):
        raise InputError(f'--data: found "{argument}", expected each name once')
    return data_sets


def names(argument: str | None) -> tuple[str, ...]:
    """The names in what several() reads."""
    return tuple(word.partition("=")[0] for word in _NEXT.split(argument)) if argument else (STAND_IN,)


def cached(cache: Path, name: str) -> Path:
    """Where the cache keeps what runs read of a data set but the stand-in, whether it is there or not."""
    return cache / "data" / name


def command(name: str) -> str:
    """What downloads a data set and writes it as workers read it."""
    return shlex.join([sys.executable, str(paths.ROOT / "data" / name / "prepare.py")])


def verify(name: str, folder: Path) -> None:
    """Raise InputError unless the folder holds every file of the data set in its full size."""
    if not folder.is_dir():
        raise InputError(f"--data: {folder}: no such folder, expected the one that holds {name}")
    if name == own_model.DATA:                     # what a model of the user's own reads there is its file's to say
        return
    known, side = DATA_SETS.get(name), SIDE
    if known is None or known.is_prepared:
        try:
            side = prepared.facts(str(folder), name)["made"].get("image", SIDE)
        except prepared.FactsError as error:
            raise InputError(f"--data: {error}") from error
    for stem in (*known.train, *known.test) if known else ():
        _verify_images(name, folder, stem, side)


def _verify_images(name: str, folder: Path, stem: str, side: int) -> None:
    """Check one file, binary or pickled. Raises InputError."""
    path = next((each for each in (folder / f"{stem}.bin", folder / stem) if each.is_file()), None)
    if path is None:
        raise InputError(f"--data: {folder}: found no {stem}.bin and no {stem}, expected the files of {name}; "
                         "is it the folder inside the unpacked archive?")
    if not os.access(path, os.R_OK):
        raise InputError(f"--data: {path}: not readable")
    if path.suffix == ".bin" and (problem := size_problem(name, stem, path.stat().st_size, side)):
        raise InputError(f"--data: {path}: {problem}")


def digits32_folder(cache: Path, images: int = DATA_SETS[STAND_IN].usual) -> Path:
    """Where the stand-in lies or will lie. "drawn": the shorter name once held another choice of test digits."""
    return cache / "data" / f"{STAND_IN}-{images}-drawn"


def digits32(cache: Path, say: Callable[[str], None], images: int = DATA_SETS[STAND_IN].usual) -> Path:
    """The folder of 1,797 real handwritten digits, 32x32x3, repeated to so many training images.

    digits.csv.gz holds 64 pixels (0 to 16) and a label a line: E. Alpaydin and C. Kaynak, Optical Recognition of
    Handwritten Digits, UCI Machine Learning Repository, 1998, the test part; licence: CC BY 4.0.
    """
    folder = digits32_folder(cache, images)
    if folder.is_dir():
        return folder
    with locked(folder.with_name(f"{folder.name}.lock")):
        if not folder.is_dir():            # another session may have been faster
            say(f"data: writing {images:,} images of {DATA_SETS[STAND_IN].title} to {folder}")
            with whole(folder) as unfinished:
                _write(unfinished, images)
    return folder


def _write(folder: Path, images: int) -> None:
    digits = np.loadtxt(DIGITS, dtype=np.int64, delimiter=",")
    grey = np.round(digits[:, :-1].reshape(-1, 8, 8) * 255 / 16).astype(np.uint8)
    # each of the 8x8 pixels becomes 4x4, grey in three planes; CIFAR-10's records have 1 + 3072 bytes
    planes = np.repeat(np.kron(grey, np.ones((1, 4, 4), np.uint8))[:, None], 3, axis=1)
    records = np.hstack([digits[:, -1:].astype(np.uint8), planes.reshape(len(grey), -1)])
    held_out = np.sort(np.random.RandomState(0).permutation(len(records))[:_TEST_DIGITS])
    train, test = np.delete(records, held_out, axis=0), records[held_out]
    repeated = np.resize(train, (images, train.shape[1]))
    stems = DATA_SETS[STAND_IN].train
    for stem, part in zip(stems, np.array_split(repeated, len(stems)), strict=True):
        part.tofile(folder / f"{stem}.bin")
    test.tofile(folder / f"{DATA_SETS[STAND_IN].test[0]}.bin")
