"""What the definitions tell the agent must leave the ambiguous cases open."""

import tomllib

import pytest

from harness.data import data_folder
from harness.scenario import Scenario, load_scenario


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
