"""The manifest of a store: what is in it, where it came from, and what it may be used for."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

STORE_FORMAT = 2
"""Version of the store's layout; another version must be imported again."""

MANIFEST_FILE = "manifest.json"
DATABASE_FILE = "chart.duckdb"

Classification = Literal["synthetic", "open", "credentialed"]


class TableEntry(BaseModel):
    """One table: its rows, the file it came from (name only) and that file's sha256, its content digest.

    `source` and `sha256` are None where the module was absent and the table is empty. `unread` are columns
    of the file that the official layout does not have: no rule says when they are known, so they are left out.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    rows: int
    source: str | None
    sha256: str | None
    digest: str
    unread: list[str] = []


class Manifest(BaseModel):
    """What `manifest.json` holds.

    `fingerprint` is taken over the content of the tables, whatever the files' format and row order.
    `rules` is a digest of the SQL that the tables were built with, evidence ids and availability included.
    `release` is "3.1", "2.2", "demo-2.2" or "unknown". The file names no folder of the machine.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int
    release: str
    classification: Classification
    fingerprint: str
    rules: str
    created_by: str
    duckdb: str
    tables: dict[str, TableEntry]

    @property
    def modules(self) -> frozenset[str]:
        """Schemas that came with at least one file."""
        return frozenset(name.split(".")[0] for name, entry in self.tables.items() if entry.source)
