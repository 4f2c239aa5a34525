"""Values of records: what is taken, and what is refused with one line."""

import math
from typing import Any

import pytest

from runner.results.values import samples


def test_samples_are_taken_up_to_the_largest_numbers() -> None:
    for values in ([], [0.5, 2], [1e308, 1e308, -1e308]):
        assert values == samples(values).tolist()


@pytest.mark.parametrize("values", [[math.inf], [1.0, math.nan], [1.0, None], ["1.5"], [[1.0]], [10**400], "12", 5])
def test_what_is_no_list_of_finite_numbers_is_refused_as_that(values: Any) -> None:
    with pytest.raises(ValueError, match=r"^expected a list of finite numbers$"):
        samples(values)
