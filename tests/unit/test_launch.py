"""The watchdog: every way in which a worker goes has its ending."""

from typing import Any

import pytest

from runner.launch import ENDINGS, Ending, Exit, Limits, follow
from tests.clock import FakeClock
from tests.fakes import FakeRunning, good_lines

WELL = Exit(0)
LIMITS = Limits(start=60, stall=30, leave=5)


def ending(lines: list[Any], exit: Exit = WELL) -> Ending:
    clock = FakeClock(step=0.0)
    *events, last = follow(FakeRunning(lines, exit, clock), LIMITS, clock)
    assert isinstance(last, Ending) and last.word in ENDINGS
    assert not any(isinstance(event, Ending) for event in events)
    return last


def test_a_worker_that_says_its_end_has_that_ending() -> None:
    assert "ok" == ending(good_lines()).word


@pytest.mark.parametrize("word", ["oom", "unsupported", "not_finite", "error"])
def test_the_worker_s_own_word_counts(word: str) -> None:
    line = b'{"event": "end", "status": "%s", "message": "why"}\n' % word.encode()
    assert (word, "why") == ending([line])[:2]


def test_a_worker_that_never_starts_is_timed_out_at_the_start_limit() -> None:
    assert ("timeout", "did not start in 60 s") == ending([None])[:2]


def test_a_worker_that_stalls_is_timed_out_at_the_stall_limit() -> None:
    assert ("timeout", "no step finished in 30 s") == ending([*good_lines()[:2], None])[:2]


def test_a_worker_over_its_memory_limit_ran_out_of_memory() -> None:
    assert "oom" == ending(good_lines()[:2], Exit(137, is_out_of_memory=True)).word


def test_a_worker_killed_from_outside_is_killed() -> None:
    assert "killed" == ending(good_lines()[:2], Exit(137)).word
    assert "killed" == ending(good_lines()[:2], Exit(-9)).word


def test_a_worker_that_goes_without_a_word_died_and_its_last_words_are_told() -> None:
    found = ending([], Exit(1, last_words="ImportError: no"))
    assert ("died", "exit code 1 without an end event; last words: ImportError: no") == found[:2]


@pytest.mark.parametrize("garbage", [b"hello\n", b"[1]\n", b'{"event": "dance"}\n', b'{"event": "end"}\n',
                                     b"\xff\x00\n",
                                     b'{"event": "end", "status": "fine", "message": ""}\n', b"[" * 100_000 + b"\n",
                                     b'{"event": "steps", "seconds": [NaN]}\n', b"x" * (2**24 + 2)])
def test_garbage_on_the_pipe_ends_the_run(garbage: bytes) -> None:
    found = ending([good_lines()[0], garbage])
    assert "died" == found.word and len(found.message) < 300 and found.message.isprintable()
