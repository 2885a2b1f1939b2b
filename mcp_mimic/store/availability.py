"""When each fact of the record could be known: one rule a column, for every official table.

A row is available from a moment on (`Availability.row`); inside it, single columns come later
(`Until`), only once their admission has begun (`InAdmission`), or never (`Never`). A column without a
rule is not served. Where a rule is stricter than the times that stand in the row, a comment says why.

Only the past may show in what is served, so rows without an official key are to be numbered in the
order of `available_at`: then the served numbers run without gaps, and their size tells nothing of
what is still to come. The rules of the optional modules are in `module_rules`.
"""

from mcp_mimic.store.copies import CHART_COPIES
from mcp_mimic.store.module_rules import MODULE_RULES
from mcp_mimic.store.moments import ALWAYS, END_OF_DAY, STORED, sums_up
from mcp_mimic.store.rules import Availability, InAdmission, Never, Rule, Until, WithRow, columns

_ROW, _OWN, _ADMISSION, _NEVER = WithRow(), WithRow(own=True), InAdmission(), Never()


def _dictionary(served: str) -> Availability:
    return Availability(row=ALWAYS, columns=dict.fromkeys(served.split(), _ROW))


# --- moments ------------------------------------------------------------------------------------------

_STORED_START = "greatest(r.starttime, coalesce(r.storetime, r.starttime))"

# A null end leaves nothing to wait for, so what depends on it stays hidden.
_INPUT_OVER = "case when r.endtime is not null then greatest(r.starttime, r.endtime, r.storetime) end"
_ORDER_OVER = "case when r.stoptime is not null then greatest(r.stoptime, r.verifiedtime) end"

_ORDER_JOIN = "left join hosp.poe ordered on ordered.subject_id = r.subject_id and ordered.poe_id = r.poe_id"

_COPY_PAIRS = ", ".join(f"({chart}, {lab})" for chart, labs in CHART_COPIES.items() for lab in labs)
# One row a subject, chart item and charttime, so that the join never multiplies rows; the subjects are
# those with an ICU stay, since nobody else has chart rows.
_COPY_JOIN = f"""left join (
    select lab.subject_id, pair.chart_itemid, lab.charttime,
        max(greatest(lab.charttime, coalesce(lab.storetime, lab.charttime))) as known
    from hosp.labevents lab
    join (values {_COPY_PAIRS}) pair(chart_itemid, lab_itemid) on pair.lab_itemid = lab.itemid
    where lab.subject_id in (select stay.subject_id from icu.icustays stay)
    group by lab.subject_id, pair.chart_itemid, lab.charttime
) copied on copied.subject_id = r.subject_id and copied.chart_itemid = r.itemid
    and copied.charttime = r.charttime"""

# A culture whose draw has only a date counts as drawn by the end of that day.
MICRO_DRAWN = f"coalesce(r.charttime, r.chartdate + {END_OF_DAY})"
_MICRO_RESULT = (
    "greatest(coalesce(r.charttime, r.chartdate), "
    f"coalesce(r.storetime, r.storedate + {END_OF_DAY}, {MICRO_DRAWN}))"
)

# --- shared columns -----------------------------------------------------------------------------------

_ICU_KEYS: dict[str, Rule] = {"hadm_id": _ADMISSION, "stay_id": _ROW, "caregiver_id": _NEVER}


def _over(names: str) -> dict[str, Rule]:
    """Rules for what only the end of an ICU input or procedure decides."""
    return dict.fromkeys(names.split(), Until(_INPUT_OVER))


