"""Values fit their official type, or the import says which one does not and where."""

import datetime as dt
import math
from pathlib import Path
from typing import Any

import duckdb
import pytest

from mcp_mimic.errors import StoreError
from mcp_mimic.store.integrity import verify
from mcp_mimic.store.reading import reading, typed_rows
from mcp_mimic.store.sources import SourceFile
from mcp_mimic.store.tables import TABLES
from tests.hospital import ADA, write_table

LAB = {
    "labevent_id": 1,
    "subject_id": ADA,
    "specimen_id": 2,
    "itemid": 50912,
    "charttime": "2150-03-01 09:00:00",
}


def read(file: Path, name: str) -> list[dict[str, Any]]:
    source = SourceFile(TABLES[name], file)
    with duckdb.connect(":memory:") as connection, reading(source):
        relation = connection.sql(typed_rows(connection, source, verify(source).columns))
        return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def write_parquet(sql: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(sql)


def read_lab(tmp_path: Path, suffix: str = ".csv.gz", **values: object) -> dict[str, Any]:
    return read(write_table(tmp_path, "hosp.labevents", [LAB | values], suffix=suffix), "hosp.labevents")[0]


@pytest.mark.parametrize(
    ("column", "text", "value"),
    [
        ("valuenum", "1.5", 1.5),
        ("valuenum", "1e-3", 0.001),
        ("valuenum", "7", 7.0),
        ("valuenum", "-.5", -0.5),
        ("valuenum", "", None),
        ("hadm_id", "20000001", 20000001),
        ("hadm_id", "20000001.0", 20000001),
        ("hadm_id", "", None),
        ("charttime", "2150-03-01", dt.datetime(2150, 3, 1)),
        ("charttime", "2150-03-01 09:00", dt.datetime(2150, 3, 1, 9)),
        ("charttime", "2150-03-01T09:00:01", dt.datetime(2150, 3, 1, 9, 0, 1)),
        ("value", "___", "___"),
        ("value", "007", "007"),
        ("value", " padded ", " padded "),
        ("comments", 'said "no", twice', 'said "no", twice'),
        ("comments", "two\nlines", "two\nlines"),
        ("comments", "", None),
        ("comments", "NULL", "NULL"),
    ],
)
def test_a_value_that_fits_is_read_as_it_is(tmp_path: Path, column: str, text: str, value: object) -> None:
    assert read_lab(tmp_path, **{column: text})[column] == value


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("itemid", "50912.5"),
        ("itemid", "0x1F"),
        ("itemid", "1e5"),
        ("itemid", "1_000"),
        ("itemid", "50912 mg"),
        ("itemid", "99999999999"),
        ("valuenum", "nan"),
        ("valuenum", "inf"),
        ("valuenum", "1,5"),
        ("valuenum", "___"),
        ("charttime", "03/01/2150"),
        ("charttime", "2150-02-30 10:00:00"),
        ("charttime", "2150-03-01 10:00:00+02"),
        ("charttime", "2150-03-01 10:00:00Z"),
        ("charttime", "infinity"),
        ("charttime", "0044-03-15 (BC) 00:00:00"),
        ("charttime", "0000-01-01 00:00:00"),
        ("charttime", "0000-01-01"),
        ("charttime", "12150-03-01 00:00:00"),
        ("charttime", "2150-03-01 24:00:00"),
        ("charttime", "2150-03-01 10:60:00"),
        ("charttime", "noon"),
    ],
)
@pytest.mark.parametrize("suffix", [".csv.gz", ".csv"])
def test_a_value_that_does_not_fit_is_named_with_file_line_and_column(
    tmp_path: Path, column: str, text: str, suffix: str
) -> None:
    file = write_table(tmp_path, "hosp.labevents", [LAB, LAB | {column: text}], suffix=suffix)
    with pytest.raises(StoreError) as caught:
        read(file, "hosp.labevents")
    assert str(file) in caught.value.message
    assert f"column {column}" in caught.value.message
    assert repr(text) in caught.value.message
    assert "line 3" in caught.value.message
    assert "\n" not in caught.value.message


