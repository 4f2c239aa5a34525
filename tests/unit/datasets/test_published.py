"""Downloads: what breaks goes on, what is another file is refused, and nothing half looks whole."""

import hashlib
import io
import re
import tarfile
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from runner import paths
from runner.datasets import published
from runner.datasets.published import PAUSES, Download, Published, fetch
from runner.errors import BenchError, InputError
from tests.fakes import quiet
from tests.web import Site, serving

CONTENT = bytes(range(256)) * 4096          # in blocks of 64 KiB: a block that broke off is asked for again


def download(site: Site, content: bytes = CONTENT) -> Download:
    return Download(site.address, len(content), f"md5:{hashlib.md5(content).hexdigest()}")


def fetched(site: Site, folder: Path, waited: list[float] | None = None) -> Path:
    with serving(site):
        return fetch(download(site), folder, quiet, ([] if waited is None else waited).append)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize(("how", "asked"), [
    ({}, [None]), ({"cuts": [600_000, None]}, [None, "bytes=589824-"]),                    # it goes on from there
    ({"cuts": [600_000, None], "knows_ranges": False}, [None, "bytes=589824-"]),           # a new start
    ({"cuts": [600_000, None], "says_length": False}, [None, "bytes=600000-"])])
def test_a_download_that_breaks_comes_whole_at_last_and_leaves_nothing_else(
        how: dict[str, Any], asked: list[str | None], tmp_path: Path) -> None:
    site = Site(CONTENT, **how)
    waited: list[float] = []
    assert CONTENT == fetched(site, tmp_path, waited).read_bytes()
    assert {"file.tar.gz"} == names(tmp_path) and asked == site.asked
    assert len(site.asked) == 1 + len(waited)


def test_another_session_goes_on_where_the_first_one_ended_and_a_file_that_changed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="the same command goes on from there"):
        fetched(Site(CONTENT, cuts=[400_000, 0]), tmp_path)
    part = (tmp_path / "file.tar.gz.part").read_bytes()
    again = Site(CONTENT)
    assert CONTENT == fetched(again, tmp_path).read_bytes() and ["bytes=393216-"] == again.asked

    (tmp_path / "file.tar.gz").rename(tmp_path / "file.tar.gz.part")
    (tmp_path / "file.tar.gz.part").write_bytes(b"x" * len(part))
    with pytest.raises(BenchError, match="not the file that was published"):
        fetched(Site(CONTENT), tmp_path)
    assert set() == names(tmp_path)


def test_tries_come_to_an_end_with_longer_pauses(tmp_path: Path) -> None:
    site, waited = Site(CONTENT, statuses=[503]), list[float]()
    with pytest.raises(BenchError, match="503"):
        fetched(site, tmp_path, waited)
    assert [*PAUSES] == waited and len(PAUSES) + 1 == len(site.asked)
    with pytest.raises(BenchError, match=r"127\.0\.0\.1:9/file"):
        fetch(Download("http://127.0.0.1:9/file", 10), tmp_path, quiet, waited.append)


@pytest.mark.parametrize(("content", "how", "message"), [
    (b"y" * len(CONTENT), {}, "not the file that was published"),
    (CONTENT + b"!", {}, "more than the expected 1048576 bytes"),
    (CONTENT, {"statuses": [404]}, "404 Not Found: get the file by hand")])
def test_another_file_than_was_published_is_refused_at_once_and_nothing_is_kept(
        content: bytes, how: dict[str, Any], message: str, tmp_path: Path) -> None:
    waited: list[float] = []
    with pytest.raises(BenchError, match=message):
        fetched(Site(content, **how), tmp_path, waited)
    assert set() == names(tmp_path) and not waited


def archive(name: str) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as packed:
        member = tarfile.TarInfo(name)
        member.size = 3
        packed.addfile(member, io.BytesIO(b"a\nb"))
    return held.getvalue()


def prepared(content: bytes, cache: Path) -> Path:
    """A data set of one tar with a folder "inside", whose files are its tokens."""
    def write(source: Path, folder: Path, asked: Namespace) -> dict[str, Any]:
        for name in ("tokens.npy", "tokens.offsets.npy"):
            (folder / name).write_bytes((source / "text").read_bytes())
        return {"counts": {}, "made": {}}

    with serving(Site(content)) as site:
        made = Published("wikitext103", "page", "licence", (download(site, content),), "inside")
        return published.prepared(made, write, Namespace(source=None), cache, quiet)


def test_what_was_downloaded_is_unpacked_once_and_written(tmp_path: Path) -> None:
    folder = prepared(archive("inside/text"), tmp_path)
    assert tmp_path / "data" / "wikitext103" == folder and b"a\nb" == (folder / "tokens.npy").read_bytes()
    assert {"wikitext103.lock"} == names(tmp_path / "downloads")
    assert folder == prepared(b"", tmp_path)                       # its archive is not asked for again


@pytest.mark.parametrize("content", [archive("../outside"), archive("inside/text")[:60], b"nothing packed"],
                         ids=["outside", "cut off", "none"])
def test_an_archive_that_leads_out_or_is_none_is_refused_and_leaves_nothing(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="not an archive that can be unpacked"):
        prepared(content, tmp_path / "cache")
    assert {"cache"} == names(tmp_path) and not list((tmp_path / "cache" / "sources").iterdir())


def test_an_archive_without_the_folder_of_the_data_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="inside: no such folder"):
        prepared(archive("other/text"), tmp_path)


def test_every_download_has_an_https_address_a_size_and_a_checksum_of_a_known_kind_or_none() -> None:
    rows = published.listing(Path("/none"))
    text = "".join(path.read_text() for path in paths.ROOT.glob("data/*/prepare.py"))
    assert len(rows) == 1 + len(list(paths.ROOT.glob("data/*/prepare.py")))
    checksums = re.findall(r'"(md5|sha256):([0-9a-f]+)"', text)
    assert "http://" not in text and {("md5", 32), ("sha256", 64)} == {(kind, len(word)) for kind, word in checksums}
    assert len(checksums) + 1 == len(re.findall(r'Download\("https://', text))           # WikiText's has none
