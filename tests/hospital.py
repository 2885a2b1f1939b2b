"""A hospital of three made-up patients in the official file layout, small enough to read.

Ada (subject 10000001) has one admission with an ICU stay, Ben (10000002) a ward admission, Cy (10000003)
is only in the register. Every table of hosp and icu is there, some of them empty.
"""

import copy
import csv
import gzip
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from mcp_mimic.store.tables import TABLES, Table

Row = Mapping[str, Any]
Rows = dict[str, list[dict[str, Any]]]

ADA, BEN, CY = 10000001, 10000002, 10000003
ADA_HADM, BEN_HADM = 20000001, 20000002
ADA_STAY = 30000001

_ADA = {"subject_id": ADA, "hadm_id": ADA_HADM}
_ADA_ICU = {**_ADA, "stay_id": ADA_STAY, "caregiver_id": 7}
_BEN = {"subject_id": BEN, "hadm_id": BEN_HADM}


def _lab(
    labevent_id: int, who: Row, itemid: int, at: str, stored: str, value: float, unit: str
) -> dict[str, Any]:
    return {
        "labevent_id": labevent_id,
        **who,
        "specimen_id": 9000 + labevent_id,
        "itemid": itemid,
        "charttime": at,
        "storetime": stored,
        "value": value,
        "valuenum": value,
        "valueuom": unit,
        "priority": "ROUTINE",
    }


def _vital(itemid: int, at: str, value: float, unit: str) -> dict[str, Any]:
    return {
        **_ADA_ICU,
        "charttime": at,
        "storetime": at,
        "itemid": itemid,
        "value": value,
        "valuenum": value,
        "valueuom": unit,
        "warning": 0,
    }


