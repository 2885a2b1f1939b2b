"""Sections of a document in Markdown: each ATX heading below the title begins one.

A section's id is the number that its heading begins with ("## 2.1 Scope" is 2.1), else its title in lower
case with hyphens; an id that occurs again gets a number behind it. What stands before the first of these
headings is the section 0.
"""

import re
from dataclasses import dataclass

from mcp_mimic.text.sections import BEGINNING

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_NUMBER = re.compile(r"(\d+(?:\.\d+)*)[.)]?(?:\s|$)")
_LONGEST_ID = 60


@dataclass(frozen=True)
class PolicySection:
    """A part of a document from its heading, `start` included, to the next, `end` excluded."""

    id: str
    title: str
    start: int
    end: int


def policy_sections(text: str) -> list[PolicySection]:
    """The sections that have text, in order; a heading of the first level is the document's title."""
    headings = [("0", BEGINNING, 0)]
    taken = {"0"}
    for level, title, start in _headings(text):
        if level > 1:
            headings.append((_unused(_section_id(title), taken), title, start))
    ends = [start for *_, start in headings[1:]] + [len(text)]
    return [
        PolicySection(section, title, start, end)
        for (section, title, start), end in zip(headings, ends, strict=True)
        if text[start:end].strip()
    ]


def _headings(text: str) -> list[tuple[int, str, int]]:
    """Level, title and place of each ATX heading outside fenced code."""
    found, fence, position = [], "", 0
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\n")
        mark = _FENCE.match(bare)
        if mark is not None and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence and (heading := _HEADING.fullmatch(bare)) is not None:
            found.append((len(heading[1]), " ".join((heading[2] or "").split()), position))
        position += len(line)
    return found


def _section_id(title: str) -> str:
    number = _NUMBER.match(title)
    if number is not None:
        return number[1]
    slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return slug[:_LONGEST_ID].strip("-") or "section"


def _unused(section: str, taken: set[str]) -> str:
    number, unused = 1, section
    while unused in taken:
        number += 1
        unused = f"{section}-{number}"
    taken.add(unused)
    return unused