_HOSP = {
    "hosp.patients": Availability(
        # Known since the year of birth, before which no chart is opened.
        row="make_timestamp(r.anchor_year - r.anchor_age, 1, 1, 0, 0, 0)",
        columns=columns("gender anchor_age anchor_year anchor_year_group", dod=_NEVER),
    ),
    "hosp.admissions": Availability(
        row="r.admittime",
        columns=columns(
            "hadm_id admittime admission_location insurance language marital_status race",
            dischtime=Until("r.dischtime"),
            deathtime=Until("r.deathtime"),
            # Revised up to discharge: an observation becomes an admission.
            admission_type=Until("r.dischtime"),
            discharge_location=Until("r.dischtime"),
            hospital_expire_flag=Until("r.dischtime"),
            admit_provider_id=_NEVER,
            # Lies after admission in a few rows.
            edregtime=Until("r.edregtime"),
            edouttime=Until("r.edouttime"),
        ),
    ),
    "hosp.transfers": Availability(
        row="r.intime",
        columns=columns(
            "transfer_id eventtype careunit intime", hadm_id=_ADMISSION, outtime=Until("r.outtime")
        ),
    ),
    "hosp.services": Availability(
        row="r.transfertime",
        columns=columns("transfertime prev_service curr_service", hadm_id=_ADMISSION),
    ),
    "hosp.labevents": Availability(
        row=STORED,
        columns=columns(
            "labevent_id specimen_id itemid charttime storetime value valuenum valueuom ref_range_lower "
            "ref_range_upper flag priority comments",
            hadm_id=_ADMISSION,
            order_provider_id=_NEVER,
        ),
    ),
    "hosp.microbiologyevents": Availability(
        row=_MICRO_RESULT,
        columns=columns(
            "microevent_id micro_specimen_id chartdate charttime spec_itemid spec_type_desc test_seq "
            "storedate storetime test_itemid test_name org_itemid org_name isolate_num quantity ab_itemid "
            "ab_name dilution_text dilution_comparison dilution_value interpretation comments",
            hadm_id=_ADMISSION,
            order_provider_id=_NEVER,
        ),
    ),
    "hosp.emar": Availability(
        row=STORED,
        # The scheduled time may lie ahead: it was known when the row was charted.
        columns=columns(
            "emar_seq pharmacy_id charttime medication event_txt scheduletime storetime",
            hadm_id=_ADMISSION,
            emar_id=_OWN,
            poe_id=_OWN,
            enter_provider_id=_NEVER,
        ),
    ),
    "hosp.emar_detail": Availability(
        row="greatest(parent.charttime, coalesce(parent.storetime, parent.charttime))",
        joins="left join hosp.emar parent on parent.subject_id = r.subject_id and parent.emar_id = r.emar_id",
        needs=("hosp.emar",),
        columns=columns(
            "emar_seq parent_field_ordinal administration_type pharmacy_id barcode_type "
            "reason_for_no_barcode complete_dose_not_given dose_due dose_due_unit dose_given "
            "dose_given_unit will_remainder_of_dose_be_given product_amount_given product_unit "
            "product_code product_description product_description_other prior_infusion_rate "
            "infusion_rate infusion_rate_adjustment infusion_rate_adjustment_amount infusion_rate_unit "
            "route infusion_complete completion_interval new_iv_bag_hung "
            "continued_infusion_in_other_location restart_interval side site "
            "non_formulary_visual_verification",
            emar_id=_OWN,
        ),
    ),
    "hosp.pharmacy": Availability(
        row="coalesce(ordered.ordertime, r.entertime, r.starttime)",
        joins=_ORDER_JOIN,
        needs=("hosp.poe",),
        columns=columns(
            "pharmacy_id starttime medication proc_type route frequency disp_sched infusion_type "
            "sliding_scale lockout_interval basal_rate one_hr_max doses_per_24_hrs duration_interval "
            "expiration_value expiration_unit",
            hadm_id=_ADMISSION,
            poe_id=_OWN,
            # The pharmacy enters and verifies an order after it was placed.
            entertime=Until("r.entertime"),
            verifiedtime=Until("r.verifiedtime"),
            stoptime=Until("r.stoptime"),
            status=Until("r.stoptime"),
            # An order that ran its course stops at starttime plus duration.
            duration=Until("r.stoptime"),
            expirationdate=Until("r.expirationdate"),
            # What was dispensed over an order's life is settled when it is over.
            dispensation=Until(_ORDER_OVER),
            fill_quantity=Until(_ORDER_OVER),
        ),
    ),
    "hosp.prescriptions": Availability(
        row="coalesce(ordered.ordertime, filled.entertime, r.starttime)",
        joins=f"{_ORDER_JOIN} left join hosp.pharmacy filled "
        "on filled.subject_id = r.subject_id and filled.pharmacy_id = r.pharmacy_id",
        needs=("hosp.poe", "hosp.pharmacy"),
        columns=columns(
            "pharmacy_id poe_seq starttime drug_type drug formulary_drug_cd gsn ndc prod_strength form_rx "
            "dose_val_rx dose_unit_rx form_val_disp form_unit_disp doses_per_24_hrs route",
            hadm_id=_ADMISSION,
            poe_id=_OWN,
            order_provider_id=_NEVER,
            stoptime=Until("r.stoptime"),
        ),
    ),
    "hosp.poe": Availability(
        row="r.ordertime",
        columns=columns(
            "poe_seq ordertime order_type order_subtype transaction_type",
            hadm_id=_ADMISSION,
            poe_id=_OWN,
            discontinue_of_poe_id=_OWN,
            discontinued_by_poe_id=Until("successor.ordertime", own=True),
            order_provider_id=_NEVER,
            order_status=_NEVER,
        ),
        lookup="left join (select other.subject_id, other.poe_id, other.ordertime from {store}.hosp.poe other "
        "where other.subject_id in (select subject_id from {task})) successor "
        "on successor.subject_id = r.subject_id and successor.poe_id = r.discontinued_by_poe_id",
    ),
    "hosp.poe_detail": Availability(
        # A consultation's status is written back onto its order when it is answered.
        row="""greatest(ordered.ordertime, case when r.field_name like 'Consult Status%' then
            max(case when r.field_name = 'Consult Status Time' then try_cast(r.field_value as timestamp) end)
            over (partition by r.subject_id, r.poe_id) end)""",
        joins=_ORDER_JOIN,
        needs=("hosp.poe",),
        columns=columns("poe_seq field_name field_value", poe_id=_OWN),
    ),
    "hosp.omr": Availability(
        row=f"r.chartdate + {END_OF_DAY}",
        columns=columns("chartdate seq_num result_name result_value"),
    ),
    "hosp.diagnoses_icd": sums_up(columns("seq_num icd_code icd_version", hadm_id=_ADMISSION)),
    "hosp.procedures_icd": sums_up(
        columns("seq_num chartdate icd_code icd_version", hadm_id=_ADMISSION), "r.chartdate"
    ),
    "hosp.drgcodes": sums_up(
        columns("drg_type drg_code description drg_severity drg_mortality", hadm_id=_ADMISSION)
    ),
    "hosp.hcpcsevents": sums_up(
        columns("chartdate hcpcs_cd seq_num short_description", hadm_id=_ADMISSION), "r.chartdate"
    ),
    "hosp.d_labitems": _dictionary("itemid label fluid category"),
    "hosp.d_icd_diagnoses": _dictionary("icd_code icd_version long_title"),
    "hosp.d_icd_procedures": _dictionary("icd_code icd_version long_title"),
    "hosp.d_hcpcs": _dictionary("code category long_description short_description"),
    "hosp.provider": Availability(row=ALWAYS, columns={"provider_id": _NEVER}),
}

