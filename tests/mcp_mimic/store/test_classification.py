"""What a store may be used for is decided by its content, whatever anyone says about it."""

import gzip
import shutil
from pathlib import Path

import duckdb
import pytest

from mcp_mimic.errors import StoreError
from mcp_mimic.store.classification import SYNTHETIC_SEAL_FILE, seal_synthetic
from mcp_mimic.store.importer import import_store
from mcp_mimic.store.store import Store
from tests.hospital import ADA, small_rows, write_hospital, write_table


def test_an_unknown_hospital_is_credentialed(small_store: Store) -> None:
    assert small_store.manifest.classification == "credentialed"
    assert small_store.manifest.release == "unknown"


def test_a_sealed_hospital_is_synthetic_and_has_the_layout_of_3_1(tmp_path: Path) -> None:
    source = write_hospital(tmp_path / "source")
    content = seal_synthetic(source)
    manifest = import_store([source], tmp_path / "store")
    assert (manifest.classification, manifest.release) == ("synthetic", "3.1")
    assert manifest.fingerprint == content


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_seal_holds_in_another_format(tmp_path: Path, suffix: str) -> None:
    seal_synthetic(write_hospital(tmp_path / "sealed"))
    source = write_hospital(tmp_path / "source", suffix=suffix)
    shutil.copy(tmp_path / "sealed" / SYNTHETIC_SEAL_FILE, source)
    assert import_store([source / "hosp", source / "icu"], tmp_path / "store").classification == "synthetic"


@pytest.mark.slow
@pytest.mark.parametrize("edit", ["a value", "a row more", "a dictionary", "the seal", "a module more"])
def test_any_edit_of_a_sealed_hospital_makes_it_credentialed(tmp_path: Path, edit: str) -> None:
    rows = small_rows()
    source = write_hospital(tmp_path / "source", rows)
    seal_synthetic(source)
    seal = source / SYNTHETIC_SEAL_FILE
    if edit == "a value":
        rows["hosp.labevents"][0]["valuenum"] = 1.0
    elif edit == "a row more":
        rows["icu.outputevents"].append(rows["icu.outputevents"][0])
    elif edit == "a dictionary":
        rows["hosp.provider"].append({"provider_id": "P002BB"})
    elif edit == "the seal":
        seal.write_text("0" * 64)
    else:
        rows["ed.edstays"] = [
            {"subject_id": ADA, "stay_id": 1, "intime": "2150-03-01", "outtime": "2150-03-02", "gender": "F"}
        ]
    write_hospital(source, rows)
    manifest = import_store([source], tmp_path / "store")
    assert (manifest.classification, manifest.release) == ("credentialed", "unknown")


def test_a_hospital_that_does_not_fit_the_layout_is_not_sealed(tmp_path: Path) -> None:
    rows = small_rows()
    rows["hosp.labevents"][0]["valuenum"] = "high"
    source = write_hospital(tmp_path / "source", rows)
    with pytest.raises(StoreError, match="column valuenum: 'high' is not a number"):
        seal_synthetic(source)
    assert not (source / SYNTHETIC_SEAL_FILE).exists()


def copy_of_demo(demo_dir: Path, to: Path) -> Path:
    for module in ("hosp", "icu"):
        shutil.copytree(demo_dir / module, to / module, copy_function=shutil.copyfile)
        for file in (to / module).iterdir():
            file.chmod(0o644)
        (to / module).chmod(0o755)
    return to


def edit_lines(file: Path, old: str, new: str) -> None:
    text = gzip.decompress(file.read_bytes()).decode()
    assert old in text
    file.write_bytes(gzip.compress(text.replace(old, new, 1).encode()))


@pytest.mark.demo
@pytest.mark.slow
def test_the_demo_is_open(demo_store: Store) -> None:
    assert (demo_store.manifest.classification, demo_store.manifest.release) == ("open", "demo-2.2")


@pytest.mark.demo
@pytest.mark.slow
def test_the_demo_is_open_in_parquet_and_without_its_chart_rows(demo_dir: Path, tmp_path: Path) -> None:
    source = copy_of_demo(demo_dir, tmp_path / "source")
    write_table(source, "icu.chartevents", [])
    file = source / "hosp" / "labevents.csv.gz"
    duckdb.sql(
        f"COPY (FROM read_csv('{file}', all_varchar = true, quote = '\"', escape = '\"')) "
        f"TO '{file.with_name('labevents.parquet')}' (FORMAT parquet)"
    )
    file.unlink()
    manifest = import_store([source], tmp_path / "store")
    assert (manifest.classification, manifest.release) == ("open", "demo-2.2")


@pytest.mark.demo
@pytest.mark.slow
@pytest.mark.parametrize("edit", ["a changed admission", "a stranger's chart row"])
def test_an_edited_demo_is_credentialed(demo_dir: Path, tmp_path: Path, edit: str) -> None:
    source = copy_of_demo(demo_dir, tmp_path / "source")
    write_table(source, "icu.chartevents", [])
    if edit == "a changed admission":
        edit_lines(source / "hosp" / "admissions.csv.gz", "EMERGENCY ROOM", "EMERGENCY DOOR")
    else:
        row = {"subject_id": ADA, "hadm_id": 1, "stay_id": 1, "charttime": "2150-03-01", "itemid": 220045}
        write_table(source, "icu.chartevents", [row])
    manifest = import_store([source], tmp_path / "store")
    assert (manifest.classification, manifest.release) == ("credentialed", "demo-2.2")
