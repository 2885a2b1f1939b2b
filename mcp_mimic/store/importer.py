"""Import: official files become one store, or nothing that looks like one."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path

import duckdb

from mcp_mimic.errors import StoreError
from mcp_mimic.store.build import BuildFolder, Finished, Journal, write_whole
from mcp_mimic.store.classification import classify
from mcp_mimic.store.content import content_digest, empty_digest, fingerprint
from mcp_mimic.store.integrity import Verified, unchanged, unread, verify
from mcp_mimic.store.manifest import DATABASE_FILE, MANIFEST_FILE, STORE_FORMAT, Manifest, TableEntry
from mcp_mimic.store.plan import (
    STAGED,
    STAMP,
    create_sql,
    import_order,
    keeps_order,
    needs,
    out_of_order_sql,
    rules,
    sorted_sql,
    table_rules,
    unsorted_sql,
)
from mcp_mimic.store.reading import SHORTAGES, reading, typed_rows
from mcp_mimic.store.releases import UNKNOWN_RELEASE, recognise
from mcp_mimic.store.sources import SCHEMAS, SourceFile, find_sources, seal_folders
from mcp_mimic.store.sql import names, one_row, quote_text
from mcp_mimic.store.store import Store, first_line
from mcp_mimic.store.tables import TABLES, Table

# Errors after which the finished tables are still good, so that the next import goes on from them.
_RESUMABLE = ("work_failed", "release")


class Step(StrEnum):
    """What an import is doing with a table."""

    CHECKING = "checking"
    READING = "reading"
    SORTING = "sorting"
    DONE = "done"
    KEPT = "kept from an interrupted import"
    UNCHANGED = "unchanged"


type Progress = Callable[[Step, str, int, int], None]
"""Told the step, the table (empty where the whole store is meant), and bytes done and to do of a phase."""


def import_store(
    sources: Sequence[Path],
    store: Path,
    *,
    release: str | None = None,
    memory: str | None = None,
    progress: Progress | None = None,
) -> Manifest:
    """Import the official files in `sources` into the folder `store`; returns the store's manifest.

    Every file is read to its end before any table is built. An interrupted import is taken up where it
    stopped; one that fails over a file leaves nothing behind. `release` states the release of a source
    that cannot be recognised, `memory` bounds DuckDB ("4GB"). A store of the very same files is left
    alone. Raises StoreError with the file and the remedy.
    """
    report = progress or _silent
    files = find_sources(sources)
    _require_room(store)
    if (store / MANIFEST_FILE).exists():
        return _same_store(store, _verify_all(files, Journal(store), report), report)
    build = BuildFolder.beside(store)
    with build.locked():
        journal = build.journal()
        try:
            verified = _verify_all(files, journal, report)
            run = _Import(files, verified, build, journal, memory or default_memory(), report)
            with _enough_room(store):
                manifest = run.run(seal_folders(sources), release)
            build.publish(store)
        except StoreError as error:
            if error.code not in _RESUMABLE:
                build.remove()
            raise
    return manifest


def default_memory() -> str:
    """DuckDB's memory for an import: 4 GB, or half of the machine's where that is less."""
    half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    return f"{min(4_000_000_000, half) // 1_000_000}MB"


@contextmanager
def _enough_room(store: Path) -> Iterator[None]:
    try:
        yield
    except SHORTAGES as error:
        raise StoreError(
            f"{store}: not enough memory or disk space ({first_line(error)})",
            "free some space beside the store, or allow more memory with --memory, and import again",
            code="work_failed",
        ) from error


def _silent(step: Step, table: str, done: int, total: int) -> None:
    """Progress for nobody."""


def _require_room(store: Path) -> None:
    if store.is_dir() and ((store / MANIFEST_FILE).exists() or not any(store.iterdir())):
        return
    if store.exists():
        raise StoreError(
            f"{store}: exists and is not a store", "choose another --store folder", code="store_exists"
        )


def _same_store(store: Path, verified: dict[str, Verified], report: Progress) -> Manifest:
    manifest = Store.open(store).manifest
    there = {name: entry.sha256 for name, entry in manifest.tables.items() if entry.source}
    if there != {name: file.sha256 for name, file in verified.items()}:
        raise StoreError(
            f"{store}: already a store of release {manifest.release}, of other files",
            "remove it, or choose another --store folder",
            code="store_exists",
        )
    if manifest.rules != rules():
        raise StoreError(
            f"{store}: built from these files by other rules ({manifest.created_by})",
            "remove it and import again",
            code="store_exists",
        )
    report(Step.UNCHANGED, "", 0, 0)
    return manifest


def _verify_all(files: dict[str, SourceFile], journal: Journal, report: Progress) -> dict[str, Verified]:
    """Every file read to its end, but for those that an interrupted import read and that did not change."""
    total = sum(file.path.stat().st_size for file in files.values())
    done, verified = 0, {}
    for name, file in files.items():
        kept = journal.finished.get(name)
        if kept and kept.path == str(file.path.resolve()) and unchanged(file.path, kept.size, kept.mtime_ns):
            verified[name] = Verified(kept.size, kept.mtime_ns, kept.sha256, kept.columns)
        else:
            verified[name] = verify(file, _reading_on(report, name, done, total))
        done += verified[name].size
        report(Step.CHECKING, name, done, total)
    return verified


def _reading_on(report: Progress, name: str, done: int, total: int) -> Callable[[int], None]:
    return lambda read: report(Step.CHECKING, name, done + read, total)


@dataclass
class _Import:
    """One import under way, holding its build folder."""

    files: dict[str, SourceFile]
    verified: dict[str, Verified]
    build: BuildFolder
    journal: Journal
    memory: str
    report: Progress

    def run(self, folders: Sequence[Path], release: str | None) -> Manifest:
        """Build every table, then the manifest, inside the build folder."""
        with self._connect() as connection:
            self._build_tables(connection)
            manifest = self._manifest(connection, folders, release)
            connection.execute(f"CREATE OR REPLACE TABLE {STAMP}")
            connection.execute("INSERT INTO store VALUES (?, ?)", [STORE_FORMAT, manifest.fingerprint])
            connection.execute("DETACH staging")
            connection.execute("CHECKPOINT")
        write_whole(self.build.half_made / MANIFEST_FILE, manifest.model_dump_json(indent=2) + "\n")
        return manifest

    def _connect(self) -> duckdb.DuckDBPyConnection:
        try:
            connection = self._open_database()
        except duckdb.IOException:
            # A kill left a file that cannot be read: nothing of it is kept.
            shutil.rmtree(self.build.half_made)
            self.build.half_made.mkdir()
            connection = self._open_database()
        for leftover in self.build.root.glob(f"{self.build.staging.name}*"):
            leftover.unlink()
        connection.execute(f"ATTACH {quote_text(str(self.build.staging))} AS staging")
        for schema in SCHEMAS:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        return connection

    def _open_database(self) -> duckdb.DuckDBPyConnection:
        try:
            return duckdb.connect(
                str(self.build.half_made / DATABASE_FILE),
                config={"memory_limit": self.memory, "temp_directory": str(self.build.temporary)},
            )
        except (duckdb.InvalidInputException, duckdb.ParserException) as error:
            raise StoreError(
                f"--memory {self.memory}: {first_line(error)}", "give a size such as 4GB"
            ) from error

    def _build_tables(self, connection: duckdb.DuckDBPyConnection) -> None:
        total = sum(file.size for file in self.verified.values())
        there = {f"{s}.{t}" for s, t in connection.execute(_STORED_TABLES).fetchall()}
        done = 0
        for name in import_order():
            kept = name in there and self._is_finished(name)
            if not kept:
                self.journal.forget(name)
                self._build(connection, name, done, total)
            done += self.verified[name].size if name in self.verified else 0
            self.report(Step.KEPT if kept else Step.DONE, name, done, total)
        self.journal.write()

    def _is_finished(self, name: str) -> bool:
        entry, file = self.journal.finished.get(name), self.verified.get(name)
        wanted = (table_rules(TABLES[name]), file.sha256 if file else "", self._inputs(name))
        return entry is not None and (entry.rules, entry.sha256, entry.inputs) == wanted

    def _inputs(self, name: str) -> dict[str, str]:
        return {need: self.journal.finished[need].digest for need in needs(name)}

    def _build(self, connection: duckdb.DuckDBPyConnection, name: str, done: int, total: int) -> None:
        table, source = TABLES[name], self.files.get(name)
        connection.execute(f"DROP TABLE IF EXISTS {name}")
        connection.execute(create_sql(table))
        if source is None:
            self._record(name, 0, empty_digest(table))
            return
        with reading(source):
            self.report(Step.READING, name, done, total)
            typed = typed_rows(connection, source, self.verified[name].columns)
            rows, digest, in_place = self._read(connection, table, f"({typed})")
            self._require_unchanged(source)
            if not in_place:
                self.report(Step.SORTING, name, done, total)
                connection.execute(sorted_sql(table))
        if one_row(connection, f"SELECT count(*) FROM {name}") != (rows,):
            raise StoreError(
                f"{name}: its {rows} rows match keys that are not unique in {', '.join(needs(name))}",
                "compare the files of those tables with the release's SHA256SUMS.txt",
                code="bad_value",
            )
        self._record(name, rows, digest)

    def _read(self, connection: duckdb.DuckDBPyConnection, table: Table, typed: str) -> tuple[int, str, bool]:
        """Take in the rows `typed`; returns how many, their digest, and whether they stand in the table already.

        They do if they came in stored order; otherwise they are staged, and the table is empty.
        """
        if not keeps_order(table):
            self._stage(connection, typed)
            return *content_digest(connection, table, STAGED), False
        connection.execute(unsorted_sql(table, typed))
        rows, digest = content_digest(connection, table, table.qualified)
        if one_row(connection, out_of_order_sql(table)) == (0,):
            return rows, digest, True
        self._stage(connection, f"(SELECT {names(table.column_names)} FROM {table.qualified})")
        connection.execute(f"DROP TABLE {table.qualified}")
        connection.execute(create_sql(table))
        connection.execute("CHECKPOINT")  # the room that the rows took is free again
        return rows, digest, False

    def _stage(self, connection: duckdb.DuckDBPyConnection, rows: str) -> None:
        connection.execute("SET preserve_insertion_order = false")
        connection.execute(f"CREATE OR REPLACE TABLE {STAGED} AS FROM {rows}")
        connection.execute("SET preserve_insertion_order = true")

    def _require_unchanged(self, source: SourceFile) -> None:
        verified = self.verified[source.table.qualified]
        if not unchanged(source.path, verified.size, verified.mtime_ns):
            raise StoreError(
                f"{source.path}: changed during the import", "wait until it is written and import again"
            )

    def _record(self, name: str, rows: int, digest: str) -> None:
        file, source = self.verified.get(name), self.files.get(name)
        self.journal.record(
            name,
            Finished(
                path=str(source.path.resolve()) if source else "",
                size=file.size if file else 0,
                mtime_ns=file.mtime_ns if file else 0,
                sha256=file.sha256 if file else "",
                columns=file.columns if file else (),
                rows=rows,
                digest=digest,
                rules=table_rules(TABLES[name]),
                inputs=self._inputs(name),
            ),
        )

    def _manifest(
        self, connection: duckdb.DuckDBPyConnection, folders: Sequence[Path], release: str | None
    ) -> Manifest:
        finished = self.journal.finished
        digests = {name: (finished[name].rows, finished[name].digest) for name in TABLES}
        content = fingerprint(digests)
        classification = classify(connection, digests, folders=folders, content=content)
        # The synthetic hospital writes the layout of 3.1.
        found = "3.1" if classification == "synthetic" else recognise({n: r for n, (r, _) in digests.items()})
        return Manifest(
            format=STORE_FORMAT,
            release=_release(found, release),
            classification=classification,
            fingerprint=content,
            rules=rules(),
            created_by=f"clinicare {version('clinicare')}",
            duckdb=duckdb.__version__,
            tables={name: self._entry(name) for name in TABLES},
        )

    def _entry(self, name: str) -> TableEntry:
        entry, source = self.journal.finished[name], self.files.get(name)
        return TableEntry(
            rows=entry.rows,
            source=source.label if source else None,
            sha256=entry.sha256 or None,
            digest=entry.digest,
            unread=unread(TABLES[name], entry.columns),
        )


_STORED_TABLES = """
SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = current_database()
"""


def _release(found: str, stated: str | None) -> str:
    if stated is not None and found not in (UNKNOWN_RELEASE, stated):
        raise StoreError(
            f"--release {stated}: these files are release {found}",
            "leave --release out; the import goes on from where it is",
            code="release",
        )
    return stated or found
