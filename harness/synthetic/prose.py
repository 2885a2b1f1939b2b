"""Texts in the making: paragraphs of sentences or lines that can be left out, added to and laid out."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from textwrap import fill

_WIDTH = 72
STUDIES = "IMAGING AND STUDIES:"
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z#\[])")


@dataclass(frozen=True)
class Paragraph:
    """Sentences that run on, or lines that stand below each other; `fixed` ones are never left out."""

    parts: tuple[str, ...]
    lines: bool = False
    fixed: bool = False

    @property
    def studies(self) -> bool:
        """Whether the paragraph lists what imaging and other studies showed."""
        return self.lines and self.parts[:1] == (STUDIES,)

    def laid_out(self) -> str:
        """The paragraph as text, prose wrapped as the record system wraps it."""
        found = "\n".join(self.parts).split("\n") if self.lines else [" ".join(self.parts)]
        return "\n".join(fill(line, _WIDTH, break_on_hyphens=False, break_long_words=False) for line in found)


def prose(text: str) -> Paragraph:
    """A paragraph of the text's sentences."""
    return Paragraph(tuple(_END.split(text)))


def lines(texts: Iterable[str], *, fixed: bool = False) -> Paragraph:
    """A paragraph of lines."""
    return Paragraph(tuple(texts), lines=True, fixed=fixed)


def without(paragraphs: Iterable[Paragraph], pattern: re.Pattern[str] | None) -> list[Paragraph]:
    """The paragraphs without the sentences and lines that the pattern matches; empty ones go."""
    if pattern is None:
        return list(paragraphs)
    kept = [
        paragraph
        if paragraph.fixed
        else replace(paragraph, parts=tuple(part for part in paragraph.parts if not pattern.search(part)))
        for paragraph in paragraphs
    ]
    return [paragraph for paragraph in kept if paragraph.parts]


def woven(paragraphs: Sequence[Paragraph], sentences: Sequence[str], rng: Random) -> list[Paragraph]:
    """The paragraphs with the sentences among theirs, or between them; their order is kept.

    A problem (`# ...`) is a paragraph of its own before the list that a course ends with. Where studies have a
    heading of their own, a sentence stands below it, not among cultures and results of the laboratory.
    """
    found = list(paragraphs)
    studies = next((place for place, paragraph in enumerate(found) if paragraph.studies), None)
    for sentence in sentences:
        if studies is not None:
            parts = found[studies].parts
            place = rng.randint(1, len(parts))
            found[studies] = replace(found[studies], parts=(*parts[:place], sentence, *parts[place:]))
            continue
        if sentence.startswith("#"):
            last = len(found) - 1 if found and found[-1].lines else len(found)
            found.insert(rng.randint(0, last), Paragraph((sentence,)))
            continue
        chosen = rng.randrange(len(found)) if found and rng.random() < 0.6 else None
        if chosen is None:
            found.insert(rng.randint(0, len(found)), Paragraph((sentence,)))
            continue
        paragraph = found[chosen]
        # never before what a paragraph begins with, which may be its heading
        place = rng.randint(1, len(paragraph.parts))
        parts = (*paragraph.parts[:place], sentence, *paragraph.parts[place:])
        found[chosen] = replace(paragraph, parts=parts)
    return found


def laid_out(paragraphs: Iterable[Paragraph]) -> str:
    """The paragraphs with an empty line between them."""
    return "\n\n".join(paragraph.laid_out() for paragraph in paragraphs)
