"""What a laboratory calculates, or what one specimen shows twice, agrees with what was measured in it.

Planted values and values that follow them stay as they are; what hangs on them is calculated anew, in the
background's specimens as in planted ones:

- the anion gap is sodium (and potassium) minus chloride minus bicarbonate. In the open MIMIC-IV demo a gap with
  the reference range 8 to 20 contains potassium (99.9 % of specimens), one with 10 to 18 does not;
- a blood gas has the pCO2 that its pH and the serum's bicarbonate of those hours give by the
  Henderson-Hasselbalch equation (pK 6.105, solubility of CO2 0.0307 mmol/L per mm Hg, as CLSI C46 has them);
  total CO2 is bicarbonate and dissolved CO2; the base excess is that of the extracellular fluid,
  0.93 * (bicarbonate - 24.4 + 14.8 * (pH - 7.4)) (Siggaard-Andersen, Scand J Clin Lab Invest 1977; 37 Suppl 146);
- venous blood has less oxygen than arterial blood, and a higher oxygen is that of an artery;
- where creatinine is high, urea nitrogen is at least ten times as high (a parameter of the simulation);
- a haematocrit is about three times the haemoglobin, and the red cells' indices follow from the count.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from random import Random

from harness.synthetic.chart import Chart, Row
from harness.synthetic.labs import result
from harness.synthetic.physiology import lab_item

_SODIUM, _POTASSIUM, _CHLORIDE, _BICARBONATE, _GAP = 50983, 50971, 50902, 50882, 50868
_CREATININE, _UREA = 50912, 51006
_RAISED, _LEAST_RATIO = 1.5, 10.0
_PH, _PCO2, _PO2, _TOTAL_CO2, _BASE_EXCESS, _SPECIMEN_TYPE = 50820, 50818, 50821, 50804, 50802, 52033
_HAEMOGLOBIN, _HAEMATOCRIT, _RED_CELLS, _MCV, _MCH, _MCHC = 51222, 51221, 51279, 51250, 51248, 51249
_PK, _SOLUBILITY = 6.105, 0.0307
_LOWEST_PCO2, _HIGHEST_PCO2 = 14.0, 105.0
_SAME_HOURS = timedelta(hours=12)
_WITH_POTASSIUM, _WITHOUT_POTASSIUM = (8, 20), (10, 18)
_ARTERIAL = 75
"""From this pO2 on, in mm Hg, blood is hardly venous: nine in ten venous gases of the demo lie below."""

Specimen = dict[int, Row]


def agree(chart: Chart) -> None:
    """Calculate anew, in every specimen of the chart, what follows from its other results."""
    rng = chart.rng("agreement")
    specimens: dict[int, Specimen] = {}
    for row in chart.rows["hosp.labevents"]:
        specimens.setdefault(row["specimen_id"], {})[row["itemid"]] = row
    serum = sorted(
        (row["charttime"], float(row["valuenum"]))
        for row in chart.rows["hosp.labevents"]
        if row["itemid"] == _BICARBONATE and row.get("valuenum") is not None
    )
    with_potassium = counts_potassium(chart)
    ratio = rng.uniform(11, 18)
    for specimen in specimens.values():
        values = {
            item: float(row["valuenum"]) for item, row in specimen.items() if row.get("valuenum") is not None
        }
        if _GAP in specimen:
            _settle_gap(chart, specimen, values, with_potassium)
        if _UREA in values and values.get(_CREATININE, 0) >= _RAISED:
            least = _LEAST_RATIO * values[_CREATININE]
            if values[_UREA] < least and not specimen[_UREA].get("_planted"):
                _write(chart, specimen, _UREA, values[_CREATININE] * ratio * rng.uniform(0.93, 1.07))
        if _HAEMATOCRIT in values and _HAEMOGLOBIN in values:
            _settle_count(chart, specimen, values, rng)
        if _PH in values:
            _settle_gas(chart, specimen, values, serum, rng)


def counts_potassium(chart: Chart) -> bool:
    """Whether the anion gaps of the chart are reported with potassium: always where a plant reports one."""
    events = chart.case.plant.event if chart.case.plant else ()
    return any(event.item == _GAP for event in events) or chart.rng("gap").random() < 0.75


def bicarbonate(ph: float, pco2: float) -> float:
    """Bicarbonate in mmol/L, of the pCO2 in mm Hg."""
    return float(_SOLUBILITY * pco2 * 10 ** (ph - _PK))


def base_excess(ph: float, of_gas: float) -> float:
    """Base excess of the extracellular fluid in mmol/L, of the bicarbonate in mmol/L."""
    return 0.93 * (of_gas - 24.4 + 14.8 * (ph - 7.4))


def _write(chart: Chart, specimen: Specimen, item: int, value: float) -> None:
    row = specimen.get(item)
    if row is not None and row["valuenum"] is not None:
        row |= result(lab_item(item), value, chart.person.sex, masked=row["value"] == "___")


def _settle_gap(chart: Chart, specimen: Specimen, values: Mapping[int, float], with_potassium: bool) -> None:
    row = specimen[_GAP]
    low, high = row["ref_range_lower"], row["ref_range_upper"] = (
        _WITH_POTASSIUM if with_potassium else _WITHOUT_POTASSIUM
    )
    if _GAP not in values:
        return
    gap = values[_GAP]
    measured = {_SODIUM, _CHLORIDE, _BICARBONATE} | ({_POTASSIUM} if with_potassium else set())
    if measured <= values.keys():
        gap = values[_SODIUM] - values[_CHLORIDE] - values[_BICARBONATE]
        gap = max(1, round(gap + values[_POTASSIUM] * with_potassium))
        _write(chart, specimen, _GAP, gap)
    row["flag"] = "abnormal" if gap < low or gap > high else None


def _settle_count(chart: Chart, specimen: Specimen, values: dict[int, float], rng: Random) -> None:
    if abs(values[_HAEMATOCRIT] - 3 * values[_HAEMOGLOBIN]) > 1.5 and not (
        specimen[_HAEMATOCRIT].get("_planted")
    ):
        values[_HAEMATOCRIT] = round(3 * values[_HAEMOGLOBIN] + rng.uniform(-0.6, 0.9), 1)
        _write(chart, specimen, _HAEMATOCRIT, values[_HAEMATOCRIT])
    if _MCV in values:
        cells = 10 * values[_HAEMATOCRIT] / values[_MCV]
        _write(chart, specimen, _RED_CELLS, cells)
        _write(chart, specimen, _MCH, 10 * values[_HAEMOGLOBIN] / cells)
    _write(chart, specimen, _MCHC, 100 * values[_HAEMOGLOBIN] / values[_HAEMATOCRIT])


def _settle_gas(
    chart: Chart,
    specimen: Specimen,
    values: dict[int, float],
    serum: list[tuple[datetime, float]],
    rng: Random,
) -> None:
    ph, time = values[_PH], specimen[_PH]["charttime"]
    venous = _settle_oxygen(chart, specimen, values, rng)
    if _PCO2 not in values:
        return
    if not specimen[_PCO2].get("_planted"):
        near = min(serum, key=lambda drawn: abs(drawn[0] - time), default=(time, 25.0))
        wanted = near[1] if abs(near[0] - time) <= _SAME_HOURS else 25.0
        wanted += rng.uniform(-1.0, 1.0) + venous
        values[_PCO2] = wanted / (_SOLUBILITY * 10 ** (ph - _PK))
    values[_PCO2] = round(min(_HIGHEST_PCO2, max(_LOWEST_PCO2, values[_PCO2])))
    _write(chart, specimen, _PCO2, values[_PCO2])
    found = bicarbonate(ph, values[_PCO2])
    _write(chart, specimen, _TOTAL_CO2, found + _SOLUBILITY * values[_PCO2])
    _write(chart, specimen, _BASE_EXCESS, base_excess(ph, found))


def _settle_oxygen(chart: Chart, specimen: Specimen, values: Mapping[int, float], rng: Random) -> bool:
    """Give venous blood a low oxygen, and blood with a planted high one an artery; whether it is venous."""
    kind = specimen.get(_SPECIMEN_TYPE)
    if kind is None or _PO2 not in values:
        return False
    planted = specimen[_PO2].get("_planted")
    if planted and values[_PO2] >= _ARTERIAL and not kind.get("_planted"):
        kind["value"] = "ART."
    venous = not str(kind["value"]).startswith("ART")
    if venous and not planted:
        _write(chart, specimen, _PO2, round(min(68.0, max(24.0, rng.gauss(42, 9)))))
    return venous
