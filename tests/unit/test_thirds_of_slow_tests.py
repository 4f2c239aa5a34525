"""Which third of the slow tests a test is in."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import third_of


def made(*marks: pytest.MarkDecorator, **places: int) -> Any:
    """A test with these marks, at these places in its parametrised groups."""
    own = {each.name: each.mark for each in marks}
    return SimpleNamespace(get_closest_marker=own.get,
                           **({"callspec": SimpleNamespace(indices=places)} if places else {}))


def test_a_mark_s_number_is_the_third_a_group_is_dealt_out_by_turns_and_what_is_not_slow_is_in_none() -> None:
    assert [1, 1] == [third_of(made(pytest.mark.slow(1))), third_of(made(pytest.mark.slow(1), name=2))]
    assert [0, 1, 2, 0, 1] == [third_of(made(pytest.mark.slow, name=place, task=place)) for place in range(5)]
    assert (None, 0) == (third_of(made(pytest.mark.engine)), third_of(made(pytest.mark.slow)))
