"""What a text search compares."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_mimic.errors import ToolError
from mcp_mimic.text.words import Term, fold, parse_query
from tests.mcp_mimic.text.texts import mixed_text


def finds(query: str, text: str) -> int:
    (term,) = parse_query(query)
    return len(term.occurrences(fold(text)))


@pytest.mark.parametrize(
    ("query", "text", "times"),
    [
        ("ef", "EF 25%, left, LVEF, ef-ef", 3),
        ("LVEF", "lvef", 1),
        ('"ejection fraction"', "Ejection\n   fraction; ejection-fraction", 2),
        ('"ejection fraction"', "ejection of a fraction", 0),
        ("metop*", "Metoprolol metop ametop", 2),
        ("*pril", "lisinopril, april 3, prilosec", 2),
        ("*sart*", "losartan valsartans", 2),
        ("25-30", "25 to 30; 25-30%", 1),
        ("ef", "E\u200bF", 1),
        ("naïve", "NAÏVE", 1),
        ("pain", "___pain___", 1),
        ("amiodarone", "amio\x00darone, amio\x08darone, amio\x7fdarone", 3),
        ("amiodarone", "amio\x00darone, amio\x08darone, amio\x7fdarone, café", 3),
        ("amio\x00darone", "amiodarone", 1),
        ("amiodarone", "amio\x0bdarone, amio\x1cdarone, amio\x85darone", 0),
    ],
)
def test_terms_match_words_in_a_row_and_open_ends_go_on(query: str, text: str, times: int) -> None:
    assert finds(query, text) == times


def test_a_query_is_its_distinct_terms_in_order() -> None:
    assert [str(term) for term in parse_query('LVEF, "Ejection Fraction" metop* lvef *pril')] == [
        "lvef",
        '"ejection fraction"',
        "metop*",
        "*pril",
    ]


@pytest.mark.parametrize(
    "query", ["", "  ", '""', "___ -- ,", "a*", "*b", " ".join(f"w{n}" for n in range(21))]
)
def test_a_query_without_a_usable_term_is_refused(query: str) -> None:
    with pytest.raises(ToolError) as refused:
        parse_query(query)
    assert refused.value.code == "query"


@given(st.text(), st.text(min_size=1))
def test_a_folded_text_has_single_blanks_and_holds_each_of_its_words(text: str, more: str) -> None:
    folded = fold(f"{text} {more}")
    assert folded.startswith(" ")
    assert folded.endswith(" ")
    assert "  " not in folded
    assert all(Term(f" {word} ").occurrences(folded) for word in folded.split())


@given(mixed_text, mixed_text)
def test_folding_a_whole_joins_its_folded_parts(text: str, more: str) -> None:
    assert fold(f"{text} {more}") == fold(text) + fold(more)[1:]
    assert fold(text + more).startswith(fold(text)[:-1])


@given(mixed_text)
def test_what_does_not_show_is_left_out_of_every_text(text: str) -> None:
    assert fold(text) == fold("\x00".join(text)) == fold("\u200b".join(text))
