"""How many intervals are expected to hold an inexact reference's ratio: by formula and by drawing both errors."""

import numpy as np
import pytest

from tests.against_reference import expected


def test_nineteen_of_twenty_where_the_reference_is_exact() -> None:
    assert expected([0.1] * 20, 0.0) == pytest.approx(19.0)


def test_fewer_the_wider_the_reference_s_own_interval_is() -> None:
    draw, sigma, of_reference = np.random.default_rng(1), 0.05, 0.03
    apart = np.abs(draw.normal(0.0, sigma, 100_000) - draw.normal(0.0, of_reference, 100_000))
    held = float(np.mean(apart <= 1.96 * sigma))

    assert expected([1.96 * sigma], 1.96 * of_reference) == pytest.approx(held, abs=0.005)      # its error is 0.001
    assert held < 0.92
