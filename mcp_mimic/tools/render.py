"""Fitting an answer into the session's characters: whole rows only, text and structured result alike."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mcp_mimic.contract import Coverage

_ROW_OVERHEAD = 1
_SHORTEST = 40
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class Rendered:
    """One answer, ready to be audited and sent."""

    text: str
    structured: Mapping[str, Any]
    coverage: Coverage | None = None
    eids: tuple[str, ...] = ()

    @cached_property
    def chars(self) -> int:
        """What the answer counts as: the longer of its two forms."""
        return max(len(self.text), compact_length(self.structured))


@dataclass(frozen=True)
class Line:
    """One row in both its forms; `replaced` counts the characters of the record that were made harmless."""

    text: str
    row: Mapping[str, Any]
    replaced: int = 0


def compact_length(value: object) -> int:
    """Characters of a value as compact JSON."""
    return len(_COMPACT.encode(value))


def fit(
    lines: Sequence[Line],
    frame: Callable[[Sequence[Line]], Rendered],
    limit: int,
    shorten: Callable[[Line, int], Line],
) -> Rendered:
    """The answer with as many whole rows as fit into `limit` characters, at least one if there is any.

    `frame` builds the answer around some of the rows. A single row that does not fit is shortened in its
    long texts, and says so.
    """
    answer = frame(lines)
    if answer.chars <= limit:
        return answer
    kept = list(lines[: _first_guess(lines, limit - frame(()).chars)])
    answer = frame(kept)
    while answer.chars > limit and len(kept) > 1:
        kept.pop()
        answer = frame(kept)
    budget = limit
    while answer.chars > limit and kept and budget > _SHORTEST:
        budget //= 2
        kept = [shorten(lines[0], budget)]
        answer = frame(kept)
    return answer


def _first_guess(lines: Sequence[Line], room: int) -> int:
    texts = rows = 0
    for number, line in enumerate(lines):
        texts += len(line.text) + _ROW_OVERHEAD
        rows += compact_length(line.row) + _ROW_OVERHEAD
        if max(texts, rows) > room:
            return max(number, 1)
    return len(lines)


def shorten_texts(value: Any, longest: int) -> Any:
    """`value` with every text in it cut to `longest` characters and marked."""
    if isinstance(value, str) and len(value) > longest:
        return f"{value[:longest]}… [shortened from {len(value)} characters]"
    if isinstance(value, dict):
        return {name: shorten_texts(item, longest) for name, item in value.items()}
    if isinstance(value, list):
        return [shorten_texts(item, longest) for item in value]
    return value
