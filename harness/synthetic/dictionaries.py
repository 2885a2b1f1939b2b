"""The items, drugs and codes that the synthetic hospital uses, and its dictionary tables.

The tables under `reference/` are our own selection. Item ids, labels and units are MIMIC-IV's; the means,
spreads and limits are parameters of a simulation, set around the printed reference ranges, and say
nothing clinical.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from harness.synthetic.draws import generator

_REFERENCE = Path(__file__).parent / "reference"
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class LabItem:
    """A laboratory item; `mean`, `sd`, `low` and `high` drive its simulated course.

    The reference range is the commonest that MIMIC-IV prints; women have `ref_low_f` and `ref_high_f` where
    theirs is another one.
    """

    itemid: int
    label: str
    fluid: str
    category: str
    panel: str
    unit: str | None
    ref_low: float | None
    ref_high: float | None
    ref_low_f: float | None
    ref_high_f: float | None
    mean: float
    sd: float
    low: float
    high: float
    digits: int
    chart_item: int | None

    def reference_range(self, sex: str) -> tuple[float | None, float | None]:
        """Lower and upper bound for a patient of that sex, F or M."""
        if sex == "F" and self.ref_high_f is not None:
            return self.ref_low_f, self.ref_high_f
        return self.ref_low, self.ref_high


@dataclass(frozen=True)
class ChartItem:
    """An item of d_items; `unit` is the unit that its rows carry."""

    itemid: int
    label: str
    abbreviation: str
    linksto: str
    category: str
    unitname: str | None
    param_type: str
    unit: str | None


@dataclass(frozen=True)
class Drug:
    """A drug as it is ordered and given; `hours` are its scheduled times of day."""

    name: str
    code: str
    use: str
    strength: str
    dose: float
    unit: str
    product: str
    route: str
    hours: tuple[int, ...]
    per_day: int
    process: str


def _number(text: str) -> float | None:
    return float(text) if text else None


@cache
def read_reference(name: str) -> list[dict[str, str]]:
    """The rows of one table under `reference/`, as text."""
    with (_REFERENCE / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@cache
def lab_items() -> Mapping[int, LabItem]:
    """Laboratory items by itemid."""
    return {
        int(row["itemid"]): LabItem(
            int(row["itemid"]),
            row["label"],
            row["fluid"],
            row["category"],
            row["panel"],
            row["unit"] or None,
            _number(row["ref_low"]),
            _number(row["ref_high"]),
            _number(row["ref_low_f"]),
            _number(row["ref_high_f"]),
            float(row["mean"] or 0),
            float(row["sd"] or 0),
            float(row["low"] or 0),
            float(row["high"] or 0),
            int(row["digits"] or 0),
            int(row["chart_item"]) if row["chart_item"] else None,
        )
        for row in read_reference("lab_items")
    }


@cache
def panel_items(panel: str) -> tuple[LabItem, ...]:
    """The items of one panel, in the table's order."""
    return tuple(item for item in lab_items().values() if item.panel == panel)


@cache
def chart_items() -> Mapping[int, ChartItem]:
    """Items of d_items by itemid."""
    return {
        int(row["itemid"]): ChartItem(
            int(row["itemid"]),
            row["label"],
            row["abbreviation"],
            row["linksto"],
            row["category"],
            row["unitname"] or None,
            row["param_type"],
            row["unit"] or None,
        )
        for row in read_reference("chart_items")
    }


@cache
def drugs() -> tuple[Drug, ...]:
    """The formulary."""
    return tuple(
        Drug(
            row["name"],
            row["code"],
            row["use"],
            row["strength"],
            float(row["dose"]),
            row["unit"],
            row["product"],
            row["route"],
            tuple(int(hour) for hour in row["hours"].split(";") if hour),
            int(row["per_day"]),
            row["process"],
        )
        for row in read_reference("drugs")
    )


@cache
def providers() -> tuple[str, ...]:
    """Provider ids of the house."""
    rng = generator("providers")
    return tuple(sorted({"P" + "".join(rng.choices(_ALPHABET, k=5)) for _ in range(90)}))


@cache
def caregivers() -> tuple[int, ...]:
    """Caregiver ids of the house."""
    return tuple(sorted(generator("caregivers").sample(range(400, 99_000), 120)))


def dictionary_rows() -> dict[str, list[dict[str, Any]]]:
    """The rows of every table that belongs to no patient."""
    codes = read_reference("codes")
    return {
        "hosp.d_labitems": [
            {"itemid": i.itemid, "label": i.label, "fluid": i.fluid, "category": i.category}
            for i in sorted(lab_items().values(), key=lambda item: item.itemid)
        ],
        "icu.d_items": [
            {
                "itemid": i.itemid,
                "label": i.label,
                "abbreviation": i.abbreviation,
                "linksto": i.linksto,
                "category": i.category,
                "unitname": i.unitname,
                "param_type": i.param_type,
            }
            for i in sorted(chart_items().values(), key=lambda item: item.itemid)
        ],
        "hosp.d_icd_diagnoses": _titles(codes, "dx"),
        "hosp.d_icd_procedures": _titles(codes, "px"),
        "hosp.d_hcpcs": [
            {
                "code": row["code"],
                "category": None if row["code"].startswith("G") else 1,
                "long_description": row["title"] or None,
                "short_description": row["short"],
            }
            for row in codes
            if row["kind"] == "hcpcs"
        ],
        "hosp.provider": [{"provider_id": provider} for provider in providers()],
        "icu.caregiver": [{"caregiver_id": caregiver} for caregiver in caregivers()],
    }


def _titles(codes: list[dict[str, str]], kind: str) -> list[dict[str, Any]]:
    titles = {(row["code"], row["version"]): row["title"] for row in codes if row["kind"] == kind}
    return [
        {"icd_code": code, "icd_version": version, "long_title": title}
        for (code, version), title in titles.items()
    ]
