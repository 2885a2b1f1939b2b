"""A text with its passages and its folded form, each worked out when it is first needed."""

from array import array
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, partial

from mcp_mimic.text.passages import Passage, cut_passages
from mcp_mimic.text.sections import Section, note_sections
from mcp_mimic.text.words import fold

type Sectioning = Callable[[str], Sequence[Section]]


class Prose:
    """One note or document: text of the record or of a policy, as it is written but for its line ends."""

    def __init__(self, text: str, sectioning: Sectioning) -> None:
        self.text = text.replace("\r\n", "\n").replace("\r", "\n")
        self._sectioning = sectioning

    @cached_property
    def passages(self) -> list[Passage]:
        """The passages, in order; their numbers are their places, from 1."""
        return cut_passages(self.text, self._sectioning(self.text))

    @cached_property
    def titles(self) -> list[str]:
        """The distinct titles of the sections that have text, in order."""
        return list(dict.fromkeys(passage.section for passage in self.passages))

    @cached_property
    def folded(self) -> str:
        """The text as terms are sought in it."""
        return fold(self.text)

    def word_count(self, passage: Passage) -> int:
        """How many words the passage has."""
        return self._word_counts[passage.number - 1]

    def words_before(self, position: int, passage: Passage) -> int:
        """How many words of the passage stand before the one at `position` of the folded text."""
        start = self.starts[passage.number - 1]
        return self._words_between(start, position + 1) - 1

    def _end(self, passage: Passage) -> int:
        return self.starts[passage.number] if passage.number < len(self.starts) else len(self.folded) - 1

    def _words_between(self, start: int, end: int) -> int:
        """How many words, whole or in part, the folded text has between two places."""
        blanks = self.folded.count(" ", start, end)
        return blanks if start >= end or self.folded[start] == " " else blanks + 1

    @cached_property
    def _word_counts(self) -> array[int]:
        """How many words each passage has."""
        ends = (self._end(passage) for passage in self.passages)
        pairs = zip(self.starts, ends, strict=True)
        return array("l", (self._words_between(start, end) for start, end in pairs))

    @cached_property
    def starts(self) -> list[int]:
        """Where each passage begins in the folded text: at the blank before its first word.

        If the passages were cut within a word, at the word's next character. A term that was found there is of
        the last passage that begins before it or with it.
        """
        found, place = [0], 0
        for passage in self.passages[:-1]:
            length = len(fold(passage.of(self.text))) - 1
            if length and self.folded[place] != " ":
                length -= 1  # the passage goes on with a word of the one before it
            place += length
            found.append(place)
        return found


def note_prose(text: str, *, report: bool) -> Prose:
    """The prose of a note; `report` for a radiology report."""
    return Prose(text, _sectioning(report))


@lru_cache(maxsize=2)
def _sectioning(report: bool) -> Sectioning:
    return partial(note_sections, report=report)
