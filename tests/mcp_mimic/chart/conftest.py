"""The store of the small hospital with the patient whose record ends in every way."""

import pytest

from mcp_mimic.store.store import Store
from tests.mcp_mimic.chart.edges import edge_rows, store_of


@pytest.fixture(scope="session")
def edge_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The small hospital and Dee, imported."""
    return store_of(edge_rows(), tmp_path_factory.mktemp("edges"))
