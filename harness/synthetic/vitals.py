"""ICU flowsheet rows: vitals every hour, scores, weights, and the chart's copies of laboratory results."""

from datetime import datetime, timedelta
from random import Random

from harness.synthetic.chart import Chart, pick_caregiver
from harness.synthetic.dictionaries import chart_items
from harness.synthetic.physiology import lab_item
from harness.synthetic.stays import Admission, Segment

_HEART_RATE = 220045
_HOURLY = {
    _HEART_RATE: (84, 9, 42, 150),
    220210: (19, 3, 8, 38),
    220277: (96.5, 1.4, 85, 100),
    220179: (121, 12, 74, 190),
    220180: (64, 8, 34, 110),
}
_MEAN_PRESSURE = 220181
_HEIGHT_CM, _HEIGHT_INCHES = 226730, 226707
_CODE_STATUS = 223758
_KEPT_BEFORE, _KEPT_AFTER = timedelta(hours=1), timedelta(hours=3)
_RARELY_MISSED = (_HEART_RATE,)
_VERBAL, _TUBED = 223900, "No Response-ETT"
_SCORES = {
    220739: ("To Speech", "Spontaneously", "To Pain"),
    _VERBAL: ("Oriented", "Confused", "Inappropriate Words"),
    223901: ("Obeys Commands", "Localizes Pain", "Flex-withdraws"),
    220048: ("SR (Sinus Rhythm)", "ST (Sinus Tachycardia) ", "AF (Atrial Fibrillation)"),
}


def add_vitals(chart: Chart) -> None:
    """Write the flowsheet of every ICU stay."""
    for admission, stay in chart.icu_stays():
        flowsheet = _Flowsheet(chart, admission, stay)
        flowsheet.add_measures()
        flowsheet.add_hours()


def add_lab_copies(chart: Chart) -> None:
    """Copy results of specimens drawn in an ICU stay into its flowsheet, at the draw time."""
    rng = chart.rng("copies")
    sheets = [(stay, _Flowsheet(chart, admission, stay, rng)) for admission, stay in chart.icu_stays()]
    copied: dict[int, bool] = {}
    planted = chart.case.plant
    for row in chart.rows["hosp.labevents"]:
        time, target = row["charttime"], lab_item(row["itemid"]).chart_item
        wanted = copied.setdefault(row["specimen_id"], rng.random() < 0.85)
        sheet = next((sheet for stay, sheet in sheets if stay.holds(time)), None)
        if sheet is None or target is None or not wanted or row.get("valuenum") is None:
            continue
        if planted and planted.drops("icu.chartevents", time - chart.index_time, target):
            continue
        seen = max(time, row["storetime"]) + timedelta(minutes=rng.randint(1, 9))
        sheet.write(target, time, row["valuenum"], seen)


