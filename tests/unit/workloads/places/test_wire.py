"""Connections between nodes: who knows the secret gets in, nobody else gets anything."""

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from workloads.places import wire

KEY = b"a secret of ours"


def both(one: Callable[[], Any], other: Callable[[], Any]) -> list[Any]:
    """What two ends that talk to each other give, or raise."""
    with ThreadPoolExecutor() as pool:
        return [end.exception() or end.result() for end in [pool.submit(one), pool.submit(other)]]


def test_two_that_know_the_secret_talk_and_it_never_crosses_the_wire() -> None:
    runner, agent = socket.socketpair()
    first, second = both(lambda: wire.linked(runner, KEY, True), lambda: wire.linked(agent, KEY, False))
    second.send(line="a\udcff")
    first.send(call="x")
    heard, told = first.messages(), second.messages()
    assert {"line": "a\udcff"} == next(heard) and {"call": "x"} == next(told)
    second.close()
    assert [] == list(heard)
    first.close()


class Overheard:
    """A socket that keeps what is sent."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self.sent = connection, b""

    def sendall(self, data: bytes) -> None:
        self.sent += data
        self._connection.sendall(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def test_the_secret_is_not_sent_and_proofs_differ_each_time() -> None:
    sent = []
    for _ in range(2):
        runner, agent = map(Overheard, socket.socketpair())
        links = both(lambda: wire.linked(runner, KEY, True),                   # noqa: B023
                     lambda: wire.linked(agent, KEY, False))                   # noqa: B023
        sent.append(runner.sent + agent.sent)
        for link in links:
            link.close()
    assert all(KEY not in each for each in sent) and sent[0] != sent[1]


@pytest.mark.parametrize(("theirs", "is_runner"), [(b"another secret", True), (b"", True), (b"another secret", False)])
def test_who_has_another_secret_is_told_nothing(theirs: bytes, is_runner: bool) -> None:
    ours, stranger = map(Overheard, socket.socketpair())

    def tried() -> Any:
        try:
            return wire.linked(ours, KEY, is_runner)
        finally:
            ours.close()

    ended = both(tried, lambda: wire.linked(stranger, theirs, not is_runner))
    stranger.close()
    assert isinstance(ended[0], wire.Unproved)
    assert not is_runner or ours.sent.count(b"\n") == 1          # the challenge


@pytest.mark.parametrize("words", [b"GET / HTTP/1.1\r\n\r\n", b"x" * 300, b"\xff\xfe\n\n", b""])
def test_a_stranger_s_words_are_no_proof(words: bytes) -> None:
    runner, stranger = socket.socketpair()
    stranger.sendall(words)
    stranger.shutdown(socket.SHUT_WR)
    with pytest.raises(wire.Unproved):
        wire.linked(runner, KEY, True)
    runner.close()
    stranger.close()


def test_a_secret_is_taken_out_of_the_environment_or_read_from_a_file(tmp_path: Path) -> None:
    environment = {"EVENBENCH_SECRET": "word"}
    assert b"word" == wire.secret(environment) and {} == environment
    (tmp_path / "key").write_text("of a file\n")
    assert b"of a file" == wire.secret({"EVENBENCH_SECRET_FILE": str(tmp_path / "key")})
    assert b"" == wire.secret({})


def test_a_node_without_a_runner_gives_up() -> None:
    readings = iter([0.0, 1.0, 1000.0])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        wire.connected("127.0.0.1", port, clock=lambda: next(readings), wait=lambda seconds: None)
