"""Oddities of the real files of MIMIC-IV, each of which has broken somebody's import."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from mcp_mimic.chart.slice import open_slice
from mcp_mimic.errors import GrantError, StoreError
from mcp_mimic.store.classification import seal_synthetic
from mcp_mimic.store.importer import import_store
from mcp_mimic.store.sources import find_sources
from mcp_mimic.store.store import Store
from tests.hospital import ADA, ADA_HADM, CY, Rows, small_rows, write_hospital, write_table

DAY = dt.datetime(2150, 3, 1)
LATE = dt.datetime(2151, 1, 1)

# charttime, storetime → when the summary of Ada's admission, which ends on the 6th at 15:00, is known
SUMMARIES = [
    ("2150-03-06 00:00:00", None, "2150-03-06 23:59:00"),
    ("2150-03-06 00:00:00", "2150-03-06 00:00:00", "2150-03-06 15:00:00"),
    ("2150-03-06 00:00:00", "2150-03-08 17:30:00", "2150-03-08 17:30:00"),
    ("2150-03-05 00:00:00", None, "2150-03-06 15:00:00"),
    ("2150-03-06 16:10:00", None, "2150-03-06 16:10:00"),
    ("2150-03-06 16:10:00", "2150-03-06 15:20:00", "2150-03-06 16:10:00"),
]


def odd_rows() -> Rows:
    """The small hospital with every oddity that an import takes as it is."""
    rows = small_rows()
    # 3.1 has descriptions that begin or end in a quoted word, so that a field ends in three quotes
    rows["hosp.d_hcpcs"] = [
        {"code": "A0001", "long_description": '"Bandage", 2" wide or "wider"', "short_description": '"x"'},
        {"code": "A0002", "long_description": 'a"', "short_description": ""},
    ]
    for name in (
        "hosp.labevents",
        "hosp.microbiologyevents",
        "hosp.emar",
        "hosp.pharmacy",
        "hosp.prescriptions",
    ):
        for row in rows[name]:
            row["hadm_id"] = None
    rows["hosp.labevents"][0] |= {"storetime": "2150-02-28 09:50:00", "value": "___", "valuenum": None}
    rows["hosp.labevents"][1] |= {"comments": "“37 °C”, ___.\n\n"}
    rows["hosp.microbiologyevents"][0] |= {"chartdate": "2150-03-01", "storedate": "2150-03-04"}
    rows["hosp.hcpcsevents"].append(
        {**rows["hosp.hcpcsevents"][0], "chartdate": "2131-08-14", "hcpcs_cd": "G0378", "seq_num": 2}
    )
    rows["hosp.patients"][2] |= {"anchor_age": 91, "anchor_year": 2140}
    rows["note.discharge"] = [
        {
            "note_id": f"{ADA}-DS-{n}",
            "subject_id": ADA,
            "hadm_id": ADA_HADM,
            "note_type": "DS",
            "note_seq": n,
            "charttime": charttime,
            "storetime": storetime,
            "text": "Age: ___",
        }
        for n, (charttime, storetime, _) in enumerate(SUMMARIES)
    ]
    return rows


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The small hospital with its oddities, imported."""
    folder = tmp_path_factory.mktemp("odd")
    import_store([write_hospital(folder / "source", odd_rows())], folder / "store")
    return Store.open(folder / "store")


