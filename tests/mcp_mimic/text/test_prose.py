"""Where the passages of a text stand in its folded form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_mimic.text.passages import LONGEST
from mcp_mimic.text.prose import Prose, note_prose
from mcp_mimic.text.words import fold
from tests.mcp_mimic.text.texts import mixed_text

long_text = st.builds(
    lambda parts: "".join(part * times for part, times in parts),
    st.lists(st.tuples(mixed_text, st.sampled_from([1, 40, 700, LONGEST])), max_size=6),
)


def folded_parts(prose: Prose) -> list[str]:
    """What the folded text holds of each passage, but for the blank after it."""
    return [
        prose.folded[start:end]
        for start, end in zip(prose.starts, [*prose.starts[1:], len(prose.folded) - 1], strict=True)
    ]


@given(long_text, st.booleans())
def test_the_folded_text_is_its_folded_passages_joined(text: str, report: bool) -> None:
    prose = note_prose(text, report=report)
    parts = folded_parts(prose)
    assert "".join(parts) + " " == prose.folded
    for passage, part in zip(prose.passages, parts, strict=bool(prose.passages)):
        assert part.strip() == fold(passage.of(prose.text)).strip()
        assert prose.word_count(passage) == len(part.split())


@pytest.mark.parametrize("between", ["", "\x00" * LONGEST, "\u200b" * LONGEST])
def test_a_word_that_is_cut_into_passages_is_one_word(between: str) -> None:
    prose = note_prose("x" * LONGEST + between + "x" * LONGEST + " last", report=True)
    assert prose.folded == f" {'x' * LONGEST * 2} last "
    whole = "x" * LONGEST
    assert [part for part in folded_parts(prose) if part] == [f" {whole}", whole, " last"]
    assert [prose.word_count(passage) for passage in prose.passages if prose.word_count(passage)] == [1, 1, 1]
