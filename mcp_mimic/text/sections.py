"""Sections of a note, by the headings that MIMIC's notes have.

A discharge summary is written along a form whose headings are known; a line of capitals that ends with a
colon begins a part of the form's section ("Brief Hospital Course / ACTIVE ISSUES"). In a radiology report a
line that begins with capitals and a colon is a heading. What stands before the first heading is the section
"Beginning".
"""

import re
from dataclasses import dataclass

BEGINNING = "Beginning"
PART = " / "

_FORM = (
    "Service", "Allergies", "Attending", "Chief Complaint", "Reason for Admission",
    "Major Surgical or Invasive Procedure", "History of Present Illness", "Review of Systems",
    "Past Medical History", "Past Surgical History", "Social History", "Family History", "Physical Exam",
    "Physical Examination", "Pertinent Results", "Brief Hospital Course", "Hospital Course",
    "Medications on Admission", "Discharge Medications", "Discharge Disposition", "Discharge Diagnosis",
    "Discharge Diagnoses", "Discharge Condition", "Discharge Instructions", "Followup Instructions",
    "Follow-up Instructions", "Facility", "Transitional Issues",
)  # fmt: skip

_FORM_TITLES = {title: title for title in _FORM} | {title.upper(): title for title in _FORM}
_HEADING = re.compile(r"^[ \t]*([A-Z][^\n:]{2,59}):[ \t]*", re.MULTILINE)
_CAPITALS = re.compile(r"(?=.*[A-Z]{3})[A-Z0-9 /,()&.'-]+")


@dataclass(frozen=True)
class Section:
    """A part of a text from its heading, `start` included, to the next, `end` excluded."""

    title: str
    start: int
    end: int


def note_sections(text: str, *, report: bool) -> list[Section]:
    """The sections of a note in order, without gaps; `report` for a radiology report.

    A title can occur more than once.
    """
    headings: list[tuple[str, int]] = []
    parent = ""
    for line in _HEADING.finditer(text):
        words = " ".join(line[1].split())
        if not report and words in _FORM_TITLES:
            parent = _FORM_TITLES[words]
            headings.append((parent, line.start()))
        elif _CAPITALS.fullmatch(words) and (report or _ends(text, line.end())):
            headings.append((f"{parent}{PART}{words}" if parent else words, line.start()))
    return cut_at(headings, len(text))


def in_section(title: str, asked: str) -> bool:
    """Whether a passage of the section `title` belongs to what was asked for: it, or a part of it."""
    title, asked = title.casefold(), " ".join(asked.casefold().split())
    return title == asked or title.startswith(asked + PART) or title.endswith(PART + asked)


def cut_at(headings: list[tuple[str, int]], length: int) -> list[Section]:
    """Sections that begin at headings, after one for what stands before the first of them, if anything."""
    if not headings or headings[0][1] > 0:
        headings = [(BEGINNING, 0), *headings]
    ends = [start for _, start in headings[1:]] + [length]
    return [
        Section(title, start, end) for (title, start), end in zip(headings, ends, strict=True) if end > start
    ]


def _ends(text: str, position: int) -> bool:
    return position == len(text) or text[position] == "\n"
