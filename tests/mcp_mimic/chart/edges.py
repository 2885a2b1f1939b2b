"""A made-up patient whose record ends in every way that could betray what comes next.

Dee (subject 10000004) comes through the emergency department, is admitted and goes to intensive care;
months later she is admitted again. Her rows are added to the small hospital's.
"""

from pathlib import Path
from typing import Any

from mcp_mimic.store.importer import import_store
from mcp_mimic.store.store import Store
from tests.hospital import Rows, small_rows, write_hospital

DEE = 10000004
FIRST, SECOND = 29000004, 20000004
ED_STAY, ICU_STAY = 39000001, 39000002

_DEE = {"subject_id": DEE, "hadm_id": FIRST}
_ICU = {**_DEE, "stay_id": ICU_STAY, "caregiver_id": 9}


def at(day: int, clock: str) -> str:
    """A moment of the first admission, which begins on day 2 (of May 2160)."""
    return f"2160-05-{day:02d} {clock}:00"


def _lab(number: int, itemid: int, drawn: str, stored: str | None, value: float) -> dict[str, Any]:
    return {
        "labevent_id": number,
        **_DEE,
        "specimen_id": 8000 + number,
        "itemid": itemid,
        "order_provider_id": "P001AA",
        "charttime": drawn,
        "storetime": stored,
        "value": value,
        "valuenum": value,
        "valueuom": "mmol/L",
        "flag": "abnormal",
        "comments": "___",
    }


def _chart(itemid: int, charted: str, stored: str | None, value: float) -> dict[str, Any]:
    return {
        **_ICU,
        "charttime": charted,
        "storetime": stored,
        "itemid": itemid,
        "value": value,
        "valuenum": value,
        "warning": 0,
    }


def _culture(
    number: int, specimen: int, drawn: str | None, stored: str | None, **more: Any
) -> dict[str, Any]:
    return {
        "microevent_id": number,
        **_DEE,
        "micro_specimen_id": specimen,
        "order_provider_id": "P001AA",
        "chartdate": at(2, "00:00"),
        "charttime": drawn,
        "spec_itemid": 70012,
        "spec_type_desc": "BLOOD CULTURE",
        "test_seq": 1,
        "storedate": stored and f"{stored[:10]} 00:00:00",
        "storetime": stored,
        "test_itemid": 90201,
        "test_name": "Blood Culture, Routine",
        **more,
    }


def _order(seq: int, placed: str, kind: str = "Medications", **more: Any) -> dict[str, Any]:
    return {
        "poe_id": f"{DEE}-{seq}",
        "poe_seq": seq,
        **_DEE,
        "ordertime": placed,
        "order_type": kind,
        "transaction_type": "New",
        "order_provider_id": "P001AA",
        "order_status": "Inactive",
        **more,
    }


def _infusion(start: str, end: str, stored: str, orderid: int, status: str, **more: Any) -> dict[str, Any]:
    return {
        **_ICU,
        "starttime": start,
        "endtime": end,
        "storetime": stored,
        "itemid": 221906,
        "amount": 12.5,
        "amountuom": "mg",
        "rate": 0.11,
        "rateuom": "mcg/kg/min",
        "orderid": orderid,
        "linkorderid": 7001,
        "statusdescription": status,
        "originalamount": 16,
        "originalrate": 0.1,
        **more,
    }


def _fluid(**row: Any) -> dict[str, Any]:
    return {
        **row,
        "ordercategorydescription": "Continuous Med",
        "patientweight": 80,
        "totalamount": 250,
        "totalamountuom": "ml",
        "isopenbag": 1,
        "continueinnextdept": 1,
    }


