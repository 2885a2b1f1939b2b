"""What the definitions tell the agent must leave the ambiguous cases open, and evidence must carry the verdict."""

import tomllib
from pathlib import Path

import pytest

from harness.data import data_folder
from harness.scenario import Scenario, load_scenario
from tests.scenarios.timed_charts import HOUR, Chart, Judged, culture, given, judge, lab, order, procedure

POTASSIUM, WHOLE_BLOOD, LACTATE, CREATININE, HAEMODIALYSIS = 50971, 50822, 50813, 50912, 225441


def definitions(slug: str) -> str:
    return " ".join(load_scenario(data_folder("scenarios") / "determination" / slug).definitions)


def test_the_bundle_clock_is_not_tied_to_the_index_draw() -> None:
    """A repeat that is late from T and in time from the first culture could not be ambiguous otherwise."""
    told = definitions("05-lactate-remeasurement-six-hours")
    assert "Two starts of their clock are in use" in told
    assert "never starts before T" in told
    assert "no later than 6 hours after T" not in told


def test_both_baselines_are_told() -> None:
    told = definitions("01-kdigo-stage-two-in-icu")
    assert "compared with the creatinine measured before it" in told
    assert "estimated baseline beside the measured one" in told


@pytest.mark.parametrize(
    ("slug", "fact"),
    [
        ("10-platelet-fall-heparin-response", "a count of at least 0.8 of the peak"),
        ("14-hypoglycaemia-recheck", "a second valid measurement of T and no recheck"),
        ("16-severe-hyperkalaemia-treatment", "more than 60 minutes and up to 3 hours after T"),
        ("17-hfref-discharge-beta-blocker", "A reason for leaving it out bears on the answer"),
        ("18-af-discharge-anticoagulation", "A reason for leaving it out bears on the answer"),
        ("19-long-qtc-drug-exposure", "Two formulas are recognised here and equally valid"),
        ("20-tidal-volume-predicted-weight", "the answer by each of them counts"),
        ("22-documented-allergy-antibiotic-class", "whether a listed penicillin rules out cephalosporins"),
        ("24-code-status-at-intubation", "leaves both in force"),
    ],
)
def test_what_a_verdict_hangs_on_is_told(slug: str, fact: str) -> None:
    """Each of these facts turns a YES or a NO into an ambiguity; a reader of the definitions has to know of it."""
    assert fact in definitions(slug)


def scenarios() -> list[Scenario]:
    folders = sorted((data_folder("scenarios") / "determination").iterdir())
    return [load_scenario(folder) for folder in folders]


def test_a_document_has_one_id_in_references_and_manifest() -> None:
    manifest = tomllib.loads((data_folder("corpus") / "manifest.toml").read_text(encoding="utf-8"))
    by_doi = {each["doi"].lower(): each["id"] for each in manifest["document"] if "doi" in each}
    shipped = {each["id"] for each in manifest["document"] if each["access"] == "shipped"}
    for scenario in scenarios():
        assert set(scenario.policies) <= shipped
        for reference in scenario.reference:
            assert reference.id == by_doi.get((reference.doi or "").lower(), reference.id)


@pytest.fixture(scope="module")
def potassium(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    index = lab(POTASSIUM, -50, 6.9, stored=0, specimen=11)
    emar = tuple(given(hour * HOUR, "Heparin") for hour in (-5, -1, 2))
    charts = {
        "disputed": Chart(rows=(index, *emar, lab(WHOLE_BLOOD, 20, 4.6, stored=30))),
        "late": Chart(
            rows=(index, *emar, procedure(HAEMODIALYSIS, 90, 4 * HOUR)), icu=(-5 * HOUR, 60 * HOUR)
        ),
    }
    return judge(tmp_path_factory.mktemp("ambiguous"), "16-severe-hyperkalaemia-treatment", charts)


def test_a_dispute_rests_on_the_search_that_found_no_treatment(potassium: Judged) -> None:
    need = potassium.evidence["disputed"]["no_treatment"]
    assert [window.source for window in need.search] == ["hosp.emar"]


def test_the_late_dialysis_itself_shows_that_nothing_came_before_it(potassium: Judged) -> None:
    (dialysis,) = potassium.rows("late", "icu.procedureevents")
    assert potassium.evidence["late"]["no_treatment"].alternatives == ((dialysis,),)


def test_a_late_lactate_rests_on_the_search_that_found_none_before(tmp_path: Path) -> None:
    rows = (
        lab(LACTATE, 0, 3.4, specimen=11),
        culture(3 * HOUR, specimen=1),
        order(60, "CefTRIAXone"),
        lab(CREATININE, 2 * HOUR, 1.0),
        lab(LACTATE, 7.5 * HOUR, 2.1),
    )
    judged = judge(tmp_path, "05-lactate-remeasurement-six-hours", {"late": Chart(rows=rows)})
    assert judged.verdicts["late"][0] == "medical_ambiguity"
    assert set(judged.evidence["late"]) == {"index_lactate", "no_repeat", "first_culture", "late_lactate"}
