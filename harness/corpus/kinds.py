"""What a file is, whatever its name says, and whether it is a document or something that came in its place."""

from pathlib import Path
from typing import TYPE_CHECKING

from harness.corpus.lock import Format
from harness.errors import CorpusError

if TYPE_CHECKING:
    from harness.corpus.html import PageText

_NAMES: dict[Format, str] = {"pdf": "a PDF", "html": "a web page (HTML)", "md": "Markdown"}
_SUFFIXES: dict[str, Format] = {
    ".pdf": "pdf", ".html": "html", ".htm": "html", ".xhtml": "html", ".md": "md", ".markdown": "md",
}  # fmt: skip
_HEAD = 1024
_TAIL = 8192


def kind_of(data: bytes) -> Format | None:
    """PDF, HTML or Markdown by content; None for anything else."""
    head = data[:_HEAD]
    if b"%PDF-" in head:
        return "pdf"
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html")) or b"<html" in head.lower():
        return "html"
    if b"\x00" in data or not data.strip():
        return None
    try:
        data.decode()
    except UnicodeDecodeError:
        return None
    return "html" if start.startswith(b"<") else "md"


def require_kind(file: Path, data: bytes) -> Format:
    """What kind of document the file holds; CorpusError if none, or not what its name says."""
    kind = kind_of(data)
    named = _SUFFIXES.get(file.suffix.lower())
    if kind is None:
        what = "is empty" if not data.strip() else "is neither PDF nor HTML nor Markdown in UTF-8"
        raise CorpusError(f"{file} {what}", "download the document as PDF, or save the page as HTML")
    if named is None:
        raise CorpusError(
            f"{file}: its name ends in none of {', '.join(_SUFFIXES)}", f"it holds {_NAMES[kind]}: rename it"
        )
    if named != kind:
        raise CorpusError(
            f"{file} is named as {_NAMES[named]} and holds {_NAMES[kind]}",
            "a login page may have come in the document's place: open the file, and download the document again"
            if kind == "html"
            else "rename it",
        )
    return kind


def require_whole(place: str, kind: Format, data: bytes) -> "PageText | None":
    """The text of a web page; CorpusError if a PDF breaks off, or a page asks for a login or shows a refusal."""
    if kind == "pdf" and b"%%EOF" not in data[-_TAIL:]:
        raise CorpusError(f"{place} breaks off: the end of the PDF is not there", "download it again")
    if kind == "html":
        from harness.corpus.apart import read_page_apart

        page = read_page_apart(place, data)
        if page.obstacle:
            raise CorpusError(
                f"{place} is not the document: {page.obstacle}",
                "open the address in a browser, download the document there, and add it",
            )
        return page
    return None


def named(kind: Format) -> str:
    """What a person calls it."""
    return _NAMES[kind]
