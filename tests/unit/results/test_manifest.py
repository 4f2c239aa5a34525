"""SHA256SUMS beside a result: written when a session ends, kept right, and what it tells."""

import hashlib
import subprocess
from pathlib import Path

import pytest

from runner.errors import InputError
from runner.results import manifest, store
from tests.made_rows import kept, session


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A result of an ended session with a summary beside its events."""
    store.write_beside(kept(tmp_path / "r", session()), "summary.json", "{}")
    return tmp_path / "r"


def test_an_ended_session_is_whole_and_its_manifest_is_one_that_coreutils_read(folder: Path) -> None:
    digest = hashlib.sha256(b"{}\n").hexdigest()

    assert [] == manifest.differing(folder)
    assert f"{digest}  summary.json\n" in (folder / "SHA256SUMS").read_text()
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=folder, check=True)


def test_what_is_missing_changed_or_a_link_is_named(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes((folder / "summary.json").read_bytes())
    (folder / "events.jsonl").write_bytes((folder / "events.jsonl").read_bytes() + b"{}\n")
    (folder / "summary.json").unlink()
    (folder / "notes.txt").write_text("")

    assert ["events.jsonl", "summary.json"] == manifest.differing(folder)
    (folder / "summary.json").symlink_to(tmp_path / "elsewhere")              # is not read as what it stands for
    assert ["events.jsonl", "summary.json"] == manifest.differing(folder)


def test_an_open_session_has_no_manifest_and_a_resumed_one_has_a_new_one(folder: Path) -> None:
    opened = store.Store(folder)
    opened.append({"event": "closed", "reason": "done"})
    with pytest.raises(InputError, match="no manifest: the session has not ended"):
        manifest.differing(folder)

    opened.close()
    assert [] == manifest.differing(folder)


def test_a_report_made_later_gets_its_own_line_and_no_other_line_changes(folder: Path, tmp_path: Path) -> None:
    (folder / "events.jsonl").write_text("another\n")
    store.write_beside(folder, "report.html", "<p>")
    store.write_beside(folder, "summary.json", '{"new": 1}')

    assert ["events.jsonl"] == manifest.differing(folder)
    (tmp_path / "events.jsonl").write_text("")
    store.write_beside(tmp_path, "report.html", "<p>")                # of a session that left no manifest
    assert not (tmp_path / "SHA256SUMS").exists()


@pytest.mark.parametrize("line", ["0" * 64 + "  ../../secret", "0" * 64 + "  /etc/passwd", "0" * 64 + "  ..",
                                  "0" * 63 + "  a", "0" * 64 + "  a\0b", "nonsense"])
def test_a_manifest_that_names_what_is_not_beside_it_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "SHA256SUMS").write_text(f"{line}\n")
    with pytest.raises(InputError, match="SHA256SUMS: line 1: expected a SHA-256"):
        manifest.differing(tmp_path)


@pytest.mark.parametrize("name", [".summary.json", "summary.json", "SHA256SUMS", ".SHA256SUMS"])
def test_a_stranger_s_link_in_a_result_does_not_lead_a_report_out_of_it(
        folder: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "mine").write_text("mine")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(tmp_path / "mine")
    store.write_beside(folder, "summary.json", "{}")

    assert "mine" == (tmp_path / "mine").read_text()
    assert not (folder / "summary.json").is_symlink() and "{}\n" == (folder / "summary.json").read_text()
