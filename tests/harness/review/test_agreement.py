"""Agreement of two raters."""

import pytest

from harness.review.agreement import agreement


def pairs(counts: dict[tuple[str, str], int]) -> list[tuple[str, str]]:
    return [pair for pair, number in counts.items() for _ in range(number)]


def test_kappa_is_agreement_beyond_chance() -> None:
    """50 cases: both yes 20, both no 15, 5 and 10 apart. p_o = 0.7; p_e = 0.5 * 0.6 + 0.5 * 0.4 = 0.5."""
    found = agreement(pairs({("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15}))
    assert (found.cases, found.agreed) == (50, 35)
    assert found.kappa == pytest.approx(0.4)


def test_kappa_counts_every_category() -> None:
    """p_o = 2/5; p_e = (2 * 1 + 1 * 2 + 1 * 1 + 1 * 1) / 25 = 6/25; kappa = (10 - 6) / (25 - 6)."""
    verdicts = [("yes", "yes"), ("yes", "no"), ("no", "no"), ("lack_of_data", "medical_ambiguity")]
    found = agreement([*verdicts, ("medical_ambiguity", "lack_of_data")])
    assert found.agreed == 2
    assert found.kappa == pytest.approx(4 / 19)


def test_full_agreement_over_two_categories_is_one_and_full_disagreement_below_zero() -> None:
    assert agreement([("yes", "yes"), ("no", "no")]).kappa == 1
    assert agreement([("yes", "no"), ("no", "yes")]).kappa == -1


@pytest.mark.parametrize("rated", [[], [("yes", "yes")] * 4])
def test_kappa_is_undefined_where_chance_alone_would_agree(rated: list[tuple[str, str]]) -> None:
    found = agreement(rated)
    assert found.kappa is None
    assert str(found) == f"{len(rated)} of {len(rated)} agree, kappa undefined"


def test_one_category_against_another_is_no_agreement() -> None:
    assert str(agreement([("yes", "no")] * 3)) == "0 of 3 agree, kappa 0.00"
