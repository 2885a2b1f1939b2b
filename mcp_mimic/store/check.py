"""Check a store against its manifest, the official layout, and the release's published counts."""

from collections.abc import Callable
from typing import Literal

import duckdb
from pydantic import BaseModel, ConfigDict

from mcp_mimic.store.availability import AVAILABILITY
from mcp_mimic.store.content import content_digest, fingerprint
from mcp_mimic.store.manifest import Classification
from mcp_mimic.store.plan import rules
from mcp_mimic.store.releases import published
from mcp_mimic.store.sql import one_row
from mcp_mimic.store.store import Store
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

    Counts of a synthetic hospital, and of an absent module, are not compared: nobody published them.
    """
    tables, digests = [], {}
    with duckdb.connect(":memory:") as connection:
        store.attach(connection)
        connection.execute("USE store")
        for table in TABLES.values():
            if progress is not None:
                progress(table.qualified)
            checked, digest = _check_table(connection, store, table)
            tables.append(checked)
            digests[table.qualified] = (checked.rows, digest)
    problems = []
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


def _check_table(connection: duckdb.DuckDBPyConnection, store: Store, table: Table) -> tuple[TableCheck, str]:
    name, manifest = table.qualified, store.manifest
    problems = _layout_problems(connection, table)
    rows, digest = (0, "") if problems else content_digest(connection, table, name)
    if not problems:
        entry = manifest.tables.get(name)
        if entry is None or (entry.rows, entry.digest) != (rows, digest):
            problems.append("not the content that the manifest lists")
        problems += _row_problems(connection, table) if table.has_subject else []
    compared = manifest.classification != "synthetic" and table.schema in manifest.modules
    count, source = published(manifest.release).get(name, (None, None)) if compared else (None, None)
    status: Status = "not compared" if count is None else "same" if count == rows else "differs"
    return (
        TableCheck(
            table=name, rows=rows, published=count, source=source, status=status, problems=tuple(problems)
        ),
        digest,
    )


def _layout_problems(connection: duckdb.DuckDBPyConnection, table: Table) -> list[str]:
    expected = [(column.name, column.type) for column in table.columns]
    if table.has_subject:
        expected += [("eid", "VARCHAR"), ("available_at", "TIMESTAMP")]
    found = connection.execute(
        "SELECT column_name, data_type FROM duckdb_columns() "
        "WHERE database_name = 'store' AND schema_name = ? AND table_name = ? ORDER BY column_index",
        [table.schema, table.name],
    ).fetchall()
    if not found:
        return ["missing"]
    return [] if found == expected else ["has other columns or types than the official layout"]


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
