"""A local corpus: the folder that holds originals, their Markdown, the house policies and a manifest.

manifest.toml   what the chart server reads
lock.json       checksums and sections
originals/      documents as they came, one file each, named by id
text/           their Markdown, which is what is served
house/          a copy of the policies that come with the harness
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.corpus.lock import (
    LOCK,
    ORIGINALS,
    Format,
    Lock,
    Record,
    digest,
    original_file,
    read_lock,
    write_lock,
    write_whole,
)
from harness.corpus.manifest import known_entries, manifest_text
from harness.data import data_folder
from harness.errors import CorpusError
from harness.locks import held
from mcp_mimic.policies.corpus import MANIFEST, Entry

TEXTS = "text"
LARGEST = 100_000_000
"""Bytes that an original may have."""


class LocalCorpus:
    """One folder, its documents and what it remembers of them."""

    def __init__(self, path: Path) -> None:
        """Of a folder that may not be there yet; CorpusError, or SettingsError, if it cannot be one."""
        _require_own(path)
        self.path = path
        self.entries = known_entries(path)
        self.lock = read_lock(path)

    def entry(self, name: str) -> Entry:
        """The document of that id; CorpusError if no manifest knows it."""
        if name not in self.entries:
            near = [known for known in self.entries if name.lower() in known or known in name.lower()]
            hint = (
                f"did you mean {', '.join(near[:5])}?" if near else "`harness corpus status` lists the ids."
            )
            raise CorpusError(
                f"no document has the id {name!r}",
                f"{hint} A document of your own goes into {self.path / MANIFEST} first, which any "
                f"`harness corpus index` makes.",
            )
        return self.entries[name]

    def original(self, name: str, form: Format) -> Path:
        """Where the original of a document belongs."""
        return self.path / original_file(name, form)

    def text(self, name: str) -> Path:
        """Where its Markdown belongs."""
        return self.path / TEXTS / f"{name}.md"

    def record(self, name: str) -> Record | None:
        """What is remembered of a document."""
        return self.lock.documents.get(name)

    def read_original(self, name: str) -> bytes | None:
        """The original as it came; None if it is not here. CorpusError if it is not what was recorded."""
        record = self.record(name)
        if record is None or not os.path.lexists(self.path / record.original.file):
            return None
        file = self.path / record.original.file
        data = read_plain(file)
        if digest(data) != record.original.sha256:
            raise CorpusError(
                f"{file} has changed since it came: its checksum is not the recorded one",
                f"put the original back, or take this one: harness corpus add {file} --as {name} --replace",
            )
        return data

    def remember(self, name: str, record: Record) -> None:
        """Record a document; written at once, so that an interruption loses nothing."""
        self.lock = Lock(documents={**self.lock.documents, name: record})
        write_lock(self.path, self.lock)

    def publish(self) -> None:
        """Write manifest and house policies, so that the folder can be served as it is now."""
        house = data_folder("corpus")
        placed = []
        for entry in self.entries.values():
            if entry.access == "shipped" and entry.path is not None:
                copy = self.path / entry.path
                copy.parent.mkdir(parents=True, exist_ok=True)
                write_whole(copy, (house / entry.path).read_bytes())
                placed.append(entry)
            elif (record := self.record(entry.id)) and record.text and self.text(entry.id).is_file():
                path = self.text(entry.id).relative_to(self.path).as_posix()
                placed.append(entry.model_copy(update={"path": path}))
            else:
                placed.append(entry)
        write_whole(self.path / MANIFEST, manifest_text(placed).encode())


@contextmanager
def change_corpus(path: Path) -> Iterator[LocalCorpus]:
    """The corpus of a folder, made if need be, for one process alone; published when the block ends or fails.

    CorpusError if another process changes it.
    """
    LocalCorpus(path)
    for folder in (path, path / ORIGINALS, path / TEXTS):
        folder.mkdir(parents=True, exist_ok=True)
    busy = CorpusError(f"{path} is being changed by another process", "wait until it is done")
    with held(path / ".lock", busy):
        corpus = LocalCorpus(path)
        if not (path / LOCK).exists():
            write_lock(path, corpus.lock)
        try:
            yield corpus
        finally:
            corpus.publish()


def read_plain(file: Path) -> bytes:
    """The bytes of a regular file of at most LARGEST bytes; CorpusError, or OSError, otherwise."""
    if not file.is_file() or file.is_symlink():
        raise CorpusError(f"{file} is no regular file", "name the downloaded file itself")
    if file.stat().st_size > LARGEST:
        raise CorpusError(f"{file} has more than {LARGEST:,} bytes", "take a smaller edition of the document")
    return file.read_bytes()


def _require_own(path: Path) -> None:
    """CorpusError if the folder is the harness's own, or somebody's that `harness corpus` did not make."""
    if path.exists() and not path.is_dir():
        raise CorpusError(f"{path} is no folder", "name a new folder with --corpus")
    if path.resolve() == data_folder("corpus").resolve():
        raise CorpusError(
            f"{path} is the corpus that comes with the harness", "name a folder of your own with --corpus"
        )
    if path.is_dir() and (path / MANIFEST).exists() and not (path / LOCK).exists():
        raise CorpusError(
            f"{path} has a {MANIFEST} that `harness corpus` did not write",
            "name a new folder with --corpus, and add documents of your own to the manifest there",
        )
    if path.is_dir():
        _require_no_links(path)


def _require_no_links(path: Path) -> None:
    """CorpusError if a link lies in the folder: what is written or removed there would be so elsewhere."""
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            if (found := Path(folder) / name).is_symlink():
                raise CorpusError(
                    f"{found} is a link, and a corpus has only files of its own",
                    "put what it leads to in its place, or remove it",
                )
