"""Sources that cannot be imported are named in one line, with the remedy, and leave nothing behind."""

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from mcp_mimic.errors import StoreError
from mcp_mimic.store.importer import import_store
from mcp_mimic.store.store import Store
from tests.hospital import ADA, small_rows, write_hospital, write_table

Damage = Callable[[Path], object]


def lab_file(source: Path) -> Path:
    return source / "hosp" / "labevents.csv.gz"


def cut(file: Path, *, off: int) -> None:
    file.write_bytes(file.read_bytes()[:-off])


def rewrite(file: Path, change: Callable[[str], str]) -> None:
    file.write_bytes(gzip.compress(change(gzip.decompress(file.read_bytes()).decode()).encode(), mtime=0))


def padded(file: Path) -> None:
    file.write_bytes(file.read_bytes() + bytes(512))


def flagged(file: Path) -> None:
    """Say in the header, rightly, that the packed file is text."""
    packed = bytearray(file.read_bytes())
    packed[3] |= 1
    file.write_bytes(bytes(packed))


def flip_a_byte(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(bytes(data))


DAMAGES: dict[str, tuple[Damage, str]] = {
    "a missing table": (lambda s: lab_file(s).unlink(), "hosp/labevents.csv.gz is missing"),
    "a missing module": (lambda s: (s / "icu").rename(s / "elsewhere"), "icu/icustays.csv.gz is missing"),
    "a gzip cut in half": (
        lambda s: cut(lab_file(s), off=lab_file(s).stat().st_size // 2),
        "labevents.csv.gz: gzip file cut short",
    ),
    "a gzip that lacks its last byte": (
        lambda s: cut(lab_file(s), off=1),
        "labevents.csv.gz: gzip file cut short",
    ),
    "a broken gzip": (lambda s: flip_a_byte(lab_file(s)), "labevents.csv.gz: broken gzip file"),
    "a csv under the name of a gzip": (
        lambda s: lab_file(s).write_text("labevent_id\n1\n"),
        "labevents.csv.gz: broken gzip file",
    ),
    "an empty file": (lambda s: lab_file(s).write_bytes(b""), "labevents.csv.gz: gzip file cut short"),
    "a last row without its end": (
        lambda s: rewrite(lab_file(s), lambda text: text[:-9]),
        "labevents.csv.gz: does not end with a line break",
    ),
    "a missing column": (
        lambda s: rewrite(lab_file(s), lambda text: text.replace("valuenum", "number", 1)),
        "labevents.csv.gz: lacks column valuenum",
    ),
    "an unknown column": (
        lambda s: rewrite(lab_file(s), lambda text: text.replace("comments", "comments,mood", 1)),
        "labevents.csv.gz: has the unknown column mood",
    ),
    "a column twice": (
        lambda s: rewrite(lab_file(s), lambda text: text.replace("comments", "comments,flag", 1)),
        "labevents.csv.gz: repeats column flag",
    ),
    "a row with too few fields": (
        lambda s: rewrite(lab_file(s), lambda text: text + "9,10000001\n"),
        "labevents.csv.gz: line 7 is not a row of hosp.labevents",
    ),
    "a row with too many fields": (
        lambda s: rewrite(lab_file(s), lambda text: text + text.splitlines()[-1] + ",more\n"),
        "labevents.csv.gz: line 7 is not a row of hosp.labevents",
    ),
    "a quote that never ends": (
        lambda s: rewrite(lab_file(s), lambda text: text + '9,10000001,"\n'),
        "labevents.csv.gz: line 7 is not a row of hosp.labevents",
    ),
    "a table in two files": (
        lambda s: write_table(s, "hosp.labevents", [], suffix=".csv"),
        "hosp.labevents is there twice",
    ),
    "an order id of another subject": (
        lambda s: write_table(
            s,
            "hosp.poe",
            [{"subject_id": ADA, "poe_id": "10000009-1", "poe_seq": 1, "ordertime": "2150-03-01"}],
        ),
        "poe.csv.gz: line 2, column poe_id: '10000009-1' is not an id that begins with",
    ),
    "an order that is there twice": (
        lambda s: write_table(s, "hosp.poe", small_rows()["hosp.poe"] + small_rows()["hosp.poe"][:1]),
        "match keys that are not unique in",
    ),
    "a quote in the header": (
        lambda s: rewrite(lab_file(s), lambda text: text.replace(",comments\n", ',"comments\n', 1)),
        "the first line is not a list of column names",
    ),
    "a quote that opens in the header and closes rows later": (
        lambda s: rewrite(
            lab_file(s), lambda text: text.replace(",comments\n", ',"comments\n', 1).replace("___.", '___."')
        ),
        "the first line is not a list of column names",
    ),
    "padding behind the packed text": (lambda s: padded(lab_file(s)), "zero bytes behind the packed text"),
    "a gzip header that the database does not read": (
        lambda s: flagged(lab_file(s)),
        "packed in a way that cannot be read",
    ),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_source_is_named_and_leaves_nothing_behind(
    tmp_path: Path, damage: Damage, message: str
) -> None:
    source = write_hospital(tmp_path / "source")
    damage(source)
    target = tmp_path / "there"
    target.mkdir()
    with pytest.raises(StoreError) as caught:
        import_store([source], target / "store")
    assert message in caught.value.message
    assert "\n" not in caught.value.message + caught.value.remedy
    assert caught.value.remedy[0].islower()
    assert not caught.value.remedy.endswith(".")
    assert caught.value.remedy
    assert list(target.iterdir()) == []


def test_a_source_that_is_no_hospital_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such folder"):
        import_store([tmp_path / "nowhere"], tmp_path / "store")
    with pytest.raises(StoreError, match="holds none of the folders hosp, icu"):
        import_store([tmp_path], tmp_path / "store")


def test_a_folder_that_is_not_a_store_is_not_touched(small_source: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    (store / "thesis.txt").write_text("mine")
    with pytest.raises(StoreError, match="exists and is not a store"):
        import_store([small_source], store)
    assert [file.name for file in store.iterdir()] == ["thesis.txt"]


@pytest.mark.slow
def test_modules_may_be_given_one_by_one(small_source: Path, tmp_path: Path, small_store: Store) -> None:
    manifest = import_store([small_source / "hosp", small_source / "icu"], tmp_path / "store")
    assert manifest.fingerprint == small_store.manifest.fingerprint


@pytest.mark.slow
def test_a_release_may_lie_in_a_folder_named_like_a_module(
    small_source: Path, tmp_path: Path, small_store: Store
) -> None:
    shutil.copytree(small_source, tmp_path / "hosp")
    manifest = import_store([tmp_path / "hosp"], tmp_path / "store")
    assert manifest.fingerprint == small_store.manifest.fingerprint


@pytest.mark.slow
def test_the_same_folder_twice_is_no_conflict(small_source: Path, tmp_path: Path) -> None:
    import_store([small_source, small_source / "hosp"], tmp_path / "store")


def test_one_table_in_two_sources_is_a_conflict(small_source: Path, tmp_path: Path) -> None:
    other = write_table(tmp_path / "other", "icu.caregiver", [])
    with pytest.raises(StoreError, match=r"icu\.caregiver is there twice") as caught:
        import_store([small_source, other.parent], tmp_path / "store")
    assert str(other) in caught.value.message


def test_an_absent_module_is_its_tables_empty_and_a_present_one_is_imported(tmp_path: Path) -> None:
    rows = small_rows() | {
        "note.radiology": [
            {
                "note_id": f"{ADA}-RR-3",
                "subject_id": ADA,
                "note_type": "RR",
                "note_seq": 3,
                "charttime": "2150-03-01 08:00:00",
                "storetime": "2150-03-01 09:30:00",
                "text": 'CHEST (PA AND LAT)\n\n"No acute process", says ___.\n',
            }
        ]
    }
    store = tmp_path / "store"
    manifest = import_store([write_hospital(tmp_path / "source", rows)], store)
    assert manifest.modules == {"hosp", "icu", "note"}
    assert manifest.tables["note.discharge"].source is None
    with duckdb.connect() as connection:
        Store.open(store).attach(connection)
        notes = connection.sql("SELECT eid, text FROM store.note.radiology").fetchall()
        visits = connection.sql("SELECT eid, available_at FROM store.ed.edstays").fetchall()
    assert notes == [("note:RR-3", 'CHEST (PA AND LAT)\n\n"No acute process", says ___.\n')]
    assert visits == []


def test_a_path_with_a_wildcard_is_refused_rather_than_expanded(tmp_path: Path) -> None:
    source = write_hospital(tmp_path / "mimic[1]")
    with pytest.raises(StoreError, match="wildcard"):
        import_store([source], tmp_path / "store")


def test_a_module_given_alone_asks_for_the_folder_above_it(tmp_path: Path) -> None:
    source = write_hospital(tmp_path / "source")
    with pytest.raises(StoreError) as caught:
        import_store([source / "hosp"], tmp_path / "store")
    assert caught.value.code == "missing_table"
    assert "give the folder that holds hosp/ and icu/" in caught.value.remedy


def test_one_missing_table_asks_for_its_file(tmp_path: Path) -> None:
    source = write_hospital(tmp_path / "source")
    lab_file(source).unlink()
    with pytest.raises(StoreError) as caught:
        import_store([source], tmp_path / "store")
    assert "hosp/labevents.csv.gz is missing" in caught.value.message
    assert caught.value.remedy.startswith("download the file")
