"""The charts that are attacked, imported once a test session."""

from functools import partial
from pathlib import Path

import pytest

from mcp_mimic.store.store import Store
from tests.adversarial.guarded import import_guarded
from tests.conftest import once


@pytest.fixture(scope="session")
def guarded_store(shared_dir: Path) -> Store:
    """Ada's hospital."""
    return once(shared_dir, "guarded", import_guarded)


@pytest.fixture(scope="session")
def other_store(shared_dir: Path) -> Store:
    """Ada's hospital with another future of hers and without her neighbour."""
    return once(shared_dir, "guarded_other", partial(import_guarded, other=True))
