import json
import time
from typing import Any

import pytest

from harness.stats.record import TrialScore
from harness.stats.summary import summarise
from tests.harness.stats.trials import constant, trial


def _numbers(trials: list[TrialScore], **more: Any) -> dict[str, Any]:
    [numbers] = summarise(trials, **more)["systems"].values()
    return dict(numbers)


def test_dead_trials_are_left_out_and_counted_as_wrong() -> None:
    trials = [trial("t1"), trial("t2"), trial("t3", answer="no"), trial("t4", dead="boom")]
    numbers = _numbers(trials)
    assert (numbers["trials"], numbers["scored"], numbers["dead"]) == (4, 3, 1)
    assert numbers["accuracy"] == pytest.approx(2 / 3)
    assert numbers["accuracy_dead_wrong"] == 0.5
    assert numbers["causes"] == {"boom": 1}


def test_a_system_whose_trials_are_all_dead_or_missing_has_no_mean_but_a_reason() -> None:
    dead = _numbers([trial(dead="boom")])
    assert dead["accuracy"] is None
    assert dead["accuracy_dead_wrong"] == 0.0
    assert dead["undefined"]["accuracy"] == "no trial was scored"
    absent = _numbers([], missing={"a": 3})
    assert (absent["trials"], absent["missing"], absent["accuracy"]) == (0, 3, None)


@pytest.mark.parametrize(
    ("answer", "accuracy", "sensitivity", "over", "confidence"),
    [
        ("yes", 1 / 3, 0.0, 0.0, 1.0),
        ("lack_of_data", 1 / 6, 1.0, 1.0, 0.0),
        (None, 0.0, 0.0, 0.0, 0.0),
        ("gold", 1.0, 1.0, 0.0, 0.0),
    ],
)
def test_deferring_always_or_never_scores_zero(
    answer: str | None, accuracy: float, sensitivity: float, over: float, confidence: float
) -> None:
    numbers = _numbers(list(constant("a", answer)))
    assert numbers["accuracy"] == pytest.approx(accuracy)
    assert numbers["deferral_sensitivity"] == sensitivity
    assert numbers["over_deferral"] == over
    assert numbers["deferral"] == sensitivity - over
    assert numbers["over_confidence"] == confidence


def test_baselines_are_what_constant_answers_would_score() -> None:
    baselines = _numbers(list(constant("a", "gold")))["baselines"]
    for answer in ("yes", "no", "lack_of_data", "medical_ambiguity"):
        accuracy = _numbers(list(constant("a", answer)))["accuracy"]
        assert baselines[f"always_{answer}"] == pytest.approx(accuracy)


def test_confusion_counts_answers_by_gold_with_a_column_for_none() -> None:
    numbers = _numbers([*constant("a", None), trial("x", gold="no", answer="yes")])
    assert set(numbers["confusion"]) == {"yes", "no", "lack_of_data", "medical_ambiguity"}
    assert numbers["confusion"]["no"] == {
        "yes": 1, "no": 0, "lack_of_data": 0, "medical_ambiguity": 0, "none": 30,
    }  # fmt: skip


def test_the_two_kinds_of_deferring_are_told_apart() -> None:
    lack = _numbers(list(constant("a", "lack_of_data")))
    assert (lack["lack_taken_for_ambiguity"], lack["ambiguity_taken_for_lack"]) == (0, 15)
    ambiguity = _numbers(list(constant("a", "medical_ambiguity")))
    assert (ambiguity["lack_taken_for_ambiguity"], ambiguity["ambiguity_taken_for_lack"]) == (15, 0)


def test_ambiguity_is_never_reported_for_one_scenario_alone() -> None:
    numbers = _numbers(list(constant("a", "lack_of_data", scenarios=1)))
    assert numbers["confusion"]["medical_ambiguity"] is None
    assert numbers["ambiguity_taken_for_lack"] is None
    assert numbers["baselines"]["always_medical_ambiguity"] is None
    assert {"confusion.medical_ambiguity", "ambiguity_taken_for_lack"} <= set(numbers["undefined"])
    assert not any("ambiguity" in str(part) for part in numbers["scenarios"].values())
    only = _numbers([trial("t", gold="medical_ambiguity", answer="yes"), trial("u")])
    assert only["over_confidence"] is None


def test_what_needs_a_kind_of_gold_that_is_not_there_is_null_with_a_reason() -> None:
    numbers = _numbers([trial("t1"), trial("t2")])
    assert (numbers["deferral_sensitivity"], numbers["deferral"]) == (None, None)
    assert {"deferral_sensitivity", "deferral", "over_confidence"} <= set(numbers["undefined"])
    assert numbers["over_deferral"] == 0.0


def test_citation_rates_are_over_the_citations_that_count() -> None:
    none = {"cited": 0, "counted": 0, "resolvable": 0, "served": 0, "relevant": 0}
    some = {"cited": 9, "counted": 4, "resolvable": 3, "served": 2, "relevant": 1}
    numbers = _numbers([trial("t1", citations=none), trial("t2", citations=some)])
    assert numbers["citations"] == {
        "cited": 4.5, "counted": 2.0, "resolvable": 0.75, "served": 0.5, "relevant": 0.25,
    }  # fmt: skip
    uncited = _numbers([trial("t1", citations=none)])
    assert uncited["citations"]["served"] is None
    assert uncited["undefined"]["citations.served"] == "nothing was cited"


def test_results_come_with_and_without_fragile_cases() -> None:
    trials = [
        trial("t1"),
        trial("t2", answer="no", fragile=True),
        trial("t3", answer="no", definition_fragile=True),
    ]
    numbers = _numbers(trials)
    assert numbers["accuracy"] == pytest.approx(1 / 3)
    assert (numbers["without_fragile"]["trials"], numbers["without_fragile"]["accuracy"]) == (2, 0.5)
    assert (numbers["without_either"]["trials"], numbers["without_either"]["accuracy"]) == (1, 1.0)


def test_instruments_have_numbers_and_are_compared_with_nobody() -> None:
    trials = [trial(system=tag) for tag in ("oracle", "a", "b")]
    summary = summarise(trials, declared={"oracle": {"instrument": True, "about": "knows"}, "b": {}})
    assert list(summary["systems"]) == ["oracle", "b", "a"]
    assert summary["systems"]["oracle"]["about"] == "knows"
    assert [(pair["first"], pair["second"]) for pair in summary["comparisons"]] == [("b", "a")]


def test_labels_are_rule_derived_until_every_scenario_is_signed() -> None:
    signed, unsigned = trial("t1", label="clinician-signed"), trial("t2", scenario="02-second")
    assert summarise([signed])["labels"]["note"] == "clinician-signed labels; clinician_reviewed = true"
    both = summarise([signed, unsigned])["labels"]
    assert both["note"] == "rule-derived labels; clinician_reviewed = false"
    assert both["unsigned_scenarios"] == ["02-second"]
    assert summarise([])["labels"]["clinician_reviewed"] is False


def test_every_summary_is_json_without_nan() -> None:
    for trials in ([], [trial(dead="boom")], [trial()], list(constant("a", None))):
        json.dumps(summarise(trials, missing={"b": 1}), allow_nan=False)


def test_nine_systems_on_ninety_tasks_are_summed_up_in_seconds() -> None:
    trials = [t for n in range(9) for t in constant(f"s{n}", ("yes", "no", "gold")[n % 3])]
    started = time.process_time()
    summarise(trials)
    assert time.process_time() - started < 3
