"""Stores that many tests share, imported once a test session; work that no test is about, done once or never."""

import fcntl
import gc
import json
import os
import pickle
import signal
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from mcp_mimic.store.importer import import_store
from mcp_mimic.store.manifest import MANIFEST_FILE
from mcp_mimic.store.store import Store
from tests.hospital import write_hospital
from tests.mcp_mimic.chart.edges import edge_rows

if TYPE_CHECKING:
    from tests.harness.built_tasks import World


def pytest_configure() -> None:
    """Let Ctrl-C reach the commands that tests start: a shell's background job hands down that it is ignored.

    And let Python keep what it compiles: tests start a hundred processes that import the same modules.
    """
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Keep what was collected out of the garbage collector's rounds: it stays to the end anyway."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _nothing_twice() -> Iterator[None]:
    """A client checks the schemas that a server publishes, each client anew: once for each schema is enough.

    Every command reads all scenarios and the manifest of policies: a text of TOML is parsed once, and each reader
    gets an object of its own. A file is synced for the day the power fails, which it does in no test; processes that
    tests start do sync.
    """
    check, checked = Draft202012Validator.check_schema, set[str]()
    parse, parsed = tomllib.loads, dict[str, bytes]()

    def check_once(schema: Any) -> None:
        written = json.dumps(schema, sort_keys=True)
        if written not in checked:
            check(schema)
            checked.add(written)

    def parse_once(text: str, **options: Any) -> dict[str, Any]:
        if options or not isinstance(text, str):
            return parse(text, **options)
        if text not in parsed:
            parsed[text] = pickle.dumps(parse(text))
        found: dict[str, Any] = pickle.loads(parsed[text])
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tomllib, "loads", parse_once)
        patch.setattr(Draft202012Validator, "check_schema", check_once)
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="session")
def shared_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this test session, the same one for every worker."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@contextmanager
def _locked(folder: Path, name: str) -> Iterator[None]:
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def once(folder: Path, name: str, build: Callable[[Path], object]) -> Store:
    """The store that `build` puts at its path in `folder`, by the first worker that asks."""
    with _locked(folder, name):
        if not (folder / name / MANIFEST_FILE).exists():
            build(folder / name)
    return Store.open(folder / name)


@pytest.fixture(scope="session")
def demo_dir() -> Path:
    """The open MIMIC-IV demo, from MIMIC_DEMO_DIR; tests on it skip where that is unset."""
    folder = os.environ.get("MIMIC_DEMO_DIR")
    if not folder:
        pytest.skip("MIMIC_DEMO_DIR is not set")
    return Path(folder)


@pytest.fixture(scope="session")
def demo_store(demo_dir: Path, shared_dir: Path) -> Store:
    """The demo, imported."""
    return once(shared_dir, "demo_store", lambda store: import_store([demo_dir], store))


@pytest.fixture(scope="session")
def small_source(shared_dir: Path) -> Path:
    """The small hospital of `tests.hospital` as csv.gz files; not to be changed."""
    with _locked(shared_dir, "small_source"):
        folder = shared_dir / "small_source"
        if not folder.exists():
            partial = write_hospital(shared_dir / "small_source.partial")
            partial.rename(folder)
    return folder


@pytest.fixture(scope="session")
def small_store(small_source: Path, shared_dir: Path) -> Store:
    """The small hospital, imported."""
    return once(shared_dir, "small_store", lambda store: import_store([small_source], store))


@pytest.fixture(scope="session")
def edge_store(shared_dir: Path) -> Store:
    """The small hospital and Dee, whose record ends in every way, imported."""

    def build(store: Path) -> None:
        import_store([write_hospital(shared_dir / "edge_source", edge_rows())], store)

    return once(shared_dir, "edge_store", build)


@pytest.fixture(scope="session")
def task_world(shared_dir: Path) -> "World":
    """A store with cases of every verdict, and their tasks; not to be changed."""
    from tests.harness.built_tasks import World, build_world

    written = shared_dir / "task_world.pickle"
    with _locked(shared_dir, "task_world"):
        if not written.exists():
            written.write_bytes(pickle.dumps(build_world(shared_dir / "task_world")))
    world = pickle.loads(written.read_bytes())
    assert isinstance(world, World)
    return world
