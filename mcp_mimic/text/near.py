"""What somebody may have meant who wrote a word that is not known."""

from collections.abc import Iterable
from difflib import get_close_matches

_CLOSE = 0.6


def did_you_mean(given: str, known: Iterable[str], *, most: int = 1) -> str:
    """`did you mean x or y?` of the known words that are close, in any case, at most so many; nothing if none is."""
    words = {word.lower(): word for word in known}
    close = get_close_matches(given.lower(), words, n=most, cutoff=_CLOSE)
    return f"did you mean {' or '.join(words[word] for word in close)}?" if close else ""
