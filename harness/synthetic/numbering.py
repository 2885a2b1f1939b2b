"""Puts a finished chart in order and gives its rows their official keys.

Keys follow event time, as they do in MIMIC-IV, so that a planted row's number is like any other's.
"""

from collections import Counter
from operator import itemgetter

from harness.synthetic.chart import Chart, Row
from harness.synthetic.ids import LAB_BLOCK, MICRO_BLOCK

_ORDER = {
    "hosp.labevents": ("charttime", "specimen_id", "itemid"),
    "hosp.microbiologyevents": ("chartdate", "micro_specimen_id", "test_seq"),
    "hosp.emar": ("charttime", "medication", "storetime"),
    "hosp.poe": ("ordertime", "order_type"),
    "hosp.prescriptions": ("starttime", "drug", "drug_type"),
    "hosp.pharmacy": ("starttime", "pharmacy_id"),
    "hosp.omr": ("chartdate", "result_name"),
    "ed.pyxis": ("stay_id", "charttime", "name"),
    "hosp.transfers": ("intime", "transfer_id"),
    "ecg.machine_measurements": ("ecg_time", "study_id"),
    "ecg.record_list": ("ecg_time", "study_id"),
    "icu.chartevents": ("charttime", "itemid"),
    "icu.datetimeevents": ("charttime", "itemid"),
    "icu.inputevents": ("starttime", "orderid"),
    "icu.ingredientevents": ("starttime", "orderid", "itemid"),
    "icu.outputevents": ("charttime", "itemid"),
    "icu.procedureevents": ("starttime", "orderid"),
}


def number(chart: Chart) -> None:
    """Sort every table and fill in its keys and the keys that refer to others."""
    for table, columns in _ORDER.items():
        chart.rows[table].sort(key=itemgetter(*columns))
    _count(chart.rows["hosp.labevents"], "labevent_id", chart.ids.next("lab_block") * LAB_BLOCK)
    _count(
        chart.rows["hosp.microbiologyevents"], "microevent_id", chart.ids.next("micro_block") * MICRO_BLOCK
    )
    _count_within(chart.rows["hosp.omr"], "seq_num", ("chartdate", "result_name"))
    _count_within(chart.rows["ed.pyxis"], "med_rn", ("stay_id",))
    _number_orders(chart)
    _number_administrations(chart)


def _count(rows: list[Row], key: str, before: int) -> None:
    for place, row in enumerate(rows, 1):
        row[key] = before + place


def _count_within(rows: list[Row], key: str, columns: tuple[str, ...]) -> None:
    """Number the rows that agree in these columns."""
    counts: Counter[tuple[object, ...]] = Counter()
    for row in rows:
        group = tuple(row[column] for column in columns)
        counts[group] += 1
        row[key] = counts[group]


def _number_orders(chart: Chart) -> None:
    subject = chart.person.subject_id
    for place, row in enumerate(chart.rows["hosp.poe"], 2):
        row["poe_seq"], row["poe_id"] = place, f"{subject}-{place}"
    for row in chart.rows["hosp.poe"]:
        for tie, column in (
            ("_discontinues", "discontinue_of_poe_id"),
            ("_discontinued_by", "discontinued_by_poe_id"),
        ):
            if tie in row:
                row[column] = row[tie].get("poe_id")
    for table in ("hosp.poe_detail", "hosp.pharmacy", "hosp.prescriptions", "hosp.emar"):
        for row in chart.rows[table]:
            if row["_order"] is not None:
                row["poe_id"], row["poe_seq"] = row["_order"]["poe_id"], row["_order"]["poe_seq"]


def _number_administrations(chart: Chart) -> None:
    subject = chart.person.subject_id
    for place, row in enumerate(chart.rows["hosp.emar"], 2):
        row["emar_seq"], row["emar_id"] = place, f"{subject}-{place}"
    for row in chart.rows["hosp.emar_detail"]:
        row["emar_seq"], row["emar_id"] = row["_emar"]["emar_seq"], row["_emar"]["emar_id"]
    chart.rows["hosp.emar_detail"].sort(
        key=lambda row: (row["emar_seq"], row.get("parent_field_ordinal") or "")
    )
