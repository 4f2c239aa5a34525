"""Two images are compared path by path, by all but their times."""

import io
import tarfile
from typing import Any

from tools.reproducible import Entry, differences, entries

HELLO = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"      # sha256sum of "hello"


def archive(**changes: Any) -> io.BytesIO:
    """A folder, a file of "hello", a link to it and a hard link; changes are of the file."""
    content = changes.pop("content", b"hello")
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as file:
        for name, kind in (("etc/", tarfile.DIRTYPE), ("etc/a", tarfile.REGTYPE), ("etc/b", tarfile.SYMTYPE),
                           ("etc/c", tarfile.LNKTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.mode = kind, 0o755 if kind == tarfile.DIRTYPE else 0o644
            if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                member.linkname = "etc/a"
            if kind == tarfile.REGTYPE:
                member.size = len(content)
                for key, value in changes.items():
                    setattr(member, key, value)
            file.addfile(member, io.BytesIO(content))
    made.seek(0)
    return made


def test_an_image_is_read_path_by_path() -> None:
    assert {"/etc": Entry("folder", 0o755, (0, 0), 0, "", ""), "/etc/a": Entry("file", 0o644, (0, 0), 5, HELLO, ""),
            "/etc/b": Entry("link", 0o644, (0, 0), 0, "", "etc/a"),
            "/etc/c": Entry("hard link", 0o644, (0, 0), 0, "", "etc/a")} == entries(archive())


def changed(**changes: Any) -> dict[str, str]:
    return differences(entries(archive()), entries(archive(**changes)))


def test_the_time_of_a_file_does_not_count_and_everything_else_does() -> None:
    assert {} == changed(mtime=1_000_000)
    assert {"/etc/a": "content"} == changed(content=b"hullo")
    assert {"/etc/a": "size, content"} == changed(content=b"hello!")
    assert {"/etc/a": "mode, owner"} == changed(mode=0o600, uid=1000)
    assert {"/etc/a": "only in the first", "/etc/d": "only in the second"} == changed(name="etc/d")
