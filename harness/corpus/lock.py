"""What a local corpus remembers of its documents: lock.json, beside them."""

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from harness.errors import CorpusError
from mcp_mimic.policies.corpus import DOCUMENT_ID
from mcp_mimic.text.slips import first_slip

LOCK, ORIGINALS = "lock.json", "originals"
Format = Literal["md", "html", "pdf"]


def original_file(name: str, form: Format) -> str:
    """Where a document's original belongs, below the folder."""
    return f"{ORIGINALS}/{name}.{form}"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Original(_Strict):
    """A document as it came."""

    file: str = Field(description="below the folder")
    format: Format
    sha256: str
    bytes: int
    by: Literal["script", "person"]
    at: str = Field(description="when it came, UTC, ISO 8601")
    address: str | None = Field(default=None, description="where the script had it from, after redirects")


class SectionRecord(_Strict):
    """A section that can be cited, and the page that it begins on, if the original has pages."""

    id: str
    title: str
    page: int | None = None


class Text(_Strict):
    """The Markdown that was made of an original."""

    sha256: str
    original: str = Field(description="sha256 of the original that it was made of")
    extractor: int
    pages: int | None = None
    sections: tuple[SectionRecord, ...] = ()


class Record(_Strict):
    """All that is remembered of one document."""

    original: Original
    text: Text | None = None


class Lock(_Strict):
    """The whole file."""

    schema_: Literal[1] = Field(default=1, alias="schema")
    documents: dict[str, Record] = {}

    @model_validator(mode="after")
    def _own_places(self) -> Self:
        """A lock from elsewhere must name no file but the one that the harness would write."""
        for name, record in self.documents.items():
            if not re.fullmatch(DOCUMENT_ID, name) or record.original.file != original_file(
                name, record.original.format
            ):
                raise ValueError(f"{name}: its file is {record.original.file!r}, which is not its place")
        return self


def read_lock(folder: Path) -> Lock:
    """The folder's lock; empty if it has none. CorpusError if it cannot be read."""
    file = folder / LOCK
    if not file.exists():
        return Lock()
    data: Any = None
    try:
        data = json.loads(file.read_bytes())
        return Lock.model_validate(data)
    except ValidationError as error:
        raise CorpusError(f"{file}: {first_slip(error, Lock, data)}", _lost(file)) from error
    except ValueError as error:
        raise CorpusError(f"{file} is not JSON: {error}", _lost(file)) from error


def _lost(file: Path) -> str:
    return f"put it back as it was, or move {file} away and add the originals again"


def write_lock(folder: Path, lock: Lock) -> None:
    """Write it, whole or not at all."""
    ordered = Lock(documents=dict(sorted(lock.documents.items())))
    text = json.dumps(ordered.model_dump(mode="json", by_alias=True), indent=1, ensure_ascii=False)
    write_whole(folder / LOCK, f"{text}\n".encode())


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or as it was before; nothing if it has that content already."""
    if path.is_file() and not path.is_symlink() and path.read_bytes() == data:
        return
    draft = path.with_name(f".{path.name}.draft")
    draft.unlink(missing_ok=True)
    try:
        with draft.open("xb") as file:
            file.write(data)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def digest(data: bytes) -> str:
    """The sha256 of some bytes, in hexadecimal."""
    return sha256(data).hexdigest()
