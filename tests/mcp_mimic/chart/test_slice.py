"""Claims about what one patient's slice shows and hides, read off one hard record."""

import threading
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mcp_mimic.chart.slice import Slice, open_slice
from mcp_mimic.errors import GrantError
from mcp_mimic.store.store import Store
from mcp_mimic.store.tables import TABLES
from tests.hospital import CY
from tests.mcp_mimic.chart.edges import DEE, FIRST, SECOND, at, edge_rows, store_of
from tests.mcp_mimic.chart.reading import rows_of, served_by, truth_of
from tests.mcp_mimic.chart.truth import NEVER, SUBJECT_TABLES, Truth

EVERYTHING = datetime(2161, 1, 1)


def moment(day: int, clock: str) -> datetime:
    return datetime.fromisoformat(at(day, clock))


def seen(store: Store, as_of: datetime, sql: str, sealed: int | None = None) -> list[dict[str, Any]]:
    return rows_of(_slice(store.path, as_of, sealed).cursor(), sql)


@cache
def _slice(folder: Path, as_of: datetime, sealed: int | None) -> Slice:
    return open_slice(Store.open(folder), DEE, as_of, sealed)


def values(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in rows]


# --- results ------------------------------------------------------------------------------------------


def test_a_result_is_served_from_the_minute_it_was_stored(edge_store: Store) -> None:
    sql = "select valuenum from hosp.labevents where eid = 'lab:902'"
    assert seen(edge_store, moment(3, "07:29"), sql) == []
    assert seen(edge_store, moment(3, "07:30"), sql) == [{"valuenum": 2.2}]


def test_a_bedside_copy_waits_for_the_laboratory(edge_store: Store) -> None:
    sql = "select itemid from icu.chartevents where charttime = '2160-05-03 05:00' order by 1"
    assert values(seen(edge_store, moment(3, "06:00"), sql)) == [(225664,)]
    assert values(seen(edge_store, moment(3, "07:30"), sql)) == [(220615,), (225664,)]
    assert values(seen(edge_store, moment(3, "08:10"), sql)) == [(220228,), (220615,), (225664,)]


def test_a_bedside_value_without_a_laboratory_row_stands_on_its_own(edge_store: Store) -> None:
    sql = "select available_at from icu.chartevents where itemid = 220228 and valuenum = 8.3"
    assert values(seen(edge_store, moment(3, "11:00"), sql)) == [(moment(3, "11:00"),)]


def test_a_pending_culture_shows_specimen_and_draw_time_and_no_test(edge_store: Store) -> None:
    rows = seen(edge_store, moment(2, "12:00"), "from hosp.microbiologyevents where micro_specimen_id = 71")
    assert [{name: value for name, value in row.items() if value is not None} for row in rows] == [
        {
            "eid": "micro:s71",
            "available_at": moment(2, "03:10"),
            "hadm_id": FIRST,
            "micro_specimen_id": 71,
            "chartdate": moment(2, "00:00"),
            "charttime": moment(2, "03:10"),
            "spec_itemid": 70012,
            "spec_type_desc": "BLOOD CULTURE",
        }
    ]


def test_the_first_report_replaces_the_pending_row_and_brings_no_other_result(edge_store: Store) -> None:
    sql = "select eid, test_name, org_name from hosp.microbiologyevents where micro_specimen_id = 71"
    assert values(seen(edge_store, moment(3, "02:00"), sql)) == [("micro:802", "GRAM STAIN", None)]
    assert {row["eid"] for row in seen(edge_store, moment(4, "15:00"), sql)} == {"micro:801", "micro:802"}


def test_a_culture_with_a_date_only_is_pending_from_the_end_of_that_day(edge_store: Store) -> None:
    sql = "select eid from hosp.microbiologyevents where micro_specimen_id = 72"
    assert seen(edge_store, moment(2, "23:58"), sql) == []
    assert values(seen(edge_store, moment(2, "23:59"), sql)) == [("micro:s72",)]


# --- what has not ended -------------------------------------------------------------------------------


def test_a_running_infusion_shows_its_rate_and_nothing_of_its_end(edge_store: Store) -> None:
    rows = seen(edge_store, moment(2, "20:00"), "from icu.inputevents where orderid = 7002")
    assert rows[0]["rate"] == 0.11
    ends = ("endtime", "amount", "totalamount", "statusdescription", "originalamount", "originalrate")
    assert {rows[0][name] for name in (*ends, "isopenbag", "continueinnextdept")} == {None}


def test_a_segment_that_is_stored_late_is_not_there_before(edge_store: Store) -> None:
    sql = "select endtime, amount from icu.inputevents where orderid = 7003"
    assert seen(edge_store, moment(3, "17:59"), sql) == []
    assert values(seen(edge_store, moment(3, "18:00"), sql)) == [(moment(3, "10:30"), 12.5)]