# Charting begins in the unit before the admission is entered, at 8 o'clock.
_INFUSIONS = [
    _infusion(at(2, "07:45"), at(2, "08:30"), at(2, "07:46"), 7000, "FinishedRunning"),
    _infusion(at(2, "14:00"), at(2, "16:30"), at(2, "14:02"), 7001, "ChangeDose/Rate"),
    _infusion(at(2, "16:30"), at(3, "09:00"), at(2, "16:40"), 7002, "Stopped"),
    # stored long after it had ended
    _infusion(at(3, "10:00"), at(3, "10:30"), at(3, "18:00"), 7003, "FinishedRunning"),
]

_DEE_ROWS: Rows = {
    "hosp.patients": [
        {
            "subject_id": DEE,
            "gender": "F",
            "anchor_age": 71,
            "anchor_year": 2158,
            "anchor_year_group": "2014 - 2016",
            "dod": "2160-09-20",
        }
    ],
    "hosp.admissions": [
        {
            **_DEE,
            "admittime": at(2, "08:00"),
            "dischtime": at(6, "13:30"),
            "admission_type": "OBSERVATION ADMIT",
            "admit_provider_id": "P001AA",
            "admission_location": "EMERGENCY ROOM",
            "discharge_location": "SKILLED NURSING FACILITY",
            "edregtime": at(2, "02:00"),
            "edouttime": at(2, "09:15"),
            "hospital_expire_flag": 0,
        },
        {
            "subject_id": DEE,
            "hadm_id": SECOND,
            "admittime": "2160-09-18 07:00:00",
            # registered after the admission began, as happens
            "edregtime": "2160-09-18 07:30:00",
            "dischtime": "2160-09-20 04:00:00",
            "deathtime": "2160-09-20 03:45:00",
            "admission_type": "URGENT",
            "admission_location": "TRANSFER FROM HOSPITAL",
            "discharge_location": "DIED",
            "hospital_expire_flag": 1,
        },
    ],
    "hosp.transfers": [
        {
            **_DEE,
            "transfer_id": 36000000 + n,
            "eventtype": kind,
            "careunit": unit,
            "intime": start,
            "outtime": end,
        }
        for n, kind, unit, start, end in (
            (1, "ED", "Emergency Department", at(2, "02:00"), at(2, "09:15")),
            (2, "admit", "Medical Intensive Care Unit (MICU)", at(2, "09:15"), at(4, "11:00")),
            (3, "transfer", "Medicine", at(4, "11:00"), at(6, "13:30")),
            (4, "discharge", None, at(6, "13:30"), None),
        )
    ],
    "hosp.services": [
        {**_DEE, "transfertime": at(2, "07:40"), "curr_service": "EMED"},
        {**_DEE, "transfertime": at(2, "08:05"), "prev_service": "EMED", "curr_service": "MED"},
        {**_DEE, "transfertime": at(5, "10:00"), "prev_service": "MED", "curr_service": "SURG"},
    ],
    "hosp.labevents": [
        _lab(901, 50813, at(2, "03:00"), at(2, "03:40"), 4.1),
        _lab(902, 50912, at(3, "05:00"), at(3, "07:30"), 2.2),
        # the blood count and the gas of one moment, reported at different times
        _lab(903, 51222, at(3, "05:00"), at(3, "08:10"), 7.9),
        _lab(904, 50811, at(3, "05:00"), at(3, "05:10"), 8.0),
        _lab(905, 50971, at(3, "06:00"), at(3, "05:50"), 5.0),
        _lab(906, 50971, at(4, "06:00"), None, 4.4),
        _lab(907, 50971, at(8, "06:00"), at(8, "07:00"), 4.1) | {"hadm_id": None},
    ],
    "hosp.microbiologyevents": [
        _culture(801, 71, at(2, "03:10"), at(4, "15:00"), org_itemid=80293, org_name="ESCHERICHIA COLI"),
        _culture(802, 71, at(2, "03:10"), at(3, "02:00"), test_itemid=90202, test_name="GRAM STAIN"),
        _culture(803, 72, None, at(7, "12:00"), comments="NO GROWTH."),
        _culture(804, 73, at(4, "10:00"), None, storedate=at(5, "00:00")),
        _culture(805, 74, at(5, "10:00"), None),
        _culture(806, 75, at(2, "02:30"), at(2, "07:00")),
    ],
    "hosp.poe": [
        _order(1, at(2, "04:00"), discontinued_by_poe_id=f"{DEE}-4"),
        _order(2, at(2, "12:00"), "Consults"),
        _order(3, at(3, "12:00")),
        _order(4, at(4, "09:00"), transaction_type="D/C", discontinue_of_poe_id=f"{DEE}-1"),
        _order(5, at(6, "10:00"), "ADT orders", order_subtype="Discharge"),
    ],
    "hosp.poe_detail": [
        {
            "poe_id": f"{DEE}-{seq}",
            "poe_seq": seq,
            "subject_id": DEE,
            "field_name": name,
            "field_value": value,
        }
        for seq, name, value in (
            (2, "Consult Status", "Accepted"),
            (2, "Consult Status Time", at(3, "16:00")),
            (2, "Level of Urgency", "Routine"),
            (5, "Discharge When", "Discharge Now"),
        )
    ],
    "hosp.pharmacy": [
        {
            **_DEE,
            "pharmacy_id": number,
            "poe_id": order,
            "starttime": start,
            "stoptime": stop,
            "medication": "Ceftriaxone",
            "status": "Discontinued",
            "entertime": entered,
            "verifiedtime": verified,
            "duration": 3,
            "duration_interval": "Days",
            "expirationdate": at(5, "00:00"),
            "dispensation": "Omnicell",
            "fill_quantity": "6",
        }
        for number, order, start, stop, entered, verified in (
            (4101, f"{DEE}-1", at(2, "05:00"), at(4, "09:00"), at(2, "04:20"), at(2, "04:45")),
            (4102, None, at(3, "10:00"), at(6, "10:00"), at(3, "08:55"), at(3, "11:20")),
            (4103, None, at(3, "13:00"), None, None, at(3, "14:00")),
        )
    ],
    "hosp.prescriptions": [
        {
            **_DEE,
            "pharmacy_id": number,
            "poe_id": order,
            "order_provider_id": "P001AA",
            "starttime": start,
            "stoptime": stop,
            "drug_type": "MAIN",
            "drug": "Ceftriaxone",
            "dose_val_rx": "1",
            "doses_per_24_hrs": 1,
        }
        for number, order, start, stop in (
            (4101, f"{DEE}-1", at(2, "05:00"), at(4, "09:00")),
            (4102, None, at(3, "10:00"), at(6, "10:00")),
            (4199, None, at(5, "10:00"), None),
        )
    ],
    "hosp.emar": [
        {
            **_DEE,
            "emar_id": f"{DEE}-{seq}",
            "emar_seq": seq,
            "poe_id": f"{DEE}-1",
            "pharmacy_id": 4101,
            "enter_provider_id": "P001AA",
            "charttime": charted,
            "medication": "Ceftriaxone",
            "event_txt": event,
            "scheduletime": planned,
            "storetime": stored,
        }
        for seq, charted, stored, planned, event in (
            (11, at(2, "05:30"), at(2, "05:31"), at(2, "05:00"), "Administered"),
            # given ahead of its time, and one stored late
            (12, at(3, "03:00"), at(3, "03:01"), at(3, "05:00"), "Administered"),
            (13, at(3, "23:00"), at(4, "06:00"), at(3, "23:00"), "Not Given"),
        )
    ],
    "hosp.emar_detail": [
        {
            "subject_id": DEE,
            "emar_id": f"{DEE}-{seq}",
            "emar_seq": seq,
            "parent_field_ordinal": "1.1",
            "dose_given": "1",
        }
        for seq in (11, 12, 13)
    ],
    "hosp.omr": [
        {
            "subject_id": DEE,
            "chartdate": "2160-05-03",
            "seq_num": 1,
            "result_name": "Weight (Lbs)",
            "result_value": "176",
        }
    ],
    "hosp.diagnoses_icd": [
        {"subject_id": DEE, "hadm_id": hadm, "seq_num": 1, "icd_code": code, "icd_version": 10}
        for hadm, code in ((FIRST, "A4151"), (SECOND, "I469"))
    ],
    "hosp.procedures_icd": [
        {**_DEE, "seq_num": 1, "chartdate": "2160-05-02", "icd_code": "02HV33Z", "icd_version": 10}
    ],
    "hosp.drgcodes": [
        {
            "subject_id": DEE,
            "hadm_id": hadm,
            "drg_type": "HCFA",
            "drg_code": "0871",
            "description": "SEPTICEMIA",
        }
        for hadm in (FIRST, SECOND)
    ],
    "hosp.hcpcsevents": [{**_DEE, "chartdate": "2160-05-02", "hcpcs_cd": "99219", "seq_num": 1}],
    "hosp.d_labitems": [{"itemid": 51222, "label": "Hemoglobin", "fluid": "Blood", "category": "Hematology"}],
    "hosp.d_icd_diagnoses": [
        {"icd_code": "A4151", "icd_version": 10, "long_title": "Sepsis due to Escherichia coli"},
        {"icd_code": "I469", "icd_version": 10, "long_title": "Cardiac arrest"},
        {"icd_code": "R509", "icd_version": 10, "long_title": "Fever"},
    ],
    "icu.icustays": [
        {
            **_DEE,
            "stay_id": ICU_STAY,
            "first_careunit": "Medical Intensive Care Unit (MICU)",
            "last_careunit": "Coronary Care Unit (CCU)",
            "intime": at(2, "07:20"),
            "outtime": at(4, "11:00"),
            "los": 2.0729,
        }
    ],
    "icu.chartevents": [
        _chart(220045, at(2, "07:30"), at(2, "07:31"), 126),
        _chart(220045, at(2, "10:00"), at(2, "10:05"), 121),
        _chart(220045, at(2, "23:00"), at(3, "01:30"), 118),
        _chart(220615, at(3, "05:00"), at(3, "05:20"), 2.2),
        _chart(220228, at(3, "05:00"), at(3, "05:30"), 7.9),
        _chart(220228, at(3, "11:00"), None, 8.3),
        _chart(225664, at(3, "05:00"), at(3, "05:01"), 140),
    ],
    "icu.datetimeevents": [
        {
            **_ICU,
            "charttime": at(2, "07:45"),
            "storetime": at(2, "07:50"),
            "itemid": 224183,
            "value": at(2, "00:00"),
            "warning": 0,
        }
    ],
    "icu.inputevents": [_fluid(**row) for row in _INFUSIONS],
    "icu.ingredientevents": [{**row, "itemid": 220490} for row in _INFUSIONS],
    "icu.outputevents": [
        {**_ICU, "charttime": charted, "storetime": stored, "itemid": 226559, "value": 30}
        for charted, stored in ((at(2, "07:45"), at(2, "07:45")), (at(2, "13:00"), at(2, "13:45")))
    ],
    "icu.procedureevents": [
        {
            **_ICU,
            "starttime": start,
            "endtime": end,
            "storetime": stored,
            "itemid": itemid,
            "value": minutes,
            "valueuom": "min",
            "location": "Oral",
            "orderid": orderid,
            "linkorderid": orderid,
            "isopenbag": 1,
            "continueinnextdept": 0,
            "statusdescription": "FinishedRunning",
            "originalamount": minutes,
            "originalrate": 1,
        }
        for orderid, itemid, start, end, stored, minutes in (
            (7300, 225402, at(2, "07:45"), at(2, "07:46"), at(2, "07:47"), 1),
            (7301, 225792, at(2, "15:00"), at(4, "08:00"), at(2, "15:10"), 2460),
        )
    ],
    "icu.d_items": [
        {"itemid": 221906, "label": "Norepinephrine", "linksto": "inputevents"},
        {"itemid": 225792, "label": "Invasive Ventilation", "linksto": "procedureevents"},
    ],
    "note.discharge": [
        {
            "note_id": f"{DEE}-DS-{n}",
            "subject_id": DEE,
            "hadm_id": hadm,
            "note_type": "DS",
            "note_seq": n,
            "charttime": charted,
            "storetime": stored,
            "text": "She did well.",
        }
        for n, hadm, charted, stored in (
            (5, FIRST, at(6, "00:00"), at(8, "09:00")),
            (6, SECOND, "2160-09-20 00:00:00", None),
        )
    ],
    "note.discharge_detail": [
        {
            "note_id": f"{DEE}-DS-5",
            "subject_id": DEE,
            "field_name": name,
            "field_value": value,
            "field_ordinal": 1,
        }
        for name, value in (("author", "___"), ("parent_note_id", f"{DEE}-DS-4"))
    ],
    "note.radiology": [
        {
            "note_id": f"{DEE}-{name}",
            "subject_id": DEE,
            "hadm_id": FIRST,
            "note_type": name[:2],
            "note_seq": int(name[3:]),
            "charttime": charted,
            "storetime": stored,
            "text": "No acute process.",
        }
        for name, charted, stored in (
            ("RR-7", at(2, "06:00"), at(2, "06:45")),
            ("AR-8", at(2, "06:00"), at(4, "10:00")),
        )
    ],
    "note.radiology_detail": [
        {
            "note_id": f"{DEE}-RR-7",
            "subject_id": DEE,
            "field_name": name,
            "field_value": value,
            "field_ordinal": 1,
        }
        for name, value in (("exam_name", "CHEST (PORTABLE AP)"), ("addendum_note_id", f"{DEE}-AR-8"))
    ],
    "ed.edstays": [
        {
            **_DEE,
            "stay_id": ED_STAY,
            "intime": at(2, "02:00"),
            "outtime": at(2, "09:15"),
            "gender": "F",
            "arrival_transport": "AMBULANCE",
            "disposition": "ADMITTED",
        }
    ],
    "ed.diagnosis": [
        {
            "subject_id": DEE,
            "stay_id": ED_STAY,
            "seq_num": 1,
            "icd_code": "R509",
            "icd_version": 10,
            "icd_title": "FEVER, UNSPECIFIED",
        }
    ],
    "ed.medrecon": [
        {"subject_id": DEE, "stay_id": ED_STAY, "charttime": at(2, "02:30"), "name": "metformin", "etc_rn": 1}
    ],
    "ed.pyxis": [
        {
            "subject_id": DEE,
            "stay_id": ED_STAY,
            "charttime": at(2, "03:20"),
            "med_rn": 1,
            "name": "CefTRIAXone",
        }
    ],
    "ed.triage": [{"subject_id": DEE, "stay_id": ED_STAY, "heartrate": 125, "acuity": 2}],
    "ed.vitalsign": [
        {
            "subject_id": DEE,
            "stay_id": ED_STAY,
            "charttime": at(2, "04:10"),
            "heartrate": 119,
            "rhythm": "Sinus",
        }
    ],
    "ecg.machine_measurements": [
        {
            "subject_id": DEE,
            "study_id": study,
            "cart_id": 6848296,
            "ecg_time": traced,
            "report_0": "Sinus tachycardia",
            "report_1": "Borderline ECG",
            "bandwidth": "0.05-150 Hz",
            "filtering": "Baseline filter, 60 Hz",
            "rr_interval": 480,
            "p_axis": -12,
        }
        for study, traced in ((43100001, at(2, "02:20")), (43100002, at(5, "09:00")))
    ],
    "ecg.record_list": [
        {
            "subject_id": DEE,
            "study_id": 43100001,
            "file_name": "43100001",
            "ecg_time": at(2, "02:20"),
            "path": f"files/p1000/p{DEE}/s43100001/43100001",
        }
    ],
    "ecg.waveform_note_links": [
        {
            "subject_id": DEE,
            "study_id": study,
            "waveform_path": f"files/p1000/p{DEE}/s{study}/{study}",
            "note_id": f"{DEE}-EK-{seq}",
            "note_seq": seq,
            "charttime": read,
        }
        # read the day after, before it was traced (clocks differ), and on a day
        for study, seq, read in (
            (43100001, 1, at(3, "11:00")),
            (43100002, 2, at(5, "08:50")),
            (43100002, 3, at(6, "00:00")),
        )
    ],
    "cxr.metadata": [
        {
            "dicom_id": f"02aa804e-{image}",
            "subject_id": DEE,
            "study_id": study,
            "performedprocedurestepdescription": "CHEST (PORTABLE AP)",
            "viewposition": "AP",
            "rows": 3056,
            "columns": 2544,
            "studydate": day,
            "studytime": clock,
        }
        for study, image, day, clock in (
            (53100001, 1, "21600502", "55530.75"),
            (53100001, 2, "21600502", "55602.0"),
            (53100002, 3, "21600504", "61500"),
            (53100003, 4, "21600505", None),
        )
    ],
    "cxr.chexpert": [
        {"subject_id": DEE, "study_id": study, "pleural_effusion": 1.0, "pneumonia": -1.0}
        for study in (53100001, 53100002, 53100003, 53100009)
    ],
    "cxr.record_list": [
        {
            "subject_id": DEE,
            "study_id": 53100001,
            "dicom_id": f"02aa804e-{image}",
            "path": f"files/p10/p{DEE}/s53100001/02aa804e-{image}.dcm",
        }
        for image in (1, 2)
    ],
    "cxr.study_list": [{"subject_id": DEE, "study_id": 53100001, "path": f"files/p10/p{DEE}/s53100001.txt"}],
    "echo.study_list": [
        {
            "subject_id": DEE,
            "study_id": study,
            "study_datetime": at(3, "10:00"),
            "note_id": note,
            "note_seq": note and 1,
            "note_charttime": reported,
            "measurement_id": measured,
            "measurement_datetime": measured and at(3, "00:00"),
        }
        for study, note, reported, measured in (
            (93100001, f"{DEE}-EC-1", at(4, "09:30"), 7100001),
            (93100002, None, None, 7100002),
            (93100003, None, None, None),
        )
    ],
    "echo.record_list": [
        {
            "subject_id": DEE,
            "study_id": 93100001,
            "acquisition_datetime": at(3, f"10:0{image}"),
            "dicom_filepath": f"files/p10/p{DEE}/s93100001/93100001_000{image}.dcm",
        }
        for image in (1, 2)
    ],
    "echo.structured_measurement": [
        {
            "subject_id": DEE,
            "measurement_id": number,
            "measurement_datetime": measured,
            "test_type": "tte",
            "measurement": "lvef",
            "measurement_description": "Left ventricular ejection fraction",
            "result": "35",
            "unit": "%",
        }
        for number, measured in (
            (7100001, at(3, "00:00")),
            (7100002, at(3, "00:00")),
            (7100003, at(5, "14:00")),
        )
    ],
}


def edge_rows() -> Rows:
    """The small hospital's rows and Dee's, by table; a copy that a test may change."""
    rows = small_rows()
    for name, added in _DEE_ROWS.items():
        rows.setdefault(name, []).extend(dict(row) for row in added)
    return rows


def store_of(rows: Rows, folder: Path) -> Store:
    """Import `rows` into a store under `folder`."""
    import_store([write_hospital(folder / "source", rows)], folder / "store")
    return Store.open(folder / "store")
