"""Text of the record made harmless."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_mimic.contract import EID_KINDS
from mcp_mimic.text.neutral import neutralise, neutralise_values, quote_lines

INVISIBLE = (
    "\x00", "\x07", "\x1b", "\x7f", "\x85", "\x9b", "\u00ad", "\u034f", "\u061c", "\u115f", "\u1160", "\u17b4",
    "\u180e", "\u200b", "\u200c", "\u200d", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202b", "\u202d",
    "\u202e", "\u2060", "\u2061", "\u2066", "\u2069", "\u206a", "\u2800", "\u3164", "\ufe00", "\ufe0f", "\ufeff",
    "\uffa0", "\ufff9", "\ue000", "\ud800", "\U000e0001", "\U000e0041", "\U000e007f", "\U000e0100", "\U000f0000",
)  # fmt: skip


@pytest.mark.parametrize("character", INVISIBLE, ids=lambda c: f"U+{ord(c):04X}")
def test_a_character_that_does_not_show_is_marked_in_its_place(character: str) -> None:
    assert neutralise(f"a{character}b") == ("a�b", 1)


@pytest.mark.parametrize(
    "text", ["", "pH 7.31, pCO2 48*", "café, β-blocker, 37 °C, ≥ 3 µg", "a\n\tb", "🙂 中文"]
)
def test_text_that_shows_stays_as_it_is(text: str) -> None:
    assert neutralise(text) == (text, 0)


def test_line_ends_become_plain_ones_and_do_not_count() -> None:
    assert neutralise("a\r\nb\rc\n") == ("a\nb\nc\n", 0)


@pytest.mark.parametrize("kind", EID_KINDS)
def test_what_looks_like_an_evidence_id_cannot_be_copied_as_one(kind: str) -> None:
    assert neutralise(f"see [{kind}:12, {kind}:DS-2#4]") == (f"see [{kind}∶12, {kind}∶DS-2#4]", 2)


@pytest.mark.parametrize(
    "text", ["given at 10:30", "dx:pneumonia", "Note: 3 of 4", "ratio 1:2", "lab: 7", "mylab7:8", "http://x"]
)
def test_a_colon_that_makes_no_evidence_id_stays(text: str) -> None:
    assert neutralise(text) == (text, 0)


def test_a_policys_id_in_a_text_is_marked_though_it_has_no_digit() -> None:
    assert neutralise("[policy:house#scope]") == ("[policy∶house#scope]", 1)


def test_texts_inside_lists_and_mappings_are_made_harmless_and_counted() -> None:
    value = {"a": ["x\u200b", 1, None, 2.5], "b": {"c": "lab:9", "d": True}}
    assert neutralise_values(value) == ({"a": ["x�", 1, None, 2.5], "b": {"c": "lab∶9", "d": True}}, 2)


@given(st.text())
def test_nothing_hidden_is_left_and_doing_it_again_changes_nothing(text: str) -> None:
    harmless, _ = neutralise(text)
    allowed = {"\n", "\t"}
    assert all(
        unicodedata.category(c) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
        for c in harmless
        if c not in allowed
    )
    assert neutralise(harmless) == (harmless, 0)
    assert len(harmless) == len(text.replace("\r\n", "\n"))


@given(st.text())
def test_no_line_of_a_quotation_can_end_it(text: str) -> None:
    assert all(line.startswith(">") for line in quote_lines(neutralise(text)[0]).splitlines())
