"""Takes out of a chart's background what its plant suppresses, and what hangs on the rows taken out."""

from collections.abc import Callable
from datetime import datetime, time, timedelta

from harness.synthetic.chart import Chart, Row
from harness.synthetic.dictionaries import lab_items
from harness.synthetic.labs import result
from harness.synthetic.plants import Plant

_KEYS = {
    "hosp.labevents": ("charttime", "itemid", None),
    "hosp.microbiologyevents": ("charttime", None, "spec_type_desc"),
    "hosp.emar": ("charttime", None, "medication"),
    "hosp.prescriptions": ("starttime", None, "drug"),
    "hosp.poe": ("ordertime", None, None),
    "hosp.omr": ("chartdate", None, "result_name"),
    "ed.pyxis": ("charttime", None, "name"),
    "icu.chartevents": ("charttime", "itemid", None),
    "icu.datetimeevents": ("charttime", "itemid", None),
    "icu.outputevents": ("charttime", "itemid", None),
    "icu.inputevents": ("starttime", "itemid", None),
    "icu.ingredientevents": ("starttime", "itemid", None),
    "icu.procedureevents": ("starttime", "itemid", None),
}
"""Source → its columns of event time, item and name; other sources are suppressed where they are written."""


def suppress(chart: Chart, plant: Plant) -> None:
    """Take out the background rows that the plant suppresses, and rows that hang on them."""
    gone: set[int] = set()
    specimens: set[int] = set()
    for source in {rule.source for rule in plant.suppress} & _KEYS.keys():
        when, item, name = _KEYS[source]
        named = _order_names(chart) if source == "hosp.poe" else _by_column(name)
        kept = []
        for row in chart.rows[source]:
            offset = _moment(row[when] or row["chartdate"]) - chart.index_time
            rule = plant.suppression(source, offset, row[item] if item else None, named(row))
            if rule is None or (rule.follow and _follow(chart, row, plant, offset)):
                kept.append(row)
                continue
            gone.add(id(row))
            if source == "hosp.prescriptions":
                gone.add(id(row["_order"]))
            if rule.whole_specimen:
                specimens.add(row["specimen_id"])
        chart.rows[source] = kept
    labs = chart.rows["hosp.labevents"]
    chart.rows["hosp.labevents"] = [row for row in labs if row["specimen_id"] not in specimens]
    _take_dependants(chart, gone)


def _moment(when: object) -> datetime:
    """The event time; a day without a time begins at midnight."""
    if isinstance(when, datetime):
        return when
    return datetime.combine(when, time())  # type: ignore[arg-type]


def _by_column(name: str | None) -> Callable[[Row], str | None]:
    return lambda row: row[name] if name else None


def _order_names(chart: Chart) -> Callable[[Row], str | None]:
    """An order is named by its type, subtype and details; what ends an order has that order's details."""
    details: dict[int, list[str]] = {}
    for row in chart.rows["hosp.poe_detail"]:
        details.setdefault(id(row["_order"]), []).append(row["field_value"])

    def name(row: Row) -> str:
        meant = row.get("_discontinues", row) if row["transaction_type"] == "D/C" else row
        parts = (row["order_type"], row["order_subtype"], *details.get(id(meant), ()))
        return " ".join(part for part in parts if part)

    return name


def _follow(chart: Chart, row: Row, plant: Plant, offset: timedelta) -> bool:
    """Give a background result the plant's value of that moment; False where the plant has none yet."""
    value = plant.course(row["itemid"], offset)
    if value is not None and row["valuenum"] is not None:
        row |= result(lab_items()[row["itemid"]], value, chart.person.sex, masked=row["value"] == "___")
        row["_planted"] = True
    return value is not None


def _take_dependants(chart: Chart, gone: set[int]) -> None:
    for table, tie in (
        ("hosp.emar_detail", "_emar"),
        ("hosp.pharmacy", "_order"),
        ("hosp.prescriptions", "_order"),
        ("icu.ingredientevents", "_input"),
        ("icu.datetimeevents", "_line"),
    ):
        chart.rows[table] = [row for row in chart.rows[table] if id(row[tie]) not in gone]
    orders = chart.rows["hosp.poe"]
    gone |= {
        id(row) for row in orders if row["transaction_type"] == "D/C" and id(row.get("_discontinues")) in gone
    }
    chart.rows["hosp.poe"] = [row for row in orders if id(row) not in gone]
    for row in chart.rows["hosp.poe"]:
        for tie in ("_discontinues", "_discontinued_by"):
            if id(row.get(tie)) in gone:
                del row[tie]
    details = chart.rows["hosp.poe_detail"]
    chart.rows["hosp.poe_detail"] = [row for row in details if id(row["_order"]) not in gone]
    for row in chart.rows["hosp.emar"]:
        if row["_order"] is not None and id(row["_order"]) in gone:
            row["_order"], row["pharmacy_id"] = None, None
