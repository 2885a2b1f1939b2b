"""Scenario folders: what is accepted, and how a slip is named."""

import re
from pathlib import Path

import pytest

from harness.errors import ScenarioError
from harness.rubric import Searched
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
    "an unknown key": ('domain = "test"', 'domain = "test"\ndomian = "x"', "toml: domian: unknown key"),
    "a missing key": ('title = "Potassium of 5.0 or more within six hours"\n', "", "toml: title: the key is missing"),
    "a verdict without a number in the mix": ("lack_of_data = 1, ", "", "mix lacks lack_of_data"),
    "an unknown verdict": ('verdicts = ["lack_of_data"]', 'verdicts = ["perhaps"]', "evidence 'no_potassium', verdicts, entry 1: 'perhaps' is not allowed"),
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
    "items of a table without itemids": (
        'source = "hosp.labevents", items = [50971]', 'source = "hosp.emar", items = [50971]',
        "evidence 'no_potassium', search, entry 1: hosp.emar has no itemids: narrow it by names or terms"),
    "names of a table without a list of them": (
        'source = "hosp.labevents", items = [50971]', 'source = "ecg.machine_measurements", names = "atrial"',
        "ecg.machine_measurements has no list of names: narrow it by terms"),
    "names of a note's text": (
        'source = "hosp.labevents", items = [50971]', 'source = "note.discharge.text", names = "lvef"',
        "note.discharge.text needs terms, the words sought in it; to list its notes, name note.discharge"),
    "terms of a list of notes": (
        'source = "hosp.labevents", items = [50971]', 'source = "note.discharge", terms = ["lvef"]',
        "note.discharge has nothing to seek terms in: ask for the whole table, or terms of note.discharge.text"),
    "terms of a table of items": (
        'source = "hosp.labevents", items = [50971]', 'source = "hosp.labevents", terms = ["potassium"]',
        "hosp.labevents has nothing to seek terms in: narrow it by items"),
    "a text without terms": (
        'source = "hosp.labevents", items = [50971]', 'source = "note.discharge.text"', "needs terms"),
    "items and terms": (
        'source = "hosp.labevents", items = [50971]', 'source = "hosp.labevents", items = [50971], terms = ["k+"]',
        "items and terms of one search: keep one"),
    "a term without a word": (
        'source = "hosp.labevents", items = [50971]', 'source = "note.discharge.text", terms = ["lvef", "--"]',
        "term '--': the query has no word"),
    "a term that is half a word": (
        'source = "hosp.labevents", items = [50971]', 'source = "note.discharge.text", terms = ["ef*"]',
        "term 'ef*': a part of a word needs three letters or more"),
    "a term in quotation marks": (
        'source = "hosp.labevents", items = [50971]', """source = "note.discharge.text", terms = ['"ejection fraction"']""",
        "has quotation marks"),
    "an open end in a name": (
        'source = "hosp.labevents", items = [50971]', 'source = "ed.triage", terms = ["syncop*"]',
        "term 'syncop*': a * is for the text of notes"),
    "a table that no tool searches": (
        'source = "hosp.labevents", items = [50971]', 'source = "hosp.patients"', "no tool searches hosp.patients"),
    "a column of a table": ('source = "hosp.labevents"', 'source = "hosp.labevents.comments"', "is no official table"),
    "policies as a source": (
        'source = "hosp.labevents", items = [50971]', 'source = "policies"', "stands in policy_rubrics.toml"),
    "rows in a text": (
        'kind = "rows"', 'kind = "rows"\nsearch = [{ source = "note.discharge.text", terms = ["lvef"] }]',
        "rows are found in a table: name note.discharge, not its text"),
    "a DOI that is none": ('text = "No guideline."', 'text = "x"\ndoi = "doi:10"', "reference 'none', doi: 'doi:10' has not the form"),
    "a misspelt key": ('domain = "test"', 'domian = "test"', "toml: domian: unknown key"),
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


