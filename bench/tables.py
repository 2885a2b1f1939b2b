"""The made-up rows of each official table, as DuckDB SQL over one row a patient.

Each expression is over the alias `p`, one row to be made: `i`, the number of its patient, with `subject_id`,
`born` and `adms` (how many admissions, or ICU stays); the patient has `n` rows in this table, the first of which
is number `o` of the table; `k` counts them from 0, and `h` is a hash of the row's number, so that every run makes
the same data. A patient's rows are spread evenly over its admissions; labs and chart rows come in specimens and
rounds on the hour, so that chart copies of labs meet their labs. Columns that are not named are empty.
"""

from bench.shape import COUNTS, PER_ADMISSION
from mcp_mimic.store.copies import CHART_COPIES
from mcp_mimic.store.tables import TABLES

_WARD_DAYS = 7
_APART_DAYS = 60

# Admission `a` of a patient begins on the same hour of every sixtieth day.
_A = "(k * p.adms // p.n)"
_ADMIT = f"(p.born + to_days((8000 + {_A} * {_APART_DAYS})::int))"
_PART = "((k * p.adms % p.n)::double / p.n)"
_HADM = f"(20000000 + p.i * 128 + {_A})"
_HOUR = f"({_ADMIT} + to_hours((4 + {_PART} * {_WARD_DAYS * 24})::int))"
_STAY = f"(30000000 + p.i * 128 + {_A})"


def _ident(parts: str, letter: str = "P") -> str:
    return f"'{letter}' || format('{{:05X}}', ({parts}) % 40000)"


def _minutes(bits: int, most: int) -> str:
    return f"to_minutes((1 + (h >> {bits}) % {most})::int)"


def _spread(bits: int, size: int) -> str:
    """A number from 0 to below `size`, the small ones far more often, as items are."""
    return f"(pow({size}, ((h >> {bits}) % 4096) / 4096.0)::int - 1)"


def _pick(bits: int, *words: str) -> str:
    return f"['{"', '".join(words)}'][(h >> {bits}) % {len(words)} + 1]"


def _sometimes(bits: int, percent: int, value: str) -> str:
    return f"case when (h >> {bits}) % 100 < {percent} then {value} end"


_NUMBER = "round(0.4 + item * 1.7 + ((h >> 20) % 1000) * 0.001 * (1 + item), 1)"
_DRUGS = "'Drug ' || " + _spread(5, 900)

LAB_ITEMS = (*sorted({lab for labs in CHART_COPIES.values() for lab in labs}),)
CHART_ITEMS = (220045, 220179, 220180, 220181, 220210, 220277, *CHART_COPIES)
"""Official itemids: laboratory items that the chart copies, and those copies after six bedside ones."""


def _itemid(known: tuple[int, ...], invented: int) -> str:
    return f"coalesce({list(known)}[item + 1], {invented} + item)"


_LAB_ITEM, _CHART_ITEM = _itemid(LAB_ITEMS, 53000), _itemid(CHART_ITEMS, 310000)

_ICU = {
    "hadm_id": _HADM,
    "stay_id": _STAY,
    "caregiver_id": "10000 + h % 15000",
    "storetime": f"{_HOUR} + {_minutes(8, 90)}",
}
_RUN = {"starttime": f"{_HOUR} + {_minutes(30, 50)}", "endtime": f"{_HOUR} + to_hours(1 + (h >> 40) % 6)"}
_NOTE = {
    "hadm_id": _HADM,
    "charttime": f"{_HOUR} + {_minutes(8, 59)}",
    "storetime": f"{_HOUR} + {_minutes(16, 59)} + interval 2 hour",
    "note_seq": "k + 1",
}
_ED_STAY = "(34000000 + p.i * 128 + {})"
_ED_TIME = "(p.born + to_days((8000 + {} * 60)::int) - to_hours(5))"
_VITALS = {
    "temperature": "round(97 + (h % 40) * 0.1, 1)", "heartrate": "60 + (h >> 8) % 60", "resprate": "12 + (h >> 12) % 16",
    "o2sat": "90 + (h >> 16) % 11", "sbp": "95 + (h >> 20) % 70", "dbp": "50 + (h >> 24) % 45", "pain": "((h >> 28) % 11)::varchar",
}  # fmt: skip


