"""Taking in a document that a person has downloaded."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from harness.corpus.folder import LocalCorpus, read_plain
from harness.corpus.kinds import named, require_kind, require_whole
from harness.corpus.lock import Format, Original, Record, digest, write_whole
from harness.corpus.pdf import PdfText, look_at_pdf
from harness.corpus.plain import as_line
from harness.errors import CorpusError


@dataclass(frozen=True)
class Taken:
    """A document that was taken in: whether it was here already, and what a person should know of it."""

    original: Original
    new: bool
    title: str
    """What it calls itself: the page's title, else the first heading or line of the text."""
    pages: int | None
    remark: str | None


def add_file(
    corpus: LocalCorpus,
    file: Path,
    name: str,
    *,
    replace: bool = False,
    looker: Callable[[Path, str], PdfText] = look_at_pdf,
) -> Taken:
    """Record a downloaded file as the document of that id, and keep a copy of it; `looker` looks at PDFs.

    CorpusError if the id is unknown, the file is no document or a PDF without text, or another one is recorded
    and is not to be replaced. Whether the file is the document that the id stands for is not checked.
    """
    entry = corpus.entry(name)
    if entry.access == "shipped":
        raise CorpusError(f"{name} is a house policy: its text comes with the harness", "leave it as it is")
    data = read_plain(file)
    kind = require_kind(file, data)
    record = corpus.record(name)
    same = record is not None and record.original.sha256 == digest(data)
    if record is not None and not same and not replace:
        raise CorpusError(
            f"{file} is not the document that was recorded as {name} on {record.original.at[:10]}: "
            f"its checksum differs",
            "compare the two; if this edition is to take the other's place, add it again with --replace",
        )
    title, pages = _look(file, name, kind, data, looker)
    original = keep_original(corpus, name, kind, data, by="person")
    remark = None
    if kind != entry.format:
        remark = f"the manifest expects {named(entry.format)}, this is {named(kind)}"
    return Taken(original, new=not same, title=title, pages=pages, remark=remark)


def _look(
    file: Path, name: str, kind: Format, data: bytes, looker: Callable[[Path, str], PdfText]
) -> tuple[str, int | None]:
    """What the file calls itself, and how many pages it has if it is a PDF; CorpusError if it cannot be read."""
    page = require_whole(str(file), kind, data)
    if page is not None:
        return page.title or _first_title(page.markdown), None
    if kind == "md":
        return _first_title(data.decode("utf-8-sig")), None
    body = looker(file, name)
    return _first_title(body.markdown), body.pages


def _first_title(markdown: str) -> str:
    """The first heading, else the first line."""
    lines = [line for line in markdown.splitlines() if line.strip() and not line.startswith("[page ")]
    first = next((line for line in lines if line.startswith("#")), lines[0] if lines else "")
    return as_line(first.lstrip("# "))


def keep_original(
    corpus: LocalCorpus,
    name: str,
    kind: Format,
    data: bytes,
    *,
    by: Literal["script", "person"],
    address: str | None = None,
) -> Original:
    """Put a document's bytes in their place and record them; what is recorded of the same bytes stays."""
    place, record = corpus.original(name, kind), corpus.record(name)
    file = place.relative_to(corpus.path).as_posix()
    write_whole(place, data)
    if (aside := changed_place(corpus, name, kind)).is_file() and aside.read_bytes() == data:
        aside.unlink()
    if record is not None and (record.original.sha256, record.original.file) == (digest(data), file):
        return record.original
    original = Original(
        file=file,
        format=kind,
        sha256=digest(data),
        bytes=len(data),
        by=by,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        address=address,
    )
    corpus.remember(name, Record(original=original, text=record.text if record is not None else None))
    if record is not None and record.original.file != file:
        (corpus.path / record.original.file).unlink(missing_ok=True)
    return original


def changed_place(corpus: LocalCorpus, name: str, kind: Format) -> Path:
    """Where another edition waits that a script has found, for a person to take it or leave it."""
    return corpus.original(name, kind).with_name(f"{name}.changed.{kind}")