# fmt: off
WORDS = {
    "a misspelt key at the top": ('domain = "test"', 'domian = "test"', "did you mean domain?"),
    "a misspelt key of an entry": ('kind = "rows"', 'kind = "rows"\nwhenn = "true"', "did you mean when?"),
    "a misspelt key two tables down": (
        'items = [50971], from = "index_time"', 'itmes = [50971], from = "index_time"', "did you mean items?"),
    "a key like no other": ('kind = "rows"', 'kind = "rows"\nzzz = 1', "remove it: the keys here are any, id, kind"),
    "a misspelt kind": ('kind = "rows"', 'kind = "row"', "did you mean rows?"),
    "a verdict like no other": (
        'verdicts = ["lack_of_data"]', 'verdicts = ["?"]', "use one of yes, no, lack_of_data, medical_ambiguity"),
    "a misspelt verdict as a key": ("{ yes = 3,", "{ yess = 3,", "did you mean yes?"),
    "text where a number belongs": ("version = 1", 'version = "one"', "give a whole number"),
    "a number where text belongs": ('domain = "test"', "domain = 3", "give text in quotes"),
    "part of a number": ("version = 1", "version = 1.5", "give a whole number"),
    "too small a number": ("version = 1", "version = 0", "give at least 1"),
    "an empty text": ('domain = "test"', 'domain = ""', "fill it, or leave the key out"),
    "too short a term": (
        'source = "hosp.labevents", items = [50971]', 'source = "note.discharge.text", terms = ["k"]',
        "write at least 2 characters"),
    "too long a term": (
        'source = "hosp.labevents", items = [50971]', f'source = "note.discharge.text", terms = ["{"k" * 81}"]',
        "write at most 80 characters"),
    "an empty list": ('definitions = ["Potassium is item 50971."]', "definitions = []", "give at least 1"),
    "text where a list belongs": ('definitions = ["Potassium is item 50971."]', 'definitions = "x"', "give a list"),
    "text where a table belongs": ("params = { threshold = 5.0 }", 'params = "x"', "give a table"),
    "a name with a capital": ('id = "stricter"', 'id = "Stricter"', "a small letter, then small letters, digits and _"),
}
# fmt: on


@pytest.mark.parametrize("slip", WORDS)
def test_a_slip_says_what_is_allowed_in_words_of_ours(slip: str, tmp_path: Path) -> None:
    old, new, remedy = WORDS[slip]
    assert old in FILES["scenario.toml"]
    folder = write_toy(tmp_path, {"scenario.toml": FILES["scenario.toml"].replace(old, new, 1)})
    with pytest.raises(ScenarioError) as caught:
        load_scenario(folder)
    assert remedy in caught.value.remedy
    assert not re.search(r"should|permitted|required|[.]0|entry 0", caught.value.message.split(".toml:")[1])


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
    "an unknown check": (
        'check = { name = "guessed" }',
        "item 'looks', check: name 'guessed' is not allowed",
    ),
    "a text without terms": (
        'check = { name = "searched", source = "note.discharge.text" }',
        "note.discharge.text needs terms, the words sought in it",
    ),
    "names of a text": (
        'check = { name = "searched", source = "note.discharge.text", names = "lvef" }',
        "note.discharge.text needs terms, the words sought in it",
    ),
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


def test_a_check_can_name_the_words_sought_in_notes(tmp_path: Path) -> None:
    lines = FILES["rubrics.toml"].strip().splitlines()[:-1]
    check = 'check = { name = "searched", source = "note.discharge.text", terms = ["lvef"] }'
    scenario = load_scenario(write_toy(tmp_path, {"rubrics.toml": "\n".join([*lines, check])}))
    assert isinstance(found := scenario.rubric.item[0].check, Searched)
    assert found.terms == ("lvef",)


def test_a_policy_item_names_a_policy_or_a_reference(tmp_path: Path) -> None:
    text = FILES["policy_rubrics.toml"].replace('document = "none"', 'document = "other"')
    with pytest.raises(ScenarioError, match="names other, no policy or reference"):
        load_scenario(write_toy(tmp_path, {"policy_rubrics.toml": text}))
