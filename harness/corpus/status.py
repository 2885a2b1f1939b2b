"""Where each document stands, and what to do to have it."""

import os
from dataclasses import dataclass
from typing import Any, Literal

from harness.corpus.folder import LocalCorpus
from harness.corpus.index import is_current, original_gone, text_changed
from harness.errors import CorpusError
from harness.words import counted
from mcp_mimic.policies.corpus import Entry

State = Literal["shipped", "here", "to index", "altered", "to acquire", "to download"]
STATES: dict[State, str] = {
    "shipped": "comes with the harness",
    "here": "its original and its text are here",
    "to index": "its original is here, its text is not, or not as it was made: harness corpus index",
    "altered": "a file has another checksum than was recorded, or is gone: its line says what to do",
    "to acquire": "a script can fetch it: harness corpus acquire",
    "to download": "download it in a browser: harness corpus add FILE --as ID",
}


@dataclass(frozen=True)
class Standing:
    """One document: its state, what it has or lacks, and where its original belongs."""

    entry: Entry
    state: State
    detail: str
    sha256: str | None = None
    sections: int | None = None
    pages: int | None = None
    place: str | None = None

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "id": self.entry.id,
            "state": self.state,
            "title": self.entry.title,
            "publisher": self.entry.publisher,
            "year": self.entry.year,
            "access": self.entry.access,
            "address": address_of(self.entry),
            "licence": self.entry.licence,
            "sha256": self.sha256,
            "sections": self.sections,
            "pages": self.pages,
            "put": self.place,
            "detail": self.detail,
        }


def standings(corpus: LocalCorpus) -> list[Standing]:
    """Every document that the corpus can have, house policies first, then in the manifest's order."""
    return sorted(
        (_standing(corpus, entry) for entry in corpus.entries.values()),
        key=lambda standing: standing.state != "shipped",
    )


def is_fetchable(entry: Entry) -> bool:
    """Whether a script may fetch the document."""
    return entry.access in ("open", "us-government") and entry.url is not None


def address_of(entry: Entry) -> str | None:
    """Where the document is to be had."""
    return entry.url or (f"https://doi.org/{entry.doi}" if entry.doi else None)


def _standing(corpus: LocalCorpus, entry: Entry) -> Standing:
    if entry.access == "shipped":
        return Standing(entry, "shipped", entry.path or "")
    record = corpus.record(entry.id)
    if record is None:
        return _away(corpus, entry)
    place, text = record.original.file, record.text
    sections, pages = (len(text.sections), text.pages) if text is not None else (None, None)

    def standing(state: State, detail: str) -> Standing:
        return Standing(entry, state, detail, record.original.sha256, sections, pages, place)

    try:
        data = corpus.read_original(entry.id)
    except CorpusError as error:
        return standing("altered", _with_remedy(error))
    if data is None:
        return standing("altered", _with_remedy(original_gone(corpus, entry.id)))
    if is_current(corpus, entry.id):
        size = counted(sections or 0, "section") + (f", {counted(pages, 'page')}" if pages else "")
        return standing("here", f"{size}, sha256 {record.original.sha256[:12]}")
    if changed := text_changed(corpus, entry.id):
        return standing("altered", _with_remedy(changed))
    return standing("to index", f"sha256 {record.original.sha256[:12]}")


def _with_remedy(error: CorpusError) -> str:
    return f"{error.message}: {error.remedy}"


def _away(corpus: LocalCorpus, entry: Entry) -> Standing:
    place = corpus.original(entry.id, entry.format)
    below = place.relative_to(corpus.path).as_posix()
    address = address_of(entry) or "no address is known: see the manifest's notes"
    if os.path.lexists(place):
        detail = f"{place} is there, unrecorded: harness corpus add {place} --as {entry.id}"
        return Standing(entry, "to download", detail, place=below)
    return Standing(entry, "to acquire" if is_fetchable(entry) else "to download", address, place=below)