def _per_admission(table: str) -> dict[str, str]:
    """Rows that belong to an ED visit: as many a visit as `PER_ADMISSION` has of them."""
    each = max(PER_ADMISSION[table] / PER_ADMISSION["ed.edstays"], 1)
    visit = f"(k / {each:.3f})::int"
    return {"stay_id": _ED_STAY.format(visit), "charttime": f"{_ED_TIME.format(visit)} + {_minutes(8, 200)}"}


def text(paragraphs: int) -> str:
    """A note of so many of the paragraphs of the table `paragraph`, drawn by the row's hash."""
    drawn = ", ".join(
        f"(select list(text order by n) from paragraph)[(h >> {5 + n}) % 2000 + 1]" for n in range(paragraphs)
    )
    return f"array_to_string([{drawn}], chr(10) || chr(10))"


ROWS: dict[str, dict[str, str]] = {
    "hosp.admissions": {
        "hadm_id": _HADM, "admittime": _ADMIT, "dischtime": f"{_ADMIT} + interval {_WARD_DAYS + 1} day",
        "admission_type": _pick(3, "EW EMER.", "URGENT", "OBSERVATION ADMIT", "ELECTIVE"),
        "admit_provider_id": _ident("h"), "admission_location": _pick(5, "EMERGENCY ROOM", "PHYSICIAN REFERRAL", "TRANSFER FROM HOSPITAL"),
        "discharge_location": _pick(7, "HOME", "SKILLED NURSING FACILITY", "REHAB", "HOME HEALTH CARE"),
        "insurance": _pick(9, "Medicare", "Medicaid", "Other"), "language": _pick(11, "ENGLISH", "?"),
        "marital_status": _pick(13, "MARRIED", "SINGLE", "WIDOWED"), "race": _pick(15, "WHITE", "OTHER", "UNKNOWN"),
        "hospital_expire_flag": "0",
    },
    "hosp.transfers": {
        "hadm_id": _HADM, "transfer_id": "35000000 + o + k", "eventtype": _pick(3, "admit", "transfer", "discharge", "ED"),
        "careunit": _pick(5, "Medicine", "Neurology", "Medical Intensive Care Unit (MICU)", "Emergency Department"),
        "intime": _HOUR, "outtime": f"{_HOUR} + {_minutes(8, 2000)}",
    },
    "hosp.services": {"hadm_id": _HADM, "transfertime": _HOUR, "curr_service": _pick(3, "MED", "CMED", "NMED", "SURG", "TRAUM")},
    "hosp.labevents": {
        "labevent_id": "o + k + 1", "hadm_id": f"case when k // 10 % 4 > 0 then {_HADM} end", "specimen_id": "(o + k) // 10 * 7 + 11",
        "itemid": _LAB_ITEM, "order_provider_id": _sometimes(33, 25, _ident("h >> 7")), "charttime": f"time_bucket(interval 2 hour, {_HOUR})",
        "storetime": _sometimes(44, 99, f"time_bucket(interval 2 hour, {_HOUR}) + to_minutes((20 + (k // 10 * 37 + p.i) % 150)::int)"),
        "value": f"case when h % 100 < 12 then '___' else {_NUMBER}::varchar end", "valuenum": f"case when h % 100 >= 12 then {_NUMBER} end",
        "valueuom": "['mg/dL', 'mEq/L', '%', 'g/dL', 'IU/L', 'K/uL'][item % 6 + 1]", "ref_range_lower": "case when item % 6 > 0 then item end",
        "ref_range_upper": "case when item % 6 > 0 then item * 3 + 1 end", "flag": _sometimes(50, 37, "'abnormal'"),
        "priority": "['STAT', 'ROUTINE'][k // 10 % 2 + 1]", "comments": _sometimes(56, 17, _pick(3, "___", "IF FASTING, 70-100 NORMAL, >125 PROVISIONAL DIABETES.", "HEMOLYSIS FALSELY INCREASES THIS RESULT.")),
    },
    "hosp.microbiologyevents": {
        "microevent_id": "o + k + 1", "hadm_id": _HADM, "micro_specimen_id": "o + k // 2 * 3", "chartdate": f"date_trunc('day', {_HOUR})",
        "charttime": _HOUR, "spec_itemid": "70000 + k // 2 % 40", "spec_type_desc": "['BLOOD CULTURE', 'URINE', 'SPUTUM', 'SWAB'][k // 2 % 4 + 1]",
        "test_seq": "k % 2 + 1", "storedate": f"date_trunc('day', {_HOUR} + interval 2 day)", "storetime": f"{_HOUR} + interval 49 hour",
        "test_itemid": "90000 + h % 60", "test_name": "'Culture ' || h % 60",
        "comments": _sometimes(8, 80, "'NO GROWTH.'"),
    },
    "hosp.emar": {
        "hadm_id": _HADM, "emar_id": "p.subject_id || '-' || (k + 1)", "emar_seq": "k + 1", "poe_id": "p.subject_id || '-' || (1 + k // 3)",
        "pharmacy_id": "40000000 + p.i * 8000 + k // 4", "charttime": f"{_HOUR} + {_minutes(3, 59)}", "medication": _DRUGS,
        "event_txt": _pick(44, "Administered", "Administered", "Administered", "Not Given", "Flushed", "Started"),
        "scheduletime": _HOUR, "storetime": f"{_HOUR} + {_minutes(3, 59)} + interval 1 minute",
    },
    "hosp.emar_detail": {
        "emar_id": "p.subject_id || '-' || (k // 2 + 1)", "emar_seq": "k // 2 + 1", "parent_field_ordinal": "case when k % 2 = 1 then '1.1' end",
        "administration_type": "case when k % 2 = 0 then 'Standard Maintenance Medication' end", "dose_due": "case when k % 2 = 0 then (h % 50)::varchar end",
        "dose_due_unit": "case when k % 2 = 0 then 'mg' end", "dose_given": "case when k % 2 = 1 then (h % 50)::varchar end",
        "dose_given_unit": "case when k % 2 = 1 then 'mg' end", "product_amount_given": "case when k % 2 = 1 then '1' end", "product_unit": "case when k % 2 = 1 then 'TAB' end",
        "product_code": "case when k % 2 = 1 then 'CODE' || h % 900 end", "product_description": f"case when k % 2 = 1 then {_DRUGS} end", "route": "case when k % 2 = 1 then 'PO/NG' end",
    },
    "hosp.prescriptions": {
        "hadm_id": _HADM, "pharmacy_id": "40000000 + p.i * 8000 + k", "poe_id": "p.subject_id || '-' || (1 + k * 2)", "poe_seq": "1 + k * 2",
        "order_provider_id": _ident("h"), "starttime": _HOUR, "stoptime": f"{_HOUR} + to_hours(6 + (h >> 8) % 90)", "drug_type": "'MAIN'", "drug": _DRUGS,
        "ndc": "lpad((h % 99999999999)::varchar, 11, '0')", "prod_strength": "(h % 9 + 1) * 50 || 'mg Tablet'", "dose_val_rx": "(h % 9 + 1)::varchar",
        "dose_unit_rx": "'mg'", "form_val_disp": "'1'", "form_unit_disp": "'TAB'", "doses_per_24_hrs": "1 + h % 4", "route": _pick(30, "PO", "IV", "PO/NG", "SC"),
    },
    "hosp.pharmacy": {
        "hadm_id": _HADM, "pharmacy_id": "40000000 + p.i * 8000 + k", "poe_id": "p.subject_id || '-' || (1 + k * 2)", "starttime": _HOUR,
        "stoptime": f"{_HOUR} + to_hours(6 + (h >> 8) % 90)", "medication": _DRUGS, "proc_type": "'Unit Dose'", "status": _pick(20, "Discontinued", "Expired", "Inactive (Due to a change order)"),
        "entertime": _HOUR, "verifiedtime": f"{_HOUR} + {_minutes(3, 50)}", "route": "'PO'", "frequency": _pick(22, "DAILY", "Q6H", "BID", "ASDIR"), "doses_per_24_hrs": "1 + h % 4", "dispensation": "'Omnicell'",
    },
    "hosp.poe": {
        "poe_id": "p.subject_id || '-' || (k + 1)", "poe_seq": "k + 1", "hadm_id": _HADM, "ordertime": _HOUR, "order_type": _pick(3, "Medications", "Lab", "General Care", "ADT orders", "Nutrition"),
        "transaction_type": _pick(9, "New", "New", "Change", "D/C"), "discontinued_by_poe_id": "case when k % 4 = 0 and k + 3 < p.n then p.subject_id || '-' || (k + 3) end",
        "order_provider_id": _ident("h"), "order_status": "'Inactive'",
    },
    "hosp.poe_detail": {
        "poe_id": "p.subject_id || '-' || (k * 10 + 1)", "poe_seq": "k * 10 + 1", "field_name": _pick(3, "Admit category", "Discharge When", "Transfer to", "Code status"), "field_value": _pick(7, "Routine", "Today", "Floor", "Full code"),
    },
    "hosp.omr": {"chartdate": f"{_HOUR}::date", "seq_num": "1 + k % 3", "result_name": _pick(3, "Blood Pressure", "Weight (Lbs)", "BMI (kg/m2)"), "result_value": "(60 + h % 150)::varchar"},
    "hosp.diagnoses_icd": {"hadm_id": _HADM, "seq_num": "1 + k % 30", "icd_code": "'X' || h % 9000", "icd_version": "10"},
    "hosp.procedures_icd": {"hadm_id": _HADM, "seq_num": "1 + k % 9", "chartdate": f"{_HOUR}::date", "icd_code": "'0X' || h % 5000", "icd_version": "10"},
    "hosp.drgcodes": {"hadm_id": _HADM, "drg_type": "['HCFA', 'APR'][k % 2 + 1]", "drg_code": "(h % 900)::varchar", "description": "'GROUP ' || h % 900"},
    "hosp.hcpcsevents": {"hadm_id": _HADM, "chartdate": f"{_HOUR}::date", "hcpcs_cd": "'H' || h % 2000", "seq_num": "1 + k", "short_description": "'Service ' || h % 2000"},
    "icu.icustays": {
        "hadm_id": f"{_HADM}", "stay_id": _STAY, "first_careunit": _pick(3, "Medical Intensive Care Unit (MICU)", "Surgical Intensive Care Unit (SICU)"),
        "last_careunit": "'Medical Intensive Care Unit (MICU)'", "intime": f"{_ADMIT} + interval 3 hour", "outtime": f"{_ADMIT} + interval {_WARD_DAYS} day", "los": f"{_WARD_DAYS} - 0.125",
    },
    "icu.chartevents": _ICU | {
        "charttime": f"time_bucket(interval 1 hour, {_HOUR})", "storetime": f"time_bucket(interval 1 hour, {_HOUR}) + to_minutes((k // 18 * 13 + p.i) % 60)",
        "caregiver_id": "10000 + (k // 200 * 7919 + p.i) % 15000", "itemid": _CHART_ITEM, "value": "case when item % 9 = 4 then ['Yes', 'Normal', 'Clear', 'Sinus Rhythm'][h % 4 + 1] else round(40 + item % 90 + h % 60)::bigint::varchar end",
        "valuenum": "case when item % 9 <> 4 then round(40 + item % 90 + h % 60)::bigint end", "valueuom": "case when item % 9 not in (4, 5, 6) then ['bpm', 'mmHg', '%', 'insp/min'][item % 4 + 1] end", "warning": "0",
    },
    "icu.datetimeevents": _ICU | {"charttime": _HOUR, "itemid": "330000 + " + _spread(5, 100), "value": f"{_HOUR} - interval 9 hour", "valueuom": "'Date and Time'", "warning": "0"},
    "icu.inputevents": _ICU | _RUN | {
        "itemid": "320000 + " + _spread(5, 200), "amount": "(h % 5000) * 0.1", "amountuom": "'ml'", "rate": "(h % 800) * 0.1", "rateuom": "'mL/hour'", "orderid": "o + k + 1", "linkorderid": "o + k + 1",
        "ordercategoryname": "'01-Drips'", "ordercomponenttypedescription": "'Main order parameter'", "ordercategorydescription": "'Continuous Med'", "patientweight": "80", "totalamount": "500", "totalamountuom": "'ml'", "isopenbag": "0", "continueinnextdept": "0", "statusdescription": "'FinishedRunning'", "originalamount": "500", "originalrate": "20",
    },
    "icu.ingredientevents": _ICU | _RUN | {"itemid": "325000 + " + _spread(5, 12), "amount": "(h % 5000) * 0.1", "amountuom": "'ml'", "rate": "(h % 800) * 0.1", "rateuom": "'mL/hour'", "orderid": "o + k + 1", "linkorderid": "o + k + 1", "statusdescription": "'FinishedRunning'", "originalamount": "0", "originalrate": "20"},
    "icu.outputevents": _ICU | {"charttime": _HOUR, "itemid": "326000 + " + _spread(5, 60), "value": "h % 600", "valueuom": "'ml'"},
    "icu.procedureevents": _ICU | _RUN | {"itemid": "327000 + " + _spread(5, 120), "value": "60 + h % 900", "valueuom": "'min'", "orderid": "o + k + 1", "linkorderid": "o + k + 1", "ordercategoryname": "'Procedures'", "ordercategorydescription": "'Task'", "patientweight": "80", "isopenbag": "0", "continueinnextdept": "0", "statusdescription": "'FinishedRunning'", "originalamount": "60", "originalrate": "1"},
    "note.discharge": _NOTE | {"note_id": "p.subject_id || '-DS-' || (k + 1)", "note_type": "'DS'", "text": text(24)},
    "note.radiology": _NOTE | {"note_id": "p.subject_id || '-RR-' || (k + 1)", "note_type": "'RR'", "text": text(3)},
    "ed.edstays": {"hadm_id": "20000000 + p.i * 128 + k", "stay_id": _ED_STAY.format("k"), "intime": _ED_TIME.format("k"), "outtime": f"{_ED_TIME.format('k')} + interval 5 hour", "gender": "'F'", "race": "'OTHER'", "arrival_transport": "'WALK IN'", "disposition": "'ADMITTED'"},
    "ed.triage": {"stay_id": _ED_STAY.format("k"), "acuity": "1 + h % 5", "chiefcomplaint": "'Complaint ' || h % 300"} | _VITALS,
    "ed.vitalsign": _per_admission("ed.vitalsign") | _VITALS,
    "ed.pyxis": _per_admission("ed.pyxis") | {"med_rn": "1 + k", "name": _DRUGS, "gsn_rn": "1", "gsn": "'0' || h % 99999"},
    "ed.medrecon": _per_admission("ed.medrecon") | {"name": _DRUGS, "gsn": "'0' || h % 99999", "ndc": "(h % 99999999)::varchar", "etc_rn": "1", "etccode": "'0' || h % 9999", "etcdescription": "'Class ' || h % 300"},
    "ed.diagnosis": {"stay_id": _per_admission("ed.diagnosis")["stay_id"], "seq_num": "1 + k % 9", "icd_code": "'X' || h % 9000", "icd_version": "10", "icd_title": "'Diagnosis ' || h % 9000"},
}  # fmt: skip
"""Column → SQL expression, by official table."""

