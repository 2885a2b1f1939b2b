"""Check a store against its manifest, the official layout, the rules, and the release's published counts."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import duckdb
from pydantic import BaseModel, ConfigDict

from mcp_mimic.errors import StoreError
from mcp_mimic.store.availability import AVAILABILITY
from mcp_mimic.store.catalogue import Catalogue, compare_catalogue
from mcp_mimic.store.content import content_digest, fingerprint
from mcp_mimic.store.importer import default_memory
from mcp_mimic.store.manifest import STORE_FORMAT, Classification
from mcp_mimic.store.plan import needs, other_ids_sql, other_moments_sql, rules
from mcp_mimic.store.releases import published
from mcp_mimic.store.sources import SCHEMAS
from mcp_mimic.store.sql import one_row
from mcp_mimic.store.store import Store, first_line
from mcp_mimic.store.tables import TABLES, Table

Status = Literal["same", "differs", "not compared"]


class TableCheck(BaseModel):
    """One table: its rows, the published number and its source, and what is wrong with it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    table: str
    rows: int
    published: int | None
    source: str | None
    status: Status
    problems: tuple[str, ...]


class CheckReport(BaseModel):
    """What `mcp-mimic check` found; `ok` is false where anything differs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ok: bool
    release: str
    classification: Classification
    fingerprint: str
    problems: tuple[str, ...]
    tables: tuple[TableCheck, ...]


def check_store(store: Store, *, progress: Callable[[str], None] | None = None) -> CheckReport:
    """Read the whole store and compare it; `progress` is told the table that is being read.

    Moments of availability and evidence ids are worked out again from the rows, by the rules of this version.
    Counts of a synthetic hospital, and of an absent module, are not compared: nobody published them. What
    cannot be read is a finding; StoreError if memory or disk space do not suffice to look.
    """
    problems: list[str] = []
    tables, digests = [], {}
    with _database(store) as connection:
        catalogue = _catalogue(connection, store, problems)
        for table in TABLES.values():
            if progress is not None:
                progress(table.qualified)
            checked, digest = _check_table(connection, store, table, catalogue)
            tables.append(checked)
            digests[table.qualified] = (checked.rows, digest)
    if fingerprint(digests) != store.manifest.fingerprint:
        problems.append("the content is not the one that the manifest's fingerprint was taken over")
    if store.manifest.rules != rules():
        problems.append(f"built with other rules ({store.manifest.created_by}): import again")
    return CheckReport(
        ok=not problems and not any(t.problems or t.status == "differs" for t in tables),
        release=store.manifest.release,
        classification=store.manifest.classification,
        fingerprint=store.manifest.fingerprint,
        problems=tuple(problems),
        tables=tuple(tables),
    )


@contextmanager
def _database(store: Store) -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty database to compare in; what does not fit into memory spills beside the store's."""
    beside = store.path if os.access(store.path, os.W_OK) else None
    with (
        tempfile.TemporaryDirectory(prefix=".check-", dir=beside) as spill,
        duckdb.connect(
            ":memory:",
            config={
                "memory_limit": default_memory(),
                "temp_directory": spill,
                "preserve_insertion_order": False,
            },
        ) as connection,
    ):
        yield connection


def _catalogue(connection: duckdb.DuckDBPyConnection, store: Store, problems: list[str]) -> Catalogue:
    """Attach the store and compare what it holds; sound tables can be read by their names afterwards.

    They are read through views of ours: names in them never mean a macro or a view of the store's.
    """
    catalogue = Catalogue(dict.fromkeys(TABLES, "cannot be read"), ())
    with _told(problems):
        store.attach(connection)
        catalogue = compare_catalogue(connection, "store")
        problems += catalogue.problems
        stamps = connection.execute("SELECT format, fingerprint FROM store.main.store").fetchall()
        if stamps != [(STORE_FORMAT, store.manifest.fingerprint)]:
            problems.append("main.store has other rows than an import writes")
    for schema in SCHEMAS:
        connection.execute(f"CREATE SCHEMA {schema}")
    for name in TABLES.keys() - catalogue.tables.keys():
        connection.execute(f"CREATE VIEW {name} AS FROM store.{name}")
    return catalogue


