"""The repository's studies, each read once for all tests of a process; and texts of studies, changed."""

from functools import cache

from runner import strict_toml
from runner.paths import STUDIES
from runner.study import file
from runner.study.file import Study


def changed(text: str, *changes: tuple[str, str]) -> bytes:
    """A study's text with the first of each old part replaced by the new one."""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return text.encode()


def parse(content: bytes, name: str, scale: str | None = None, on_gpu: bool = False) -> Study:
    """The study in a file's bytes."""
    return file.from_document(strict_toml.document(content, name), name, scale, on_gpu)


@cache
def read(name: str, scale: str | None = None, on_gpu: bool = False) -> Study:
    return file.read(name, STUDIES, scale, on_gpu)
