"""The default synthetic hospital, generated and imported once a test session."""

import fcntl
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb
import pytest

from harness.synthetic import PlantedCase, write_hospital
from mcp_mimic.store.importer import import_store
from mcp_mimic.store.store import Store


@dataclass(frozen=True)
class SyntheticWorld:
    """The default hospital's files, its store, and who carries which plant."""

    source: Path
    store: Store
    planted: tuple[PlantedCase, ...]


@pytest.fixture(scope="session")
def world(shared_dir: Path) -> SyntheticWorld:
    source, folder = shared_dir / "synthetic_source", shared_dir / "synthetic_store"
    record = shared_dir / "synthetic_plants.json"
    with (shared_dir / "synthetic.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not record.exists():
            hospital = write_hospital(source)
            import_store([source], folder)
            record.write_text(json.dumps([asdict(case) for case in hospital]), encoding="utf-8")
    planted = tuple(PlantedCase(**case) for case in json.loads(record.read_text(encoding="utf-8")))
    return SyntheticWorld(source, Store.open(folder), planted)


@pytest.fixture(scope="module")
def database(world: SyntheticWorld) -> Iterator[duckdb.DuckDBPyConnection]:
    """The world's store, in use."""
    with duckdb.connect() as connection:
        world.store.attach(connection, "store")
        connection.execute("use store")
        yield connection


def single(database: duckdb.DuckDBPyConnection, sql: str) -> float:
    """The number that a statement gives, as its only row and column."""
    ((found,),) = database.execute(sql).fetchall()
    return float(found)
