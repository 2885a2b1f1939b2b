"""A PDF as Markdown: its text in reading order, with headings and pages.

A heading is what the document's outline names, else what is set larger than the text, or in bold on lines of
its own before a paragraph. Running heads, which recur in the margins of pages, are left out. A page is told
by a line `[page 3]` where it begins and under each heading.
"""

import logging
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from pdfminer.high_level import extract_pages
from pdfminer.layout import LAParams, LTChar, LTContainer, LTCurve, LTImage, LTPage, LTTextBox, LTTextLine
from pdfminer.pdfdocument import PDFDocument, PDFPasswordIncorrect
from pdfminer.pdfexceptions import PDFException
from pdfminer.pdfpage import PDFPage
from pdfminer.pdfparser import PDFParser
from pdfminer.pdftypes import resolve1
from pdfminer.psexceptions import PSException

from harness.corpus.plain import as_line, escape_line
from harness.errors import CorpusError
from harness.words import counted

MOST_PAGES = 2000
_FIRST_PAGES = 10
_MARGIN = 0.1
_LONGEST_HEADING, _MOST_HEADING_LINES = 200, 4
_LARGER = 1.12
_LETTERS_A_PAGE = 20
_NUMBERED = re.compile(r"(\d+(?:\.\d+)*)[.)]?\s+\S")
_BROKEN_WORD = re.compile(r"([^\W\d_]+)-$")
_UNREADABLE = re.compile(r"\(cid:\d+\)")


@dataclass(frozen=True)
class _Line:
    """One line as it is set: `block` numbers the text boxes of the document, `top` goes from 0 down to 1."""

    page: int
    block: int
    top: float
    text: str
    size: float
    bold: bool


@dataclass(frozen=True)
class _Heading:
    level: int
    title: str
    page: int


@dataclass(frozen=True)
class PdfText:
    """The Markdown of a PDF, below its title, and how many pages it has."""

    markdown: str
    pages: int


def read_pdf(file: Path, name: str) -> PdfText:
    """The text of a PDF, the document of that id; CorpusError if it cannot be read or holds none."""
    with _told(file):
        read = _read(file, MOST_PAGES + 1)
        outline = _outline(file)
    if read.pages > MOST_PAGES:
        raise _too_long(file)
    _require_text(file, name, read)
    kept = _without_running_heads(_numbered_blocks(read.lines))
    return PdfText(_markdown(kept, outline), read.pages)


def look_at_pdf(file: Path, name: str) -> PdfText:
    """As `read_pdf`, but of the first pages alone if they hold text; the number of pages is the whole file's."""
    with _told(file):
        pages = _count_pages(file)
        if pages > MOST_PAGES:
            raise _too_long(file)
        read = _read(file, _FIRST_PAGES)
    if _lacks_text(read):
        return read_pdf(file, name)
    return PdfText(_markdown(_without_running_heads(_numbered_blocks(read.lines)), ()), pages)