def test_no_number_is_stored_as_minus_zero(tmp_path: Path) -> None:
    value = read_lab(tmp_path, valuenum="-0.0")["valuenum"]
    assert (value, math.copysign(1, value)) == (0.0, 1)


def test_the_line_is_found_behind_a_very_long_field_and_an_empty_line(tmp_path: Path) -> None:
    row = {
        "note_id": f"{ADA}-RR-1",
        "subject_id": ADA,
        "charttime": "2150-03-01 09:00:00",
        "text": "x" * 200_000,
    }
    file = write_table(tmp_path, "note.radiology", [row, row | {"note_id": "7-RR-2"}], suffix=".csv")
    header, first, second, _ = file.read_text().split("\n")
    file.write_text(f"{header}\n{first}\n\n{second}\n")
    with pytest.raises(StoreError, match=r"line 4, column note_id: '7-RR-2' is not an id that begins"):
        read(file, "note.radiology")


def test_the_line_is_right_after_a_field_of_several_lines(tmp_path: Path) -> None:
    rows = [LAB | {"comments": "one\ntwo\nthree"}, LAB | {"valuenum": "high"}]
    with pytest.raises(StoreError, match="line 5, column valuenum: 'high' is not a number"):
        read(write_table(tmp_path, "hosp.labevents", rows), "hosp.labevents")


@pytest.mark.parametrize("column", ["subject_id", "labevent_id"])
def test_a_row_without_subject_or_key_is_an_error(tmp_path: Path, column: str) -> None:
    with pytest.raises(StoreError, match=f"line 2, column {column}: empty"):
        read_lab(tmp_path, **{column: ""})


def test_a_date_may_carry_midnight_but_no_other_time(tmp_path: Path) -> None:
    row = {"subject_id": ADA, "seq_num": 1, "result_name": "BMI", "result_value": "30"}
    file = write_table(tmp_path, "hosp.omr", [row | {"chartdate": "2150-03-01 00:00:00"}])
    assert read(file, "hosp.omr")[0]["chartdate"] == dt.date(2150, 3, 1)
    file = write_table(tmp_path, "hosp.omr", [row | {"chartdate": "2150-03-01 08:00:00"}])
    with pytest.raises(StoreError, match=r"chartdate.*is not a date"):
        read(file, "hosp.omr")


def test_a_parquet_column_may_have_another_number_type_when_every_value_fits(tmp_path: Path) -> None:
    file = tmp_path / "caregiver.parquet"
    write_parquet(f"COPY (SELECT 7.0::DOUBLE AS caregiver_id) TO '{file}' (FORMAT parquet)")
    assert read(file, "icu.caregiver") == [{"caregiver_id": 7}]
    write_parquet(f"COPY (SELECT 7.5::DOUBLE AS caregiver_id) TO '{file}' (FORMAT parquet)")
    with pytest.raises(StoreError, match=r"column caregiver_id: '7\.5' is not a whole number"):
        read(file, "icu.caregiver")


def test_a_parquet_text_column_stored_as_numbers_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "provider.parquet"
    write_parquet(f"COPY (SELECT 12 AS provider_id) TO '{file}' (FORMAT parquet)")
    with pytest.raises(StoreError, match="provider_id is stored as INTEGER, it must be text"):
        read(file, "hosp.provider")
    write_parquet(f"COPY (SELECT NULL::INTEGER AS provider_id) TO '{file}' (FORMAT parquet)")
    assert read(file, "hosp.provider") == [{"provider_id": None}]


def test_a_parquet_time_with_a_zone_is_refused(tmp_path: Path) -> None:
    file = write_table(tmp_path, "hosp.labevents", [LAB], suffix=".parquet")
    zoned = tmp_path / "zoned.parquet"
    write_parquet(
        f"COPY (SELECT * REPLACE (charttime::VARCHAR || '+00' AS charttime) FROM '{file}') TO '{zoned}' (FORMAT parquet)"
    )
    with pytest.raises(StoreError, match=r"column charttime.*is not a time without zone"):
        read(zoned, "hosp.labevents")
