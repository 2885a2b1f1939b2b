"""Synthetic hospitals, generated and imported once a test session: one with the plants of one scenario, and, for
slow tests, one in which every plant of all is carried by somebody, and the default one with all the carriers that
sampling needs.
"""

import fcntl
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb
import pytest

from harness.scenario import load_scenarios
from harness.synthetic import PlantedCase, write_hospital
from harness.synthetic.plan import PlantedScenario
from mcp_mimic.store.importer import import_store
from mcp_mimic.store.store import Store


@dataclass(frozen=True)
class SyntheticWorld:
    """A hospital's files, its store, and who carries which plant."""

    source: Path
    store: Store
    planted: tuple[PlantedCase, ...]


@pytest.fixture(scope="session")
def one_world(shared_dir: Path) -> SyntheticWorld:
    """Every plant of the first scenario has a carrier or a few."""
    return build(shared_dir, "one_synthetic", [load_scenarios()[0].at_most(1)])


@pytest.fixture(scope="session")
def world(shared_dir: Path) -> SyntheticWorld:
    """Every plant has a carrier or a few."""
    return build(shared_dir, "synthetic", [scenario.at_most(1) for scenario in load_scenarios()])


@pytest.fixture(scope="session")
def whole_world(shared_dir: Path) -> SyntheticWorld:
    """The default hospital."""
    return build(shared_dir, "whole_synthetic", load_scenarios())


def build(shared_dir: Path, name: str, scenarios: Sequence[PlantedScenario]) -> SyntheticWorld:
    """The hospital of that name, written and imported by whoever comes first."""
    source, folder = shared_dir / f"{name}_source", shared_dir / f"{name}_store"
    record = shared_dir / f"{name}_plants.json"
    with (shared_dir / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not record.exists():
            hospital = write_hospital(source, scenarios=scenarios)
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
