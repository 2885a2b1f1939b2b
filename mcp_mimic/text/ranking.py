"""Which passages hold a term, and which of them come first.

A passage matches where at least one term begins in it. More of the terms, rarer ones and more of them in fewer
words come first (BM25 over passages, a term's rarity counted in notes). The order depends on nothing but the
texts, their order and the terms.
"""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from math import log
from typing import NamedTuple

from mcp_mimic.text.passages import Passage
from mcp_mimic.text.prose import Prose
from mcp_mimic.text.words import Term, spaced, words

_SATURATION, _LENGTH_WEIGHT, _USUAL_WORDS = 1.2, 0.75, 100
_DIGITS = 9
"""Scores are compared to so many digits, so that no machine's arithmetic decides."""

_BEFORE, _AFTER = 80, 200
_BLANK = re.compile(r"\s+")
_STRETCH = re.compile(r"\S+")


class Hit(NamedTuple):
    """A passage of the text at `place` of those that were searched, and how often each term begins in it.

    `position` is where the first of them begins in the folded text.
    """

    place: int
    passage: Passage
    counts: Mapping[Term, int]
    position: int
    score: float


def find_passages(texts: Sequence[Prose], terms: Sequence[Term]) -> list[Hit]:
    """Every matching passage, best first; equals in the order of the texts."""
    counts: dict[tuple[int, int], dict[Term, int]] = {}
    firsts: dict[tuple[int, int], int] = {}
    rarity: dict[Term, float] = {}
    for term in terms:
        piece, holding = term.piece, 0
        for place, prose in enumerate(texts):
            first = prose.folded.find(piece)
            if first < 0:
                continue
            holding += 1
            starts = prose.starts
            for position in term.occurrences(prose.folded, first):
                key = place, bisect_right(starts, position) or 1
                here = counts.get(key)
                if here is None:
                    counts[key], firsts[key] = {term: 1}, position
                    continue
                here[term] = here.get(term, 0) + 1
                if position < firsts[key]:
                    firsts[key] = position
        rarity[term] = log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
    hits = []
    for (place, number), here in counts.items():
        passage = texts[place].passages[number - 1]
        score = _score(texts[place].word_count(passage), here, rarity)
        hits.append(Hit(place, passage, here, firsts[place, number], score))
    return sorted(hits, key=lambda hit: (-hit.score, hit.place, hit.passage.number))


def _score(words_in: int, counts: Mapping[Term, int], rarity: Mapping[Term, float]) -> float:
    length = 1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * words_in / _USUAL_WORDS
    parts = [
        rarity[term] * count * (_SATURATION + 1) / (count + _SATURATION * length)
        for term, count in counts.items()
    ]
    return round(sum(parts), _DIGITS)


def snippet(prose: Prose, hit: Hit) -> str:
    """The hit's passage around the place where its first term begins, on one line; `…` where it is cut."""
    text = hit.passage.of(prose.text)
    low, high = _word(text, prose.words_before(hit.position, hit.passage) + 1)
    start, end = max(low - _BEFORE, 0), min(high + _AFTER, len(text))
    if start:
        blank = _BLANK.search(text, start - 1, low)
        start = blank.end() if blank else low
    shown = text[start:end]
    if end < len(text) and not text[end].isspace():
        # no part of a word at the end, unless it is the one that was sought
        whole = shown.rsplit(maxsplit=1)[0]
        shown = whole if start + len(whole) >= high else text[start:high]
    cut = " ".join(shown.split())
    return f"{'… ' if start else ''}{cut}{' …' if end < len(text) else ''}"


def _word(text: str, wanted: int) -> tuple[int, int]:
    """Where the word of that number stands, from 1; the stretch around it where characters do not show."""
    if text.isascii() and len(flat := spaced(text)) == len(text):
        rest = flat.split(None, wanted - 1)[wanted - 1 :]
        start = len(text) - len(rest[0]) if rest else 0
        return (start, start + len(rest[0].split(None, 1)[0])) if rest else (0, 0)
    seen = 0
    for stretch in _STRETCH.finditer(text):
        seen += len(words(stretch[0]))
        if seen >= wanted:
            return stretch.span()
    return 0, 0
