"""The neighbour that measurements are held against."""

from itertools import islice

import pytest

from tests.neighbour import SHARE, bursts


def test_it_computes_for_two_fifths_of_the_time_and_alike_for_one_seed() -> None:
    some = list(islice(bursts(7), 2000))
    worked, rested = sum(work for _, work in some), sum(rest for rest, _ in some)

    assert some == list(islice(bursts(7), 2000)) != list(islice(bursts(8), 2000))
    assert worked / (worked + rested) == pytest.approx(SHARE, abs=0.02)
