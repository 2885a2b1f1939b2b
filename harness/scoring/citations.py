"""Which evidence ids a report cites, in order of appearance.

A citation is `[id]` or `[id, id]` outside code; comments are not read either. Quotations, tables, lists and
links (`[lab:1](…)`) are. What has the shape of an id but is none (`[labevents:7]`) is cited too, and never
resolves; what has not (`[see below]`) is not a citation.
"""

import bisect
import re
from collections.abc import Iterable

from harness.scoring.blocks import Block

MAX_COUNTED = 12
"""How many distinct citations count, in order of appearance."""

_BRACKETS = re.compile(r"\[([^\[\]]+)\]")
_ID_SHAPE = re.compile(r"[A-Za-z][A-Za-z_]*:[A-Za-z0-9][A-Za-z0-9._-]*(?:#[A-Za-z0-9._-]+)?")
_TICKS = re.compile(r"`+")
_CODE_ELEMENT = re.compile(r"<(/?)code(?:\s[^<>]*)?>", re.IGNORECASE)
_MAX_SHOWN = 120


def find_citations(blocks: Iterable[Block]) -> tuple[str, ...]:
    """All distinct citations, in order of appearance."""
    found: dict[str, None] = {}
    for block in blocks:
        text = _without_code_elements(_without_comments(_without_code_spans(block.text), block.kind))
        for group in _BRACKETS.finditer(text):
            found.update(dict.fromkeys(_ids(group[1])))
    return tuple(found)


def _ids(inner: str) -> list[str]:
    pieces = (piece.strip() for piece in inner.split(","))
    return [piece[:_MAX_SHOWN] for piece in pieces if _ID_SHAPE.fullmatch(piece)]


def _without_code_spans(text: str) -> str:
    """The text with each inline code span as one blank; a run of backticks ends at the next of its length."""
    runs = [(match.start(), match.end()) for match in _TICKS.finditer(text)]
    by_length: dict[int, list[int]] = {}
    for start, end in runs:
        by_length.setdefault(end - start, []).append(start)
    kept, position = [], 0
    for start, end in runs:
        if start < position:
            continue
        opening = start + _is_escaped(text, start)
        starts = by_length.get(end - opening, [])
        closing = bisect.bisect_left(starts, end)
        if opening < end and closing < len(starts):
            kept.append(text[position:opening])
            position = starts[closing] + end - opening
    return " ".join([*kept, text[position:]])


def _is_escaped(text: str, position: int) -> bool:
    before = text[:position] if position < 64 else text[position - 64 : position]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _without_comments(text: str, kind: str) -> str:
    """The text without its comments; one that never closes hides the rest of an HTML block, but not of prose."""
    kept, position = [], 0
    while (start := text.find("<!--", position)) >= 0:
        end = text.find("-->", start + 2)
        if end < 0 and kind != "html":
            break
        kept.append(text[position:start])
        position = len(text) if end < 0 else end + 3
    return " ".join([*kept, text[position:]])


def _without_code_elements(text: str) -> str:
    """The text without `<code>…</code>`; tags of one that never closes are text."""
    kept, position, opened = [], 0, -1
    for tag in _CODE_ELEMENT.finditer(text):
        if not tag[1] and opened < 0:
            opened = tag.start()
        elif tag[1] and opened >= 0:
            kept.append(text[position:opened])
            position, opened = tag.end(), -1
    return " ".join([*kept, text[position:]])
