"""What a text search compares: words, folded, and terms made of them.

A word is a run of letters and digits in any case; everything else, `___` included, only parts words, and
characters that do not show are left out, but for those that are blanks. A text is folded to its words with one
blank between two and one at either end, so that a term of whole words is a piece of the folded text, and so is
one with an open end. Each character folds the same whatever stands around it, so that a text's beginning folds
to the beginning of its folded form.
"""

import re
from typing import NamedTuple

from mcp_mimic.contract import SHORTEST_PART
from mcp_mimic.errors import ToolError
from mcp_mimic.text.neutral import is_hidden

MOST_TERMS = 20

_WORD = re.compile(r"[^\W_]+")
_TERM = re.compile(r'"([^"]*)"?|([^\s"]+)')
_EXAMPLE = 'write words, "words in a row", or a part of a word such as metopr* or *pril'


def fold(text: str) -> str:
    """` word word … word `; a single blank if there is no word."""
    found = words(text)
    return f" {' '.join(found)} " if found else " "


def words(text: str) -> list[str]:
    """The words of a text in order, case folded."""
    if text.isascii():
        return spaced(text).split()
    return _WORD.findall(_shown(text).casefold())


def spaced(text: str) -> str:
    """An ASCII text in lower case, with blanks for all but letters and digits, and without what does not show.

    If nothing was left out, it is as long as the text and its words stand where they stood.
    """
    return text.lower().translate(_ASCII_WORDS)


def _shown(text: str) -> str:
    return "".join(character for character in text if not _is_left_out(character))


def _is_left_out(character: str) -> bool:
    return not character.isspace() and is_hidden(character)


_ASCII_WORDS = {
    code: None if _is_left_out(chr(code)) else " " for code in range(128) if not chr(code).isalnum()
}


class Term(NamedTuple):
    """What is looked for: `piece` of a folded text. Without a blank at an end, a word may go on there."""

    piece: str

    def occurrences(self, folded: str, first: int = 0) -> list[int]:
        """Where the term begins in a folded text, from `first` on."""
        piece, step = self.piece, max(len(self.piece.rstrip()), 1)
        found: list[int] = []
        position = folded.find(piece, first)
        while position >= 0:
            found.append(position)
            position = folded.find(piece, position + step)
        return found

    def __str__(self) -> str:
        """The term as it can be asked for again."""
        text = self.piece.strip()
        text = f"{'' if self.piece.startswith(' ') else '*'}{text}{'' if self.piece.endswith(' ') else '*'}"
        return f'"{text}"' if " " in text else text


def parse_query(query: str) -> tuple[Term, ...]:
    """The distinct terms of a query, in order; ToolError if it has none, too many or too short ones."""
    terms: dict[Term, None] = {}
    for match in _TERM.finditer(query):
        asked = (match[1] if match[1] is not None else match[2]).strip()
        found = words(asked)
        if not found:
            continue
        open_start, open_end = asked.startswith("*"), asked.endswith("*")
        if (open_start or open_end) and len("".join(found)) < SHORTEST_PART:
            raise ToolError(
                "a part of a word needs three letters or more",
                _EXAMPLE,
                code="query",
            )
        piece = f"{'' if open_start else ' '}{' '.join(found)}{'' if open_end else ' '}"
        terms[Term(piece)] = None
    if not terms:
        raise ToolError("the query has no word", _EXAMPLE, code="query")
    if len(terms) > MOST_TERMS:
        raise ToolError(
            f"the query has {len(terms)} terms, more than {MOST_TERMS}", "ask in several calls", code="query"
        )
    return tuple(terms)
