"""Who a patient is."""

from dataclasses import dataclass
from datetime import datetime
from random import Random

from harness.synthetic.draws import pick
from harness.synthetic.plan import Case

_GROUPS = ("2008 - 2010", "2011 - 2013", "2014 - 2016", "2017 - 2019", "2020 - 2022")
_DIABETIC = ("ketoacidosis", "hypoglycaemia", "diabetes")
_BEFORE_EMAR = _GROUPS[0]
_FIRST_OF_VERSION_10 = 2
_RACES = {
    "WHITE": 62,
    "BLACK/AFRICAN AMERICAN": 16,
    "HISPANIC/LATINO - DOMINICAN": 5,
    "ASIAN - CHINESE": 4,
    "PORTUGUESE": 3,
    "OTHER": 4,
    "UNKNOWN": 6,
}
_INSURANCES = {"Medicare": 45, "Private": 30, "Medicaid": 17, "Other": 8}
_LANGUAGES = {"English": 88, "Spanish": 5, "Chinese": 3, "Portuguese": 2, "Russian": 2}
_MARRIAGES = {"MARRIED": 42, "SINGLE": 36, "WIDOWED": 12, "DIVORCED": 8, None: 2}


@dataclass(frozen=True)
class Person:
    """A patient as drawn.

    `condition` is what the index admission is for, `emar` says whether the electronic administration
    record was in use, `icd_version` is that of all the patient's codes, `height_charted` that every ICU
    stay has the height.
    """

    subject_id: int
    sex: str
    anchor_age: int
    anchor_year: int
    anchor_year_group: str
    height_cm: int
    weight_kg: float
    race: str
    insurance: str
    language: str
    marital_status: str | None
    condition: str
    diabetic: bool
    emar: bool
    icd_version: int
    height_charted: bool


def draw_person(case: Case, subject_id: int, index_time: datetime, rng: Random) -> Person:
    """Draw the patient around index_time; a plant's profile overrides what it names."""
    profile = case.plant.profile if case.plant else None
    age = min(89, max(20, round(rng.triangular(24, 92, 68))))
    sex = rng.choice("FM")
    height = round(rng.gauss(163 if sex == "F" else 177, 7))
    weight = round(min(140, max(44, rng.gauss(27.5, 4.5) * (height / 100) ** 2)), 1)
    years_before = rng.randrange(3)
    group = _draw_group(case, rng)
    if profile:
        age = profile.age or age
        sex = profile.sex or sex
        weight = round(rng.uniform(*profile.weight_kg), 1) if profile.weight_kg else weight
        height = rng.randint(*profile.height_cm) if profile.height_cm else height
    condition = rng.choice(case.conditions)
    return Person(
        subject_id=subject_id,
        sex=sex,
        anchor_age=max(18, age - years_before),
        anchor_year=index_time.year - min(years_before, age - 18),
        anchor_year_group=group,
        height_cm=height,
        weight_kg=weight,
        race=pick(rng, _RACES),
        insurance=pick(rng, _INSURANCES),
        language=pick(rng, _LANGUAGES),
        marital_status=pick(rng, _MARRIAGES),
        condition=condition,
        diabetic=rng.random() < 0.3 or condition in _DIABETIC,
        emar=group != _BEFORE_EMAR and case.presence.emar,
        icd_version=9 if _GROUPS.index(group) < _FIRST_OF_VERSION_10 else 10,
        height_charted=profile is not None and profile.height_cm is not None,
    )


def _draw_group(case: Case, rng: Random) -> str:
    later = rng.choice(_GROUPS[1:])
    early = rng.random() < 0.15
    version = case.plant.icd_version("index") if case.plant else None
    if version == 10:
        return rng.choice(_GROUPS[_FIRST_OF_VERSION_10:])
    if not case.presence.emar:
        return _BEFORE_EMAR
    if version == 9:
        return rng.choice(_GROUPS[1:_FIRST_OF_VERSION_10])
    # a carrier's plant may need the administration record; an ordinary neighbour may do without
    return _BEFORE_EMAR if early and case.plant is None else later
