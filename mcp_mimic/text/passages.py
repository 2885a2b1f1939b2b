"""Passages of a text: pieces short enough to cite, cut where the text itself has a border.

A passage lies within one section. Paragraphs are joined as long as they fit; one that does not fit by itself
is cut at the end of a line, else of a sentence, else of a word. Cuts depend on the text alone, so that a
passage keeps its number as long as its text is the same.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_mimic.text.sections import Section

LONGEST = 1200

_PARAGRAPH_END = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)*")
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)+")
_BORDERS = (re.compile(r"\n"), re.compile(r"(?<=[.;!?])\s+"), re.compile(r"\s+"))
_HALF = LONGEST // 2


@dataclass(frozen=True)
class Passage:
    """One piece of a text: its number in the text, from 1, its section's title, and where it stands."""

    number: int
    section: str
    start: int
    end: int

    def of(self, text: str) -> str:
        """The passage's own text."""
        return text[self.start : self.end]


def cut_passages(text: str, sections: Sequence[Section]) -> list[Passage]:
    """The passages of all sections, in order; blank stretches between them belong to none."""
    spans = [
        (section.title, start, end)
        for section in sections
        for start, end in _joined(text, section.start, section.end)
    ]
    return [Passage(number, *span) for number, span in enumerate(spans, start=1)]


def _joined(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Paragraphs, joined while they fit together."""
    begun: int | None = None
    reached = start
    for low, high in _pieces(text, start, end):
        if begun is not None and high - begun > LONGEST:
            yield begun, reached
            begun = None
        begun = low if begun is None else begun
        reached = high
    if begun is not None:
        yield begun, reached


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Paragraphs, those too long cut into pieces that fit; without blanks at either side."""
    position = start
    while position < end:
        border = _PARAGRAPH_END.search(text, position, end)
        stop = border.start() if border else end
        while stop - position > LONGEST:
            cut = _cut(text, position)
            yield from _stripped(text, position, cut)
            position = cut
        yield from _stripped(text, position, stop)
        position = border.end() if border else end


def _cut(text: str, position: int) -> int:
    """Where to cut a paragraph that is too long: the last good border that fits, not too near its start."""
    limit = position + LONGEST
    for border in _BORDERS:
        ends = [found.end() for found in border.finditer(text, position, limit)]
        if ends and ends[-1] - position > _HALF:
            return ends[-1]
    return limit


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The span without blank lines before it and blanks behind it; the first line keeps its indent."""
    low = _BLANK_LINES.match(text, start, end)
    first = low.end() if low else start
    last = first + len(text[first:end].rstrip())
    if first < last:
        yield first, last
