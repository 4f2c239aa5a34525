"""Downloads: what breaks is resumed, what is another file is begun anew or refused, and nothing half looks whole."""

import hashlib
import io
import tarfile
import zipfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import requests

from runner.datasets import catalogue, library
from runner.datasets.archives import unpack
from runner.datasets.catalogue import Download, Known
from runner.datasets.download import TRIES, Net, fetch
from runner.errors import DiskFull, DownloadFailed, InputError
from tests.web import Site, serving

CONTENT = bytes(range(256)) * 4096          # in blocks of 64 KiB: a block that broke off is asked for again


class Listener:
    """Keeps what was said and how long was waited."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.waited: list[float] = []
        self.seen: list[int] = []

    def net(self, session: requests.Session) -> Net:
        return Net(session, self.waited.append, self.said.append,
                   lambda file, done, total: self.seen.append(done))


def download(site: Site, content: bytes = CONTENT) -> Download:
    return Download(site.address, "file.tar.gz", len(content), f"md5:{hashlib.md5(content).hexdigest()}")


def fetched(site: Site, folder: Path, listener: Listener | None = None, content: bytes = CONTENT) -> Path:
    with serving(site), requests.Session() as session:
        return fetch(download(site, content), folder, (listener or Listener()).net(session))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


BROKEN = [600_000, None]


@pytest.mark.parametrize(("how", "asked", "said"), [
    ({}, [None], ""), ({"cuts": BROKEN}, [None, "bytes=589824-"], ""),             # it goes on from there
    ({"cuts": BROKEN, "knows_ranges": False}, [None, "bytes=589824-"], ""),        # a new start
    ({"cuts": BROKEN, "tags": [None]}, [None, None], ""),                          # without a tag no range is asked for
    ({"cuts": BROKEN, "says_length": False}, [None, "bytes=600000-"], "it ended after 600000 of 1048576 bytes"),
    ({"cuts": [70_000] * 9 + [None]}, None, "")])                                  # progress renews the tries
def test_a_download_that_breaks_comes_whole_at_last_and_leaves_nothing_else(
        how: dict[str, Any], asked: list[str | None] | None, said: str, tmp_path: Path) -> None:
    site, listener = Site(CONTENT, **how), Listener()
    assert CONTENT == fetched(site, tmp_path, listener).read_bytes()
    assert {"file.tar.gz"} == names(tmp_path) and len(CONTENT) == listener.seen[-1]
    assert asked in (None, site.asked) and said in " ".join(listener.said)
    assert len(site.asked) == 1 + len(listener.waited)


def test_another_session_goes_on_where_the_first_one_ended(tmp_path: Path) -> None:
    with pytest.raises(DownloadFailed, match="the same command goes on from there"):
        fetched(Site(CONTENT, cuts=[400_000, 0]), tmp_path)
    assert {"file.tar.gz.part", "file.tar.gz.part.tag"} == names(tmp_path)
    again = Site(CONTENT)
    assert CONTENT == fetched(again, tmp_path).read_bytes()
    assert ["bytes=393216-"] == again.asked


def test_a_file_that_changed_meanwhile_is_begun_anew(tmp_path: Path) -> None:
    """The first server's half, under another tag, must not be glued to the second one's."""
    with pytest.raises(DownloadFailed):
        fetched(Site(b"x" * len(CONTENT), cuts=[400_000, 0], tags=['"old"']), tmp_path)
    site = Site(CONTENT, tags=['"new"'])
    assert CONTENT == fetched(site, tmp_path).read_bytes()


def test_tries_that_bring_nothing_come_to_an_end_with_longer_pauses(tmp_path: Path) -> None:
    site, listener = Site(CONTENT, statuses=[503]), Listener()
    with pytest.raises(DownloadFailed, match=f"the server says 503 Service Unavailable, {TRIES} times"):
        fetched(site, tmp_path, listener)
    assert [1.0, 4.0, 15.0, 60.0] == listener.waited and TRIES == len(site.asked)


@pytest.mark.parametrize(("content", "how", "message"), [
    (b"y" * len(CONTENT), {}, r"expected .*: not the file that was published"),
    (CONTENT + b"!", {}, "found 1048577 bytes, expected 1048576: the publisher has another file"),
    (CONTENT + b"!", {"says_length": False}, "more than the expected 1048576 bytes"),
    (CONTENT, {"statuses": [404]}, "404 Not Found: the address is out of date")])
def test_another_file_than_was_published_is_refused_at_once_and_nothing_is_kept(
        content: bytes, how: dict[str, Any], message: str, tmp_path: Path) -> None:
    listener = Listener()
    with pytest.raises(DownloadFailed, match=message):
        fetched(Site(content, **how), tmp_path, listener)
    assert "file.tar.gz" not in names(tmp_path) and not (how.get("statuses") and listener.waited)


def test_a_damaged_file_that_was_there_is_not_taken_for_whole(tmp_path: Path) -> None:
    (tmp_path / "file.tar.gz").write_bytes(b"z" * len(CONTENT))
    with pytest.raises(DownloadFailed, match="not the file that was published"):
        fetched(Site(CONTENT), tmp_path)


def test_no_server_is_one_line(tmp_path: Path) -> None:
    nowhere = Download("http://127.0.0.1:9/file", "file", 10)
    with requests.Session() as session, pytest.raises(DownloadFailed, match=r"127\.0\.0\.1:9/file: no connection, 5 t"):
        fetch(nowhere, tmp_path, Listener().net(session))


def archive(members: dict[str, bytes]) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as packed:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    return held.getvalue()


def batches(broken: str = "") -> dict[str, bytes]:
    """CIFAR-100's two files, empty images, one of them cut short if asked."""
    sizes = {"train.bin": 50_000 * 3074, "test.bin": 10_000 * 3074}
    return {f"cifar-100-binary/{name}": bytes(size // (2 if name == broken else 1)) for name, size in sizes.items()}


def got(content: bytes, cache: Path, monkeypatch: pytest.MonkeyPatch, free: int = 10**12) -> Path:
    with serving(Site(content)) as site, requests.Session() as session:
        known = Known("t", "page", "licence", (download(site, content),), 184_500_000, "cifar-100-binary")
        monkeypatch.setitem(catalogue.KNOWN, "cifar100", known)
        return library.get("cifar100", cache, Listener().net(session), lambda folder: free)


def test_what_was_got_is_what_a_run_reads_and_the_archive_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                                  ) -> None:
    folder = got(archive(batches()), tmp_path, monkeypatch)
    assert tmp_path / "data" / "cifar100" == folder and {"train.bin", "test.bin"} == names(folder)
    assert {"cifar100.lock"} == names(tmp_path / "downloads")


def test_what_is_not_whole_leaves_no_folder_and_a_full_disk_is_told_before(tmp_path: Path,
                                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    whole = archive(batches())
    with pytest.raises(InputError, match=r"train\.bin: found 76850000 bytes, expected 153700000: cut short"):
        got(archive(batches("train.bin")), tmp_path, monkeypatch)
    with pytest.raises(DownloadFailed, match="not an archive that can be unpacked"):
        got(whole[:len(whole) // 2], tmp_path, monkeypatch)
    with pytest.raises(DiskFull, match=r"free, .* needed for t: make room"):
        got(whole, tmp_path, monkeypatch, free=1_000_000)
    assert set() == names(tmp_path / "data")
    with pytest.raises(InputError, match="registered users alone"):
        library.get("imagenet", tmp_path, None)      # type: ignore[arg-type]


def packed(path: Path, members: dict[str, bytes]) -> Path:
    """A tar or zip of these, by its name."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
            for name, content in members.items():
                opened.writestr(name, content)
    else:
        path.write_bytes(archive(members))
    return path


@pytest.mark.parametrize(("file", "name", "said"), [
    ("a.tgz", "../outside", "not an archive that can be unpacked"),
    ("a.tgz", "/etc/outside", ""),                     # tarfile bends it into the folder
    *(("a.zip", name, "leads out of the folder") for name in ("../outside", "/outside", "a/../../outside"))])
def test_no_path_of_an_archive_leaves_the_folder(file: str, name: str, said: str, tmp_path: Path) -> None:
    from_strangers, folder = packed(tmp_path / file, {name: b"x"}), tmp_path / "to"
    with pytest.raises(DownloadFailed, match=said) if said else nullcontext():
        unpack(from_strangers, folder, 1000)
    assert {from_strangers, folder} >= set(tmp_path.iterdir()) and not Path("/etc/outside").exists()
    assert (folder / "etc" / "outside").is_file() or not list(folder.rglob("*"))


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_that_would_fill_the_memory_is_not_read(kind: bytes, tmp_path: Path) -> None:
    header = tarfile.TarInfo("h")
    header.type, header.size = kind, 60_000_000
    (tmp_path / "t.tar").write_bytes(header.tobuf(tarfile.USTAR_FORMAT) + bytes(10_000))
    with pytest.raises(DownloadFailed, match=r"not an archive that can be unpacked: .*a header of 60000000 bytes"):
        unpack(tmp_path / "t.tar", tmp_path / "out", 2**30)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_a_tar_with_anything_but_files_and_folders_is_not_unpacked(kind: bytes, tmp_path: Path) -> None:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as opened:
        opened.addfile(tarfile.TarInfo("file"))
        member = tarfile.TarInfo("odd")
        member.type, member.linkname = kind, "file"
        opened.addfile(member)
    (tmp_path / "a.tar").write_bytes(held.getvalue())
    with pytest.raises(DownloadFailed, match='found "odd", which is neither a file nor a folder'):
        unpack(tmp_path / "a.tar", tmp_path / "to", 1000)
    assert not (tmp_path / "to" / "odd").exists()


@pytest.mark.parametrize("name", ["a.tgz", "a.zip"])
def test_an_archive_that_holds_more_than_is_expected_is_not_unpacked(name: str, tmp_path: Path) -> None:
    bomb = packed(tmp_path / name, {"bomb": bytes(10_000_000)})
    assert bomb.stat().st_size < 20_000
    with pytest.raises(DownloadFailed, match="holds more than the expected 9999999 bytes"):
        unpack(bomb, tmp_path / "to", 9_999_999)
    assert not list(tmp_path.rglob("bomb"))


def test_every_download_has_an_https_address_a_size_and_a_checksum_of_a_known_kind_or_none() -> None:
    for known in catalogue.KNOWN.values():
        assert known.downloads or known.by_hand
        for each in known.downloads:
            assert each.address.startswith("https://") and each.size_bytes > 0
            kind, _, digits = each.checksum.partition(":")
            assert (kind, len(digits)) in (("md5", 32), ("sha256", 64), ("", 0))
