"""A scenario's page is in words that a person reads, and says what nobody has reviewed."""

from pathlib import Path

import pytest

from harness.scenario import Evidence, Search, load_scenario, load_scenarios
from harness.scenario_page import corrections, doubts, scenario_page
from harness.scenario_words import Wording, say_condition, say_items, say_names
from tests.harness.toy_scenario import FILES, write_toy


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("warfarin|coumadin", "warfarin, coumadin"),
        ("^blood culture", "blood culture at the beginning"),
        (r"floxacin|\bcipro", "floxacin, cipro"),
        ("insulin.*(regular|hyperkalemia)", "insulin … regular or hyperkalemia"),
        ("^(?!.*(gel|cream)).*(vancomycin|flagyl)", "vancomycin, flagyl (but not gel, cream)"),
        ("calcium|^(?!.*(inhaler)).*albuterol", "calcium, albuterol (but not inhaler)"),
        ("desensiti[sz]|test dose", "`desensiti[sz]`, test dose"),
        (r"^\d+ mg|a+", r"`^\d+ mg`, `a+`"),
    ],
)
def test_a_pattern_is_said_in_words_or_shown_as_it_is(pattern: str, said: str) -> None:
    assert say_names(pattern) == said


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("rule = 'unresulted'", "if decided by the rule `unresulted`"),
        ("rule in ('cr2', 'rrt', 'uo2')", "if decided by the rule `cr2`, `rrt` or `uo2`"),
        ("rule <> 'stopped'", "unless decided by the rule `stopped`"),
        ("rule not in ('a', 'b')", "unless decided by the rule `a` or `b`"),
        ("rule = 'a' and near_icu", "where `rule = 'a' and near_icu`"),
        ("due > 0", "where `due > 0`"),
    ],
)
def test_a_condition_names_the_rules_that_decide(expression: str, said: str) -> None:
    assert say_condition(expression) == said


def test_items_have_their_labels_and_unknown_ones_come_last() -> None:
    assert say_items([50912]) == "Creatinine (50912)"
    assert say_items([999999, 50971, 999998]) == "Potassium (50971), items 999999, 999998"


def test_a_long_list_that_occurs_again_stands_once() -> None:
    long = Search(source="hosp.emar", names="|".join(f"drug{letter}" for letter in "abcdefghijklmnopqrst"))
    short = Search(source="icu.inputevents", items=(50971,))
    evidence = [
        Evidence(id=name, verdicts=("no",), kind="absence", search=(long, short)) for name in ("one", "two")
    ]
    wording = Wording(evidence)
    assert wording.searches(evidence[0]) == (
        "administration record (eMAR): list A; ICU inputs: Potassium (50971)"
    )
    [(letter, text)] = wording.lists
    assert letter == "A"
    assert text.startswith("named druga, drugb")
    assert Wording(evidence[:1]).lists == []


def test_words_of_a_text_are_said_as_they_are_sought() -> None:
    search = Search(source="note.discharge.text", terms=("lvef", "ejection fraction", "metopr*"))
    need = Evidence(id="unsaid", verdicts=("no",), kind="absence", search=(search,))
    assert Wording([need]).searches(need) == (
        "text of discharge summaries: the words lvef, ejection fraction, metopr*"
    )


def test_entries_of_one_source_are_joined_only_where_all_of_them_are_asked_for() -> None:
    weight, height = (Search(source="icu.chartevents", items=(item,)) for item in (226512, 226707))
    whole = Search(source="hosp.labevents")
    both = Evidence(id="both", verdicts=("no",), kind="absence", search=(weight, height))
    one = Evidence(id="one", verdicts=("no",), kind="absence", any=True, search=(weight, height))
    rows = Evidence(
        id="rows",
        verdicts=("no",),
        kind="rows",
        search=(whole, Search(source="hosp.labevents", items=(50912,))),
    )
    wording = Wording([both, one, rows])
    assert wording.searches(both) == "ICU chart: Admission Weight (Kg) (226512), Height (226707)"
    assert wording.searches(one) == "ICU chart: Admission Weight (Kg) (226512); ICU chart: Height (226707)"
    assert wording.searches(rows) == "laboratory results"


def test_a_page_shows_every_requirement_rubric_and_reference_of_its_scenario() -> None:
    for scenario in load_scenarios():
        page = scenario_page(scenario)
        for need in scenario.evidence:
            assert f"\n- `{need.id}` (" in page
            numbers = [item for search in need.search for item in search.items or ()]
            assert [item for item in numbers if str(item) not in page] == []
        texts = [item.text for item in scenario.rubric.item]
        texts += [item.text for item in scenario.policy_rubric.item]
        texts += [reference.text for reference in scenario.reference]
        assert [text for text in texts if text not in page] == []
        assert "{index_time}" not in page
        assert page.count("\n| ") == 1 + len(scenario.criteria)


def test_a_page_says_whether_summary_and_codes_are_shown(tmp_path: Path) -> None:
    before = scenario_page(load_scenario(write_toy(tmp_path / "a")))
    assert "without this admission's discharge summary and codes" in before
    head = FILES["scenario.toml"].replace('as_of = "before"', 'as_of = "after"')
    after = scenario_page(load_scenario(write_toy(tmp_path / "b", {"scenario.toml": head})))
    assert "with this admission's discharge summary and codes" in after


def test_corrections_and_doubts_are_paragraphs_of_comments(tmp_path: Path) -> None:
    folder = write_toy(
        tmp_path,
        {
            "cohort.sql": "-- About.\n-- Correction: one\n-- goes on.\n-- Correction: two.\n--\n-- not this\n"
            "select 1 -- nor this\n",
            "adjudicate.sql": "-- For review: a number.\n-- Correction: three\nselect 1\n-- For review: last",
            "plants.toml": "# Correction: four\na = 1\n",
        },
    )
    assert corrections(folder) == ["one goes on.", "two.", "three", "four"]
    assert doubts(folder) == ["a number.", "last"]
    page = scenario_page(load_scenario(folder))
    assert "## For a clinician to judge\n\n- A number.\n- Last\n" in page
    assert "- One goes on.\n- Two.\n- Three\n- Four\n" in page
    plain = scenario_page(load_scenario(write_toy(tmp_path / "plain")))
    assert "For a clinician to judge" not in plain
