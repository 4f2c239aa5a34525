"""Student's t without scipy: the regularised incomplete beta function, and quantiles of t.

I_x(a, b) is the continued fraction of Abramowitz and Stegun 26.5.8, evaluated by Lentz's method; quantiles are found by
Newton's steps. tests/unit/test_student_t.py holds them against published tables.
"""

import math
from functools import lru_cache
from statistics import NormalDist

_MOST_TERMS = 10_000
_TINY = 1e-300
_EPSILON = 1e-15
_MOST_T = 1e18               # no quantile that anyone asks for is larger
_NORMAL = NormalDist()


def incomplete_beta(x: float, a: float, b: float) -> float:
    """I_x(a, b), the probability that a beta variable is at most x."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):                       # where the fraction converges fast
        return front * _fraction(x, a, b) / a
    return 1 - front * _fraction(1 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _MOST_TERMS):
        for term in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                     -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1 / _away_from_zero(1 + term * d)
            c = _away_from_zero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < _EPSILON:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def two_sided(t: float, degrees: float) -> float:
    """The two-sided p value of t."""
    return 1.0 if t == 0 else incomplete_beta(degrees / (degrees + t * t), degrees / 2, 0.5)


@lru_cache(maxsize=4096)
def quantile(probability: float, degrees: float) -> float:
    """The quantile of Student's t; probability: at least 0.5.

    By Newton's steps from the normal distribution's, which is smaller: the p value falls ever more slowly as t grows,
    so none of them passes the root. Each squares the error: the one after a step of 1e-7 would change nothing.
    """
    tails, t = 2 * (1 - probability), _NORMAL.inv_cdf(probability)
    while t < _MOST_T:
        step = (two_sided(t, degrees) - tails) / (2 * _density(t, degrees))
        t += step
        if step <= 1e-7 * t:
            break
    return min(t, _MOST_T)


def _density(t: float, degrees: float) -> float:
    scale = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2) - math.log(degrees * math.pi) / 2
    return math.exp(scale - (degrees + 1) / 2 * math.log1p(t * t / degrees))
