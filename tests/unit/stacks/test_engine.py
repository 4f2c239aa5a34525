"""Which engine is asked, what is said of one that cannot be, and how long one that went away is waited for."""

import gc
import hashlib
import json
import platform
import threading
from collections.abc import Iterator
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingUnixStreamServer
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
import requests

from runner.errors import EngineUnreachable
from runner.stacks import engine
from runner.stacks.engine import Waiting
from tests.clock import FakeClock
from tests.made_files import files


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """docker's own settings, in which a context is chosen that was removed."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps({"currentContext": "gone"}))
    return tmp_path


def meta(context: str) -> str:
    """The file of a context, in docker's settings."""
    return f"contexts/meta/{hashlib.sha256(context.encode()).hexdigest()}/meta.json"


@pytest.mark.parametrize(("variables", "written", "line"), [
    ({}, {}, 'context "gone" is not there: run `docker context use default`'),
    ({"DOCKER_CONTEXT": "other"}, {}, 'context "other" is not there: run `unset DOCKER_CONTEXT`'),
    ({}, {meta("gone"): '{"Name": "go'}, "corrupted meta file for context gone .*: run `docker context"),
    *(({}, {"config.json": content}, r"config\.json: found no settings of docker's: mend it")
      for content in ("[]", "null", '{"currentContext": 3}')),
    ({"DOCKER_HOST": "ssh://me@gpubox"}, {}, "ssh://me@gpubox is another machine's, .* or run `unset DOCKER_HOST`"),
    ({"DOCKER_HOST": "ssh://me@localhost"}, {}, "ssh, as ssh://me@localhost .*HOST=unix:///.*`unset DOCKER_HOST`"),
    ({"DOCKER_HOST": "tcp://192.0.2.1:2375"}, {}, "tcp://192.0.2.1:2375 is another machine's, .*`unset DOCKER_HOST`"),
    *(({"DOCKER_HOST": host}, {}, rf"^no Docker engine answers at DOCKER_HOST={host[:4]}.* \(.+\): correct it")
      for host in ("tcp://localhost:port", "tcp://[::1", "tcp://127.0.0.1:9", "unix://{}/none",
                   "unix://{}/config.json"))])
def test_an_engine_that_cannot_measure_here_is_told_in_a_line_and_leaves_no_socket_open(
        variables: dict[str, str], written: dict[str, str], line: str, settings: Path) -> None:
    files(settings, written)
    with pytest.raises(EngineUnreachable, match=line):
        engine.connect({name: value.format(settings) for name, value in variables.items()})
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


def test_a_context_is_found_where_docker_looks_for_it_also_without_its_settings(
        settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (settings / "config.json").unlink()
    endpoints = {"docker": {"Host": "unix:///gone.sock"}}
    files(settings, {meta("mine"): json.dumps({"Name": "mine", "Metadata": {}, "Endpoints": endpoints})})
    monkeypatch.setattr(engine, "_check_listens", lambda path: {}[path])

    with pytest.raises(KeyError, match=r"/gone\.sock"):
        engine.connect({"DOCKER_CONTEXT": "mine", "DOCKER_CONFIG": str(settings)})


def test_no_name_of_a_context_is_the_default_one(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (settings / "config.json").write_text('{"currentContext": ""}')
    monkeypatch.setattr(engine, "DockerClient", lambda **settings: {}["the default engine is asked"])
    with pytest.raises((KeyError, EngineUnreachable), match=r"the default engine is asked|no Docker engine here"):
        engine.connect({})


class Engine:
    """Answers from a moment on, after so many seconds; before it refuses, and later hangs as long as it is let."""

    def __init__(self, clock: FakeClock, back: float) -> None:
        self.api, self._clock, self.back, self.takes = self, clock, back, 0.0

    def close(self) -> None:
        pass

    def _url(self, path: str) -> str:
        return path

    def _get(self, path: str, timeout: float) -> None:
        if self._clock.now >= self.back:
            self._clock.advance(self.takes)
        elif self._clock.now < 5:
            raise ConnectionRefusedError("gone")
        else:
            self._clock.advance(timeout)
            raise TimeoutError("hangs")


def waiting(back: float) -> tuple[Waiting, FakeClock, Engine]:
    clock = FakeClock(step=0.0)
    client: Any = Engine(clock, back)
    return Waiting(client, clock, clock.advance), clock, client


@pytest.mark.parametrize(("back", "takes", "least", "most", "absences"), [
    (0, 0, 0, 0, 0), (12, 0, 12, 18, 1), (0, 3, 3, 3, 1)])        # one that answers late was started anew meanwhile
def test_an_engine_that_is_restarted_is_waited_for_and_was_away_once(
        back: float, takes: float, least: float, most: float, absences: int) -> None:
    made, clock, client = waiting(back)
    client.takes = takes
    assert made.is_back()
    assert least <= clock.now <= most and absences == made.absences


def test_an_engine_that_stays_away_is_waited_for_once_until_it_has_been_back() -> None:
    made, clock, client = waiting(1000)
    assert not made.is_back()
    assert 40 <= (waited := clock.now) <= 46          # the last question takes five seconds
    assert not made.is_back()
    assert waited + 0.5 == clock.now
    client.back = 0
    assert made.is_back()
    client.back = clock.now + 20
    assert made.is_back()
    assert clock.now >= client.back


@pytest.fixture
def kept_connections(tmp_path: Path) -> Iterator[None]:
    """The socket of an engine that serves a connection as long as it is open, as dockerd does while it ends."""
    with ThreadingUnixStreamServer(str(tmp_path / "s"), Served) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        server.daemon_threads, server.block_on_close = True, False
        yield
        server.shutdown()


class Served(StreamRequestHandler):
    """An open connection."""

    def handle(self) -> None:
        for line in self.rfile:
            if line == b"\r\n":
                self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n{"ApiVersion":"1.44"}')


@pytest.mark.usefixtures("kept_connections")
def test_an_engine_that_serves_old_connections_alone_is_away(tmp_path: Path) -> None:
    client = engine.connect({"DOCKER_HOST": f"unix://{tmp_path}/s"})
    made = Waiting(client)
    assert made.answers()
    (tmp_path / "s").unlink()                         # as dockerd does first
    client.ping()                                     # which the connection that it keeps answers
    assert not made.answers()
    client.close()
    gc.collect()
