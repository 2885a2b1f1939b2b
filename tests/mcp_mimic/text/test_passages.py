"""Sections and passages of notes."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mcp_mimic.text.passages import LONGEST, Passage, cut_passages
from mcp_mimic.text.sections import in_section, note_sections

SUMMARY = """\x20
Name:  ___                     Unit No:   ___
\x20
Service: MEDICINE
\x20
Allergies:\x20
No Known Allergies / Adverse Drug Reactions
\x20
BRIEF HOSPITAL COURSE:
Mr. ___ did well. BP: 120/80.
HEENT: no lesion

ACTIVE ISSUES:
# HTN
\x20
   held

Discharge Medications:
1. Furosemide 20 mg PO DAILY\x20
"""

REPORT = """EXAMINATION:  CHEST (PA AND LAT)
\x20
INDICATION:  History: ___ with cough.

FINDINGS:\x20
\x20
Heart size is normal. Size: small
IMPRESSION:\x20
\x20
No acute process."""


def passages(text: str, *, report: bool = False) -> list[Passage]:
    return cut_passages(text, note_sections(text, report=report))


def test_a_discharge_summary_has_the_sections_of_its_form_and_their_parts() -> None:
    assert [(p.number, p.section) for p in passages(SUMMARY)] == [
        (1, "Beginning"),
        (2, "Service"),
        (3, "Allergies"),
        (4, "Brief Hospital Course"),
        (5, "Brief Hospital Course / ACTIVE ISSUES"),
        (6, "Discharge Medications"),
    ]


def test_a_radiology_report_has_sections_whose_text_begins_in_the_headings_line() -> None:
    found = passages(REPORT, report=True)
    assert [p.section for p in found] == ["EXAMINATION", "INDICATION", "FINDINGS", "IMPRESSION"]
    assert found[3].of(REPORT) == "IMPRESSION: \n \nNo acute process."


def test_a_section_is_asked_for_in_any_case_with_its_parts_or_by_a_part() -> None:
    title = "Brief Hospital Course / ACTIVE ISSUES"
    assert all(in_section(title, asked) for asked in ("brief  hospital course", "Active Issues", title))
    assert not any(in_section(title, asked) for asked in ("Hospital Course", "Active", "Brief"))


def test_paragraphs_are_joined_as_long_as_they_fit_and_keep_their_indent() -> None:
    text = "\n\n".join(f"  paragraph {n} " + "x" * 500 for n in range(5))
    found = passages(text)
    assert [p.of(text).count("paragraph") for p in found] == [2, 2, 1]
    assert found[1].of(text).startswith("  paragraph 2")


def test_a_long_paragraph_is_cut_at_lines_else_sentences_else_words() -> None:
    for piece, ending in (
        ("some words of a line\n", "line"),
        ("A sentence. ", "sentence."),
        ("word ", "word"),
    ):
        text = piece * 400
        found = passages(text)
        assert len(found) > 1
        assert all(p.of(text).endswith(ending) and p.end - p.start <= LONGEST for p in found)


@given(st.text(alphabet=st.sampled_from("aB.:\n \t#é"), max_size=4000), st.booleans())
def test_passages_hold_every_word_once_in_order_and_are_short(text: str, report: bool) -> None:
    found = passages(text, report=report)
    assert [p.number for p in found] == list(range(1, len(found) + 1))
    assert all(0 < p.end - p.start <= LONGEST for p in found)
    assert all(before.end <= after.start for before, after in pairwise(found))
    assert "".join("".join(p.of(text).split()) for p in found) == "".join(text.split())