class _Flowsheet:
    """The chartevents rows of one ICU stay."""

    def __init__(self, chart: Chart, admission: Admission, stay: Segment, rng: Random | None = None) -> None:
        self._chart = chart
        self._admission = admission
        self._stay = stay
        self._ids = {"hadm_id": admission.hadm_id, "stay_id": stay.stay_id}
        self._rng = rng or chart.rng(f"flowsheet {stay.stay_id}")
        self._caregiver = pick_caregiver(self._rng)

    def write(self, itemid: int, time: datetime, value: object, stored: datetime | None = None) -> None:
        """Write one row; a text value has no number."""
        item = chart_items()[itemid]
        numeric = item.param_type.startswith("Numeric")
        if stored is None:
            minutes = self._rng.randint(0, 75) if self._rng.random() > 0.02 else -self._rng.randint(1, 9)
            stored = time + timedelta(minutes=minutes)
        self._chart.add(
            "icu.chartevents",
            {
                **self._ids,
                "caregiver_id": self._caregiver,
                "charttime": time,
                "storetime": stored,
                "itemid": itemid,
                "value": value,
                "valuenum": value if numeric else None,
                "valueuom": item.unit,
                "warning": 0,
            },
        )

    def add_measures(self) -> None:
        """Admission weight, sometimes in pounds too, height, code status, and daily weights."""
        rng, person, start = self._rng, self._chart.person, self._stay.start
        first = start.replace(second=0) + timedelta(minutes=rng.randint(12, 100))
        weight = person.weight_kg
        if first < self._stay.end:
            self.write(226512, first, f"{weight:g}")
            if rng.random() < 0.3:
                self.write(226531, first, f"{round(weight * 2.2046, 1):g}")
            if rng.random() < 0.6 or person.height_charted:
                self.write(_HEIGHT_CM, first, person.height_cm)
                self.write(_HEIGHT_INCHES, first, round(person.height_cm / 2.54))
            if rng.random() < 0.6:
                self.write(_CODE_STATUS, first, "Full code")
            limited = self._chart.limited_from(self._admission)
            if limited is not None and first < limited < self._stay.end:
                self.write(_CODE_STATUS, limited, rng.choice(("DNR (do not resuscitate)", "DNR / DNI")))
        morning = start.replace(hour=5, minute=0, second=0) + timedelta(days=1)
        daily = rng.random() < 0.6
        while daily and morning < self._stay.end:
            self.write(224639, morning, f"{round(weight * rng.uniform(0.985, 1.02), 1):g}")
            morning += timedelta(days=1)

    def add_hours(self) -> None:
        """The hourly and four-hourly rows; now and then one hour is missed, never two in a row.

        None is missed around the index time, where a row that is stored late would make a silence of it.
        """
        rng, start = self._rng, self._stay.start
        wander = dict.fromkeys(_HOURLY, 0.0)
        time = start.replace(second=0) + timedelta(minutes=rng.randint(1, 9))
        whole = start.replace(minute=0, second=0) + timedelta(hours=1)
        ventilation = self._chart.ventilated(self._stay)
        missed, number = False, 0
        while time < self._stay.end:
            since = time - self._chart.index_time
            missed = not missed and number > 0 and rng.random() < 0.05
            missed = missed and not -_KEPT_BEFORE <= since <= _KEPT_AFTER
            if not missed:
                self._add_hour(time, wander)
                if number % 4 == 0:
                    self._add_scores(time, ventilation)
                if rng.random() < 0.1:
                    self._caregiver = pick_caregiver(rng)
            time = whole + timedelta(hours=number)
            number += 1

    def _add_hour(self, time: datetime, wander: dict[int, float]) -> None:
        rng = self._rng
        values = {}
        for itemid, (mean, sd, low, high) in _HOURLY.items():
            wander[itemid] = 0.85 * wander[itemid] + 0.5 * rng.gauss(0, 1)
            values[itemid] = round(min(high, max(low, mean + sd * wander[itemid])))
            if itemid in _RARELY_MISSED or rng.random() < 0.95:
                self.write(itemid, time, values[itemid])
        self.write(_MEAN_PRESSURE, time, round((values[220179] + 2 * values[220180]) / 3))

    def _add_scores(self, time: datetime, ventilation: tuple[datetime, datetime] | None) -> None:
        rng = self._rng
        self.write(223761, time, f"{round(rng.gauss(98.5, 0.6), 1):g}")
        ventilated = ventilation is not None and ventilation[0] <= time < ventilation[1]
        for itemid, texts in _SCORES.items():
            found = rng.choices(texts, (7, 2, 1))[0]
            self.write(itemid, time, _TUBED if ventilated and itemid == _VERBAL else found)
        self.write(226732, time, "Endotracheal tube" if ventilated else rng.choice(("Nasal cannula", "None")))
        if ventilated:
            self.write(
                228096, time, rng.choice((" 0  Alert and calm", "-1 Awakens to voice", "-2 Light sedation"))
            )
            self.write(223835, time, rng.choice((40, 40, 50, 60)))
            self.write(220339, time, rng.choice((5, 5, 8, 10)))
