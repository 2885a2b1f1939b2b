"""Lines of a PDF as Markdown: in reading order, with headings and pages.

A heading is what the document's outline names, else what is set larger than the text, or in bold on lines of
its own before a paragraph. Running heads, which recur in the margins of pages, are left out. A page is told
by a line `[page 3]` where it begins and under each heading.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from harness.corpus.plain import as_line, escape_line

_MARGIN = 0.1
_LONGEST_HEADING, _MOST_HEADING_LINES = 200, 4
_LARGER = 1.12
_NUMBERED = re.compile(r"(\d+(?:\.\d+)*)[.)]?\s+\S")
_BROKEN_WORD = re.compile(r"([^\W\d_]+)-$")


@dataclass(frozen=True)
class Line:
    """One line as it is set: `block` numbers the text boxes of the page, `top` goes from 0 down to 1."""

    page: int
    block: int
    top: float
    text: str
    size: float
    bold: bool


@dataclass(frozen=True)
class Heading:
    """A heading, where it stands; `level` 2 to 6."""

    level: int
    title: str
    page: int


def lay_out(lines: Iterable[Line], outline: Sequence[Heading] = ()) -> str:
    """The lines of a document, in its order, as Markdown; `outline` are the headings that it names itself."""
    return _markdown(_without_running_heads(_numbered_blocks(lines)), outline)


def _numbered_blocks(lines: Iterable[Line]) -> list[Line]:
    """The lines with blocks numbered over the whole document."""
    numbered = groupby(lines, key=lambda line: (line.page, line.block))
    return [replace(line, block=place) for place, (_, group) in enumerate(numbered) for line in group]


def _without_running_heads(lines: Sequence[Line]) -> list[Line]:
    """Without what recurs in the margins of three pages or more, and without bare page numbers there."""
    seen: dict[str, set[int]] = {}
    for line in lines:
        if _in_margin(line):
            seen.setdefault(_shape(line), set()).add(line.page)
    return [
        line
        for line in lines
        if not _in_margin(line) or (_shape(line) not in ("", "page") and len(seen[_shape(line)]) < 3)
    ]


def _in_margin(line: Line) -> bool:
    return line.top < _MARGIN or line.top > 1 - _MARGIN


def _shape(line: Line) -> str:
    """The text as far as it is the same on every page."""
    return re.sub(r"[\W\d_]+", "", line.text.lower())


# headings


def _markdown(lines: Sequence[Line], outline: Sequence[Heading]) -> str:
    words = Counter(
        word.lower() for line in lines for word in re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", line.text)
    )
    parts: list[str] = []
    page = 0
    for element in _elements(lines, outline):
        if isinstance(element, Heading):
            parts.append(f"{'#' * element.level} {element.title}")
            parts.append(f"[page {element.page}]")
            page = element.page
            continue
        if element[0].page != page:
            page = element[0].page
            parts.append(f"[page {page}]")
        parts.append("\n".join(escape_line(line) for line in _joined([line.text for line in element], words)))
    return "\n\n".join(parts)


def _elements(lines: Sequence[Line], outline: Sequence[Heading]) -> Iterator[Heading | list[Line]]:
    """Headings and blocks of text, in reading order."""
    named = _named_by_outline(lines, outline)
    styles = _Styles.of(lines, bold=len(named) < 5)
    blocks = [list(group) for _, group in groupby(enumerate(lines), key=lambda each: each[1].block)]
    for place, block in enumerate(blocks):
        after = len("".join(line.text for _, line in blocks[place + 1])) if place + 1 < len(blocks) else 0
        text: list[Line] = []
        position = 0
        while position < len(block):
            number, line = block[position]
            rest = [each for _, each in block[position:]]
            found = named.get(number) or styles.heading(rest, after, begins=not text)
            if found is None:
                text.append(line)
                position += 1
                continue
            if text:
                yield text
            text = []
            heading, length = found
            yield heading
            position += length
        if text:
            yield text


@dataclass(frozen=True)
class _Styles:
    """How the document sets its text and its headings."""

    body: float
    levels: dict[float, int]
    bold: bool

    @classmethod
    def of(cls, lines: Sequence[Line], *, bold: bool) -> "_Styles":
        """Body text is the size of most characters; larger sizes are levels, the largest first."""
        sizes: Counter[float] = Counter()
        for line in lines:
            sizes[line.size] += len(line.text)
        body = sizes.most_common(1)[0][0]
        larger = sorted((size for size in sizes if size >= _LARGER * body), reverse=True)
        return cls(body, {size: min(2 + place, 4) for place, size in enumerate(larger)}, bold)

    def heading(self, lines: Sequence[Line], after: int, *, begins: bool) -> tuple[Heading, int] | None:
        """The heading that the block's lines begin with, and how many of them it takes; None if with none.

        `after` is the length of the block that follows, `begins` that nothing stands before them in theirs.
        """
        first = lines[0]
        own = [line for line in _while_same(lines) if line.page == first.page]
        title = as_line(" ".join(line.text for line in own))
        if len(own) > _MOST_HEADING_LINES or not could_be_heading(title):
            return None
        number = _NUMBERED.match(title)
        level = self.levels.get(first.size)
        if level is None:
            following = sum(len(line.text) for line in lines[len(own) :]) or after
            if not (self.bold and first.bold and begins and first.size >= self.body and following >= 80):
                return None
            if title.endswith(".") or (number is None and " " not in title and not title.isupper()):
                return None
            level = 5
        if number is not None and "." in number[1]:
            level = min(2 + number[1].count("."), 6)
        return Heading(level, title, first.page), len(own)


def _while_same(lines: Sequence[Line]) -> Iterator[Line]:
    for line in lines:
        if (line.size, line.bold) != (lines[0].size, lines[0].bold):
            return
        yield line


def could_be_heading(title: str) -> bool:
    """Whether a line could be a title: letters for the most part, not too long, no part of a sentence."""
    letters = sum(character.isalpha() for character in title)
    return (
        letters >= 3
        and 2 * letters >= len(title)
        and len(title) <= _LONGEST_HEADING
        and not title.endswith((",", ";"))
        and (title[0].isupper() or title[0].isdigit())
    )


def _named_by_outline(lines: Sequence[Line], outline: Sequence[Heading]) -> dict[int, tuple[Heading, int]]:
    """Place of a line → the heading of the outline that begins there, and how many lines it takes."""
    by_page: dict[int, list[int]] = {}
    for place, line in enumerate(lines):
        by_page.setdefault(line.page, []).append(place)
    found: dict[int, tuple[Heading, int]] = {}
    for entry in outline:
        wanted = _letters(entry.title)
        for place in by_page.get(entry.page, ()):
            block = [
                line
                for line in lines[place : place + _MOST_HEADING_LINES]
                if line.block == lines[place].block
            ]
            spans = (span for span in range(1, len(block) + 1) if _span(block, span) == wanted)
            if wanted and place not in found and (length := next(spans, None)) is not None:
                found[place] = (entry, length)
                break
    return found


def _span(block: Sequence[Line], length: int) -> str:
    return _letters("".join(line.text for line in block[:length]))


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.lower())


# words


def _joined(lines: Sequence[str], words: Counter[str]) -> list[str]:
    """The lines, with words whole that were broken at a line's end.

    The hyphen stays if the document writes the word with it elsewhere, and not without.
    """
    whole: list[str] = []
    for line in lines:
        broken = _BROKEN_WORD.search(whole[-1]) if whole else None
        if broken is None or not line[:1].islower():
            whole.append(line)
            continue
        second, _, rest = line.partition(" ")
        bare = re.match(r"[^\W\d_]+", second)
        tail = bare[0] if bare else second
        plain, hyphened = f"{broken[1]}{tail}".lower(), f"{broken[1]}-{tail}".lower()
        keep = words[hyphened] > 0 and not words[plain]
        whole[-1] = f"{whole[-1] if keep else whole[-1][:-1]}{second}"
        if rest:
            whole.append(rest)
    return whole