_ITEMS = {"hosp.labevents": 498, "icu.chartevents": 1318}
"""How many different items the demo's rows have."""

_NAMES = {50912: "Creatinine", 50971: "Potassium", 50983: "Sodium", 50931: "Glucose", 51222: "Hemoglobin", 220045: "Heart Rate"}  # fmt: skip


def _dictionary(size: int, columns: dict[str, str]) -> str:
    return f"select {', '.join(f'{sql} as {name}' for name, sql in columns.items())} from range({size}) t(k)"


def _named(item: str, invented: str) -> str:
    names = ", ".join(f"{number}: '{name}'" for number, name in _NAMES.items())
    return f"coalesce((map {{{names}}})[{item}], '{invented} ' || k)"


def _items(known: tuple[int, ...], invented: int) -> str:
    return f"coalesce({list(known)}[k + 1], {invented} + k)"


DICTIONARIES: dict[str, str] = {
    "hosp.d_labitems": _dictionary(1622, {"itemid": _items(LAB_ITEMS, 53000), "label": _named(_items(LAB_ITEMS, 53000), "Analyte"), "fluid": "'Blood'", "category": "['Chemistry', 'Hematology', 'Blood Gas'][k % 3 + 1]"}),
    "hosp.d_icd_diagnoses": _dictionary(109_775, {"icd_code": "'X' || k", "icd_version": "10", "long_title": "'Diagnosis ' || k"}),
    "hosp.d_icd_procedures": _dictionary(85_257, {"icd_code": "'0X' || k", "icd_version": "10", "long_title": "'Procedure ' || k"}),
    "hosp.d_hcpcs": _dictionary(89_200, {"code": "'H' || k", "category": "NULL", "long_description": "'Service number ' || k", "short_description": "'Service ' || k"}),
    "hosp.provider": _dictionary(40_000, {"provider_id": "'P' || format('{:05X}', k)"}),
    "icu.caregiver": _dictionary(15_000, {"caregiver_id": "10000 + k"}),
    "icu.d_items": " union all ".join(
        f"select {item} as itemid, {_named(item, what)} as label, '{what} ' || k as abbreviation, '{table}' as linksto, '{what}s' as category, NULL as unitname, 'Numeric' as param_type, NULL as lownormalvalue, NULL as highnormalvalue from range({size}) t(k)"
        for table, what, item, size in (
            ("chartevents", "Observation", _items(CHART_ITEMS, 310000), 3500), ("inputevents", "Infusion", "320000 + k", 200), ("ingredientevents", "Ingredient", "325000 + k", 12),
            ("outputevents", "Output", "326000 + k", 60), ("procedureevents", "Procedure", "327000 + k", 120), ("datetimeevents", "Moment", "330000 + k", 100),
        )
    ),
}  # fmt: skip
"""The dictionaries and lists, as long as the demo's but with labels of their own."""

PATIENTS = (
    "select p.subject_id, ['F', 'M'][p.i % 2 + 1] as gender, 25 + p.i % 60 as anchor_age, "
    "year(p.born) + 25 + p.i % 60 as anchor_year, '2014 - 2016' as anchor_year_group, NULL as dod "
    "from person p order by p.i"
)

GENERATED = (*COUNTS, *PER_ADMISSION)


def rows_sql(table: str) -> str:
    """The SELECT of one official table: every official column in order, by patient and number."""
    made = ROWS[table]
    columns = ", ".join(
        f'{made.get(name, "p.subject_id" if name == "subject_id" else "NULL")} as "{name}"'
        for name in TABLES[table].column_names
    )
    items = _ITEMS.get(table)
    item = f", {_spread(0, items).replace('h >>', '(hash(o + k) >> 1)::bigint >>')} as item" if items else ""
    return (
        f"select {columns} from (select *, (hash(o + k) >> 1)::bigint as h{item} from ("
        f"select *, unnest(range(n)) as k from counted)) p"
    )
