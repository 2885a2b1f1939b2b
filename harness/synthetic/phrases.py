"""Phrases that notes are put together from: our own wording, in the abbreviations that charts use."""

from functools import cache
from random import Random

from harness.synthetic.dictionaries import read_reference


@cache
def phrases(slot: str, archetype: str = "any") -> tuple[str, ...]:
    """The phrases for a place in a note, for patients with one condition or any."""
    rows = read_reference("phrases")
    return tuple(row["text"] for row in rows if (row["slot"], row["archetype"]) == (slot, archetype))


def some(rng: Random, slot: str, archetype: str = "any") -> str:
    """One of them, its numbers filled in; `{complaint}` is left for the caller."""
    return filled(rng, rng.choice(phrases(slot, archetype)))


def filled(rng: Random, text: str) -> str:
    """The phrase with numbers in its places."""
    numbers = {
        "days": rng.randint(2, 6),
        "hours": rng.randint(3, 23),
        "fever": f"{rng.uniform(101.2, 103.4):.1f}",
        "low": rng.randrange(70, 95, 5),
        "pounds": rng.randint(5, 19),
        "length": f"{rng.uniform(1.4, 6.8):.1f}",
        "complaint": "{complaint}",
    }
    return text.format(**numbers)