@contextmanager
def _told(file: Path) -> Iterator[None]:
    """CorpusError for what the reader of PDFs raises."""
    logging.getLogger("pdfminer").setLevel(logging.ERROR)
    try:
        yield
    except PDFPasswordIncorrect as error:
        raise CorpusError(
            f"{file} is locked with a password", "save a copy without one, and add that with --replace"
        ) from error
    except (PDFException, PSException, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise CorpusError(
            f"{file} cannot be read as PDF: {type(error).__name__}: {as_line(str(error))[:200]}",
            "download it again, or print it to a new PDF, and add that with --replace",
        ) from error


def _too_long(file: Path) -> CorpusError:
    return CorpusError(f"{file} has more than {MOST_PAGES} pages", "take a part of the document")


@dataclass
class _Read:
    """What was read of the pages, and whether anything was seen on them besides letters."""

    lines: list[_Line]
    pages: int = 0
    images: bool = False
    drawings: bool = False


def _read(file: Path, most: int) -> _Read:
    """The lines of so many pages at most; a page's layout is let go once it is read."""
    read = _Read([])
    for page in extract_pages(file, laparams=LAParams(), maxpages=most):
        read.pages += 1
        read.lines += _lines(page, read.pages)
        read.images = read.images or _holds(page, LTImage)
        read.drawings = read.drawings or _holds(page, LTCurve)
    return read


def _holds(element: object, kind: type[LTImage] | type[LTCurve]) -> bool:
    """Whether the element is of the kind, or has one in it."""
    return isinstance(element, kind) or (
        isinstance(element, LTContainer)
        and not isinstance(element, LTTextBox)
        and any(_holds(part, kind) for part in element)
    )


def _count_pages(file: Path) -> int:
    """How many pages there are, up to one more than may be read."""
    with file.open("rb") as data:
        pages = PDFPage.create_pages(PDFDocument(PDFParser(data)))
        return sum(1 for _ in islice(pages, MOST_PAGES + 1))


def _lacks_text(read: _Read) -> bool:
    text = "".join(line.text for line in read.lines)
    return _letters_in(text) < _LETTERS_A_PAGE * max(read.pages, 1) or _unreadable_in(text) > len(text) / 5


def _letters_in(text: str) -> int:
    return sum(character.isalpha() for character in _UNREADABLE.sub("", text))


def _unreadable_in(text: str) -> int:
    return sum(len(found[0]) for found in _UNREADABLE.finditer(text))


def _require_text(file: Path, name: str, read: _Read) -> None:
    """CorpusError if all but no text was read, with what was seen in its place."""
    if not _lacks_text(read):
        return
    text = "".join(line.text for line in read.lines)
    if _unreadable_in(text) > _letters_in(text):
        what = "its fonts do not say which letters they draw"
    elif read.images:
        what = "it is scanned images"
    elif read.drawings:
        what = "it is drawn, not written"
    else:
        what = "it is all but empty"
    raise CorpusError(
        f"{file}: no text can be read on its {counted(read.pages, 'page')}: {what}",
        f"recognise its text, for example with `ocrmypdf --force-ocr {shlex.quote(str(file))} with-text.pdf`, look "
        f"it through, and add that: harness corpus add with-text.pdf --as {name} --replace",
    )


# lines


def _lines(page: LTPage, number: int) -> Iterator[_Line]:
    for block, box in enumerate(element for element in page if isinstance(element, LTTextBox)):
        for line in box:
            if isinstance(line, LTTextLine) and (found := _line(line, page, number, block)) is not None:
                yield found


def _line(line: LTTextLine, page: LTPage, number: int, block: int) -> _Line | None:
    characters = [each for each in line if isinstance(each, LTChar) and not each.get_text().isspace()]
    if not characters:
        return None
    sizes = Counter(round(each.size * 2) / 2 for each in characters)
    size = max(sizes, key=lambda each: (sizes[each], each))
    main = [each for each in characters if each.size > 0.85 * size]
    baseline = Counter(round(each.y0, 1) for each in main).most_common(1)[0][0]
    text = as_line("".join(_raised(line, size, baseline)))
    bold = sum("bold" in each.fontname.lower() or "black" in each.fontname.lower() for each in characters)
    top = (page.y1 - line.y1) / max(page.height, 1)
    return _Line(number, block, top, text, size, bold > 0.9 * len(characters)) if text else None


def _raised(line: LTTextLine, size: float, baseline: float) -> Iterator[str]:
    """The line's characters; a caret before small ones that are set higher: 10^9 would else read as 109."""
    up = False
    for each in line:
        if isinstance(each, LTChar) and not each.get_text().isspace():
            raised = each.size <= 0.8 * size and each.y0 > baseline + 0.2 * size
            if raised and not up:
                yield "^"
            up = raised
        yield each.get_text() if hasattr(each, "get_text") else ""


def _numbered_blocks(lines: Iterable[_Line]) -> list[_Line]:
    """The lines with blocks numbered over the whole document."""
    numbered = groupby(lines, key=lambda line: (line.page, line.block))
    return [replace(line, block=place) for place, (_, group) in enumerate(numbered) for line in group]


def _without_running_heads(lines: Sequence[_Line]) -> list[_Line]:
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


def _in_margin(line: _Line) -> bool:
    return line.top < _MARGIN or line.top > 1 - _MARGIN


def _shape(line: _Line) -> str:
    """The text as far as it is the same on every page."""
    return re.sub(r"[\W\d_]+", "", line.text.lower())


# headings


def _markdown(lines: Sequence[_Line], outline: Sequence[_Heading]) -> str:
    words = Counter(
        word.lower() for line in lines for word in re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", line.text)
    )
    parts: list[str] = []
    page = 0
    for element in _elements(lines, outline):
        if isinstance(element, _Heading):
            parts.append(f"{'#' * element.level} {element.title}")
            parts.append(f"[page {element.page}]")
            page = element.page
            continue
        if element[0].page != page:
            page = element[0].page
            parts.append(f"[page {page}]")
        parts.append("\n".join(escape_line(line) for line in _joined([line.text for line in element], words)))
    return "\n\n".join(parts)


def _elements(lines: Sequence[_Line], outline: Sequence[_Heading]) -> Iterator[_Heading | list[_Line]]:
    """Headings and blocks of text, in reading order."""
    named = _named_by_outline(lines, outline)
    styles = _Styles.of(lines, bold=len(named) < 5)
    blocks = [list(group) for _, group in groupby(enumerate(lines), key=lambda each: each[1].block)]
    for place, block in enumerate(blocks):
        after = len("".join(line.text for _, line in blocks[place + 1])) if place + 1 < len(blocks) else 0
        text: list[_Line] = []
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
    def of(cls, lines: Sequence[_Line], *, bold: bool) -> "_Styles":
        """Body text is the size of most characters; larger sizes are levels, the largest first."""
        sizes: Counter[float] = Counter()
        for line in lines:
            sizes[line.size] += len(line.text)
        body = sizes.most_common(1)[0][0]
        larger = sorted((size for size in sizes if size >= _LARGER * body), reverse=True)
        return cls(body, {size: min(2 + place, 4) for place, size in enumerate(larger)}, bold)

    def heading(self, lines: Sequence[_Line], after: int, *, begins: bool) -> tuple[_Heading, int] | None:
        """The heading that the block's lines begin with, and how many of them it takes; None if with none.

        `after` is the length of the block that follows, `begins` that nothing stands before them in theirs.
        """
        first = lines[0]
        own = [line for line in _while_same(lines) if line.page == first.page]
        title = as_line(" ".join(line.text for line in own))
        if len(own) > _MOST_HEADING_LINES or not _could_be_heading(title):
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
        return _Heading(level, title, first.page), len(own)


def _while_same(lines: Sequence[_Line]) -> Iterator[_Line]:
    for line in lines:
        if (line.size, line.bold) != (lines[0].size, lines[0].bold):
            return
        yield line


def _could_be_heading(title: str) -> bool:
    letters = sum(character.isalpha() for character in title)
    return (
        letters >= 3
        and 2 * letters >= len(title)
        and len(title) <= _LONGEST_HEADING
        and not title.endswith((",", ";"))
        and (title[0].isupper() or title[0].isdigit())
    )


def _named_by_outline(lines: Sequence[_Line], outline: Sequence[_Heading]) -> dict[int, tuple[_Heading, int]]:
    """Place of a line → the heading of the outline that begins there, and how many lines it takes."""
    by_page: dict[int, list[int]] = {}
    for place, line in enumerate(lines):
        by_page.setdefault(line.page, []).append(place)
    found: dict[int, tuple[_Heading, int]] = {}
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


def _span(block: Sequence[_Line], length: int) -> str:
    return _letters("".join(line.text for line in block[:length]))


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.lower())


