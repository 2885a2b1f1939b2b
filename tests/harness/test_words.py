"""What the commands count they say in the singular or the plural."""

import pytest

from harness.words import counted
from mcp_mimic.text.counts import agree


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (1473, "1,473 rows")]
)
def test_a_noun_follows_its_number(number: int, said: str) -> None:
    assert counted(number, "row") == said


@pytest.mark.parametrize(("number", "verb"), [(0, "hold"), (1, "holds"), (2, "hold")])
def test_so_does_a_verb(number: int, verb: str) -> None:
    assert agree(number, "holds", "hold") == verb
