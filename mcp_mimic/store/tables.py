"""The official tables of MIMIC-IV: columns with their types, keys, event times.

Sources: the MIMIC-IV 2.2 and 3.1 documentation and PostgreSQL schemas (hosp, icu; the two releases have
the same layout), MIMIC-IV-Note 2.2 and MIMIC-IV-ED 2.2. Column names are in lower case, whatever the
case in the files (icu.procedureevents of 2.2 writes ORIGINALAMOUNT). Times are the shifted local times
of the database, without a time zone.
"""

from dataclasses import dataclass

REQUIRED_SCHEMAS = ("hosp", "icu")
OPTIONAL_SCHEMAS = ("note", "ed", "ecg", "cxr", "echo")

_TYPES = {"i": "INTEGER", "I": "BIGINT", "s": "VARCHAR", "t": "TIMESTAMP", "d": "DATE", "f": "DOUBLE"}


@dataclass(frozen=True)
class Column:
    """One official column and the DuckDB type it is stored as."""

    name: str
    type: str


@dataclass(frozen=True)
class Table:
    """One official table.

    `kind` is the prefix of its evidence ids, None where its rows are not citable by themselves.
    `key` is the official column whose value (less the subject's number) makes the evidence id; None
    means that rows are numbered per subject by content order. `time` is the event-time column, None
    where the table has none. `shares` names the table whose evidence id a detail table carries.
    """

    schema: str
    name: str
    columns: tuple[Column, ...]
    kind: str | None = None
    key: str | None = None
    time: str | None = None
    shares: str | None = None

    @property
    def qualified(self) -> str:
        """`schema.table`, as it is written everywhere."""
        return f"{self.schema}.{self.name}"

    @property
    def column_names(self) -> tuple[str, ...]:
        """Official column names in official order."""
        return tuple(column.name for column in self.columns)

    @property
    def has_subject(self) -> bool:
        """Whether the table's rows belong to subjects (dictionaries' do not)."""
        return "subject_id" in self.column_names


def _table(
    qualified: str,
    columns: str,
    *,
    kind: str | None = None,
    key: str | None = None,
    time: str | None = None,
    shares: str | None = None,
) -> Table:
    schema, name = qualified.split(".")
    parsed = tuple(Column(c, _TYPES[t]) for c, t in (word.split(":") for word in columns.split()))
    return Table(schema, name, parsed, kind, key, time, shares)


