"""What a local corpus remembers of its documents: lock.json, beside them."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.errors import CorpusError

LOCK = "lock.json"
Format = Literal["md", "html", "pdf"]


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


def read_lock(folder: Path) -> Lock:
    """The folder's lock; empty if it has none. CorpusError if it cannot be read."""
    file = folder / LOCK
    if not file.exists():
        return Lock()
    try:
        return Lock.model_validate(json.loads(file.read_bytes()))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in problem["loc"])
        raise CorpusError(f"{file}: {place}: {problem['msg']}", _lost(file)) from error
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
    try:
        draft.write_bytes(data)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def digest(data: bytes) -> str:
    """The sha256 of some bytes, in hexadecimal."""
    return sha256(data).hexdigest()
