"""What tests of runs share."""

import pytest

from tests.harness.tiny import TinyWorld, make_world


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyWorld:
    """The tiny chart and its tasks; not to be changed."""
    return make_world(tmp_path_factory.mktemp("tiny"))
