"""Rows of the electronic medication administration record and their details."""

from datetime import datetime, timedelta
from random import Random

from harness.synthetic.chart import Chart, Row, pick_provider
from harness.synthetic.dictionaries import Drug
from harness.synthetic.stays import Admission

_WITHOUT_DOSE = (
    "Not ",
    "Hold",
    "Flushed",
    "Assessed",
    "Confirmed",
    "Stopped",
    "Infusion Rec",
    "Delayed Flushed",
)


def add_administration(
    chart: Chart,
    admission: Admission | None,
    drug: Drug,
    time: datetime,
    event: str | None,
    rng: Random,
    *,
    order: Row | None,
    route: str | None = None,
    dose: float | None = None,
    unit: str | None = None,
    stored: datetime | None = None,
) -> None:
    """Write one eMAR row with its details; doses in the emergency department carry no admission.

    What is ordered by the hour (units/hr) has a rate and no dose, as MIMIC's rows of heparin infusions do.
    """
    late = -rng.randint(1, 5) if rng.random() < 0.03 else rng.randint(0, 4)
    row = chart.add(
        "hosp.emar",
        {
            "hadm_id": admission.hadm_id if admission else None,
            "pharmacy_id": order["_pharmacy_id"] if order else None,
            "enter_provider_id": pick_provider(rng) if rng.random() < 0.1 else None,
            "charttime": time,
            "medication": drug.name,
            "event_txt": event,
            "scheduletime": time.replace(minute=0) if drug.hours else time,
            "storetime": stored or time + timedelta(minutes=late),
            "_order": order,
        },
    )
    given = event is not None and event.strip() and not event.startswith(_WITHOUT_DOSE)
    amount, unit = f"{drug.dose if dose is None else dose:g}", unit or drug.unit
    by_rate = unit.endswith("/hr")
    chart.add(
        "hosp.emar_detail",
        {
            "_emar": row,
            "infusion_rate": amount if given and by_rate else None,
            "infusion_rate_unit": unit if given and by_rate else None,
            "administration_type": _administration_type(drug, route or drug.route),
            "complete_dose_not_given": "No" if given else None,
            "dose_due": amount,
            "dose_due_unit": unit,
            "will_remainder_of_dose_be_given": "No" if given else None,
            "route": route or (drug.route if rng.random() < 0.45 else None),
        },
    )
    if given:
        chart.add(
            "hosp.emar_detail",
            {
                "_emar": row,
                "parent_field_ordinal": "1.1",
                "pharmacy_id": row["pharmacy_id"],
                "barcode_type": "iv" if drug.process.startswith("IV") else "if",
                "dose_given": None if by_rate else "___" if rng.random() < 0.02 else amount,
                "dose_given_unit": None if by_rate else unit,
                "product_amount_given": None if by_rate else "1",
                "product_unit": drug.product,
                "product_code": drug.code,
                "product_description": f"{drug.name.strip()} {drug.strength}",
            },
        )


def _administration_type(drug: Drug, route: str) -> str:
    if "Flush" in drug.name:
        return "IV Flush"
    if drug.use == "diabetic" and drug.dose == 0 and route == "SC":
        return "Insulin SC Sliding Scale"
    if route == "IV DRIP":
        return "Heparin IV Infusion" if drug.name == "Heparin" else "IV Infusion"
    return "Standard Maintenance Medication"
