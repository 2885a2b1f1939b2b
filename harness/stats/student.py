"""Student's t distribution and the normal quantile, for intervals and paired tests."""

import math
from functools import cache
from statistics import NormalDist

_TINY = 1e-300
_STEPS = 500


def normal_quantile(probability: float) -> float:
    """The standard normal quantile."""
    return NormalDist().inv_cdf(probability)


def t_cdf(value: float, freedom: int) -> float:
    """P(T <= value) for `freedom` >= 1 degrees of freedom."""
    if freedom < 1:
        raise ValueError("a t distribution has at least one degree of freedom")
    if value == 0:
        return 0.5
    tail = _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + value * value)) / 2
    return 1 - tail if value > 0 else tail


@cache
def t_quantile(probability: float, freedom: int) -> float:
    """The value that T stays below with this probability (0 < probability < 1), by bisection."""
    if not 0 < probability < 1:
        raise ValueError("a quantile's probability lies between 0 and 1")
    if probability < 0.5:
        return -t_quantile(1 - probability, freedom)
    low, high = 0.0, 1.0
    while t_cdf(high, freedom) < probability:
        low, high = high, high * 2
    for _ in range(200):
        middle = (low + high) / 2
        if t_cdf(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction where that converges fast."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    return front / a * _continued_fraction(a, b, x)


def _continued_fraction(a: float, b: float, x: float) -> float:
    """Lentz's evaluation of the incomplete beta function's continued fraction."""
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _away_from_zero(1 + term * d)
            c = _away_from_zero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
