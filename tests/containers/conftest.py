"""Tests that need a Docker engine share its images, one store of the synthetic hospital and eight of its tasks."""

import fcntl
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.build import build_tasks
from harness.cohort import build_cohort
from harness.containers.images import build_images
from harness.scenario import load_scenarios
from harness.synthetic import write_hospital
from mcp_mimic.contract import VERDICTS
from mcp_mimic.store.importer import import_store
from mcp_mimic.store.store import Store

SEED = 20260101
EIGHT = 8


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs an engine."""
    here = Path(__file__).parent
    of_here = {path for path in {item.path for item in items} if here in path.parents}
    for item in items:
        if item.path in of_here:
            item.add_marker(pytest.mark.docker)


@dataclass(frozen=True)
class Ward:
    """A store, and a folder of eight tasks on it: two of each verdict, of all scenarios."""

    store: Path
    tasks: Path

    @property
    def task_ids(self) -> list[str]:
        return sorted(path.name for path in self.tasks.iterdir() if path.is_dir())


@pytest.fixture(scope="session")
def images() -> None:
    """The images of the code under test, built unless they are there."""
    build_images(lambda _: None)


@pytest.fixture(scope="session")
def ward(shared_dir: Path, images: None) -> Ward:
    """Made once for all workers; not to be changed."""
    folder = shared_dir / "ward"
    made = Ward(folder / "store", folder / "tasks")
    with (shared_dir / "ward.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.tasks.exists():
            write_hospital(folder / "hospital", seed=SEED)
            import_store([folder / "hospital"], made.store)
            _build(made)
    return made


def _build(ward: Ward) -> None:
    store, scenarios = Store.open(ward.store), load_scenarios()
    rows = build_cohort(store, scenarios).rows
    chosen = []
    for verdict in VERDICTS:
        of_scenario = {row.scenario: row for row in rows if row.gold == verdict}
        chosen += list(of_scenario.values())[: EIGHT // len(VERDICTS)]
    build_tasks(store, chosen, scenarios, ward.tasks)