def test_a_running_procedure_hides_its_duration_and_the_unit_of_it(edge_store: Store) -> None:
    sql = "select value, valueuom, originalamount, location from icu.procedureevents where orderid = 7301"
    assert values(seen(edge_store, moment(4, "07:59"), sql)) == [(None, None, None, "Oral")]
    assert values(seen(edge_store, moment(4, "08:00"), sql)) == [(2460.0, "min", 2460.0, "Oral")]


def test_an_admission_hides_how_it_ends(edge_store: Store) -> None:
    sql = (
        "select dischtime, discharge_location, hospital_expire_flag, admission_type from hosp.admissions "
        f"where hadm_id = {FIRST}"
    )
    assert values(seen(edge_store, moment(6, "13:29"), sql)) == [(None, None, None, None)]
    assert values(seen(edge_store, moment(6, "13:30"), sql)) == [
        (moment(6, "13:30"), "SKILLED NURSING FACILITY", 0, "OBSERVATION ADMIT")
    ]


def test_an_admission_number_is_unknown_before_the_admission(edge_store: Store) -> None:
    sql = "select distinct hadm_id from hosp.labevents union select hadm_id from ed.edstays"
    assert values(seen(edge_store, moment(2, "07:59"), sql)) == [(None,)]
    assert values(seen(edge_store, moment(2, "08:00"), sql)) == [(FIRST,)]


def test_an_order_does_not_name_the_order_that_will_stop_it(edge_store: Store) -> None:
    sql = "select discontinued_by_poe_id from hosp.poe where poe_id = '1'"
    assert values(seen(edge_store, moment(4, "08:59"), sql)) == [(None,)]
    assert values(seen(edge_store, moment(4, "09:00"), sql)) == [("4",)]


def test_a_pharmacy_order_hides_stop_status_and_what_gives_the_stop_away(edge_store: Store) -> None:
    sql = (
        "select stoptime, status, duration, dispensation, fill_quantity, entertime, verifiedtime "
        "from hosp.pharmacy where pharmacy_id = 4101"
    )
    assert values(seen(edge_store, moment(2, "04:10"), sql)) == [(None,) * 7]
    entered = (moment(2, "04:20"), moment(2, "04:45"))
    assert values(seen(edge_store, moment(4, "08:59"), sql)) == [(*(None,) * 5, *entered)]
    over = (moment(4, "09:00"), "Discontinued", 3.0, "Omnicell", "6")
    assert values(seen(edge_store, moment(4, "09:00"), sql)) == [(*over, *entered)]


def test_the_answer_to_a_consultation_is_not_on_its_order_before_it_came(edge_store: Store) -> None:
    sql = "select field_name from hosp.poe_detail where eid = 'ord:2' order by 1"
    assert values(seen(edge_store, moment(3, "15:59"), sql)) == [("Level of Urgency",)]
    assert len(seen(edge_store, moment(3, "16:00"), sql)) == 3


def test_a_report_does_not_name_an_addendum_that_is_not_written_yet(edge_store: Store) -> None:
    sql = "select field_value from note.radiology_detail where field_name = 'addendum_note_id'"
    assert seen(edge_store, moment(4, "09:59"), sql) == []
    assert values(seen(edge_store, moment(4, "10:00"), sql)) == [("AR-8",)]


# --- summaries and codes ------------------------------------------------------------------------------


def test_codes_come_with_discharge_and_the_summary_when_it_is_stored(edge_store: Store) -> None:
    codes, summary = "select icd_code from hosp.diagnoses_icd", "select note_id from note.discharge"
    assert seen(edge_store, moment(6, "13:29"), codes) == []
    assert values(seen(edge_store, moment(6, "13:30"), codes)) == [("A4151",)]
    assert seen(edge_store, moment(8, "08:59"), summary) == []
    assert values(seen(edge_store, moment(8, "09:00"), summary)) == [("DS-5",)]


def test_a_sealed_admission_shows_no_codes_and_no_summary_and_leaves_others_open(edge_store: Store) -> None:
    served = served_by(_slice(edge_store.path, EVERYTHING, FIRST))
    for table in ("diagnoses_icd", "procedures_icd", "drgcodes", "hcpcsevents"):
        assert FIRST not in {row["hadm_id"] for row in served[f"hosp.{table}"]}
    assert [row["hadm_id"] for row in served["hosp.diagnoses_icd"]] == [SECOND]
    assert [row["note_id"] for row in served["note.discharge"]] == ["DS-6"]
    assert served["note.discharge_detail"] == []


def test_dictionaries_hold_only_what_the_slice_mentions(edge_store: Store) -> None:
    items, codes = "select itemid from icu.d_items", "select icd_code from hosp.d_icd_diagnoses"
    assert seen(edge_store, moment(2, "07:29"), items) == []
    assert values(seen(edge_store, moment(2, "07:31"), items)) == [(220045,)]
    assert seen(edge_store, moment(2, "09:14"), codes) == []
    assert values(seen(edge_store, moment(2, "09:15"), codes)) == [("R509",)]


# --- scope --------------------------------------------------------------------------------------------


