"""The official tables that the read tools cover; those of hosp and icu are described here."""

from mcp_mimic.store.labels import naming_of
from mcp_mimic.tools.module_sources import MODULE_SOURCES
from mcp_mimic.tools.source import LAST_SECOND, Detail, Source

_ICU_QUIET = (
    "hadm_id", "stay_id", "orderid", "linkorderid", "warning", "patientweight", "isopenbag",
    "continueinnextdept", "originalamount", "originalrate", "ordercategoryname",
    "secondaryordercategoryname", "ordercomponenttypedescription",
)  # fmt: skip


def _icu(table: str, tool: str, what: str, time: str, units: dict[str, str], unit: str | None) -> Source:
    return Source(
        table=f"icu.{table}",
        tool=tool,
        what=what,
        time=f"r.{time}",
        item="r.itemid",
        label=naming_of(f"icu.{table}").label,
        joins="left join icu.d_items d on d.itemid = r.itemid",
        category="d.category",
        unit=unit,
        units=units,
        quiet=_ICU_QUIET,
        free=("value",) if table == "chartevents" else (),
    )


_AMOUNTS = {
    "amount": "amountuom",
    "rate": "rateuom",
    "totalamount": "totalamountuom",
}

_ALL = (
    Source(
        table="hosp.labevents",
        tool="get_labs",
        what="laboratory results",
        time="r.charttime",
        item="r.itemid",
        label=naming_of("hosp.labevents").label,
        joins="left join hosp.d_labitems d on d.itemid = r.itemid",
        category="concat_ws(' ', d.fluid, d.category)",
        unit="r.valueuom",
        units={"value": "valueuom", "valuenum": "valueuom"},
        hidden=("labevent_id",),
        quiet=("hadm_id", "specimen_id", "priority"),
        free=("value", "comments"),
    ),
    _icu(
        "chartevents",
        "get_observations(record='charted')",
        "charted observations of the ICU",
        "charttime",
        {"value": "valueuom", "valuenum": "valueuom"},
        "r.valueuom",
    ),
    _icu(
        "datetimeevents",
        "get_observations(record='dates')",
        "charted dates of the ICU",
        "charttime",
        {"value": "valueuom"},
        None,
    ),
    Source(
        table="hosp.omr",
        tool="get_observations(record='outpatient')",
        what="outpatient measurements (dated by day)",
        time="r.chartdate::timestamp",
        latest=f"r.chartdate::timestamp + {LAST_SECOND}",
        name="r.result_name",
        label="r.result_name",
        quiet=("seq_num",),
        free=("result_value",),
    ),
    Source(
        table="hosp.emar",
        tool="get_medications(record='administrations')",
        what="medication administrations (eMAR)",
        time="r.charttime",
        name="r.medication",
        label="r.medication",
        hidden=("emar_id", "emar_seq"),
        quiet=("hadm_id", "poe_id", "pharmacy_id", "scheduletime"),
        free=("medication",),
        detail=Detail(
            "hosp.emar_detail",
            "r.parent_field_ordinal nulls first",
            hidden=("emar_id", "emar_seq", "pharmacy_id"),
            free=("product_description_other", "reason_for_no_barcode"),
        ),
    ),
    _icu(
        "inputevents",
        "get_medications(record='infusions') or get_intake_output(record='intake')",
        "infusions, boluses and fluids given in the ICU",
        "starttime",
        _AMOUNTS,
        "coalesce(r.rateuom, r.amountuom)",
    ),
    Source(
        table="hosp.prescriptions",
        tool="get_medications(record='orders')",
        what="medication orders (an order is not a dose given)",
        time="r.starttime",
        name="r.drug",
        label="r.drug",
        units={"dose_val_rx": "dose_unit_rx", "form_val_disp": "form_unit_disp"},
        quiet=("hadm_id", "pharmacy_id", "poe_id", "poe_seq", "gsn", "ndc", "formulary_drug_cd", "drug_type"),
        free=("drug",),
    ),
    Source(
        table="hosp.pharmacy",
        tool="get_medications(record='dispensing')",
        what="pharmacy's dispensing records (a dispense is not a dose given)",
        time="r.starttime",
        name="r.medication",
        label="r.medication",
        hidden=("pharmacy_id",),
        quiet=("hadm_id", "poe_id", "verifiedtime", "disp_sched", "expirationdate"),
        free=("medication",),
    ),
    _icu(
        "outputevents",
        "get_intake_output(record='output')",
        "outputs measured in the ICU",
        "charttime",
        {"value": "valueuom"},
        "r.valueuom",
    ),
    _icu(
        "ingredientevents",
        "get_intake_output(record='ingredients')",
        "ingredients of ICU inputs",
        "starttime",
        _AMOUNTS,
        "coalesce(r.rateuom, r.amountuom)",
    ),
    _icu(
        "procedureevents",
        "get_procedures(record='bedside')",
        "procedures charted in the ICU",
        "starttime",
        {"value": "valueuom"},
        None,
    ),
    Source(
        table="hosp.procedures_icd",
        tool="get_procedures(record='coded')",
        what="procedures coded after discharge (dated by day)",
        time="r.chartdate::timestamp",
        latest=f"r.chartdate::timestamp + {LAST_SECOND}",
        name="concat_ws(' ', r.icd_code, d.long_title)",
        label="d.long_title",
        joins=(
            "left join hosp.d_icd_procedures d on d.icd_code = r.icd_code and d.icd_version = r.icd_version"
        ),
    ),
    Source(
        table="hosp.hcpcsevents",
        tool="get_procedures(record='billed')",
        what="billed procedures, HCPCS (dated by day)",
        time="r.chartdate::timestamp",
        latest=f"r.chartdate::timestamp + {LAST_SECOND}",
        name="concat_ws(' ', r.hcpcs_cd, r.short_description)",
        label="r.short_description",
    ),
    Source(
        table="hosp.microbiologyevents",
        tool="get_microbiology",
        what="cultures and other microbiology",
        time="coalesce(r.charttime, r.chartdate::timestamp)",
        latest=f"coalesce(r.charttime, r.chartdate::timestamp + {LAST_SECOND})",
        name="r.spec_type_desc",
        label="r.spec_type_desc",
        hidden=("microevent_id",),
        quiet=(
            "hadm_id",
            "spec_itemid",
            "test_itemid",
            "org_itemid",
            "ab_itemid",
            "test_seq",
            "chartdate",
            "charttime",
        ),
        free=("comments",),
    ),
    Source(
        table="hosp.admissions",
        tool="list_encounters(kind='admissions')",
        what="hospital admissions",
        time="r.admittime",
        label="r.admission_type",
        quiet=(),
    ),
    Source(
        table="hosp.transfers",
        tool="list_encounters(kind='transfers')",
        what="transfers between care units",
        time="r.intime",
        label="r.careunit",
        hidden=("transfer_id",),
        quiet=(),
    ),
    Source(
        table="hosp.services",
        tool="list_encounters(kind='services')",
        what="changes of the treating service",
        time="r.transfertime",
        label="r.curr_service",
        quiet=(),
    ),
    Source(
        table="icu.icustays",
        tool="list_encounters(kind='icu_stays')",
        what="ICU stays",
        time="r.intime",
        label="r.first_careunit",
        quiet=(),
    ),
    Source(
        table="hosp.poe",
        tool="get_orders",
        what="orders (what was ordered, not what was done)",
        time="r.ordertime",
        name="concat_ws(' ', r.order_type, r.order_subtype, x.details)",
        label="concat_ws(', ', r.order_type, r.order_subtype)",
        joins=(
            "left join (select eid, string_agg(field_value, ' ' order by field_name, field_value) as details "
            "from hosp.poe_detail group by eid) x on x.eid = r.eid"
        ),
        hidden=("poe_id", "poe_seq"),
        quiet=("hadm_id", "order_type", "order_subtype"),
        detail=Detail(
            "hosp.poe_detail",
            "r.field_name, r.field_value",
            hidden=("poe_id", "poe_seq"),
            free=("field_value",),
            pairs=True,
        ),
    ),
    Source(
        table="hosp.diagnoses_icd",
        tool="get_diagnoses(record='icd')",
        what="diagnoses coded after discharge, by the discharge of their admission",
        time="a.dischtime",
        name="concat_ws(' ', r.icd_code, d.long_title)",
        label="d.long_title",
        joins=(
            "left join hosp.d_icd_diagnoses d on d.icd_code = r.icd_code and d.icd_version = r.icd_version "
            "left join hosp.admissions a on a.hadm_id = r.hadm_id"
        ),
        quiet=(),
    ),
    Source(
        table="hosp.drgcodes",
        tool="get_diagnoses(record='drg')",
        what="billing groups (DRG) of admissions, by their discharge",
        time="a.dischtime",
        name="concat_ws(' ', r.drg_type, r.drg_code, r.description)",
        label="r.description",
        joins="left join hosp.admissions a on a.hadm_id = r.hadm_id",
        quiet=(),
    ),
)

SOURCES: dict[str, Source] = {source.table: source for source in (*_ALL, *MODULE_SOURCES)}
"""Every table that a read tool covers, by qualified name."""
