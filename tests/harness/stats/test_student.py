import math

import pytest

from harness.stats.student import normal_quantile, t_cdf, t_quantile


@pytest.mark.parametrize(
    ("probability", "freedom", "expected"),
    [
        (0.975, 1, 12.7062), (0.975, 2, 4.30265), (0.975, 3, 3.18245), (0.975, 5, 2.57058), (0.975, 10, 2.22814),
        (0.975, 24, 2.06390), (0.975, 30, 2.04227), (0.975, 100, 1.98397), (0.975, 1000, 1.96234),
        (0.995, 10, 3.16927), (0.95, 4, 2.13185), (0.8, 24, 0.85686), (0.9995, 2, 31.5991), (0.5, 7, 0.0),
        (0.025, 24, -2.06390),
    ],
)  # fmt: skip
def test_quantiles_are_those_of_the_printed_tables(probability: float, freedom: int, expected: float) -> None:
    assert t_quantile(probability, freedom) == pytest.approx(expected, abs=1e-4, rel=1e-5)


@pytest.mark.parametrize("value", [-30.0, -1.0, -0.1, 0.0, 0.3, 1.0, 2.5, 50.0])
def test_the_distribution_has_its_closed_forms(value: float) -> None:
    assert t_cdf(value, 1) == pytest.approx(0.5 + math.atan(value) / math.pi, abs=1e-12)
    assert t_cdf(value, 2) == pytest.approx(0.5 + value / (2 * math.sqrt(2 + value * value)), abs=1e-12)


def test_quantile_and_distribution_are_inverse() -> None:
    for freedom in (1, 2, 7, 24, 749):
        for probability in (0.001, 0.2, 0.5, 0.8, 0.975, 0.9999):
            assert t_cdf(t_quantile(probability, freedom), freedom) == pytest.approx(probability, abs=1e-10)


def test_many_degrees_of_freedom_approach_the_normal() -> None:
    assert t_quantile(0.975, 10**6) == pytest.approx(normal_quantile(0.975), abs=1e-4)


@pytest.mark.parametrize(("probability", "freedom"), [(0.0, 3), (1.0, 3), (0.9, 0)])
def test_what_has_no_quantile_is_an_error(probability: float, freedom: int) -> None:
    with pytest.raises(ValueError, match=r"probability|freedom"):
        t_quantile(probability, freedom)
