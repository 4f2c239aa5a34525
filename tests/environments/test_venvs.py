"""A stack's environment made by pip from its lock: from a folder of wheels, from an index of the stack's own."""

import subprocess
import threading

import pytest

from runner.errors import BuildFailed
from runner.stacks import environments
from tests.made_wheel import index_of, lock_of_wheel, stack_of_wheels


@pytest.fixture
def stack(tmp_path, monkeypatch):
    return stack_of_wheels(tmp_path, monkeypatch)


def test_callers_at_once_get_one_environment_that_holds_the_lock(stack, tmp_path):
    said, pythons = [], []
    cache = tmp_path / "cache"
    callers = [threading.Thread(target=lambda: pythons.append(environments.ready(stack, cache, said.append)))
               for _ in range(2)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()

    assert len(set(pythons)) == 1
    assert len([line for line in said if "making its virtual environment, 0.0 GB on disk" in line]) == 1
    assert subprocess.check_output([pythons[0], "-c", "import torch; print(torch.IS_HERE)"]) == b"True\n"


@pytest.mark.slow(0)
def test_a_file_of_pips_leads_nothing_elsewhere_and_says_where_packages_are(stack, tmp_path, monkeypatch):
    (tmp_path / "pip.conf").write_text(
        f"[global]\nfind-links =\n    {tmp_path}\n    {tmp_path}/wheels\nuser = true\n"
        f"[install]\ntarget = {tmp_path}/x\nprefix = {tmp_path}/x\nroot = {tmp_path}/x\ndry-run = true\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.delenv("PIP_FIND_LINKS")

    python = environments.ready(stack, tmp_path / "cache")

    assert subprocess.check_output([python, "-c", "import torch; print(torch.IS_HERE)"]) == b"True\n"
    assert not (tmp_path / "x").exists()


def test_a_package_that_is_not_the_locked_one_is_refused_and_nothing_is_left(stack, tmp_path):
    stack.lock.write_text("torch==1.0 \\\n    --hash=sha256:" + "0" * 64 + "\n")

    with pytest.raises(BuildFailed, match=r"^torch-9: torch==1\.0 from file:.*\.whl is not the locked file: found "
                                          r"sha256 \w{64}, expected 0{64} \(log: .*\.log\)$"):
        environments.ready(stack, tmp_path / "cache")

    assert [path.suffix for path in sorted((tmp_path / "cache/venvs").iterdir())] == [".lock", ".log"]


@pytest.fixture
def own_index(stack, tmp_path, monkeypatch):
    """(the stack with a second package, "special", that only an index of its own has, what that index was asked for).

    pip's settings say nothing, but that the first one is in a folder: as on a machine of somebody else's.
    """
    (tmp_path / "index/special").mkdir(parents=True)
    lock = stack.lock.read_text() + lock_of_wheel(tmp_path / "index/special", "special")
    (tmp_path / "index/torch").mkdir()
    lock_of_wheel(tmp_path / "index/torch", "torch")
    stack.lock.write_text(lock)
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with index_of(tmp_path / "index") as (address, asked):
        yield stack.model_copy(update={"index": {"special": address}}), asked


@pytest.mark.slow(1)
def test_a_package_that_pips_settings_lack_comes_from_the_index_in_the_stacks_file(own_index, tmp_path):
    stack, asked = own_index

    python = environments.ready(stack, tmp_path / "cache")

    assert subprocess.check_output([python, "-c", "import torch, special; print(special.IS_HERE)"]) == b"True\n"
    assert [path for path in asked if "torch" in path] == []      # that index is of one package


@pytest.mark.slow(2)
def test_an_index_in_the_stacks_file_is_not_asked_where_pips_settings_have_the_package(own_index, tmp_path):
    stack, asked = own_index
    lock_of_wheel(tmp_path / "wheels", "special")

    environments.ready(stack, tmp_path / "cache")

    assert asked == []


@pytest.mark.slow(0)
def test_what_an_index_in_the_stacks_file_offers_is_the_locked_file_or_nothing(own_index, tmp_path):
    stack, _ = own_index
    stack.lock.write_text("special==1.0 \\\n    --hash=sha256:" + "0" * 64 + "\n")

    with pytest.raises(BuildFailed, match=r"at http://127\.0\.0\.1:\d+: special==1\.0 .* is not the locked file"):
        environments.ready(stack, tmp_path / "cache")


@pytest.mark.slow(2)
def test_a_package_that_is_nowhere_is_told_with_pips_reason_and_what_to_set(own_index, tmp_path, monkeypatch):
    stack, _ = own_index
    monkeypatch.setenv("PIP_RETRIES", "1")
    gone = stack.model_copy(update={"index": {"special": "http://127.0.0.1:9"}})

    absent = r"No matching distribution found for special==1\.0 \(no answer: Connection refused\)"
    with pytest.raises(BuildFailed, match=rf"^torch-9: by pip's settings: {absent}; at http://127\.0\.0\.1:9: {absent}:"
                                          r" set PIP_FIND_LINKS .* or PIP_EXTRA_INDEX_URL .* \(log: .*\.log\)$"):
        environments.ready(gone, tmp_path / "cache")
