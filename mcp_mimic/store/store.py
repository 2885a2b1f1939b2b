"""A complete store, opened read-only."""

from dataclasses import dataclass
from pathlib import Path

import duckdb
from pydantic import ValidationError

from mcp_mimic.errors import StoreError
from mcp_mimic.store.manifest import DATABASE_FILE, MANIFEST_FILE, STORE_FORMAT, Manifest
from mcp_mimic.store.sql import quote_text

_IMPORT_AGAIN = "remove the folder and run: mcp-mimic import SOURCE… --store {path}"


@dataclass(frozen=True)
class Store:
    """A store on disk: `manifest.json` and `chart.duckdb`. Opening one reads no table."""

    path: Path
    manifest: Manifest

    @property
    def database(self) -> Path:
        """The DuckDB file with the schemas hosp, icu, note, ed and so on."""
        return self.path / DATABASE_FILE

    @classmethod
    def open(cls, path: Path) -> "Store":
        """Open the store in `path`; StoreError if it is absent, partial, or of another format version."""
        manifest = read_manifest(path)
        store = cls(path, manifest)
        if not store.database.is_file():
            raise StoreError(
                f"{path}: the store is not whole, {DATABASE_FILE} is missing",
                _IMPORT_AGAIN.format(path=path),
            )
        if store._fingerprint_in_file() != manifest.fingerprint:
            raise StoreError(
                f"{path}: {MANIFEST_FILE} and {DATABASE_FILE} belong to different imports",
                _IMPORT_AGAIN.format(path=path),
            )
        return store

    def attach(self, connection: duckdb.DuckDBPyConnection, alias: str = "store") -> None:
        """Attach the store's database to `connection`, read-only, under `alias`."""
        connection.execute(f'ATTACH {quote_text(str(self.database))} AS "{alias}" (READ_ONLY)')

    def _fingerprint_in_file(self) -> str | None:
        with duckdb.connect(":memory:") as connection:
            try:
                self.attach(connection)
                rows = connection.execute("SELECT fingerprint FROM store.main.store").fetchall()
            except duckdb.Error as error:
                raise StoreError(
                    f"{self.database}: cannot be read as a store ({first_line(error)})",
                    _IMPORT_AGAIN.format(path=self.path),
                ) from error
        return str(rows[0][0]) if rows else None


def read_manifest(path: Path) -> Manifest:
    """The manifest of the store in `path`; StoreError says what is wrong with it."""
    file = path / MANIFEST_FILE
    try:
        text = file.read_bytes()
    except OSError as error:
        raise StoreError(
            f"{path}: no store here",
            f"build one: mcp-mimic import SOURCE… --store {path}",
            code="no_store",
        ) from error
    try:
        manifest = Manifest.model_validate_json(text)
    except ValidationError as error:
        raise StoreError(
            f"{file}: not a manifest of store format {STORE_FORMAT}", _IMPORT_AGAIN.format(path=path)
        ) from error
    if manifest.format != STORE_FORMAT:
        raise StoreError(
            f"{path}: store format {manifest.format}, this version reads format {STORE_FORMAT}",
            _IMPORT_AGAIN.format(path=path),
        )
    return manifest


def first_line(error: BaseException) -> str:
    """The first line of an error's text: the rest of DuckDB's messages is advice about its own options."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__
