"""Which verdict a report's answer headings give, by the report grammar.

Unicode is folded by NFKC, emphasis marks are removed, any dash is a hyphen, white space is folded, one final
full stop is dropped, case does not matter. Nothing else is forgiven: a look-alike letter of another script or
an invisible character makes the answer an unknown one.
"""

import re
import unicodedata
from collections.abc import Iterable

from harness.scoring.blocks import Block

ACCEPTED = {
    "yes": "yes",
    "no": "no",
    "indeterminate - lack of data": "lack_of_data",
    "indeterminate - medical ambiguity": "medical_ambiguity",
}
"""The four accepted texts, normalised, and the verdict that each stands for."""

_MARKS = str.maketrans("", "", "*_`")
_ANSWER = re.compile(r"answer ?:(.*)")
_OTHER_DASHES = "\u2212\u2043"  # minus sign and hyphen bullet are dashes to the eye, not to Unicode


def normalise(text: str) -> str:
    """The text as the grammar compares it, its final full stop still there."""
    text = unicodedata.normalize("NFKC", text).translate(_MARKS)
    text = "".join("-" if _is_dash(character) else character for character in text)
    return " ".join(text.split()).lower()


def _is_dash(character: str) -> bool:
    return character in _OTHER_DASHES or unicodedata.category(character) == "Pd"


def find_answers(blocks: Iterable[Block]) -> tuple[str, ...]:
    """What follows `Answer:` in every answer heading outside quotations, normalised, in order."""
    headings = (normalise(block.text) for block in blocks if block.kind == "heading" and not block.quoted)
    matches = (_ANSWER.fullmatch(heading) for heading in headings)
    return tuple(match[1].strip().removesuffix(".").rstrip() for match in matches if match)


def judge_answers(answers: Iterable[str]) -> tuple[str | None, str | None]:
    """(verdict, None) if the answers are one accepted verdict, else (None, problem).

    Problems: no_answer, conflicting_answers (two accepted verdicts differ), unknown_answer (one is not
    accepted, even beside a good one).
    """
    verdicts = [ACCEPTED.get(answer) for answer in answers]
    known = {verdict for verdict in verdicts if verdict is not None}
    if not verdicts:
        return None, "no_answer"
    if len(known) > 1:
        return None, "conflicting_answers"
    if None in verdicts:
        return None, "unknown_answer"
    return known.pop(), None