def _outline(file: Path) -> list[_Heading]:
    """The entries of the document's outline that lead to a page; none if it has no outline or a broken one."""
    with file.open("rb") as data:
        document = PDFDocument(PDFParser(data))
        numbers = {page.pageid: number for number, page in enumerate(PDFPage.create_pages(document), start=1)}
        headings = []
        try:
            for level, title, dest, action, _ in document.get_outlines():
                page = numbers.get(_target(document, dest, resolve1(action)), 0)
                text = as_line(title) if isinstance(title, str) else ""
                if page and _could_be_heading(text):
                    headings.append(_Heading(min(level + 1, 6), text, page))
        except (PDFException, PSException, ValueError, TypeError, KeyError, IndexError, AttributeError):
            return []
    return headings


def _target(document: PDFDocument, dest: Any, action: Any) -> int:
    """The object number of the page that an outline's entry leads to; 0 if it leads to none."""
    if dest is None and isinstance(action, dict):
        dest = action.get("D")
    dest = resolve1(dest)
    if isinstance(dest, bytes | str):
        dest = resolve1(document.get_dest(dest))
    elif hasattr(dest, "name"):
        dest = resolve1(document.get_dest(dest.name))
    if isinstance(dest, dict):
        dest = resolve1(dest.get("D"))
    return int(getattr(dest[0], "objid", 0)) if isinstance(dest, list) and dest else 0


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
