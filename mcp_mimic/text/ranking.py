"""Which passages hold a term, and which of them come first.

A passage matches where at least one term begins in it. More of the terms, rarer ones and more of them in fewer
words come first (BM25 over passages, a term's rarity counted in notes). The order depends on nothing but the
texts, their order and the terms.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import log

from mcp_mimic.text.passages import Passage
from mcp_mimic.text.prose import Prose
from mcp_mimic.text.words import Term, fold, words

_SATURATION, _LENGTH_WEIGHT, _USUAL_WORDS = 1.2, 0.75, 100
_DIGITS = 9
"""Scores are compared to so many digits, so that no machine's arithmetic decides."""

_BEFORE, _AFTER = 80, 200
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_STRETCH = re.compile(r"\S+")


@dataclass(frozen=True)
class Hit:
    """A passage of the text at `place` of those that were searched, and how often each term begins in it."""

    place: int
    passage: Passage
    counts: Mapping[Term, int]
    score: float


def find_passages(texts: Sequence[Prose], terms: Sequence[Term]) -> list[Hit]:
    """Every matching passage, best first; equals in the order of the texts."""
    counts: dict[tuple[int, int], dict[Term, int]] = {}
    rarity: dict[Term, float] = {}
    for term in terms:
        holding = 0
        for place, prose in enumerate(texts):
            found = prose.occurrences(term)
            holding += bool(found)
            for position in found:
                here = counts.setdefault((place, prose.passage_at(position).number), {})
                here[term] = here.get(term, 0) + 1
        rarity[term] = log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
    hits = []
    for (place, number), here in counts.items():
        passage = texts[place].passages[number - 1]
        hits.append(Hit(place, passage, here, _score(passage.of(texts[place].text), here, rarity)))
    return sorted(hits, key=lambda hit: (-hit.score, hit.place, hit.passage.number))


def _score(text: str, counts: Mapping[Term, int], rarity: Mapping[Term, float]) -> float:
    length = 1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * len(words(text)) / _USUAL_WORDS
    score = sum(
        rarity[term] * count * (_SATURATION + 1) / (count + _SATURATION * length)
        for term, count in counts.items()
    )
    return round(score, _DIGITS)


def snippet(text: str, terms: Sequence[Term]) -> str:
    """The passage around the first place where a term begins, on one line; `…` where it is cut."""
    low, high = _first_word(text, terms)
    start, end = max(low - _BEFORE, 0), min(high + _AFTER, len(text))
    if start:
        start = next((blank.end() for blank in re.finditer(r"\s+", text[:low]) if blank.end() >= start), low)
    if end < len(text):
        end = max((blank.start() for blank in re.finditer(r"\s+", text[:end])), default=end)
        end = max(end, high)
    cut = " ".join(text[start:end].split())
    return f"{'… ' if start else ''}{cut}{' …' if end < len(text) else ''}"


def _first_word(text: str, terms: Sequence[Term]) -> tuple[int, int]:
    """The stretch of the text in which the first term begins; its beginning if that is not in here."""
    folded = fold(text)
    begins = [positions[0] for term in terms if (positions := term.occurrences(folded))]
    wanted = folded[: min(begins, default=0) + 1].count(" ")
    if text.isascii():
        word = next(islice(_ASCII_WORD.finditer(text), wanted - 1, None), None)
        return word.span() if word else (0, 0)
    seen = 0
    for stretch in _STRETCH.finditer(text):
        seen += len(words(stretch[0]))
        if seen >= wanted:
            return stretch.start(), stretch.end()
    return 0, 0
