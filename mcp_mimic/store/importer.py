"""Import: official files become one store, or nothing that looks like one."""

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from graphlib import TopologicalSorter
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

import duckdb

from mcp_mimic.errors import StoreError
from mcp_mimic.store.availability import AVAILABILITY
from mcp_mimic.store.build import BuildFolder, Finished, Journal, write_whole
from mcp_mimic.store.classification import classify
from mcp_mimic.store.content import content_digest, fingerprint
from mcp_mimic.store.evidence import evidence_id, row_number, stored_order
from mcp_mimic.store.integrity import Verified, unchanged, verify
from mcp_mimic.store.manifest import DATABASE_FILE, MANIFEST_FILE, STORE_FORMAT, Manifest, TableEntry
from mcp_mimic.store.reading import reading, typed_rows
from mcp_mimic.store.releases import UNKNOWN_RELEASE, recognise
from mcp_mimic.store.sources import SCHEMAS, SourceFile, find_sources, seal_folders
from mcp_mimic.store.sql import names, quote_text
from mcp_mimic.store.store import Store, first_line
from mcp_mimic.store.tables import TABLES, Table

DEFAULT_MEMORY = "4GB"


class Step(StrEnum):
    """What an import is doing with a table."""

    CHECKING = "checking"
    READING = "reading"
    SORTING = "sorting"
    KEPT = "kept"
    DONE = "done"
    UNCHANGED = "unchanged"


class Progress(Protocol):
    """Told what an import does; `done` and `total` count bytes of source files within one phase."""

    def __call__(self, step: Step, table: str, done: int, total: int) -> None:
        """`table` is empty where the step concerns the whole store."""


def import_store(
    sources: Sequence[Path],
    store: Path,
    *,
    release: str | None = None,
    memory: str = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> Manifest:
    """Import the official files in `sources` into the folder `store`; returns the store's manifest.

    Files are checked from end to end before anything is written. An interrupted import is taken up where
    it stopped. `release` states the release of a source that cannot be recognised. A store of the very
    same files is left alone. Raises StoreError with the file and the remedy.
    """
    report = progress or (lambda step, table, done, total: None)
    files = find_sources(sources)
    _require_room(store)
    build = BuildFolder.beside(store)
    journal = build.journal()
    verified = _verify_all(files, journal, report)
    if (store / MANIFEST_FILE).exists():
        return _same_store(store, verified, report)
    with build.locked():
        run = _Import(files, verified, build, build.journal(), memory, report)
        manifest = run.run(seal_folders(sources), release)
        build.publish(store)
    return manifest


def rules() -> str:
    """Digest of the SQL that tables are built with, evidence ids and availability included."""
    return _sha256([_rules(table) for table in TABLES.values()])


def _require_room(store: Path) -> None:
    if store.is_dir():
        if (store / MANIFEST_FILE).exists() or not any(store.iterdir()):
            return
    elif not store.exists():
        return
    raise StoreError(f"{store}: exists and is not a store", "Choose another --store folder.", code="store_exists")


def _same_store(store: Path, verified: dict[str, Verified], report: Progress) -> Manifest:
    manifest = Store.open(store).manifest
    there = {name: entry.sha256 for name, entry in manifest.tables.items() if entry.source}
    if there != {name: file.sha256 for name, file in verified.items()}:
        raise StoreError(
            f"{store}: already a store of release {manifest.release}, of other files",
            "Remove it, or choose another --store folder.",
            code="store_exists",
        )
    if manifest.rules != rules():
        raise StoreError(
            f"{store}: built from these files by another version ({manifest.created_by})",
            "Remove it and import again.",
            code="store_exists",
        )
    report(Step.UNCHANGED, "", 0, 0)
    return manifest


def _verify_all(files: dict[str, SourceFile], journal: Journal, report: Progress) -> dict[str, Verified]:
    total = sum(file.path.stat().st_size for file in files.values())
    done, verified = 0, {}
    for name, file in files.items():
        kept = journal.finished.get(name)
        if kept and kept.path == str(file.path.resolve()) and unchanged(file.path, kept.size, kept.mtime_ns):
            verified[name] = Verified(kept.size, kept.mtime_ns, kept.sha256, kept.columns)
            done += kept.size
            report(Step.CHECKING, name, done, total)
            continue

        def advance(count: int, name: str = name) -> None:
            nonlocal done
            done += count
            report(Step.CHECKING, name, done, total)

        verified[name] = verify(file, advance)
    return verified


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
        connection = self._connect()
        try:
            total = sum(file.size for file in self.verified.values())
            done, rebuilt = 0, set[str]()
            for name in import_order():
                if not self._is_kept(name, rebuilt):
                    self._build(connection, name, done, total)
                    rebuilt.add(name)
                done += self.verified[name].size if name in self.verified else 0
                self.report(Step.DONE if name in rebuilt else Step.KEPT, name, done, total)
            manifest = self._manifest(connection, folders, release)
            connection.execute("CREATE OR REPLACE TABLE store (format INTEGER, fingerprint VARCHAR)")
            connection.execute("INSERT INTO store VALUES (?, ?)", [STORE_FORMAT, manifest.fingerprint])
            connection.execute("DETACH staging")
            connection.execute("CHECKPOINT")
        finally:
            connection.close()
        write_whole(self.build.half_made / MANIFEST_FILE, manifest.model_dump_json(indent=2) + "\n")
        return manifest

    def _connect(self) -> duckdb.DuckDBPyConnection:
        database = self.build.half_made / DATABASE_FILE
        config = {"memory_limit": self.memory, "temp_directory": str(self.build.temporary)}
        try:
            connection = duckdb.connect(str(database), config=config)
        except duckdb.IOException:
            # What a kill left behind cannot be read: nothing of it is kept.
            self.journal = Journal(self.journal.file)
            shutil.rmtree(self.build.half_made)
            self.build.half_made.mkdir()
            connection = duckdb.connect(str(database), config=config)
        except duckdb.InvalidInputException as error:
            raise StoreError(
                f"--memory {self.memory}: {first_line(error)}", "Give a size such as 4GB."
            ) from error
        for file in (self.build.staging, self.build.staging.with_name("staging.duckdb.wal")):
            file.unlink(missing_ok=True)
        connection.execute(f"ATTACH {quote_text(str(self.build.staging))} AS staging")
        for schema in SCHEMAS:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        return connection

    def _is_kept(self, name: str, rebuilt: set[str]) -> bool:
        entry, file = self.journal.finished.get(name), self.verified.get(name)
        if entry is None or entry.rules != _rules(TABLES[name]) or rebuilt & set(_needs(name)):
            return False
        return entry.sha256 == (file.sha256 if file else "")

    def _build(self, connection: duckdb.DuckDBPyConnection, name: str, done: int, total: int) -> None:
        table = TABLES[name]
        self.journal.forget(name)
        connection.execute(f"DROP TABLE IF EXISTS {name}")
        connection.execute("CREATE OR REPLACE TABLE staging.r AS " + _empty(table))
        source = self.files.get(name)
        if source is None:
            rows, digest = content_digest(connection, table, "staging.r")
            connection.execute(table_sql(table))
            self._record(name, rows, digest)
            return
        with reading(source):
            self.report(Step.READING, name, done, total)
            self._stage(connection, source)
            rows, digest = content_digest(connection, table, "staging.r")
            self.report(Step.SORTING, name, done, total)
            connection.execute(table_sql(table))
            stored = connection.execute(f"SELECT count(*) FROM {name}").fetchone()
            connection.execute("DROP TABLE staging.r")
            connection.execute("CHECKPOINT")
        if stored != (rows,):
            raise StoreError(
                f"{name}: {rows} rows became {stored and stored[0]}, a key that it is joined by is not unique",
                f"Compare the files of {', '.join(_needs(name))} with the release's SHA256SUMS.txt.",
            )
        self._record(name, rows, digest)

    def _stage(self, connection: duckdb.DuckDBPyConnection, source: SourceFile) -> None:
        verified = self.verified[source.table.qualified]
        select = typed_rows(connection, source, verified.columns)
        connection.execute("SET preserve_insertion_order = false")
        connection.execute(f"INSERT INTO staging.r {select}")
        connection.execute("SET preserve_insertion_order = true")
        if not unchanged(source.path, verified.size, verified.mtime_ns):
            raise StoreError(f"{source.path}: changed during the import", "Wait until it is written and import again.")

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
                rules=_rules(TABLES[name]),
            ),
        )

    def _manifest(
        self, connection: duckdb.DuckDBPyConnection, folders: Sequence[Path], release: str | None
    ) -> Manifest:
        finished = self.journal.finished
        digests = {name: (finished[name].rows, finished[name].digest) for name in TABLES}
        content = fingerprint(digests)
        classification = classify(connection, digests, folders=folders, content=content)
        return Manifest(
            format=STORE_FORMAT,
            release=_release({n: r for n, (r, _) in digests.items()}, classification == "synthetic", release),
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
        )