_SMALL: Rows = {
    "hosp.patients": [
        {
            "subject_id": ADA,
            "gender": "F",
            "anchor_age": 62,
            "anchor_year": 2150,
            "anchor_year_group": "2014 - 2016",
        },
        {
            "subject_id": BEN,
            "gender": "M",
            "anchor_age": 47,
            "anchor_year": 2131,
            "anchor_year_group": "2011 - 2013",
            "dod": "2133-02-01",
        },
        {
            "subject_id": CY,
            "gender": "F",
            "anchor_age": 30,
            "anchor_year": 2140,
            "anchor_year_group": "2017 - 2019",
        },
    ],
    "hosp.admissions": [
        {
            **_ADA,
            "admittime": "2150-03-01 10:00:00",
            "dischtime": "2150-03-06 15:00:00",
            "admission_type": "EW EMER.",
            "admission_location": "EMERGENCY ROOM",
            "discharge_location": "HOME",
            "insurance": "Other",
            "language": "English",
            "race": "WHITE",
            "edregtime": "2150-03-01 06:30:00",
            "edouttime": "2150-03-01 11:00:00",
            "hospital_expire_flag": 0,
        },
        {
            **_BEN,
            "admittime": "2131-08-10 08:00:00",
            "dischtime": "2131-08-12 12:00:00",
            "admission_type": "ELECTIVE",
            "admission_location": "PHYSICIAN REFERRAL",
            "discharge_location": "HOME",
            "insurance": "Medicare",
            "language": "English",
            "race": "OTHER",
            "hospital_expire_flag": 0,
        },
    ],
    "hosp.transfers": [
        {
            **_ADA,
            "transfer_id": 35000001,
            "eventtype": "ED",
            "careunit": "Emergency Department",
            "intime": "2150-03-01 06:30:00",
            "outtime": "2150-03-01 11:00:00",
        },
        {
            **_ADA,
            "transfer_id": 35000002,
            "eventtype": "admit",
            "careunit": "Medical Intensive Care Unit (MICU)",
            "intime": "2150-03-01 11:00:00",
            "outtime": "2150-03-05 09:00:00",
        },
        {
            **_BEN,
            "transfer_id": 35000003,
            "eventtype": "admit",
            "careunit": "Medicine",
            "intime": "2131-08-10 08:00:00",
            "outtime": "2131-08-12 12:00:00",
        },
    ],
    "hosp.services": [
        {**_ADA, "transfertime": "2150-03-01 10:05:00", "curr_service": "MED"},
        {**_BEN, "transfertime": "2131-08-10 08:05:00", "curr_service": "SURG"},
    ],
    "hosp.labevents": [
        _lab(1, _ADA, 50912, "2150-03-01 09:00:00", "2150-03-01 09:50:00", 0.9, "mg/dL"),
        _lab(2, _ADA, 50912, "2150-03-02 05:00:00", "2150-03-02 06:10:00", 1.6, "mg/dL"),
        _lab(3, _ADA, 50971, "2150-03-02 05:00:00", "2150-03-02 06:10:00", 5.1, "mEq/L"),
        _lab(4, _ADA, 50813, "2150-03-01 12:00:00", "2150-03-01 12:20:00", 4.4, "mmol/L"),
        {
            **_lab(5, _BEN, 50912, "2131-08-11 06:00:00", "2131-08-11 07:00:00", 1.0, "mg/dL"),
            "comments": "___.",
        },
    ],
    "hosp.microbiologyevents": [
        {
            "microevent_id": 501,
            **_ADA,
            "micro_specimen_id": 61,
            "chartdate": "2150-03-01 00:00:00",
            "charttime": "2150-03-01 11:30:00",
            "spec_itemid": 70012,
            "spec_type_desc": "BLOOD CULTURE",
            "test_seq": 1,
            "storedate": "2150-03-04 00:00:00",
            "storetime": "2150-03-04 13:00:00",
            "test_itemid": 90201,
            "test_name": "Blood Culture, Routine",
            "comments": "NO GROWTH.",
        },
    ],
    "hosp.poe": [
        {
            "poe_id": f"{ADA}-1",
            "poe_seq": 1,
            **_ADA,
            "ordertime": "2150-03-01 12:10:00",
            "order_type": "Medications",
            "transaction_type": "New",
            "order_status": "Inactive",
            "discontinued_by_poe_id": f"{ADA}-2",
        },
        {
            "poe_id": f"{ADA}-2",
            "poe_seq": 2,
            **_ADA,
            "ordertime": "2150-03-03 08:00:00",
            "order_type": "Medications",
            "transaction_type": "D/C",
            "discontinue_of_poe_id": f"{ADA}-1",
            "order_status": "Inactive",
        },
        {
            "poe_id": f"{BEN}-1",
            "poe_seq": 1,
            **_BEN,
            "ordertime": "2131-08-10 09:00:00",
            "order_type": "General Care",
            "transaction_type": "New",
            "order_status": "Inactive",
        },
    ],
    "hosp.poe_detail": [
        {
            "poe_id": f"{BEN}-1",
            "poe_seq": 1,
            "subject_id": BEN,
            "field_name": "Admit category",
            "field_value": "Admit to inpatient",
        },
    ],
    "hosp.pharmacy": [
        {
            **_ADA,
            "pharmacy_id": 4001,
            "poe_id": f"{ADA}-1",
            "starttime": "2150-03-01 13:00:00",
            "stoptime": "2150-03-03 08:00:00",
            "medication": "Calcium Gluconate",
            "proc_type": "Unit Dose",
            "status": "Discontinued",
            "entertime": "2150-03-01 12:15:00",
            "verifiedtime": "2150-03-01 12:20:00",
            "route": "IV",
            "frequency": "ONCE",
        },
    ],
    "hosp.prescriptions": [
        {
            **_ADA,
            "pharmacy_id": 4001,
            "poe_id": f"{ADA}-1",
            "poe_seq": 1,
            "starttime": "2150-03-01 13:00:00",
            "stoptime": "2150-03-03 08:00:00",
            "drug_type": drug_type,
            "drug": drug,
            "ndc": ndc,
            "dose_val_rx": dose,
            "dose_unit_rx": unit,
            "route": "IV",
        }
        for drug_type, drug, ndc, dose, unit in (
            ("MAIN", "Calcium Gluconate", "00517391025", "2", "g"),
            ("BASE", "5% Dextrose", "0", "100", "mL"),
        )
    ],
    "hosp.emar": [
        {
            **_ADA,
            "emar_id": f"{ADA}-{seq}",
            "emar_seq": seq,
            "poe_id": f"{ADA}-1",
            "pharmacy_id": 4001,
            "charttime": at,
            "medication": "Calcium Gluconate",
            "event_txt": event,
            "scheduletime": "2150-03-01 13:00:00",
            "storetime": at,
        }
        for seq, at, event in (
            (9, "2150-03-01 13:10:00", "Administered"),
            (10, "2150-03-01 19:00:00", "Not Given"),
        )
    ],
    "hosp.emar_detail": [
        {
            "subject_id": ADA,
            "emar_id": f"{ADA}-9",
            "emar_seq": 9,
            "parent_field_ordinal": ordinal,
            "administration_type": "IV Bolus" if ordinal is None else None,
            "dose_given": dose,
            "dose_given_unit": unit,
        }
        for ordinal, dose, unit in ((None, None, None), ("1.1", "2", "g"))
    ],
    "hosp.omr": [
        {
            "subject_id": ADA,
            "chartdate": "2149-11-03",
            "seq_num": 1,
            "result_name": "Weight (Lbs)",
            "result_value": "165",
        },
    ],
    "hosp.diagnoses_icd": [
        {**_ADA, "seq_num": 1, "icd_code": "N179", "icd_version": 10},
        {**_ADA, "seq_num": 2, "icd_code": "0389", "icd_version": 9},
    ],
    "hosp.procedures_icd": [
        {**_ADA, "seq_num": 1, "chartdate": "2150-03-02", "icd_code": "02HV33Z", "icd_version": 10},
    ],
    "hosp.drgcodes": [
        {
            **_ADA,
            "drg_type": "HCFA",
            "drg_code": "0871",
            "description": "SEPTICEMIA",
            "drg_severity": 3,
            "drg_mortality": 2,
        },
    ],
    "hosp.hcpcsevents": [
        {
            **_BEN,
            "chartdate": "2131-08-11",
            "hcpcs_cd": "99219",
            "seq_num": 1,
            "short_description": "Hospital observation services",
        },
    ],
    "hosp.d_labitems": [
        {"itemid": 50813, "label": "Lactate", "fluid": "Blood", "category": "Blood Gas"},
        {"itemid": 50912, "label": "Creatinine", "fluid": "Blood", "category": "Chemistry"},
        {"itemid": 50971, "label": "Potassium", "fluid": "Blood", "category": "Chemistry"},
    ],
    "hosp.d_icd_diagnoses": [
        {"icd_code": "0389", "icd_version": 9, "long_title": "Unspecified septicemia"},
        {"icd_code": "N179", "icd_version": 10, "long_title": "Acute kidney failure, unspecified"},
    ],
    "hosp.d_icd_procedures": [
        {
            "icd_code": "02HV33Z",
            "icd_version": 10,
            "long_title": "Insertion of infusion device into superior vena cava",
        },
    ],
    "hosp.d_hcpcs": [
        {"code": "99219", "category": 1, "long_description": 'Initial "observation" care, per day'},
    ],
    "hosp.provider": [{"provider_id": "P001AA"}],
    "icu.icustays": [
        {
            **_ADA,
            "stay_id": ADA_STAY,
            "first_careunit": "Medical Intensive Care Unit (MICU)",
            "last_careunit": "Medical Intensive Care Unit (MICU)",
            "intime": "2150-03-01 11:00:00",
            "outtime": "2150-03-05 09:00:00",
            "los": 3.9166666,
        },
    ],
    "icu.chartevents": [
        _vital(220045, "2150-03-01 12:00:00", 104, "bpm"),
        _vital(220045, "2150-03-01 13:00:00", 98, "bpm"),
        _vital(220615, "2150-03-02 05:00:00", 1.6, "mg/dL"),
        _vital(226512, "2150-03-01 11:15:00", 75, "kg"),
        # one value charted twice over, as happens
        _vital(220045, "2150-03-01 13:00:00", 98, "bpm"),
    ],
    "icu.datetimeevents": [
        {
            **_ADA_ICU,
            "charttime": "2150-03-01 12:30:00",
            "storetime": "2150-03-01 12:31:00",
            "itemid": 224183,
            "value": "2150-03-01 00:00:00",
            "valueuom": "Date",
            "warning": 0,
        },
    ],
    "icu.inputevents": [
        {
            **_ADA_ICU,
            "starttime": "2150-03-01 14:00:00",
            "endtime": "2150-03-01 18:00:00",
            "storetime": "2150-03-01 14:05:00",
            "itemid": 225158,
            "amount": 500,
            "amountuom": "ml",
            "rate": 125,
            "rateuom": "mL/hour",
            "orderid": 8101,
            "linkorderid": 8101,
            "ordercategoryname": "02-Fluids (Crystalloids)",
            "patientweight": 75,
            "totalamount": 500,
            "totalamountuom": "ml",
            "isopenbag": 0,
            "continueinnextdept": 0,
            "statusdescription": "FinishedRunning",
            "originalamount": 500,
            "originalrate": 125,
        },
    ],
    "icu.ingredientevents": [
        {
            **_ADA_ICU,
            "starttime": "2150-03-01 14:00:00",
            "endtime": "2150-03-01 18:00:00",
            "storetime": "2150-03-01 14:05:00",
            "itemid": 220490,
            "amount": 500,
            "amountuom": "ml",
            "orderid": 8101,
            "linkorderid": 8101,
            "statusdescription": "FinishedRunning",
        },
    ],
    "icu.outputevents": [
        {
            **_ADA_ICU,
            "charttime": f"2150-03-01 {hour}:00:00",
            "storetime": f"2150-03-01 {hour}:10:00",
            "itemid": 226559,
            "value": value,
            "valueuom": "ml",
        }
        for hour, value in ((13, 40), (14, 35), (15, 60))
    ],
    "icu.procedureevents": [
        {
            **_ADA_ICU,
            "starttime": "2150-03-01 15:00:00",
            "endtime": "2150-03-01 15:20:00",
            "storetime": "2150-03-01 15:21:00",
            "itemid": 225402,
            "value": 20,
            "valueuom": "min",
            "orderid": 8201,
            "linkorderid": 8201,
            "isopenbag": 0,
            "continueinnextdept": 0,
            "statusdescription": "FinishedRunning",
            "originalamount": 20,
            "originalrate": 0,
        },
    ],
    "icu.d_items": [
        {
            "itemid": itemid,
            "label": label,
            "abbreviation": label,
            "linksto": linksto,
            "category": "Routine Vital Signs",
            "param_type": "Numeric",
        }
        for itemid, label, linksto in (
            (220045, "Heart Rate", "chartevents"),
            (220490, "Water", "ingredientevents"),
            (220615, "Creatinine (serum)", "chartevents"),
            (224183, "Arterial Line Insertion Date", "datetimeevents"),
            (225158, "NaCl 0.9%", "inputevents"),
            (225402, "EKG", "procedureevents"),
            (226512, "Admission Weight (Kg)", "chartevents"),
            (226559, "Foley", "outputevents"),
        )
    ],
    "icu.caregiver": [{"caregiver_id": 7}],
}


