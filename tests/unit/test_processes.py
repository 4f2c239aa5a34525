import os
from pathlib import Path

import pytest

from runner import processes
from runner.errors import BuildFailed, InputError

TO_SET = ": set PIP_FIND_LINKS to a folder that has it, or PIP_EXTRA_INDEX_URL to an index"


def test_a_commands_output_is_kept_and_told_and_a_failed_one_says_its_reason_and_where_its_log_is(tmp_path):
    told = []
    processes.run(["sh", "-c", "echo one; echo two >&2"], tmp_path / "log", told.append)
    assert told == ["one", "two"] == (tmp_path / "log").read_text().splitlines()[1:]

    script = "echo looking; echo 'ERROR: No matching distribution found for torch==9'; echo 'ERROR: gave up'; exit 1"
    with pytest.raises(BuildFailed) as caught:
        processes.run(["sh", "-c", script], tmp_path / "log")
    assert str(caught.value) == f"No matching distribution found for torch==9{TO_SET} (log: {tmp_path}/log)"
    with pytest.raises(BuildFailed, match="no-such-command did not start: No such file"):
        processes.run(["no-such-command"], tmp_path / "log")


@pytest.mark.parametrize(("lines", "expected"), [
    (["#12 8.10 E: Unable to locate package libgomp9", "#12 ERROR: executor failed"],
     "Unable to locate package libgomp9"),
    (["ERROR: Could not install packages", "OSError: [Errno 28] No space left on device"], "the disk is full"),
    (["FATAL: While performing build: copy_file_range: no space left on device"], "the disk is full"),
    (["Fetching", "it broke", "", " "], "it broke"),
    ([], "exit status 3"),
    (["ERROR: Ignored the following versions that require a different python version: 2.5.0 Requires-Python >=3.12",
      "ERROR: Could not find a version that satisfies the requirement torch==2.13.0+cpu (from versions: 2.13.0)",
      "ERROR: No matching distribution found for torch==2.13.0+cpu"],
     f"No matching distribution found for torch==2.13.0+cpu{TO_SET}"),
    (["WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('<...>: Failed to establish a "
      "new connection: [Errno -2] Name or service not known')': /simple/torch/",
      "ERROR: Could not find a version that satisfies the requirement torch==9 (from versions: none)",
      "ERROR: No matching distribution found for torch==9"],
     f"No matching distribution found for torch==9 (no answer: Name or service not known){TO_SET}"),
    (["#9 1.2 ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have updated ...",
      "#9 1.2     torch==9 from https://i.example/torch-9-py3-any.whl (from -r /r.txt (line 1)):",
      "#9 1.2         Expected sha256 aa11", "#9 1.2              Got        bb22"],
     "torch==9 from https://i.example/torch-9-py3-any.whl is not the locked file: found sha256 bb22, expected aa11"),
])
def test_the_reason_is_the_line_that_tells_most(lines, expected):
    assert processes.reason(lines, 3) == expected


def test_variables_that_move_results_and_stay_behind_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"LD_PRELOAD": "/x.so", "KMP_BLOCKTIME": "0", "TF_XLA": "", "HOME": "/",
                                    "OMPX": "", "CUDA_HOME": "/usr", "NCCL_VERSION": "2", "TF_VAR_x": ""})
    assert ("set here and not passed on to workers: KMP_BLOCKTIME, LD_PRELOAD, TF_XLA; --env NAME passes one on"
            == processes.left_behind(()))
    assert "" == processes.left_behind(("KMP_BLOCKTIME", "LD_PRELOAD", "TF_XLA"))
    monkeypatch.setattr(os, "environ", {"GLIBC_TUNABLES": "", "CUDA_LAUNCH_BLOCKING": "1", "TBB_X": ""})
    assert ": CUDA_LAUNCH_BLOCKING, GLIBC_TUNABLES, TBB_X;" in processes.left_behind(())


def test_variables_that_are_passed_on_have_their_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"LD_PRELOAD": "/x.so", "KMP_BLOCKTIME": "0"})
    assert (("KMP_BLOCKTIME", "0"), ("LD_PRELOAD", "/x.so")) == processes.passed_on(["LD_PRELOAD", "KMP_BLOCKTIME"])


@pytest.mark.parametrize(("name", "line"), [
    ("MISSING=1", r"--env MISSING=1: found no such variable, .*: export MISSING=\.\.\., then --env MISSING"),
    ("PATH", "--env PATH: found a variable that evenbench sets itself")])
def test_a_variable_that_cannot_be_passed_on_is_told(name: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"PATH": "/bin"})
    with pytest.raises(InputError, match=line):
        processes.passed_on([name])


@pytest.mark.parametrize(("text", "left"), [
    ("Looking in https://me:s3cret@host.example/simple now", "Looking in https://host.example/simple now"),
    ("htps//me:s3cret@host/simple", "htps//host/simple"), ("https:/s3cret@host/simple", "https:/host/simple"),
    ("https://me:s3/c@ret@host:80a/simple", "https://host:80a/simple"), ("me:s3cret@host/simple", "host/simple"),
    ("--index-url=https://me:s3=cret@host/", "--index-url=https://host/"),
    ("--build-arg=BASE=docker.io/debian:12@sha256:00", "--build-arg=BASE=docker.io/debian:12@sha256:00"),
    ("numpy @ file:///x", "numpy @ file:///x"), ("'https://s3cret@[::1]/x'", "'https://[::1]/x'"),
])
def test_what_stands_before_an_at_sign_is_not_told(text: str, left: str) -> None:
    assert left == processes.without_passwords(text)


def test_a_log_holds_no_password_of_the_command_or_its_output(tmp_path: Path) -> None:
    said: list[str] = []
    processes.run(["echo", "http://me:s3cret@proxy:3128"], tmp_path / "log", said.append)

    assert ["http://proxy:3128"] == said and "s3cret" not in (tmp_path / "log").read_text()


@pytest.mark.parametrize("name", ["PYTHONPATH", *(f"PIP_{name}" for name in (
    "TARGET", "PREFIX", "USER", "ROOT", "DRY_RUN", "PYTHON"))])
def test_pip_installs_where_it_is_told_to_and_no_other_interpreter_s_packages_are_seen(
        name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "/wheels")
    environment = processes.clean_environment()

    assert name not in environment and "/wheels" == environment["PIP_FIND_LINKS"]