def _release(rows: dict[str, int], synthetic: bool, stated: str | None) -> str:
    """The release by its published counts; a synthetic hospital has the layout of 3.1."""
    found = "3.1" if synthetic else recognise(rows)
    if stated is not None and found not in (UNKNOWN_RELEASE, stated):
        raise StoreError(
            f"--release {stated}: these files are release {found}", "Leave --release out.", code="release"
        )
    return stated or found


def import_order() -> list[str]:
    """Every table, after the tables that its availability needs."""
    return list(TopologicalSorter({name: _needs(name) for name in TABLES}).static_order())


def _needs(name: str) -> tuple[str, ...]:
    return AVAILABILITY[name].needs


def table_sql(table: Table) -> str:
    """The statement that builds a stored table from `staging.r`: ids, availability, order."""
    if not table.has_subject:
        return f"CREATE TABLE {table.qualified} AS FROM staging.r r ORDER BY {stored_order(table)}"
    availability = AVAILABILITY[table.qualified]
    columns = names(table.column_names, "r")
    return (
        f"CREATE TABLE {table.qualified} AS "
        f"SELECT {columns}, {evidence_id(table)} AS eid, r.available_at FROM ("
        f"SELECT {columns}, r.available_at, {row_number(table)} AS n FROM ("
        f"SELECT {columns}, ({availability.row})::TIMESTAMP AS available_at "
        f"FROM staging.r r {availability.joins}) r) r ORDER BY {stored_order(table)}"
    )


def _empty(table: Table) -> str:
    columns = ", ".join(f'NULL::{column.type} AS "{column.name}"' for column in table.columns)
    return f"SELECT {columns} LIMIT 0"


def _rules(table: Table) -> str:
    types = [column.type for column in table.columns]
    return _sha256([table_sql(table), types])


def _sha256(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()
