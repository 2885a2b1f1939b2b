"""What the tools need to know of each official table: times, items, names, and what a line shows.

All expressions are SQL over the alias `r` of the table's rows in a slice, and over the aliases that
`joins` brings in. They are constants: nothing that a client sends becomes SQL text.
"""

from dataclasses import dataclass, field

from mcp_mimic.store.labels import naming_of

LAST_SECOND = "interval '86399 seconds'"


@dataclass(frozen=True)
class Detail:
    """A table whose rows share the evidence id of another's and are shown with it.

    `order` sorts the rows of one id, `hidden` columns repeat it. `pairs`: a row is a name and a value.
    """

    table: str
    order: str
    hidden: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    pairs: bool = False


@dataclass(frozen=True)
class Source:
    """One official table as the tools read it.

    `time` is the event time; `latest` the last moment that a row dated only to a day can mean. `item` is
    the itemid column, if the table has one, `name` the text that names are matched against, `label` the
    text shown for the row's item or name. `quiet` columns are left out of the text table but not of the
    structured rows; `hidden` ones of both, because the evidence id already says them; `unread` ones are not
    even fetched. `units` maps a value column to its unit column, `known_units` to the unit that the
    database's documentation gives. `free` columns hold what somebody wrote by hand. `day_at_midnight`: a
    time at midnight stands for the day.
    """

    table: str
    tool: str
    what: str
    time: str
    latest: str = ""
    item: str | None = None
    name: str | None = None
    label: str | None = None
    joins: str = ""
    category: str | None = None
    unit: str | None = None
    units: dict[str, str] = field(default_factory=dict)
    known_units: dict[str, str] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    quiet: tuple[str, ...] = ("hadm_id", "stay_id")
    unread: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    detail: Detail | None = None
    day_at_midnight: bool = False

    @property
    def schema(self) -> str:
        """The module that the table belongs to."""
        return self.table.partition(".")[0]

    @property
    def last_moment(self) -> str:
        """The latest moment that a row can mean; its event time unless only the day is known."""
        return self.latest or self.time


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


_ED_VITALS = {
    "temperature": "°F",
    "heartrate": "/min",
    "resprate": "/min",
    "o2sat": "%",
    "sbp": "mmHg",
    "dbp": "mmHg",
}
"""Units as the documentation of MIMIC-IV-ED gives them; the tables have no unit columns."""


def _ed(
    table: str,
    record: str,
    what: str,
    time: str,
    *,
    name: str | None = None,
    label: str | None = None,
    free: tuple[str, ...] = (),
) -> Source:
    return Source(
        table=f"ed.{table}",
        tool=f"get_ed_records(record='{record}')",
        what=f"{what}, in the emergency department",
        time=time,
        name=name,
        label=label or name,
        joins="left join ed.edstays v on v.stay_id = r.stay_id" if time.startswith("v.") else "",
        known_units=_ED_VITALS if table in {"triage", "vitalsign"} else {},
        quiet=("gsn", "gsn_rn", "ndc", "etc_rn", "etccode", "med_rn"),
        free=free,
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
    Source(
        table="note.discharge",
        tool="list_notes(kind='discharge')",
        what="discharge summaries (one dated at midnight is dated by day)",
        time="r.charttime",
        latest=(
            "case when r.charttime = date_trunc('day', r.charttime) "
            f"then r.charttime + {LAST_SECOND} else r.charttime end"
        ),
        label="r.note_type",
        hidden=("note_id", "note_seq"),
        unread=("text",),
        day_at_midnight=True,
    ),
    Source(
        table="note.radiology",
        tool="list_notes(kind='radiology')",
        what="radiology reports",
        time="r.charttime",
        name="x.exams",
        label="x.exams",
        joins=(
            "left join (select eid, string_agg(field_value, '; ' order by field_ordinal, field_name desc, "
            "field_value) as exams from note.radiology_detail "
            "where field_name in ('exam_name', 'exam_code', 'cpt_code') group by eid) x on x.eid = r.eid"
        ),
        hidden=("note_id", "note_seq"),
        unread=("text",),
        detail=Detail(
            "note.radiology_detail",
            "r.field_ordinal, r.field_name",
            hidden=("note_id",),
            pairs=True,
        ),
    ),
    Source(
        table="ed.edstays",
        tool="list_ed_visits",
        what="visits to the emergency department",
        time="r.intime",
        label="r.arrival_transport",
        quiet=("gender", "race"),
    ),
    _ed(
        "triage",
        "triage",
        "triage on arrival",
        "v.intime",
        name="r.chiefcomplaint",
        free=("chiefcomplaint", "pain"),
    ),
    _ed("vitalsign", "vitals", "vital signs", "r.charttime", free=("pain",)),
    _ed(
        "pyxis",
        "dispensing",
        "drugs taken from the cabinet (not doses given)",
        "r.charttime",
        name="r.name",
        free=("name",),
    ),
    _ed(
        "medrecon",
        "home_medications",
        "medications taken before the visit, as told",
        "r.charttime",
        name="concat_ws(' ', r.name, r.etcdescription)",
        label="r.name",
        free=("name",),
    ),
    _ed(
        "diagnosis",
        "diagnoses",
        "diagnoses coded for the visit, by its end",
        "v.outtime",
        name="concat_ws(' ', r.icd_code, r.icd_title)",
        label="r.icd_title",
    ),
)

SOURCES: dict[str, Source] = {source.table: source for source in _ALL}
"""Every table that a read tool covers, by qualified name."""
