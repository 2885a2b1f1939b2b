"""Who is in the hospital: the carriers of the scenarios' plants, then their neighbours."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from harness.errors import ScenarioError
from harness.synthetic.plant_parts import Presence, StayBounds
from harness.synthetic.plants import Plant, read_plants

SPARE = {"yes": 3, "no": 3, "lack_of_data": 2, "medical_ambiguity": 1}
"""Carriers of each verdict beyond the scenario's mix, so that sampling has something to choose from."""

LEAST_NEIGHBOURS = 12
_EVENTFUL = (
    "sepsis",
    "kidney",
    "potassium",
    "dialysis",
    "ketoacidosis",
    "hypoglycaemia",
    "sodium",
    "warfarin",
    "platelets",
    "haemorrhage",
    "colitis",
    "staph",
    "heart_failure",
    "fibrillation",
    "syncope",
    "respiratory",
    "diabetes",
)
_LEAST_DAYS = {"platelets": 11.0, "warfarin": 4.0}
"""What takes its time to show → the shortest admission in days."""
_LEAST_DAYS_BEFORE = {"platelets": 6.0}
"""What shows late in an admission → the days in hospital before T that a model must have."""
_IN_ICU = ("ketoacidosis", "hypoglycaemia", "haemorrhage", "respiratory")
_STRIDE = 37
_OPERATED = ("surgical", "trauma", "neuro")
_ORDINARY = ("cardiac", "surgical", "trauma", "neuro", "bleeding", "airway", "infection")


class PlantedScenario(Protocol):
    """What the generator needs of a scenario; `harness.scenario.Scenario` has it."""

    @property
    def id(self) -> str:
        """NN-slug."""

    @property
    def mix(self) -> Mapping[Any, int]:
        """Verdict → how many cases of it are sampled."""

    @property
    def plants(self) -> Path:
        """The plants.toml."""


@dataclass(frozen=True)
class Case:
    """One patient to generate. `key` seeds everything that is drawn for the patient.

    `bounds` are the largest of the scenario's, whatever the plant, so that the length of a stay tells
    nothing; `conditions` are what the patient may be in hospital for. A neighbour takes anchor, presence
    and bounds from a carrier, so that carriers and neighbours stay alike.
    """

    key: str
    index: int
    scenario: str | None = None
    plant: Plant | None = None
    anchor: str = "icu"
    presence: Presence = field(default_factory=Presence)
    bounds: StayBounds = field(default_factory=StayBounds)
    conditions: tuple[str, ...] = _ORDINARY


def plan_cases(scenarios: Iterable[PlantedScenario], patients: int | None = None) -> list[Case]:
    """All patients: every scenario's carriers, then neighbours up to `patients` in all.

    By default there is one neighbour for every two carriers, and there are always a dozen at least.
    """
    cases: list[Case] = []
    for scenario in scenarios:
        cases += _carriers(scenario, len(cases))
    wanted = len(cases) // 2 if patients is None else patients - len(cases)
    neighbours = max(LEAST_NEIGHBOURS, wanted)
    models = cases or [Case("", 0, anchor=anchor) for anchor in ("icu", "ward", "ed")]
    return cases + [_neighbour(number, len(cases) + number, models) for number in range(neighbours)]


def _carriers(scenario: PlantedScenario, first_index: int) -> list[Case]:
    plants = read_plants(scenario.plants)
    infected = _plants_cultures(plants)
    bounds = {anchor: _bounds(plants, anchor) for anchor in {plant.anchor for plant in plants}}
    dealt = [
        plant
        for verdict, count in scenario.mix.items()
        for plant in _deal([p for p in plants if p.verdict == verdict], verdict, count, scenario)
    ]
    return [
        Case(
            key=f"{scenario.id}/{plant.id}/{sum(earlier is plant for earlier in dealt[:place])}",
            index=first_index + place,
            scenario=scenario.id,
            plant=plant,
            anchor=plant.anchor,
            presence=plant.presence,
            bounds=bounds[plant.anchor],
            conditions=plant.profile.conditions or _usual(plant.anchor, infected),
        )
        for place, plant in enumerate(dealt)
    ]


def _usual(anchor: str, infected: bool) -> tuple[str, ...]:
    if anchor == "theatre":
        return _OPERATED
    return ("infection",) if infected else _ORDINARY


def _deal(plants: Sequence[Plant], verdict: str, count: int, scenario: PlantedScenario) -> list[Plant]:
    if count == 0:
        return []
    if not plants:
        raise ScenarioError(
            f"{scenario.plants} has no plant with the verdict {verdict}, but the mix asks for {count}",
            "add a [[plant]] with that verdict",
        )
    # each plant once, then whoever is furthest behind the share
    dealt: list[Plant] = []
    times = [0] * len(plants)
    for _ in range(max(count + SPARE[verdict], len(plants))):
        place = min(range(len(plants)), key=lambda place: times[place] / plants[place].share)
        times[place] += 1
        dealt.append(plants[place])
    return dealt


def _plants_cultures(plants: Sequence[Plant]) -> bool:
    return any(event.source == "hosp.microbiologyevents" for plant in plants for event in plant.event)


def _bounds(plants: Sequence[Plant], anchor: str) -> StayBounds:
    stays = [plant.stay for plant in plants if plant.anchor == anchor]
    return StayBounds(
        icu_hours=max((stay.icu_hours for stay in stays if stay.icu_hours), default=None),
        admission_days=max((stay.admission_days for stay in stays if stay.admission_days), default=None),
        days_before=max((stay.days_before for stay in stays if stay.days_before), default=None),
        icu_hours_before=max(
            (stay.icu_hours_before for stay in stays if stay.icu_hours_before), default=None
        ),
    )


def _neighbour(number: int, index: int, models: Sequence[Case]) -> Case:
    model = models[number * _STRIDE % len(models)]
    conditions, bounds = model.conditions, model.bounds
    # every other neighbour has what the scenarios ask about, so that cases arise by themselves too
    if number % 2 and model.anchor != "theatre":
        condition = _EVENTFUL[number // 2 % len(_EVENTFUL)]
        turned = [models[(number * _STRIDE + step) % len(models)] for step in range(len(models))]
        model = next((other for other in turned if _lets_arise(other, condition)), model)
        days = max(model.bounds.admission_days or 0, _LEAST_DAYS.get(condition, 0))
        conditions = (condition,)
        bounds = model.bounds.model_copy(update={"admission_days": days or None})
    return replace(
        model,
        key=f"neighbour/{number}",
        index=index,
        scenario=None,
        plant=None,
        bounds=bounds,
        conditions=conditions,
    )


def _lets_arise(model: Case, condition: str) -> bool:
    """Whether a patient where the model is stays, in the right unit and after enough days, for it to show."""
    presence, unit = model.presence, model.anchor in ("icu", "unit")
    stays = presence.discharged is None and presence.died is None and presence.emar
    late = (model.bounds.days_before or 0) >= _LEAST_DAYS_BEFORE.get(condition, 0)
    return stays and late and model.anchor != "theatre" and (unit or condition not in _IN_ICU)
