"""CIFAR-100 as it is published, in its binary layout: .venv/bin/python data/cifar100/prepare.py."""

import shutil
from argparse import Namespace
from pathlib import Path
from typing import Any

import evenbench  # noqa: F401  of an installed one, whose folder it puts on the path
from runner.datasets.published import Download, Published, run
from runner.datasets.writing import sources

SET = Published(
    "cifar100", "https://www.cs.toronto.edu/~kriz/cifar.html", "none stated; free to use, cite Krizhevsky 2009",
    (Download("https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz", 168_513_733,
              "md5:03b5dce01913d631647c71ecec9e9cb8"),), "cifar-100-binary")


def write(source: Path, folder: Path, asked: Namespace) -> dict[str, Any]:
    """Copy the files of records."""
    files = sorted(source.glob("*.bin"))
    for path in files:
        shutil.copyfile(path, folder / path.name)
    return {"sources": sources(files), "counts": {"files": len(files)}, "made": {}}


if __name__ == "__main__":
    run(SET, write)
