"""Scenario folders: what is accepted, and how a slip is named."""

from pathlib import Path

import pytest

from harness.errors import ScenarioError
from harness.scenario import load_scenario, load_scenarios
from tests.harness.toy_scenario import FILES, write_toy


def test_a_folder_becomes_a_scenario(tmp_path: Path) -> None:
    scenario = load_scenario(write_toy(tmp_path))
    assert (scenario.id, scenario.slug) == ("90-early-potassium", "early-potassium")
    assert scenario.mix["no"] == 3
    assert scenario.readings[0].params == {"threshold": 5.5}
    assert scenario.evidence[1].search[0].from_ == "index_time"
    assert scenario.adjudicate_sql == FILES["adjudicate.sql"]
    assert scenario.plants == tmp_path / "90-early-potassium" / "plants.toml"


def test_the_scenarios_that_come_with_the_harness_load() -> None:
    scenarios = load_scenarios()
    assert [scenario.id for scenario in scenarios] == sorted(scenario.id for scenario in scenarios)
    assert all(sum(scenario.mix.values()) == 30 for scenario in scenarios)
    assert not any(scenario.clinician_reviewed for scenario in scenarios)


def test_a_root_without_scenarios_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no scenario in"):
        load_scenarios(tmp_path)


# fmt: off
SLIPS = {
    "an unknown key": ('domain = "test"', 'domain = "test"\ndomian = "x"', "domian: Extra inputs"),
    "a missing key": ('title = "Potassium of 5.0 or more within six hours"\n', "", "title: Field required"),
    "a verdict without a number in the mix": ("lack_of_data = 1, ", "", "mix lacks lack_of_data"),
    "an unknown verdict": ('verdicts = ["lack_of_data"]', 'verdicts = ["perhaps"]', "evidence.1.verdicts.0"),
    "an unknown table": ('source = "hosp.labevents"', 'source = "labevents"', "labevents is no official table"),
    "an absence without a search": ('kind = "rows"', 'kind = "absence"', "kind absence needs at least one search"),
    "any on rows": ('kind = "rows"', 'kind = "rows"\nany = true', "any belongs to kind absence"),
    "a verdict without evidence": (
        'verdicts = ["yes", "no", "medical_ambiguity"]', 'verdicts = ["yes"]', "applies to the verdict no"),
    "two requirements of one name": ('id = "no_potassium"', 'id = "potassium"', "occur twice: potassium"),
    "a reading of a param that does not exist": (
        "params = { threshold = 5.5 }", "params = { treshold = 5.5 }", "params that do not exist"),
    "a question with an unknown field": ("{as_of}?", "{asof}?", "question: only"),
    "a sign-off without names": ("clinician_reviewed = false", "clinician_reviewed = true", "a sign-off has names"),
    "names that are no regular expression": (
        'source = "hosp.labevents", items = [50971]', 'source = "hosp.emar", names = "(calcium"',
        "no regular expression"),
    "a DOI that is none": ('text = "No guideline."', 'text = "x"\ndoi = "doi:10"', "reference.0.doi"),
    "a misspelt key": ('domain = "test"', 'domian = "test"', "toml: domian: Extra inputs"),
    "broken TOML": ('domain = "test"', 'domain = "test', "not valid TOML"),
}
# fmt: on


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_in_scenario_toml_is_named_with_file_and_key(slip: str, tmp_path: Path) -> None:
    old, new, said = SLIPS[slip]
    assert old in FILES["scenario.toml"]
    folder = write_toy(tmp_path, {"scenario.toml": FILES["scenario.toml"].replace(old, new, 1)})
    with pytest.raises(ScenarioError) as caught:
        load_scenario(folder)
    assert str(folder / "scenario.toml") in caught.value.message
    assert said in caught.value.message
    assert caught.value.remedy


def test_the_id_is_the_folders_name(tmp_path: Path) -> None:
    renamed = write_toy(tmp_path).rename(tmp_path / "91-early-potassium")
    with pytest.raises(ScenarioError, match="id is 90-early-potassium"):
        load_scenario(renamed)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(name: str, tmp_path: Path) -> None:
    folder = write_toy(tmp_path)
    (folder / name).unlink()
    with pytest.raises(ScenarioError, match=f"{name} is missing"):
        load_scenario(folder)


def test_an_empty_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"cohort\.sql is empty"):
        load_scenario(write_toy(tmp_path, {"cohort.sql": "\n"}))


RUBRIC_SLIPS = {
    "a check of an unknown requirement": (
        'check = { name = "cited", requirement = "sodium" }',
        "unknown requirement sodium",
    ),
    "an unknown check": ('check = { name = "guessed" }', "item.0.check"),
    "a computed item without a check": ("", "a computed item names a check"),
}


@pytest.mark.parametrize("slip", RUBRIC_SLIPS)
def test_a_slip_in_the_rubric_is_named(slip: str, tmp_path: Path) -> None:
    check, said = RUBRIC_SLIPS[slip]
    lines = FILES["rubrics.toml"].strip().splitlines()[:-1]
    folder = write_toy(tmp_path, {"rubrics.toml": "\n".join([*lines, check])})
    with pytest.raises(ScenarioError) as caught:
        load_scenario(folder)
    assert said in caught.value.message


def test_a_policy_item_names_a_policy_or_a_reference(tmp_path: Path) -> None:
    text = FILES["policy_rubrics.toml"].replace('document = "none"', 'document = "other"')
    with pytest.raises(ScenarioError, match="names other, no policy or reference"):
        load_scenario(write_toy(tmp_path, {"policy_rubrics.toml": text}))