def test_providers_caregivers_and_the_day_of_death_are_nowhere(edge_store: Store) -> None:
    columns = seen(
        edge_store, EVERYTHING, "select table_name, column_name from duckdb_columns() where not internal"
    )
    assert NEVER.isdisjoint(row["column_name"] for row in columns)
    assert {"provider", "caregiver"}.isdisjoint(row["table_name"] for row in columns)


def test_the_slice_has_no_table_but_the_official_ones(edge_store: Store) -> None:
    found = seen(
        edge_store,
        EVERYTHING,
        "select schema_name || '.' || table_name as name from duckdb_tables() union "
        "select schema_name || '.' || view_name from duckdb_views() where not internal",
    )
    assert {row["name"] for row in found} == set(TABLES) - {"hosp.provider", "icu.caregiver"}


def test_a_patient_who_is_only_registered_has_an_empty_chart(edge_store: Store) -> None:
    with open_slice(edge_store, CY, EVERYTHING) as chart:
        served = served_by(chart)
    assert [row["gender"] for row in served["hosp.patients"]] == ["F"]
    assert not any(rows for table, rows in served.items() if table != "hosp.patients")


def test_absent_modules_are_empty_tables_with_the_same_columns(small_store: Store, edge_store: Store) -> None:
    sql = (
        "select schema_name, table_name, column_name, data_type from duckdb_columns() where not internal "
        "order by all"
    )
    with open_slice(small_store, CY, EVERYTHING) as without, open_slice(edge_store, CY, EVERYTHING) as full:
        assert "ed" not in without.modules
        assert "ed" in full.modules
        assert rows_of(without.cursor(), sql) == rows_of(full.cursor(), sql)


def test_an_unknown_subject_is_refused(edge_store: Store) -> None:
    with pytest.raises(GrantError) as caught:
        open_slice(edge_store, 99, EVERYTHING)
    assert caught.value.code == "unknown_subject"


def test_an_admission_of_somebody_else_cannot_be_sealed(edge_store: Store) -> None:
    with pytest.raises(GrantError) as caught:
        open_slice(edge_store, DEE, EVERYTHING, 99)
    assert caught.value.code == "unknown_admission"


def test_a_moment_before_birth_is_refused(edge_store: Store) -> None:
    with pytest.raises(GrantError) as caught:
        open_slice(edge_store, DEE, datetime(2086, 12, 31))
    assert caught.value.code == "as_of_before_birth"


def test_a_chart_that_does_not_fit_into_memory_is_refused(edge_store: Store) -> None:
    with pytest.raises(GrantError) as caught:
        open_slice(edge_store, DEE, EVERYTHING, memory_limit="100KB")
    assert caught.value.code == "memory"


def test_threads_read_through_cursors_of_their_own(edge_store: Store) -> None:
    found: list[int] = []
    with open_slice(edge_store, DEE, EVERYTHING) as chart:

        def count() -> None:
            found.extend(len(rows_of(chart.cursor(), "from hosp.labevents")) for _ in range(20))

        threads = [threading.Thread(target=count) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [7] * 80


# --- the future cannot matter -------------------------------------------------------------------------


def without_future(truth: Truth, as_of: datetime) -> dict[str, list[dict[str, Any]]]:
    """The subject's raw rows as if nothing had happened after `as_of`, but that cultures end otherwise."""
    kept: dict[str, list[dict[str, Any]]] = {}
    for table in SUBJECT_TABLES:
        kept[table] = []
        for row in truth.rows[table]:
            known = truth.known(table, row)
            if known is not None and known <= as_of:
                kept[table].append(
                    {
                        name: value
                        if name == "subject_id" or _shown(truth, table, name, row, as_of)
                        else None
                        for name, value in row.items()
                    }
                )
            elif table == "hosp.microbiologyevents":
                later = as_of + timedelta(days=9)
                other = {"org_name": "YEAST", "test_name": "OTHER", "storetime": later, "storedate": None}
                kept[table].append({**row, **other})
    return kept


def _shown(truth: Truth, table: str, column: str, row: dict[str, Any], as_of: datetime) -> bool:
    until = truth.hidden_until(table, column, row)
    return column not in NEVER and until is not None and until <= as_of


@pytest.mark.parametrize(
    "as_of", [moment(3, "05:25"), pytest.param(moment(5, "09:00"), marks=pytest.mark.slow)]
)
def test_another_future_gives_the_same_slice_evidence_ids_included(
    edge_store: Store, tmp_path: Path, as_of: datetime
) -> None:
    rows = edge_rows()
    past = without_future(truth_of(edge_store, DEE), as_of)
    for table in SUBJECT_TABLES:
        rows[table] = [row for row in rows.get(table, []) if row["subject_id"] != DEE] + past[table]
    other_future = store_of(rows, tmp_path)
    with open_slice(edge_store, DEE, as_of) as real, open_slice(other_future, DEE, as_of) as other:
        assert served_by(real) == served_by(other)
