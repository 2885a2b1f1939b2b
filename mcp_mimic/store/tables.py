"""The official tables of MIMIC-IV that a store knows.

Sources: the MIMIC-IV 2.2 and 3.1 documentation and PostgreSQL schemas (hosp, icu; the two releases have
the same layout); for the optional modules see `modules`.
"""

from mcp_mimic.store.layout import Column, Table, column_name, official
from mcp_mimic.store.modules import MODULE_TABLES

__all__ = ["KINDS", "OPTIONAL_SCHEMAS", "REQUIRED_SCHEMAS", "TABLES", "Column", "Table", "column_name"]

REQUIRED_SCHEMAS = ("hosp", "icu")
OPTIONAL_SCHEMAS = ("note", "ed", "ecg", "cxr", "echo")

_CORE = (
    # --- hosp ---
    official(
        "hosp.patients",
        "subject_id:I gender:s anchor_age:i anchor_year:i anchor_year_group:s dod:d",
    ),
    official(
        "hosp.admissions",
        "subject_id:I hadm_id:I admittime:t dischtime:t deathtime:t admission_type:s admit_provider_id:s "
        "admission_location:s discharge_location:s insurance:s language:s marital_status:s race:s "
        "edregtime:t edouttime:t hospital_expire_flag:i",
        kind="adm",
        key="hadm_id",
        time="admittime",
    ),
    official(
        "hosp.transfers",
        "subject_id:I hadm_id:I transfer_id:I eventtype:s careunit:s intime:t outtime:t",
        kind="xfer",
        key="transfer_id",
        time="intime",
    ),
    official(
        "hosp.services",
        "subject_id:I hadm_id:I transfertime:t prev_service:s curr_service:s",
        kind="svc",
        time="transfertime",
    ),
    official(
        "hosp.labevents",
        "labevent_id:I subject_id:I hadm_id:I specimen_id:I itemid:i order_provider_id:s charttime:t "
        "storetime:t value:s valuenum:f valueuom:s ref_range_lower:f ref_range_upper:f flag:s priority:s "
        "comments:s",
        kind="lab",
        key="labevent_id",
        time="charttime",
    ),
    official(
        "hosp.microbiologyevents",
        "microevent_id:I subject_id:I hadm_id:I micro_specimen_id:I order_provider_id:s chartdate:t "
        "charttime:t spec_itemid:i spec_type_desc:s test_seq:i storedate:t storetime:t test_itemid:i "
        "test_name:s org_itemid:i org_name:s isolate_num:i quantity:s ab_itemid:i ab_name:s "
        "dilution_text:s dilution_comparison:s dilution_value:f interpretation:s comments:s",
        kind="micro",
        key="microevent_id",
        time="charttime",
    ),
    official(
        "hosp.emar",
        "subject_id:I hadm_id:I emar_id:s emar_seq:i poe_id:s pharmacy_id:I enter_provider_id:s charttime:t "
        "medication:s event_txt:s scheduletime:t storetime:t",
        kind="emar",
        key="emar_id",
        time="charttime",
    ),
    official(
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
    official(
        "hosp.prescriptions",
        "subject_id:I hadm_id:I pharmacy_id:I poe_id:s poe_seq:i order_provider_id:s starttime:t stoptime:t "
        "drug_type:s drug:s formulary_drug_cd:s gsn:s ndc:s prod_strength:s form_rx:s dose_val_rx:s "
        "dose_unit_rx:s form_val_disp:s form_unit_disp:s doses_per_24_hrs:f route:s",
        kind="rx",
        time="starttime",
    ),
    official(
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
    official(
        "hosp.poe",
        "poe_id:s poe_seq:i subject_id:I hadm_id:I ordertime:t order_type:s order_subtype:s "
        "transaction_type:s discontinue_of_poe_id:s discontinued_by_poe_id:s order_provider_id:s "
        "order_status:s",
        kind="ord",
        key="poe_id",
        time="ordertime",
    ),
    official(
        "hosp.poe_detail",
        "poe_id:s poe_seq:i subject_id:I field_name:s field_value:s",
        kind="ord",
        key="poe_id",
        shares="hosp.poe",
    ),
    official(
        "hosp.omr",
        "subject_id:I chartdate:d seq_num:i result_name:s result_value:s",
        kind="omr",
        time="chartdate",
    ),
    official(
        "hosp.diagnoses_icd",
        "subject_id:I hadm_id:I seq_num:i icd_code:s icd_version:i",
        kind="dx",
    ),
    official(
        "hosp.procedures_icd",
        "subject_id:I hadm_id:I seq_num:i chartdate:d icd_code:s icd_version:i",
        kind="px",
        time="chartdate",
    ),
    official(
        "hosp.drgcodes",
        "subject_id:I hadm_id:I drg_type:s drg_code:s description:s drg_severity:i drg_mortality:i",
        kind="drg",
    ),
    official(
        "hosp.hcpcsevents",
        "subject_id:I hadm_id:I chartdate:d hcpcs_cd:s seq_num:i short_description:s",
        kind="hcpcs",
        time="chartdate",
    ),
    official("hosp.d_labitems", "itemid:i label:s fluid:s category:s"),
    official("hosp.d_icd_diagnoses", "icd_code:s icd_version:i long_title:s"),
    official("hosp.d_icd_procedures", "icd_code:s icd_version:i long_title:s"),
    official("hosp.d_hcpcs", "code:s category:i long_description:s short_description:s"),
    official("hosp.provider", "provider_id:s"),
    # --- icu ---
    official(
        "icu.icustays",
        "subject_id:I hadm_id:I stay_id:I first_careunit:s last_careunit:s intime:t outtime:t los:f",
        kind="icu",
        key="stay_id",
        time="intime",
    ),
    official(
        "icu.chartevents",
        "subject_id:I hadm_id:I stay_id:I caregiver_id:I charttime:t storetime:t itemid:i value:s "
        "valuenum:f valueuom:s warning:i",
        kind="obs",
        time="charttime",
    ),
    official(
        "icu.datetimeevents",
        "subject_id:I hadm_id:I stay_id:I caregiver_id:I charttime:t storetime:t itemid:i value:t "
        "valueuom:s warning:i",
        kind="dt",
        time="charttime",
    ),
    official(
        "icu.inputevents",
        "subject_id:I hadm_id:I stay_id:I caregiver_id:I starttime:t endtime:t storetime:t itemid:i "
        "amount:f amountuom:s rate:f rateuom:s orderid:I linkorderid:I ordercategoryname:s "
        "secondaryordercategoryname:s ordercomponenttypedescription:s ordercategorydescription:s "
        "patientweight:f totalamount:f totalamountuom:s isopenbag:i continueinnextdept:i "
        "statusdescription:s originalamount:f originalrate:f",
        kind="inf",
        time="starttime",
    ),
    official(
        "icu.ingredientevents",
        "subject_id:I hadm_id:I stay_id:I caregiver_id:I starttime:t endtime:t storetime:t itemid:i "
        "amount:f amountuom:s rate:f rateuom:s orderid:I linkorderid:I statusdescription:s "
        "originalamount:f originalrate:f",
        kind="ing",
        time="starttime",
    ),
    official(
        "icu.outputevents",
        "subject_id:I hadm_id:I stay_id:I caregiver_id:I charttime:t storetime:t itemid:i value:f valueuom:s",
        kind="out",
        time="charttime",
    ),
    official(
        "icu.procedureevents",
        "subject_id:I hadm_id:I stay_id:I caregiver_id:I starttime:t endtime:t storetime:t itemid:i "
        "value:f valueuom:s location:s locationcategory:s orderid:I linkorderid:I ordercategoryname:s "
        "ordercategorydescription:s patientweight:f isopenbag:i continueinnextdept:i "
        "statusdescription:s originalamount:f originalrate:f",
        kind="proc",
        key="orderid",
        time="starttime",
    ),
    official(
        "icu.d_items",
        "itemid:i label:s abbreviation:s linksto:s category:s unitname:s param_type:s lownormalvalue:f "
        "highnormalvalue:f",
    ),
    official("icu.caregiver", "caregiver_id:I"),
)

_ALL = (*_CORE, *MODULE_TABLES)

TABLES: dict[str, Table] = {table.qualified: table for table in _ALL}
"""Every official table that the store knows, by qualified name."""

KINDS: dict[str, tuple[str, ...]] = {
    kind: tuple(t.qualified for t in _ALL if t.kind == kind) for kind in {t.kind for t in _ALL if t.kind}
}
"""Evidence-id kind → the tables whose rows carry it."""
