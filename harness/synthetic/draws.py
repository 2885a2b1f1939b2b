"""Random numbers of the simulation: seeded by name, so that one part never disturbs another."""

from collections.abc import Mapping
from random import Random


def generator(*parts: object) -> Random:
    """A generator that depends on the parts alone."""
    return Random(":".join(str(part) for part in parts))  # noqa: S311  (a simulation keeps no secrets)


def pick[T](rng: Random, weights: Mapping[T, int]) -> T:
    """One key, in proportion to its weight."""
    return rng.choices(list(weights), list(weights.values()))[0]
