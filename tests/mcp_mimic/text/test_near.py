"""What may have been meant: the closest of the known words, or nothing."""

import pytest

from mcp_mimic.text.near import did_you_mean


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("orcale", "did you mean oracle?"),
        ("ORACLE", "did you mean oracle?"),
        ("chart-dmp", "did you mean Chart-Dump?"),
        ("always", "did you mean always-no?"),
        ("zzz", ""),
        ("", ""),
    ],
)
def test_the_closest_word_is_asked_for_as_it_is_written(given: str, said: str) -> None:
    assert did_you_mean(given, ["oracle", "Chart-Dump", "always-yes", "always-no"]) == said


def test_as_many_are_asked_for_as_may_be() -> None:
    known = ["always-yes", "always-no", "oracle"]
    assert did_you_mean("always-ye", known, most=2) == "did you mean always-yes or always-no?"
    assert did_you_mean("oracle", [], most=2) == ""
