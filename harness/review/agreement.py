"""How far two raters agree on the same cases: the count, and Cohen's kappa."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Agreement:
    """Cases that both rated, those that they rate the same, and kappa: None where chance alone would agree."""

    cases: int
    agreed: int
    kappa: float | None

    def __str__(self) -> str:
        kappa = "undefined" if self.kappa is None else f"{self.kappa:.2f}"
        return f"{self.agreed} of {self.cases} agree, kappa {kappa}"


def agreement(pairs: Sequence[tuple[str, str]]) -> Agreement:
    """Agreement over pairs of categories, one pair a case.

    kappa = (p_o - p_e) / (1 - p_e), where p_o is the share of equal pairs and p_e the sum over categories
    of the product of both raters' shares: J. Cohen, A coefficient of agreement for nominal scales,
    Educational and Psychological Measurement 20 (1960), 37-46, doi 10.1177/001316446002000104. It is
    undefined without cases, and where both raters use one and the same category only (p_e = 1).
    """
    cases = len(pairs)
    agreed = sum(first == second for first, second in pairs)
    ones, others = Counter(first for first, _ in pairs), Counter(second for _, second in pairs)
    by_chance = sum(ones[category] * others[category] for category in ones)  # p_e times cases squared
    if by_chance == cases**2:
        return Agreement(cases, agreed, None)
    return Agreement(cases, agreed, (agreed * cases - by_chance) / (cases**2 - by_chance))
