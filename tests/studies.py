"""The repository's studies, each read once for all tests of a process; and texts of studies."""

from functools import cache

from runner import strict_toml
from runner.paths import STUDIES
from runner.study import file
from runner.study.file import Study


def parse(text: str | bytes, *changes: tuple[str, str], scale: str | None = None, on_gpu: bool = False) -> Study:
    """The study in the text of a file s.toml, in which the first of each old part is replaced by the new one."""
    content = text.encode() if isinstance(text, str) else text
    for old, new in changes:
        assert old.encode() in content
        content = content.replace(old.encode(), new.encode(), 1)
    return file.from_document(strict_toml.document(content, "s.toml"), "s.toml", scale, on_gpu)


@cache
def read(name: str, scale: str | None = None, on_gpu: bool = False) -> Study:
    return file.read(name, STUDIES, scale, on_gpu)
