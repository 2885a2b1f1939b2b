"""Text of the record as data: nothing in it can hide, or look like a part of the answer that carries it.

Characters that do not show or that change how others show become `�`, one for one; the colon of what has the
shape of an evidence id becomes `∶`, so that only the server's own ids can be copied. Both are counted. Line
ends become plain ones. What is replaced leaves every other character in its place.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from mcp_mimic.contract import EID_KINDS

REPLACED, COLON = "\ufffd", "\u2236"

_UNUSUAL = re.compile(r"[^\n\t -~]")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_HIDDEN_OTHERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Marks, letters and symbols that show as nothing, though their category does not say so."""
_ID_SHAPE = re.compile(rf"\b({'|'.join(EID_KINDS)}):(?=[A-Za-z0-9._-]*[0-9]|(?<=policy:)[A-Za-z])")
_ID_COLON = re.compile(rf"[{''.join(sorted({kind[-1] for kind in EID_KINDS}))}]:")
"""What every id shape holds, and no time of day."""
_LINE_END = re.compile(r"\r\n?")


def is_hidden(character: str) -> bool:
    """Whether the character shows as nothing, or as something that depends on the others around it."""
    return (
        unicodedata.category(character) in _HIDDEN_CATEGORIES or _HIDDEN_OTHERS.match(character) is not None
    )


def neutralise(text: str) -> tuple[str, int]:
    """The text made harmless, its lines kept, and how many characters were replaced."""
    if text.isascii() and text.isprintable():
        return _without_ids(text)
    replaced = 0

    def character(match: re.Match[str]) -> str:
        nonlocal replaced
        if not is_hidden(match[0]):
            return match[0]
        replaced += 1
        return REPLACED

    if "\r" in text:
        text = _LINE_END.sub("\n", text)
    text, ids = _without_ids(_UNUSUAL.sub(character, text))
    return text, replaced + ids


def _without_ids(text: str) -> tuple[str, int]:
    return _ID_SHAPE.subn(rf"\1{COLON}", text) if _ID_COLON.search(text) else (text, 0)


def neutralise_values(value: Any) -> tuple[Any, int]:
    """The same for every text in a value of JSON's types, names of keys excepted."""
    if isinstance(value, str):
        return neutralise(value)
    if value is None or isinstance(value, (int, float)):
        return value, 0
    if isinstance(value, Mapping):
        harmless, replaced = {}, 0
        for name, item in value.items():
            harmless[name], count = neutralise_values(item)
            replaced += count
        return harmless, replaced
    if isinstance(value, Sequence):
        items = [neutralise_values(item) for item in value]
        return [item for item, _ in items], sum(count for _, count in items)
    return value, 0


def quote_lines(text: str) -> str:
    """Text that spans lines as a quotation: each line begins with `> `, so none can end the quotation."""
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
