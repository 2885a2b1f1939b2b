"""Which passages a search finds, in which order, and the words that it shows of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_mimic.text.prose import note_prose
from mcp_mimic.text.ranking import find_passages, snippet
from mcp_mimic.text.words import fold, parse_query


def found(query: str, *texts: str) -> list[tuple[int, int]]:
    hits = find_passages([note_prose(text, report=True) for text in texts], parse_query(query))
    return [(hit.place, hit.passage.number) for hit in hits]


def test_rarer_terms_and_more_of_them_come_first() -> None:
    common = "stable " * 20
    assert found("stable sepsis", common, f"{common} sepsis", "stable") == [(1, 1), (0, 1), (2, 1)]


def test_a_phrase_that_spans_two_passages_is_found_where_it_begins() -> None:
    text = "x " * 594 + "ejection " + "fraction " + "y " * 400
    assert found('"ejection fraction"', text) == [(0, 1)]


CONTROLS = " ".join(["wo\x08rd"] * 100) + " z" * 200
PARAGRAPHS = (CONTROLS, "no haemorrhage" + " x" * 500, "the target" + " y" * 500)


@pytest.mark.parametrize("last", ["plain", "café"])
@pytest.mark.parametrize(("query", "number"), [("word", 1), ("haemorrhage", 2), ("target", 3)])
def test_characters_that_do_not_show_move_no_hit_to_another_passage(
    query: str, number: int, last: str
) -> None:
    prose = note_prose("\n\n".join([*PARAGRAPHS, last]), report=True)
    [hit] = find_passages([prose], parse_query(query))
    assert hit.passage.number == number
    assert query in snippet(prose, hit).replace("\x08", "")


def test_what_stands_behind_a_word_cut_into_passages_is_found_in_its_own() -> None:
    prose = note_prose("x" * 3000 + " target here\n\n" + "y " * 590, report=True)
    for query in ("target", "*target*", "her*"):
        [hit] = find_passages([prose], parse_query(query))
        assert "target here" in hit.passage.of(prose.text)
        assert "target here" in snippet(prose, hit)


def test_equals_keep_the_order_of_the_texts() -> None:
    assert found("same", "same words", "same words", "same words") == [(0, 1), (1, 1), (2, 1)]


@pytest.mark.parametrize(
    ("text", "query", "shown"),
    [
        ("LVEF was\n 25% today", "25", "LVEF was 25% today"),
        ("a " * 100 + "sepsis " + "b " * 200, "sepsis", "… " + "a " * 40 + "sepsis " + "b " * 100 + "…"),
        ("naïve é " + "ü " * 100 + "EF\u200b 30", "ef", "… " + "ü " * 40 + "EF\u200b 30"),
        ("am\x00io was\x7f 25% on\x08 amio", "25", "am\x00io was\x7f 25% on\x08 amio"),
        (
            "a\x00b " * 40 + "sepsis " + "b " * 200,
            "sepsis",
            "… " + "a\x00b " * 20 + "sepsis " + "b " * 100 + "…",
        ),
        ("one " + "x" * 300, "one", "one …"),
        ("one " + "x" * 300, "*xxx*", "one " + "x" * 300),
        ("a " * 100 + "zz" + "x" * 250 + " b", "zzx*", "… " + "a " * 40 + "zz" + "x" * 250 + " b"),
    ],
)
def test_a_snippet_shows_the_words_around_the_first_place(text: str, query: str, shown: str) -> None:
    prose = note_prose(text, report=True)
    assert snippet(prose, find_passages([prose], parse_query(query))[0]) == shown


@given(
    st.text(alphabet="ab éß\u200b\x00\x7f\n.-_1", max_size=400), st.sampled_from(["a", "ab", "1", "é", "ss"])
)
def test_every_passage_with_a_term_is_found_and_no_other(text: str, word: str) -> None:
    prose = note_prose(text, report=True)
    terms = parse_query(word)
    hits = find_passages([prose], terms)
    holding = [
        p.number for p in prose.passages if terms[0].occurrences(f" {' '.join(prose.folded.split())} ")
    ]
    assert bool(hits) == (terms[0].piece in prose.folded) == bool(holding)
    for hit in hits:
        assert hit.counts[terms[0]] > 0
        assert terms[0].occurrences(fold(snippet(prose, hit)))
