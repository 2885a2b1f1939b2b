"""The default synthetic hospital, the one that the synthetic generator's own tests use."""

from pathlib import Path

import pytest

from harness.scenario import load_scenarios
from tests.harness.synthetic.conftest import SyntheticWorld, build


@pytest.fixture(scope="session")
def whole_world(shared_dir: Path) -> SyntheticWorld:
    return build(shared_dir, "whole_synthetic", load_scenarios())