@contextmanager
def _told(problems: list[str]) -> Iterator[None]:
    """Add what DuckDB cannot read to `problems`; StoreError where it wants memory or disk space."""
    try:
        yield
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        if isinstance(error, duckdb.OutOfMemoryException) or "No space left" in str(error):
            raise StoreError(
                f"not enough memory or disk space to check the store ({first_line(error)})",
                "free some memory, or space in the store's folder, and check again",
                code="work_failed",
            ) from error
        problems.append(f"cannot be read ({first_line(error)})")


def _check_table(
    connection: duckdb.DuckDBPyConnection, store: Store, table: Table, catalogue: Catalogue
) -> tuple[TableCheck, str]:
    name, manifest = table.qualified, store.manifest
    rows, digest = 0, ""
    problems = [catalogue.tables[name]] if name in catalogue.tables else []
    if not problems:
        with _told(problems):
            rows, digest = content_digest(connection, table, name)
            entry = manifest.tables.get(name)
            if entry is None or (entry.rows, entry.digest) != (rows, digest):
                problems.append("not the content that the manifest lists")
            if table.has_subject:
                problems += _row_problems(connection, table)
                problems += _rule_problems(connection, table, catalogue)
    compared = manifest.classification != "synthetic" and table.schema in manifest.modules
    count, source = published(manifest.release).get(name, (None, None)) if compared else (None, None)
    status: Status = "not compared" if count is None else "same" if count == rows else "differs"
    return (
        TableCheck(
            table=name, rows=rows, published=count, source=source, status=status, problems=tuple(problems)
        ),
        digest,
    )


def _rule_problems(connection: duckdb.DuckDBPyConnection, table: Table, catalogue: Catalogue) -> list[str]:
    """Rows whose moment of availability or evidence id is not what the rules make of the official columns.

    The id of a table with a key is worked out when it is read, by the expression that the catalogue compares.
    """
    if lacking := [name for name in needs(table.qualified) if name in catalogue.tables]:
        return [f"availability not worked out again: it needs {', '.join(lacking)}"]
    problems = []
    (moments,) = one_row(connection, other_moments_sql(table))
    if moments:
        problems.append(f"{moments} rows with another moment of availability than the rules give")
    if table.key is None:
        (ids,) = one_row(connection, other_ids_sql(table))
        if ids:
            problems.append(f"{ids} rows with another evidence id than the rules give")
    return problems


def _row_problems(connection: duckdb.DuckDBPyConnection, table: Table) -> list[str]:
    """Rows that could not be cited, two rows of one subject under one id, rows that would never be served."""
    problems = []
    if table.kind is not None and _count(connection, f"FROM {table.qualified} WHERE eid IS NULL"):
        problems.append("rows without an evidence id")
    if table.kind is not None and table.shares is None and not table.repeats:
        twice = f"FROM (SELECT 1 FROM {table.qualified} GROUP BY subject_id, eid HAVING count(*) > 1)"
        if number := _count(connection, twice):
            problems.append(f"{number} evidence ids stand for several rows of one subject")
    # Rows that sum up an admission stay hidden where its end is not known; every other dated row has a moment.
    if table.time is not None and AVAILABILITY[table.qualified].sealed is None:
        never = f"FROM {table.qualified} WHERE available_at IS NULL AND {table.time} IS NOT NULL"
        if number := _count(connection, never):
            problems.append(f"{number} rows with a time but without a moment of availability")
    return problems


def _count(connection: duckdb.DuckDBPyConnection, relation: str) -> int:
    return int(one_row(connection, f"SELECT count(*) {relation}")[0])
