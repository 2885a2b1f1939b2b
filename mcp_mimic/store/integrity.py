"""Is a source file whole? Read it once from end to end before any work is done with it."""

import csv
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
from isal import isal_zlib

from mcp_mimic.errors import StoreError
from mcp_mimic.store.layout import column_name
from mcp_mimic.store.sources import SourceFile
from mcp_mimic.store.sql import quote_text
from mcp_mimic.store.tables import OPTIONAL_SCHEMAS, Table

_CHUNK = 1 << 17  # what unpacks fastest
_MAX_HEADER = 1 << 16
REPACK = "unpack it and give the .csv, or pack it again with gzip"
_AGAIN = "download it again and compare it with the release's SHA256SUMS.txt"


@dataclass(frozen=True)
class Verified:
    """A whole file: its size and time of change when it was read, its sha256, its columns in file order."""

    size: int
    mtime_ns: int
    sha256: str
    columns: tuple[str, ...]


def unchanged(path: Path, size: int, mtime_ns: int) -> bool:
    """Whether `path` still has the size and time of change of an earlier reading."""
    stat = path.stat()
    return (stat.st_size, stat.st_mtime_ns) == (size, mtime_ns)


def verify(source: SourceFile, on_bytes: Callable[[int], None] | None = None) -> Verified:
    """Read `source` to its end; StoreError if it is cut, broken, or has other columns than its table.

    `on_bytes` is told how many bytes of the file have been read so far.
    """
    stat = source.path.stat()
    try:
        sha256, start, end = _read(source, on_bytes or (lambda _: None))
    except OSError as error:
        raise StoreError(f"{source.path}: cannot be read ({error.strerror})", "check the file") from error
    columns = _parquet_columns(source) if source.suffix == ".parquet" else _csv_columns(source, start, end)
    _check_columns(source, columns)
    if not unchanged(source.path, stat.st_size, stat.st_mtime_ns):
        raise StoreError(
            f"{source.path}: changed while it was read", "wait until it is written and import again"
        )
    return Verified(stat.st_size, stat.st_mtime_ns, sha256, columns)


def unread(table: Table, columns: Sequence[str]) -> list[str]:
    """Those of a file's columns that the official layout does not have."""
    return [name for name in columns if name not in table.column_names]


def _read(source: SourceFile, on_bytes: Callable[[int], None]) -> tuple[str, bytes, bytes]:
    """The file's sha256, the beginning of its (unpacked) text, and the last byte of it."""
    digest, start, end = hashlib.sha256(), b"", b""
    unpack = _Gunzip(source) if source.suffix == ".csv.gz" else None
    with source.path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            text = unpack.feed(chunk) if unpack else chunk
            if len(start) < _MAX_HEADER:
                start += text[:_MAX_HEADER]
            end = text[-1:] or end
            on_bytes(file.tell())
    if unpack:
        unpack.finish()
    return digest.hexdigest(), start, end


class _Gunzip:
    """Unpacks one gzip file, of one or several members, and knows whether it ended where it should."""

    def __init__(self, source: SourceFile) -> None:
        self._path = source.path
        self._member = isal_zlib.decompressobj(wbits=31)
        self._started = False

    def feed(self, data: bytes) -> bytes:
        text = b""
        while data:
            if self._member.eof:
                if data.startswith(b"\0"):  # padding of some tools, over which the database stumbles
                    raise StoreError(
                        f"{self._path}: zero bytes behind the packed text", REPACK, code="broken_file"
                    )
                self._member = isal_zlib.decompressobj(wbits=31)
            try:
                text += self._member.decompress(data)
            except isal_zlib.error as error:  # type: ignore[misc]  # its stubs call the class an instance
                raise StoreError(f"{self._path}: broken gzip file", _AGAIN, code="broken_file") from error
            self._started, data = True, self._member.unused_data
        return text

    def finish(self) -> None:
        if not self._started or not self._member.eof:
            raise StoreError(f"{self._path}: gzip file cut short", _AGAIN, code="broken_file")


def _csv_columns(source: SourceFile, start: bytes, end: bytes) -> tuple[str, ...]:
    if not start:
        raise StoreError(f"{source.path}: empty file", _AGAIN, code="broken_file")
    if end != b"\n":
        raise StoreError(
            f"{source.path}: does not end with a line break, so its last row may be cut",
            f"{_AGAIN}; if the file is complete, add the line break",
            code="broken_file",
        )
    try:
        header = start.splitlines()[0].decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise StoreError(f"{source.path}: the first line is not UTF-8", _AGAIN) from error
    try:
        (names,) = csv.reader([header], strict=True)
    except csv.Error as error:
        raise StoreError(
            f"{source.path}: the first line is not a list of column names ({error})", _AGAIN, code="columns"
        ) from error
    return tuple(column_name(name) for name in names)


def _parquet_columns(source: SourceFile) -> tuple[str, ...]:
    with duckdb.connect(":memory:") as connection:
        try:
            described = connection.execute(
                f"DESCRIBE SELECT * FROM read_parquet({quote_text(str(source.path))})"
            ).fetchall()
        except duckdb.Error as error:
            raise StoreError(
                f"{source.path}: not a whole parquet file", _AGAIN, code="broken_file"
            ) from error
    return tuple(column_name(str(row[0])) for row in described)


def _check_columns(source: SourceFile, columns: tuple[str, ...]) -> None:
    official = source.table.column_names
    missing = [c.name for c in source.table.columns if c.name not in columns and not c.sometimes]
    # A later release of a module may add a column: it is left unread, since nothing says when it is known.
    unknown = [] if source.table.schema in OPTIONAL_SCHEMAS else unread(source.table, columns)
    twice = sorted({name for name in columns if columns.count(name) > 1})
    for what, names in (("lacks", missing), ("has the unknown", unknown), ("repeats", twice)):
        if names:
            raise StoreError(
                f"{source.path}: {what} column{'s' if len(names) > 1 else ''} {', '.join(names)}",
                f"{source.table.qualified} has the columns {', '.join(official)}",
                code="columns",
            )
