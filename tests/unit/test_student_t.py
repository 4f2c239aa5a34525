"""Student's t and the beta distribution against published tables."""

import pytest

from runner.student_t import incomplete_beta, quantile, two_sided


@pytest.mark.parametrize(("probability", "degrees", "published"), [      # NIST/SEMATECH e-Handbook, 1.3.6.7.2
    (0.9, 1, 3.078), (0.95, 2, 2.920), (0.975, 1, 12.706), (0.975, 2, 4.303), (0.975, 4, 2.776), (0.975, 9, 2.262),
    (0.975, 19, 2.093), (0.975, 100, 1.984), (0.99, 5, 3.365), (0.995, 4, 4.604), (0.995, 30, 2.750),
    (0.999, 4, 7.173), (0.999, 9, 4.297)])
def test_quantiles_are_those_of_published_tables(probability: float, degrees: int, published: float) -> None:
    assert quantile(probability, degrees) == pytest.approx(published, abs=5e-4)


def test_a_tail_is_the_quantile_turned_round_from_cauchy_s_to_the_normal() -> None:
    assert two_sided(quantile(0.975, 6.5), 6.5) == pytest.approx(0.05, abs=1e-9)
    assert (1.0, 0.0) == (two_sided(0.0, 4), pytest.approx(two_sided(1e6, 4), abs=1e-20))
    assert two_sided(1.0, 1) == pytest.approx(0.5)               # Cauchy's quartiles are -1 and 1
    assert quantile(0.975, 1e6) == pytest.approx(1.959964, abs=1e-5)


@pytest.mark.parametrize(("x", "a", "b", "expected"), [
    (0.5, 2, 3, 0.6875), (0.25, 1, 1, 0.25), (0.0, 2, 2, 0.0), (1.0, 2, 2, 1.0), (0.9, 3, 1, 0.729)])
def test_the_incomplete_beta_function_by_hand(x: float, a: float, b: float, expected: float) -> None:
    assert incomplete_beta(x, a, b) == pytest.approx(expected, abs=1e-12)
