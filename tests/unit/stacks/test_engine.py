"""Which engine is asked, and what is said of one that cannot be: by the variables and the settings of docker."""

import gc
import hashlib
import json
import platform
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
import requests

from runner.errors import EngineUnreachable
from runner.stacks import engine
from tests.made_files import files


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """docker's own settings, in which a context is chosen that was removed."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps({"currentContext": "gone"}))
    return tmp_path


@pytest.mark.parametrize(("variables", "line"), [
    ({}, 'context "gone" is not there: run `docker context use default`'),
    ({"DOCKER_CONTEXT": "other"}, 'context "other" is not there: run `unset DOCKER_CONTEXT`'),
    ({"DOCKER_HOST": "ssh://me@gpubox"}, "ssh://me@gpubox is another machine's, .* or run `unset DOCKER_HOST`"),
    ({"DOCKER_HOST": "ssh://me@localhost"}, "ssh, as ssh://me@localhost .* DOCKER_HOST=unix:///.*`unset DOCKER_HOST`"),
    ({"DOCKER_HOST": "tcp://192.0.2.1:2375"}, "tcp://192.0.2.1:2375 is another machine's, .*`unset DOCKER_HOST`"),
    *(({"DOCKER_HOST": host}, r"^no Docker engine answers at DOCKER_HOST=tcp.* \(.+\): correct it")
      for host in ("tcp://localhost:port", "tcp://[::1", "tcp://127.0.0.1:9")),
    *((content, r"config\.json: found no settings of docker's: mend it")
      for content in ("[]", "null", '{"currentContext": 3}'))])
def test_an_engine_that_cannot_measure_here_is_told_in_a_line(
        variables: dict[str, str] | str, line: str, settings: Path) -> None:
    if isinstance(variables, str):                  # docker's own settings
        (settings / "config.json").write_text(variables)
    with pytest.raises(EngineUnreachable, match=line):
        engine.connect({} if isinstance(variables, str) else variables)


@pytest.mark.parametrize(("host", "line"), [
    ("unix://{}/none", "no Docker engine answers at DOCKER_HOST="), ("unix://{}/file", "no Docker engine answers")])
def test_an_engine_that_nobody_serves_leaves_no_socket_open(host: str, line: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EngineUnreachable, match=line):
        engine.connect({"DOCKER_HOST": host.format(tmp_path)})
    gc.collect()                                    # a socket that nobody closed is an error


@pytest.mark.parametrize("more", [{"NCPU": 4096}, {"MemTotal": 2**60}])
def test_an_engine_behind_a_forwarded_socket_is_another_machine_s(more: dict[str, int]) -> None:
    """Of another kernel with less nobody knows: it may be a virtual machine here."""
    said = {"NCPU": 1, "MemTotal": 1, "Name": "gpubox", "KernelVersion": "another"}
    client: Any = SimpleNamespace(info=lambda: said)

    assert said == engine.told_here(client)
    said |= more
    with pytest.raises(EngineUnreachable, match=r"another machine's \(gpubox, [\d,]+ CPUs?, .*: run it there"):
        engine.told_here(client)
    said["KernelVersion"] = platform.release()
    assert said == engine.told_here(client)


@pytest.mark.parametrize(("kind", "status"), [(engine.APIError, 400), (engine.NotFound, 404)])
def test_a_name_that_no_image_can_have_is_that_of_none(kind: type[engine.APIError], status: int) -> None:
    """Such as UPPER, or ../x: engines answer with one of these."""
    answer = requests.Response()

    def get(name: str) -> NoReturn:
        raise (kind if answer.status_code == status else engine.APIError)("no such image", answer)

    client: Any = SimpleNamespace(images=SimpleNamespace(get=get))
    answer.status_code = status
    assert engine.tagged(client, "UPPER") is None
    answer.status_code = 500
    with pytest.raises(engine.APIError):
        engine.tagged(client, "UPPER")


def context(settings: Path, name: str, text: str) -> None:
    files(settings, {f"contexts/meta/{hashlib.sha256(name.encode()).hexdigest()}/meta.json": text})


def test_a_context_whose_file_is_cut_short_is_told(settings: Path) -> None:
    context(settings, "gone", '{"Name": "go')
    with pytest.raises(EngineUnreachable, match=r"corrupted meta file for context gone .*: run `docker context"):
        engine.connect({})


def test_a_context_is_found_where_docker_looks_for_it_also_without_its_settings(
        settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (settings / "config.json").unlink()
    endpoints = {"docker": {"Host": "unix:///gone.sock"}}
    context(settings, "mine", json.dumps({"Name": "mine", "Metadata": {}, "Endpoints": endpoints}))
    monkeypatch.setattr(engine, "_check_listens", lambda path: {}[path])

    with pytest.raises(KeyError, match=r"/gone\.sock"):
        engine.connect({"DOCKER_CONTEXT": "mine", "DOCKER_CONFIG": str(settings)})


def test_no_name_of_a_context_is_the_default_one(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (settings / "config.json").write_text('{"currentContext": ""}')
    monkeypatch.setattr(engine, "DockerClient", lambda **settings: {}["the default engine is asked"])
    with pytest.raises((KeyError, EngineUnreachable), match=r"the default engine is asked|no Docker engine here"):
        engine.connect({})
