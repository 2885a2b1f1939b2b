"""A folder of policy documents: `manifest.toml` names them, each with the file that holds its text.

The text that is served is Markdown, whatever the original's `format`: a document that comes as PDF or HTML is
there once its manifest entry names a Markdown file made of it. An entry without a file is known, not here.
"""

import errno
import os
import stat
import tomllib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from mcp_mimic.errors import SettingsError
from mcp_mimic.policies.markdown import PolicySection, policy_sections
from mcp_mimic.text.passages import Passage
from mcp_mimic.text.prose import Prose
from mcp_mimic.text.sections import Section
from mcp_mimic.text.slips import first_slip

MANIFEST = "manifest.toml"
DOCUMENT_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$"
_MAX_BYTES = 8_000_000
_REMEDY = "name a folder with a manifest.toml and its documents with --corpus"


class Entry(BaseModel):
    """One document as the manifest names it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=DOCUMENT_ID)
    title: str
    publisher: str
    year: int | None = None
    version: str | None = None
    doi: str | None = None
    url: str | None = None
    path: str | None = None
    access: Literal["shipped", "open", "browser", "us-government"]
    licence: str
    format: Literal["md", "html", "pdf"]
    language: str
    topics: tuple[str, ...] = ()
    used_by: tuple[str, ...] = ()
    verified: bool | None = None
    notes: str | None = None

    @field_validator("path")
    @classmethod
    def _inside(cls, path: str | None) -> str | None:
        if path is None:
            return path
        parts = Path(path).parts
        if not parts or ".." in parts or Path(path).is_absolute() or "\0" in path:
            raise ValueError("a path lies inside the corpus folder")
        return path


class _Heading(BaseModel):
    model_config = ConfigDict(extra="forbid")

    schema_: Literal[1] = Field(alias="schema")
    compiled: object = None
    documents: int | None = None


class _Manifest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    manifest: _Heading
    document: tuple[Entry, ...] = ()


class Document:
    """One document with its text, cut into sections, long ones into parts of their own ids."""

    def __init__(self, entry: Entry, text: str) -> None:
        self.entry = entry
        self._text = text

    @cached_property
    def sections(self) -> list[PolicySection]:
        """The sections, in order."""
        return policy_sections(self.prose.text)

    @cached_property
    def prose(self) -> Prose:
        """The text, a passage for each section or part of one."""
        return Prose(self._text, _as_sections)

    @cached_property
    def ids(self) -> list[str]:
        """The evidence id of each passage of the prose: `policy:<document>#<section>`, then `….p2`, `….p3`."""
        ids, parts = [], dict.fromkeys((section.id for section in self.sections), 0)
        for passage in self.prose.passages:
            section = self.section_of(passage)
            parts[section.id] += 1
            part = f".p{parts[section.id]}" if parts[section.id] > 1 else ""
            ids.append(f"policy:{self.entry.id}#{section.id}{part}")
        return ids

    def section_of(self, passage: Passage) -> PolicySection:
        """The section that the passage is of."""
        return next(section for section in reversed(self.sections) if section.start <= passage.start)


class Corpus:
    """The documents of one folder. Texts are read when they are first asked for."""

    def __init__(self, folder: Path, entries: tuple[Entry, ...]) -> None:
        self._folder = folder
        self.entries = {entry.id: entry for entry in entries}
        self._documents: dict[str, Document | None] = {}

    def document(self, name: str) -> Document | None:
        """The document of that id, or None if it is not here; SettingsError if its file cannot be read."""
        if name not in self._documents:
            self._documents[name] = self._read(self.entries.get(name))
        return self._documents[name]

    def documents(self, names: tuple[str, ...]) -> Iterator[Document]:
        """Those of the named documents that are here, in the order of their names."""
        for name in sorted(set(names)):
            document = self.document(name)
            if document is not None:
                yield document

    def _read(self, entry: Entry | None) -> Document | None:
        if entry is None or entry.path is None:
            return None
        return Document(entry, _read_text(self._folder, entry.path))


def open_corpus(folder: Path) -> Corpus:
    """The corpus in a folder; SettingsError says what is wrong with it. Every named file must be readable."""
    corpus = Corpus(folder, read_manifest(folder))
    for name in corpus.entries:
        corpus.document(name)
    return corpus


def read_manifest(folder: Path) -> tuple[Entry, ...]:
    """The documents that a folder's manifest names, here or not; SettingsError says what is wrong with it."""
    try:
        data = tomllib.loads(_read_text(folder, MANIFEST))
        manifest = _Manifest.model_validate(data)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{folder / MANIFEST} is not TOML: {error}", _REMEDY) from error
    except ValidationError as error:
        slip = first_slip(error, _Manifest, data)
        raise SettingsError(f"{folder / MANIFEST}: {slip}", slip.remedy) from error
    ids = [entry.id for entry in manifest.document]
    if len(set(ids)) < len(ids):
        raise SettingsError(f"{folder / MANIFEST} names a document twice", "give each its own id")
    return manifest.document


def _as_sections(text: str) -> list[Section]:
    return [Section(section.title, section.start, section.end) for section in policy_sections(text)]


def _read_text(folder: Path, below: str) -> str:
    """The text of a file below a folder, on the way to which no part is a link; SettingsError otherwise."""
    path = folder / below
    try:
        fd = _open_below(folder, Path(below).parts)
    except OSError as error:
        what = (
            f"{error.strerror}, or it is a link"
            if error.errno in (errno.ENOTDIR, errno.ELOOP)
            else error.strerror
        )
        raise SettingsError(f"{path} cannot be read: {what}", _REMEDY) from error
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise SettingsError(f"{path} is no regular file", _REMEDY)
        with os.fdopen(os.dup(fd), "rb") as file:
            data = file.read(_MAX_BYTES + 1)
    finally:
        os.close(fd)
    if len(data) > _MAX_BYTES:
        raise SettingsError(f"{path} is larger than {_MAX_BYTES:,} bytes", _REMEDY)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is not UTF-8", _REMEDY) from error


def _open_below(folder: Path, parts: tuple[str, ...]) -> int:
    """A descriptor of the file, each part opened in the one before it: nothing can be put in between."""
    flags = os.O_RDONLY | os.O_CLOEXEC
    fd = os.open(folder, flags | os.O_DIRECTORY)
    for place, part in enumerate(parts, start=1):
        kind = os.O_DIRECTORY if place < len(parts) else os.O_NONBLOCK
        try:
            inner = os.open(part, flags | os.O_NOFOLLOW | kind, dir_fd=fd)
        finally:
            os.close(fd)
        fd = inner
    return fd
