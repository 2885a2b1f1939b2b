"""Originals become Markdown: one text each, cut at its headings into sections that can be cited."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.corpus.apart import read_page_apart
from harness.corpus.folder import LocalCorpus, read_plain
from harness.corpus.lock import Format, Record, SectionRecord, Text, digest, write_whole
from harness.corpus.pdf import PdfText, read_pdf
from harness.errors import CorpusError
from mcp_mimic.policies.corpus import Entry
from mcp_mimic.policies.markdown import policy_sections

EXTRACTOR = 2
"""To be raised whenever the same original would become another text: all are then made anew."""

_LARGEST_TEXT = 8_000_000
_PAGE = re.compile(r"^\[page (\d+)\]$", re.MULTILINE)
_UNHEADED = 20_000


@dataclass(frozen=True)
class Indexed:
    """What became of one document: its sections, and what a person should know of them."""

    name: str
    outcome: Literal["made", "unchanged", "failed"]
    sections: int = 0
    remarks: tuple[str, ...] = ()
    error: CorpusError | None = None


def index_corpus(
    corpus: LocalCorpus,
    names: Iterable[str] = (),
    *,
    again: bool = False,
    tell: Callable[[Indexed], None] = lambda _done: None,
    reader: Callable[[Path, str], PdfText] = read_pdf,
) -> list[Indexed]:
    """Make the text of each document whose original is new or changed, of the named ones or of all.

    A document that cannot be read does not keep the others back; its error is told. `reader` reads PDFs.
    CorpusError if a name is unknown or its original is not here.
    """
    chosen = sorted({corpus.entry(name).id for name in names} or corpus.lock.documents)
    for name in chosen:
        if corpus.record(name) is None:
            raise CorpusError(f"{name} is not here", "`harness corpus status` says how to get it")
    done = []
    for name in chosen:
        try:
            found = _index(corpus, corpus.entry(name), reader, again=again)
        except CorpusError as error:
            found = Indexed(name, "failed", error=error)
        tell(found)
        done.append(found)
    return done


def is_current(corpus: LocalCorpus, name: str) -> bool:
    """Whether the document's text is there, and is what was made of its original by this extractor."""
    record, file = corpus.record(name), corpus.text(name)
    return (
        record is not None
        and record.text is not None
        and (record.text.original, record.text.extractor) == (record.original.sha256, EXTRACTOR)
        and file.is_file()
        and digest(file.read_bytes()) == record.text.sha256
    )


def original_gone(corpus: LocalCorpus, name: str) -> CorpusError:
    """What to say of a recorded document whose original is not here."""
    place = corpus.original(name, corpus.lock.documents[name].original.format)
    return CorpusError(
        f"{place} is gone",
        f"put it back, or download it again: harness corpus add FILE --as {name}, with --replace if it is another "
        f"edition",
    )


def text_changed(corpus: LocalCorpus, name: str) -> CorpusError | None:
    """What to say of a text that is neither as it was made nor what was then added as the original."""
    record, file = corpus.record(name), corpus.text(name)
    if record is None or record.text is None or not file.is_file():
        return None
    if digest(read_plain(file)) in (record.text.sha256, record.original.sha256):
        return None
    return CorpusError(
        f"{file} was changed by hand since it was made",
        f"make it anew: harness corpus index {name} --again; or let it be the document itself: "
        f"harness corpus add {file} --as {name} --replace",
    )


def _index(
    corpus: LocalCorpus, entry: Entry, reader: Callable[[Path, str], PdfText], *, again: bool
) -> Indexed:
    record, file = corpus.lock.documents[entry.id], corpus.text(entry.id)
    data = corpus.read_original(entry.id)
    before = record.text
    if before is not None and is_current(corpus, entry.id) and not again:
        return Indexed(entry.id, "unchanged", len(before.sections))
    if data is None:
        raise original_gone(corpus, entry.id)
    if not again and (changed := text_changed(corpus, entry.id)):
        raise changed
    text, pages = _text(corpus.path / record.original.file, record.original.format, data, entry, reader)
    if len(text.encode()) > _LARGEST_TEXT:
        raise CorpusError(
            f"{entry.id}: its text has more than {_LARGEST_TEXT:,} bytes", "add the part of it that is needed"
        )
    sections = sections_of(text)
    write_whole(file, text.encode())
    made = Text(
        sha256=digest(text.encode()),
        original=record.original.sha256,
        extractor=EXTRACTOR,
        pages=pages,
        sections=sections,
    )
    corpus.remember(entry.id, Record(original=record.original, text=made))
    return Indexed(entry.id, "made", len(sections), tuple(_remarks(before, made, text)))


def _text(
    file: Path, form: Format, data: bytes, entry: Entry, reader: Callable[[Path, str], PdfText]
) -> tuple[str, int | None]:
    """The whole Markdown of an original and its number of pages, if it has pages."""
    pages = None
    if form == "pdf":
        body = reader(file, entry.id)
        markdown, pages = body.markdown, body.pages
    elif form == "html":
        markdown = read_page_apart(str(file), data).markdown
    else:
        return data.decode().replace("\r\n", "\n").replace("\r", "\n"), None
    return f"# {entry.title}\n\n{markdown.strip()}\n", pages


def sections_of(text: str) -> tuple[SectionRecord, ...]:
    """The sections of a text as the chart server cuts it, with the page that each begins on."""
    found, page = [], None
    for section in policy_sections(text):
        marks = _PAGE.findall(text[section.start : section.end])
        first = int(marks[0]) if marks else page
        page = int(marks[-1]) if marks else page
        found.append(SectionRecord(id=section.id, title=section.title, page=first))
    return tuple(found)


def _remarks(before: Text | None, made: Text, text: str) -> Iterable[str]:
    if len(made.sections) == 1 and len(text) > _UNHEADED:
        yield "no headings were found: it is one section, cited by its parts (#0.p2)"
    if before is not None:
        gone = [
            section.id for section in before.sections if section.id not in {new.id for new in made.sections}
        ]
        if gone:
            yield f"sections that were there before and are not now: {', '.join(gone[:10])}"