def stored(store: Store, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        store.attach(connection)
        return connection.execute(sql).fetchall()


def test_quotes_may_begin_and_end_a_quoted_field(odd: Store) -> None:
    described = stored(
        odd, "select long_description, short_description from store.hosp.d_hcpcs order by code"
    )
    assert described == [('"Bandage", 2" wide or "wider"', '"x"'), ('a"', None)]


def test_rows_without_an_admission_are_the_subjects_all_the_same(odd: Store) -> None:
    with open_slice(odd, ADA, LATE) as chart:
        labs = chart.cursor().execute("select eid, hadm_id from hosp.labevents order by eid").fetchall()
        doses = chart.cursor().execute("select eid, hadm_id from hosp.emar order by emar_seq").fetchall()
    assert labs == [(f"lab:{n}", None) for n in (1, 2, 3, 4)]
    assert doses == [("emar:9", None), ("emar:10", None)]


def test_a_row_stored_before_its_time_is_known_at_its_time(odd: Store) -> None:
    known = stored(odd, "select charttime, available_at from store.hosp.labevents where labevent_id = 1")
    assert known == [(DAY.replace(hour=9), DAY.replace(hour=9))]


def test_a_time_of_which_the_file_gives_only_the_day_is_its_midnight(odd: Store) -> None:
    days = stored(odd, "select chartdate, storedate from store.hosp.microbiologyevents")
    assert days == [(DAY, DAY + dt.timedelta(days=3))]


def test_a_summary_dated_at_midnight_is_known_when_it_is_stored_or_its_day_is_over(odd: Store) -> None:
    known = stored(odd, "select available_at from store.note.discharge order by note_seq")
    assert [moment for (moment,) in known] == [dt.datetime.fromisoformat(moment) for *_, moment in SUMMARIES]


def test_a_billed_procedure_is_known_when_its_admission_is_over(odd: Store) -> None:
    # the admission ends on the 12th; what is dated later waits for its date
    assert stored(odd, "select chartdate, available_at from store.hosp.hcpcsevents order by 1") == [
        (dt.date(2131, 8, 11), dt.datetime(2131, 8, 12, 12)),
        (dt.date(2131, 8, 14), dt.datetime(2131, 8, 14)),
    ]


def test_what_was_taken_out_stays_as_it_was_marked(odd: Store) -> None:
    labs = stored(
        odd, "select value, valuenum, comments from store.hosp.labevents where labevent_id < 3 order by all"
    )
    assert labs == [("1.6", 1.6, "“37 °C”, ___.\n\n"), ("___", None, None)]


def test_somebody_over_89_is_91_and_was_born_that_long_before(odd: Store) -> None:
    with open_slice(odd, CY, dt.datetime(2049, 1, 1)) as chart:
        assert chart.cursor().execute("select anchor_age from hosp.patients").fetchall() == [(91,)]
    with pytest.raises(GrantError, match="before the patient's birth in about 2049"):
        open_slice(odd, CY, dt.datetime(2048, 12, 31))


def test_a_file_that_was_also_unpacked_is_named_twice_and_nothing_is_guessed(tmp_path: Path) -> None:
    source = write_hospital(tmp_path / "source")
    write_table(source, "hosp.omr", small_rows()["hosp.omr"], suffix=".csv")
    with pytest.raises(StoreError) as caught:
        find_sources([source])
    assert "omr.csv.gz" in caught.value.message
    assert caught.value.message.endswith("omr.csv")
    assert caught.value.remedy == "keep one of them and move the other away"


def test_text_in_a_numeric_column_is_named_and_never_null(tmp_path: Path) -> None:
    rows = small_rows()
    rows["icu.chartevents"][1]["valuenum"] = "refused"
    with pytest.raises(
        StoreError, match=r"chartevents\.csv\.gz: line 3, column valuenum: 'refused' is not a number"
    ):
        import_store([write_hospital(tmp_path / "source", rows)], tmp_path / "store")


def test_bytes_that_are_not_utf8_are_named_with_their_line(tmp_path: Path) -> None:
    source = write_hospital(tmp_path / "source", suffix=".csv")
    file = source / "hosp" / "labevents.csv"
    file.write_bytes(file.read_bytes().replace(b"___.", "37 °C".encode("latin-1")))
    with pytest.raises(StoreError) as caught:
        import_store([source], tmp_path / "store")
    assert caught.value.message == f"{file}: line 6 is not UTF-8 text"
    assert "iconv" in caught.value.remedy


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "lines that end in CR LF": lambda content: content.replace(b"\n", b"\r\n"),
    "a byte-order mark": lambda content: b"\xef\xbb\xbf" + content,
    "names in upper case": lambda content: b"\n".join(
        [content.splitlines()[0].upper(), *content.splitlines()[1:], b""]
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_files_that_went_through_other_tools_hold_the_same(
    tmp_path: Path, small_store: Store, change: Callable[[bytes], bytes]
) -> None:
    source = write_hospital(tmp_path / "source", suffix=".csv")
    for file in source.rglob("*.csv"):
        file.write_bytes(change(file.read_bytes()))
    assert seal_synthetic(source) == small_store.manifest.fingerprint


def write_many(file: Path, rows: int) -> None:
    """Write about 110 bytes a row of icu.outputevents, in no order, over many subjects."""
    with duckdb.connect() as connection:
        connection.execute(
            f"copy (select {ADA} + n * 7919 % 3000 as subject_id, {ADA_HADM} as hadm_id, 30000001 as stay_id, "
            "7 as caregiver_id, timestamp '2150-03-01' + to_seconds(n * 104729 % 1000003) as charttime, "
            "timestamp '2150-03-20' + to_seconds(n) as storetime, 226559 as itemid, n % 1000 / 7.0 as value, "
            f"md5(n::varchar) as valueuom from range({rows}) t(n)) to '{file}' (format csv, header, compression gzip)"
        )


@pytest.mark.slow
def test_a_table_may_be_larger_than_memory(tmp_path: Path) -> None:
    source = write_hospital(tmp_path / "source")
    rows = 2_000_000
    write_many(source / "icu" / "outputevents.csv.gz", rows)
    import_store([source], tmp_path / "store", memory="100MB")
    query = "select count(*), count(distinct (subject_id, eid)) from store.icu.outputevents"
    assert stored(Store.open(tmp_path / "store"), query) == [(rows, rows)]


@pytest.mark.slow
def test_reading_a_file_needs_little_memory_whatever_its_size(tmp_path: Path) -> None:
    source = write_hospital(tmp_path / "source")
    write_many(source / "icu" / "outputevents.csv.gz", 100_000)
    manifest = import_store([source], tmp_path / "store", memory="40MB")
    assert manifest.tables["icu.outputevents"].rows == 100_000
