"""An engine that is being restarted or hangs is waited for; one that does not come back is waited for once."""

import gc
import threading
from collections.abc import Iterator
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingUnixStreamServer
from typing import Any

import pytest

from runner.stacks.engine import Waiting, connect
from tests.clock import FakeClock


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
    client = connect({"DOCKER_HOST": f"unix://{tmp_path}/s"})
    made = Waiting(client)
    assert made.answers()
    (tmp_path / "s").unlink()                         # as dockerd does first
    client.ping()                                     # which the connection that it keeps answers
    assert not made.answers()
    client.close()
    gc.collect()