_ICU = {
    "icu.icustays": Availability(
        row="r.intime",
        columns=columns(
            "stay_id first_careunit intime",
            hadm_id=_ADMISSION,
            last_careunit=Until("r.outtime"),
            outtime=Until("r.outtime"),
            los=Until("r.outtime"),
        ),
    ),
    "icu.chartevents": Availability(
        row="greatest(r.charttime, coalesce(r.storetime, r.charttime), copied.known)",
        joins=_COPY_JOIN,
        needs=("hosp.labevents", "icu.icustays"),
        columns=columns("charttime storetime itemid value valuenum valueuom warning") | _ICU_KEYS,
    ),
    "icu.datetimeevents": Availability(
        row=STORED,
        columns=columns("charttime storetime itemid value valueuom warning") | _ICU_KEYS,
    ),
    "icu.inputevents": Availability(
        row=_STORED_START,
        columns=columns(
            "starttime storetime itemid amountuom rate rateuom orderid linkorderid ordercategoryname "
            "secondaryordercategoryname ordercomponenttypedescription ordercategorydescription "
            "patientweight totalamountuom"
        )
        | _ICU_KEYS
        | _over(
            "endtime amount totalamount statusdescription originalamount originalrate isopenbag "
            "continueinnextdept"
        ),
    ),
    "icu.ingredientevents": Availability(
        row=_STORED_START,
        columns=columns("starttime storetime itemid amountuom rate rateuom orderid linkorderid")
        | _ICU_KEYS
        | _over("endtime amount statusdescription originalamount originalrate"),
    ),
    "icu.outputevents": Availability(
        row=STORED,
        columns=columns("charttime storetime itemid value valueuom") | _ICU_KEYS,
    ),
    "icu.procedureevents": Availability(
        row=_STORED_START,
        columns=columns(
            "starttime storetime itemid location locationcategory orderid linkorderid ordercategoryname "
            "ordercategorydescription patientweight"
        )
        | _ICU_KEYS
        # The unit of the duration (min, hour, day) tells its size.
        | _over(
            "endtime value valueuom statusdescription originalamount originalrate isopenbag "
            "continueinnextdept"
        ),
    ),
    "icu.d_items": _dictionary(
        "itemid label abbreviation linksto category unitname param_type lownormalvalue highnormalvalue"
    ),
    "icu.caregiver": Availability(row=ALWAYS, columns={"caregiver_id": _NEVER}),
}

AVAILABILITY: dict[str, Availability] = _HOSP | _ICU | MODULE_RULES
"""The rules of every official table, by qualified name."""
