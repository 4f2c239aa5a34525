"""The repository's studies, each read once for all tests of a process."""

from functools import cache

from runner.paths import STUDIES
from runner.study import file
from runner.study.file import Study


@cache
def read(name: str, scale: str | None = None, on_gpu: bool = False) -> Study:
    return file.read(name, STUDIES, scale, on_gpu)
