"""A release is recognised by its published counts, or stated."""

from pathlib import Path

import pytest

from mcp_mimic.errors import StoreError
from mcp_mimic.store.classification import seal_synthetic
from mcp_mimic.store.importer import Step, import_store
from mcp_mimic.store.releases import RELEASES, published, recognise
from mcp_mimic.store.tables import TABLES
from tests.hospital import write_hospital


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_is_recognised_by_its_own_counts(release: str) -> None:
    assert recognise({name: rows for name, (rows, _) in published(release).items()}) == release


def test_a_part_of_a_release_is_unknown() -> None:
    counts = {name: rows for name, (rows, _) in published("3.1").items()}
    assert recognise(counts | {"hosp.patients": 1000}) == "unknown"
    assert recognise({}) == "unknown"


@pytest.mark.parametrize("release", RELEASES)
def test_published_counts_are_of_known_tables_and_name_their_source(release: str) -> None:
    for name, (rows, source) in published(release).items():
        assert name in TABLES
        assert rows > 0
        assert source.startswith(("mimic-code, ", "descriptions of MIMIC-CXR"))
    assert published("unknown") == {}


@pytest.mark.slow
def test_a_part_of_a_release_may_be_stated_to_be_one(small_source: Path, tmp_path: Path) -> None:
    assert import_store([small_source], tmp_path / "store", release="3.1").release == "3.1"


def test_a_stated_release_that_the_files_contradict_is_refused_and_costs_no_work(tmp_path: Path) -> None:
    source = write_hospital(tmp_path / "source")
    seal_synthetic(source)
    with pytest.raises(StoreError, match=r"--release 2\.2: these files are release 3\.1"):
        import_store([source], tmp_path / "store", release="2.2")
    assert not (tmp_path / "store").exists()
    steps: dict[str, Step] = {}
    import_store([source], tmp_path / "store", progress=lambda step, name, *_: steps.update({name: step}))
    assert set(steps.values()) == {Step.KEPT}