_ALL = (
    # --- hosp ---
    _table(
        "hosp.patients",
        "subject_id:I gender:s anchor_age:i anchor_year:i anchor_year_group:s dod:d",
    ),
    _table(
        "hosp.admissions",
        "subject_id:I hadm_id:I admittime:t dischtime:t deathtime:t admission_type:s admit_provider_id:s "
        "admission_location:s discharge_location:s insurance:s language:s marital_status:s race:s "
        "edregtime:t edouttime:t hospital_expire_flag:i",
        kind="adm",
        key="hadm_id",
        time="admittime",
    ),
    _table(
        "hosp.transfers",
        "subject_id:I hadm_id:I transfer_id:I eventtype:s careunit:s intime:t outtime:t",
        kind="xfer",
        key="transfer_id",
        time="intime",
    ),
    _table(
        "hosp.services",
        "subject_id:I hadm_id:I transfertime:t prev_service:s curr_service:s",
        kind="svc",
        time="transfertime",
    ),
    _table(
        "hosp.labevents",
        "labevent_id:I subject_id:I hadm_id:I specimen_id:I itemid:i order_provider_id:s charttime:t "
        "storetime:t value:s valuenum:f valueuom:s ref_range_lower:f ref_range_upper:f flag:s priority:s "
        "comments:s",
        kind="lab",
        key="labevent_id",
        time="charttime",
    ),
    _table(
        "hosp.microbiologyevents",
        "microevent_id:I subject_id:I hadm_id:I micro_specimen_id:I order_provider_id:s chartdate:t "
        "charttime:t spec_itemid:i spec_type_desc:s test_seq:i storedate:t storetime:t test_itemid:i "
        "test_name:s org_itemid:i org_name:s isolate_num:i quantity:s ab_itemid:i ab_name:s "
        "dilution_text:s dilution_comparison:s dilution_value:f interpretation:s comments:s",
        kind="micro",
        key="microevent_id",
        time="charttime",
    ),
    _table(
        "hosp.emar",
        "subject_id:I hadm_id:I emar_id:s emar_seq:i poe_id:s pharmacy_id:I enter_provider_id:s charttime:t "
        "medication:s event_txt:s scheduletime:t storetime:t",
        kind="emar",
        key="emar_id",
        time="charttime",
    ),
    _table(
        "hosp.emar_detail",
        "subject_id:I emar_id:s emar_seq:i parent_field_ordinal:s administration_type:s pharmacy_id:I "
        "barcode_type:s reason_for_no_barcode:s complete_dose_not_given:s dose_due:s dose_due_unit:s "
        "dose_given:s dose_given_unit:s will_remainder_of_dose_be_given:s product_amount_given:s "
        "product_unit:s product_code:s product_description:s product_description_other:s "
        "prior_infusion_rate:s infusion_rate:s infusion_rate_adjustment:s "
        "infusion_rate_adjustment_amount:s infusion_rate_unit:s route:s infusion_complete:s "
        "completion_interval:s new_iv_bag_hung:s continued_infusion_in_other_location:s "
        "restart_interval:s side:s site:s non_formulary_visual_verification:s",
        kind="emar",
        key="emar_id",
        shares="hosp.emar",
    ),
    _table(
        "hosp.prescriptions",
        "subject_id:I hadm_id:I pharmacy_id:I poe_id:s poe_seq:i order_provider_id:s starttime:t stoptime:t "
        "drug_type:s drug:s formulary_drug_cd:s gsn:s ndc:s prod_strength:s form_rx:s dose_val_rx:s "
        "dose_unit_rx:s form_val_disp:s form_unit_disp:s doses_per_24_hrs:f route:s",
        kind="rx",
        time="starttime",
    ),
    _table(
        "hosp.pharmacy",
        "subject_id:I hadm_id:I pharmacy_id:I poe_id:s starttime:t stoptime:t medication:s proc_type:s "
        "status:s entertime:t verifiedtime:t route:s frequency:s disp_sched:s infusion_type:s "
        "sliding_scale:s lockout_interval:s basal_rate:f one_hr_max:s doses_per_24_hrs:f duration:f "
        "duration_interval:s expiration_value:i expiration_unit:s expirationdate:t dispensation:s "
        "fill_quantity:s",
        kind="pharm",
        key="pharmacy_id",
        time="starttime",
    ),
    _table(
        "hosp.poe",
        "poe_id:s poe_seq:i subject_id:I hadm_id:I ordertime:t order_type:s order_subtype:s "
        "transaction_type:s discontinue_of_poe_id:s discontinued_by_poe_id:s order_provider_id:s "
        "order_status:s",
        kind="ord",
        key="poe_id",
        time="ordertime",
    ),
    _table(
        "hosp.poe_detail",
        "poe_id:s poe_seq:i subject_id:I field_name:s field_value:s",
        kind="ord",
        key="poe_id",
        shares="hosp.poe",
    ),
    _table(
        "hosp.omr",
        "subject_id:I chartdate:d seq_num:i result_name:s result_value:s",
        kind="omr",
        time="chartdate",
    ),
    _table(
        "hosp.diagnoses_icd",
        "subject_id:I hadm_id:I seq_num:i icd_code:s icd_version:i",
        kind="dx",
    ),
    _table(
        "hosp.procedures_icd",
        "subject_id:I hadm_id:I seq_num:i chartdate:d icd_code:s icd_version:i",
        kind="px",
        time="chartdate",
    ),
    _table(
        "hosp.drgcodes",
        "subject_id:I hadm_id:I drg_type:s drg_code:s description:s drg_severity:i drg_mortality:i",
        kind="drg",
    ),
    _table(
        "hosp.hcpcsevents",
        "subject_id:I hadm_id:I chartdate:d hcpcs_cd:s seq_num:i short_description:s",
        kind="hcpcs",
        time="chartdate",
    ),
    _table("hosp.d_labitems", "itemid:i label:s fluid:s category:s"),
    _table("hosp.d_icd_diagnoses", "icd_code:s icd_version:i long_title:s"),
    _table("hosp.d_icd_procedures", "icd_code:s icd_version:i long_title:s"),
    _table("hosp.d_hcpcs", "code:s category:i long_description:s short_description:s"),
    _table("hosp.provider", "provider_id:s"),
    # --- icu ---
    _table(
        "icu.icustays",
        "subject_id:I hadm_id:I stay_id:I first_careunit:s last_careunit:s intime:t outtime:t los:f",
        kind="icu",
        key="stay_id",
        time="intime",
    ),
    _table(
        "icu.chartevents",
        "subject_id:I hadm_id:I stay_id:I caregiver_id:I charttime:t storetime:t itemid:i value:s "
        "valuenum:f valueuom:s warning:i",
        kind="obs",
        time="charttime",
    ),
    _table(
        "icu.datetimeevents",
        "subject_id:I hadm_id:I stay_id:I caregiver_id:I charttime:t storetime:t itemid:i value:t "
        "valueuom:s warning:i",
        kind="dt",
        time="charttime",
    ),
    _table(
        "icu.inputevents",
        "subject_id:I hadm_id:I stay_id:I caregiver_id:I starttime:t endtime:t storetime:t itemid:i "
        "amount:f amountuom:s rate:f rateuom:s orderid:I linkorderid:I ordercategoryname:s "
        "secondaryordercategoryname:s ordercomponenttypedescription:s ordercategorydescription:s "
        "patientweight:f totalamount:f totalamountuom:s isopenbag:i continueinnextdept:i "
        "statusdescription:s originalamount:f originalrate:f",
        kind="inf",
        time="starttime",
    ),
    _table(
        "icu.ingredientevents",
        "subject_id:I hadm_id:I stay_id:I caregiver_id:I starttime:t endtime:t storetime:t itemid:i "
        "amount:f amountuom:s rate:f rateuom:s orderid:I linkorderid:I statusdescription:s "
        "originalamount:f originalrate:f",
        kind="ing",
        time="starttime",
    ),
    _table(
        "icu.outputevents",
        "subject_id:I hadm_id:I stay_id:I caregiver_id:I charttime:t storetime:t itemid:i value:f valueuom:s",
        kind="out",
        time="charttime",
    ),
    _table(
        "icu.procedureevents",
        "subject_id:I hadm_id:I stay_id:I caregiver_id:I starttime:t endtime:t storetime:t itemid:i "
        "value:f valueuom:s location:s locationcategory:s orderid:I linkorderid:I ordercategoryname:s "
        "ordercategorydescription:s patientweight:f isopenbag:i continueinnextdept:i "
        "statusdescription:s originalamount:f originalrate:f",
        kind="proc",
        key="orderid",
        time="starttime",
    ),
    _table(
        "icu.d_items",
        "itemid:i label:s abbreviation:s linksto:s category:s unitname:s param_type:s lownormalvalue:f "
        "highnormalvalue:f",
    ),
    _table("icu.caregiver", "caregiver_id:I"),
    # --- note ---
    _table(
        "note.discharge",
        "note_id:s subject_id:I hadm_id:I note_type:s note_seq:i charttime:t storetime:t text:s",
        kind="note",
        key="note_id",
        time="charttime",
    ),
    _table(
        "note.discharge_detail",
        "note_id:s subject_id:I field_name:s field_value:s field_ordinal:i",
        kind="note",
        key="note_id",
        shares="note.discharge",
    ),
    _table(
        "note.radiology",
        "note_id:s subject_id:I hadm_id:I note_type:s note_seq:i charttime:t storetime:t text:s",
        kind="note",
        key="note_id",
        time="charttime",
    ),
    _table(
        "note.radiology_detail",
        "note_id:s subject_id:I field_name:s field_value:s field_ordinal:i",
        kind="note",
        key="note_id",
        shares="note.radiology",
    ),
    # --- ed ---
    _table(
        "ed.edstays",
        "subject_id:I hadm_id:I stay_id:I intime:t outtime:t gender:s race:s arrival_transport:s "
        "disposition:s",
        kind="edstay",
        key="stay_id",
        time="intime",
    ),
    _table(
        "ed.diagnosis",
        "subject_id:I stay_id:I seq_num:i icd_code:s icd_version:i icd_title:s",
        kind="eddx",
    ),
    _table(
        "ed.medrecon",
        "subject_id:I stay_id:I charttime:t name:s gsn:s ndc:s etc_rn:i etccode:s etcdescription:s",
        kind="medrec",
        time="charttime",
    ),
    _table(
        "ed.pyxis",
        "subject_id:I stay_id:I charttime:t med_rn:i name:s gsn_rn:i gsn:s",
        kind="pyxis",
        time="charttime",
    ),
    _table(
        "ed.triage",
        "subject_id:I stay_id:I temperature:f heartrate:f resprate:f o2sat:f sbp:f dbp:f pain:s acuity:f "
        "chiefcomplaint:s",
        kind="triage",
    ),
    _table(
        "ed.vitalsign",
        "subject_id:I stay_id:I charttime:t temperature:f heartrate:f resprate:f o2sat:f sbp:f dbp:f "
        "rhythm:s pain:s",
        kind="edvital",
        time="charttime",
    ),
)

TABLES: dict[str, Table] = {table.qualified: table for table in _ALL}
"""Every official table that the store knows, by qualified name."""

KINDS: dict[str, tuple[str, ...]] = {
    kind: tuple(t.qualified for t in _ALL if t.kind == kind) for kind in {t.kind for t in _ALL if t.kind}
}
"""Evidence-id kind → the tables whose rows carry it."""
