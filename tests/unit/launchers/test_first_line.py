"""What a worker's environment prints before the worker says anything."""

import pytest

from runner.results.contract import NotAnEvent, first

END = b'{"event": "end", "status": "ok", "message": ""}\n'


def test_text_before_the_first_event_is_passed_over() -> None:
    assert first(b"site: welcome\n") is None
    assert {"event": "end", "status": "ok", "message": ""} == first(b"site: welcome" + END)


def test_a_broken_first_event_is_still_none() -> None:
    with pytest.raises(NotAnEvent, match="the worker wrote what is no event"):
        first(b'{"event": "nonsense"}\n')
