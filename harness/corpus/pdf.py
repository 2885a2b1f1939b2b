"""A PDF as Markdown: what is read of its pages and of its outline, or why no text can be read."""

import logging
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
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

from harness.corpus.pdf_layout import Heading, Line, could_be_heading, lay_out
from harness.corpus.plain import as_line
from harness.errors import CorpusError
from harness.words import counted

MOST_PAGES = 2000
_FIRST_PAGES = 10
_LETTERS_A_PAGE = 20
_UNREADABLE = re.compile(r"\(cid:\d+\)")


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
    return PdfText(lay_out(read.lines, outline), read.pages)


def look_at_pdf(file: Path, name: str) -> PdfText:
    """As `read_pdf`, but of the first pages alone if they hold text; the number of pages is the whole file's."""
    with _told(file):
        pages = _count_pages(file)
        if pages > MOST_PAGES:
            raise _too_long(file)
        read = _read(file, _FIRST_PAGES)
    if _lacks_text(read):
        return read_pdf(file, name)
    return PdfText(lay_out(read.lines), pages)


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

    lines: list[Line]
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


def _lines(page: LTPage, number: int) -> Iterator[Line]:
    for block, box in enumerate(element for element in page if isinstance(element, LTTextBox)):
        for line in box:
            if isinstance(line, LTTextLine) and (found := _line(line, page, number, block)) is not None:
                yield found


def _line(line: LTTextLine, page: LTPage, number: int, block: int) -> Line | None:
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
    return Line(number, block, top, text, size, bold > 0.9 * len(characters)) if text else None


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


# outline


def _outline(file: Path) -> list[Heading]:
    """The entries of the document's outline that lead to a page; none if it has no outline or a broken one."""
    with file.open("rb") as data:
        document = PDFDocument(PDFParser(data))
        numbers = {page.pageid: number for number, page in enumerate(PDFPage.create_pages(document), start=1)}
        headings = []
        try:
            for level, title, dest, action, _ in document.get_outlines():
                page = numbers.get(_target(document, dest, resolve1(action)), 0)
                text = as_line(title) if isinstance(title, str) else ""
                if page and could_be_heading(text):
                    headings.append(Heading(min(level + 1, 6), text, page))
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
