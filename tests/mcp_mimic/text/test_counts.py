"""Numbers of things."""

import pytest

from mcp_mimic.text.counts import counted, matching


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, "0 rows match"), (1, "1 row matches"), (2, "2 rows match"), (1000, "1000 rows match")],
)
def test_one_thing_is_told_apart_from_none_and_many(number: int, said: str) -> None:
    assert matching(number, "row") == said
    assert counted(number, "row") == said.rsplit(" ", 1)[0]