def small_rows() -> Rows:
    """The small hospital's rows by table, a copy that a test may change."""
    return copy.deepcopy(_SMALL)


def write_hospital(directory: Path, rows: Rows | None = None, *, suffix: str = ".csv.gz") -> Path:
    """Write every table of hosp and icu, and those of other modules that `rows` names; returns `directory`."""
    rows = small_rows() if rows is None else rows
    for name, table in TABLES.items():
        if table.schema in ("hosp", "icu") or name in rows:
            write_table(directory, name, rows.get(name, []), suffix=suffix)
    return directory


def write_table(directory: Path, name: str, rows: Sequence[Row], *, suffix: str = ".csv.gz") -> Path:
    """Write one table as csv.gz, csv or parquet; returns the file."""
    table = TABLES[name]
    file = directory / table.schema / f"{table.name}{suffix}"
    file.parent.mkdir(parents=True, exist_ok=True)
    text = _csv_text(table, rows)
    if suffix == ".csv.gz":
        file.write_bytes(gzip.compress(text.encode(), mtime=0))
    elif suffix == ".csv":
        file.write_text(text, encoding="utf-8")
    else:
        _write_parquet(file, table, text)
    return file


def _csv_text(table: Table, rows: Sequence[Row]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, table.column_names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _write_parquet(file: Path, table: Table, text: str) -> None:
    columns = ", ".join(f"'{column.name}': '{column.type}'" for column in table.columns)
    source = file.with_suffix(".partial")
    source.write_text(text, encoding="utf-8")
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (FROM read_csv('{source}', header = true, auto_detect = false, delim = ',', quote = '\"', "
            f"escape = '\"', columns = {{{columns}}})) TO '{file}' (FORMAT parquet)"
        )
    source.unlink()
