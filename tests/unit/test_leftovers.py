"""What a runner that is gone has left is known and removed; what a living one has is not."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from runner import leftovers
from tests.made_files import files


def place(root: Path, boot: str = "b", namespace: str = "pid:[1]", shown: int | None = None, host: str = "h") -> Path:
    """A folder as /proc is, in which this process is the only one."""
    own = str(shown or os.getpid())
    files(root, {f"{own}/stat": f"{os.getpid()} (a (b) c) {' '.join(map(str, range(3, 30)))}",
                 "sys/kernel/random/boot_id": f"{boot}\n", "sys/kernel/hostname": f"{host}\n"})
    (root / own / "ns").mkdir()
    (root / own / "ns/pid").symlink_to(namespace)
    (root / "self").symlink_to(own)
    return root


def test_this_process_lives_and_one_of_its_number_that_started_at_another_time_does_not(tmp_path: Path) -> None:
    root = place(tmp_path)
    pid, start, where = leftovers.mine(root).split("-")

    assert (str(os.getpid()), "22") == (pid, start)
    assert not leftovers.is_gone(f"{pid}-22-{where}", root)
    assert leftovers.is_gone(f"{pid}-21-{where}", root) and leftovers.is_gone(f"999999999-22-{where}", root)
    assert not leftovers.is_gone(leftovers.mine())


@pytest.mark.parametrize("shown", ["nothing", "a folder"])
def test_a_living_process_that_is_hidden_lives(tmp_path: Path, shown: str) -> None:
    """Process 1 is another user's, unless root asks."""
    root = place(tmp_path)
    if shown == "a folder":                      # which cannot be read, whoever asks
        (root / "1/stat").mkdir(parents=True)
    assert not leftovers.is_gone(f"1-1-{leftovers.mine(root).split('-')[2]}", root)


@pytest.mark.parametrize(("other", "is_gone"), [
    ({"boot": "c"}, True), ({"boot": "c", "namespace": "pid:[2]"}, True), ({"namespace": "pid:[2]"}, False),
    ({"host": "i"}, False), ({"host": "i", "boot": "c"}, False)])
def test_a_reboot_ends_every_runner_and_of_another_machine_or_namespace_nothing_is_known(
        tmp_path: Path, other: dict[str, str], is_gone: bool) -> None:
    there, here = place(tmp_path / "there", **other), place(tmp_path / "here")
    _, start, where = leftovers.mine(there).split("-")

    assert is_gone == leftovers.is_gone(f"{os.getpid()}-{start}-{where}", here)
    assert is_gone == leftovers.is_gone(f"999999999-{start}-{where}", here)
    assert leftovers.is_gone(f"999999999-{start}-{where}", there)


def test_where_another_namespace_s_processes_are_shown_nothing_is_known(tmp_path: Path) -> None:
    root = place(tmp_path, shown=os.getpid() + 1)
    assert not leftovers.is_gone(f"999999999-1-{leftovers.mine(root).split('-')[2]}", root)


@pytest.mark.parametrize("words", ["", "-", "x-1", "99999999-1", "1", "999999999:1.00", "999999999-1-0123456789ab"])
def test_of_words_that_name_no_process_nothing_is_known(words: str) -> None:
    assert not leftovers.is_gone(words)


def test_a_killed_runner_s_folders_are_removed_and_a_living_one_s_are_not(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    program = "import os; from runner import leftovers; kept = leftovers.temporary_folder(); os.kill(os.getpid(), 9)"
    left = subprocess.run([sys.executable, "-c", program], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    assert -9 == left.returncode
    [dead] = tmp_path.iterdir()
    others = tmp_path / "evenbench-lock-torch-1.7.log"
    others.write_text("")
    link = tmp_path / f"evenbench-{dead.name.split('-', 1)[1]}2"       # a folder of somebody's, called like ours
    link.symlink_to(tmp_path.parent)
    said: list[str] = []
    with leftovers.temporary_folder() as living:
        leftovers.sweep_folders(said.append)
        assert {living, str(others), str(link)} == {str(path) for path in tmp_path.iterdir()}
    assert [f"removing {dead}, left by a runner that is gone"] == said


def test_a_folder_that_another_sweep_removes_meanwhile_is_passed_over(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    both = [tmp_path / f"evenbench-{leftovers.mine()}-{name}" for name in "ab"]
    for path in both:
        path.mkdir()

    def is_gone(owner: str) -> bool:
        for path in both:
            path.rmdir()
        return True

    monkeypatch.setattr(leftovers, "is_gone", is_gone)
    assert 1 == len(leftovers.folders())
