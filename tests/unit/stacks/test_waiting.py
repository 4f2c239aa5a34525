"""An engine that is being restarted is waited for; one that does not come back is waited for once."""

from typing import Any

from runner.stacks.engine import APIError, DockerException, Waiting
from tests.clock import FakeClock


class Engine:
    """Answers from a moment on."""

    def __init__(self, clock: FakeClock, back: float) -> None:
        self._clock, self.back = clock, back

    def ping(self) -> bool:
        if self._clock.now < self.back:
            raise (ConnectionRefusedError if self._clock.now < 5 else DockerException)("gone")
        return True


def waiting(back: float) -> tuple[Waiting, FakeClock, Engine]:
    clock = FakeClock(step=0.0)
    client: Any = Engine(clock, back)
    return Waiting(client, clock, clock.advance), clock, client


def test_an_engine_that_answers_is_not_waited_for() -> None:
    made, clock, _ = waiting(0)
    assert made.is_back()
    assert 0 == clock.now


def test_an_engine_that_complains_is_there() -> None:
    made, clock, client = waiting(0)
    client.ping = complain
    assert made.is_back()
    assert 0 == clock.now


def complain() -> bool:
    raise APIError("500 Server Error")


def test_an_engine_that_is_restarted_is_waited_for() -> None:
    made, clock, _ = waiting(12)
    assert made.is_back()
    assert 12 == clock.now


def test_an_engine_that_stays_away_is_waited_for_once_until_it_has_been_back() -> None:
    made, clock, client = waiting(1000)
    assert not made.is_back()
    assert 40 == clock.now
    assert not made.is_back()
    assert 40 == clock.now
    client.back = 0
    assert made.is_back()
    client.back = 60
    assert made.is_back()
    assert 60 == clock.now
