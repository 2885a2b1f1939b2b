"""Lines of text that come from a document, made fit to stand in Markdown that is cut at its headings."""

import re

_LIGATURES = str.maketrans(
    {
        "ﬀ": "ff",
        "ﬁ": "fi",
        "ﬂ": "fl",
        "ﬃ": "ffi",
        "ﬄ": "ffl",
        "ﬅ": "st",
        "ﬆ": "st",
        "\u00ad": None,
        "\u00a0": " ",
    }
)
_STRUCTURE = re.compile(r"( {0,3})(#{1,6}(?:\s|$)|`{3,}|~{3,})")


def as_line(text: str) -> str:
    """The text on one line: white space folded, ligatures as letters, soft hyphens gone."""
    return " ".join(text.translate(_LIGATURES).split())


def escape_line(line: str) -> str:
    """The line with a backslash before what would be read as a heading or as the fence of code."""
    return _STRUCTURE.sub(r"\1\\\2", line, count=1) if _STRUCTURE.match(line) else line
