import math
from typing import Any

import pytest

from harness.scoring.files import FileReading
from harness.scoring.gold import GoldError
from harness.scoring.score import COMPONENTS, REWARD_MODES, UnsealedError, score_trial
from tests.harness.scoring.casebook import (
    MISSING,
    audit,
    call,
    chained,
    entry,
    gold,
    handed_in,
    requirement,
    rows,
    score,
    searched,
)

RIGHT = "## Answer: YES\n\nThe lactate was measured again [lab:1]."


def test_a_right_verdict_on_served_and_cited_evidence_is_supported() -> None:
    result = score(gold(), RIGHT, call("lab:1"))
    assert {name: result[name] for name in COMPONENTS} == dict.fromkeys(COMPONENTS, 1.0)
    assert result["outcome"] == "right"


@pytest.mark.parametrize(
    ("report", "calls", "verdict", "supported"),
    [
        (RIGHT, [], 1, 0),
        ("## Answer: YES", [call("lab:1")], 1, 0),
        ("## Answer: NO\n[lab:1]", [call("lab:1")], 0, 0),
        ("", [call("lab:1")], 0, 0),
        (RIGHT, [call("lab:1", outcome="refused")], 1, 0),
    ],
)
def test_support_needs_the_verdict_the_citation_and_its_service(
    report: str, calls: list[dict[str, Any]], verdict: float, supported: float
) -> None:
    result = score(gold(), report, *calls)
    assert (result["verdict"], result["supported"]) == (verdict, supported)


def test_any_alternative_satisfies_but_only_whole() -> None:
    need = rows("pair", ["lab:1", "lab:2"], ["emar:1"])
    everything = call("lab:1", "lab:2", "emar:1")
    assert score(gold("yes", need), "## Answer: YES\n[emar:1]", everything)["supported"] == 1
    assert score(gold("yes", need), "## Answer: YES\n[lab:1, lab:2]", everything)["supported"] == 1
    assert score(gold("yes", need), "## Answer: YES\n[lab:1]", everything)["supported"] == 0


def test_recall_is_over_requirements_and_does_not_need_the_verdict() -> None:
    needs = [rows("first", ["lab:1"]), rows("second", ["lab:2"])]
    result = score(gold("yes", *needs), "## Answer: NO\n[lab:1]", call("lab:1", "lab:2"))
    assert (result["evidence_recall"], result["retrieval_recall"]) == (0.5, 1.0)
    assert [item["why"] for item in result["requirements"]] == [
        "satisfied",
        "retrieved, but not cited: no lab:2",
    ]


def test_precision_is_against_relevant_rows_and_not_served_ones() -> None:
    need = rows("index", ["lab:1"], relevant=["lab:2"])
    served = call("lab:1", "lab:2", "lab:3")
    result = score(gold("yes", need), "## Answer: YES\n[lab:1, lab:2, lab:3, lab:4]", served)
    assert result["citations"] == {"cited": 4, "counted": 4, "resolvable": 4, "served": 3, "relevant": 2}
    assert result["citation_precision"] == 0.5


def test_policy_support_is_by_weight_and_null_without_policies() -> None:
    items = [{"id": name, "document": name, "weight": weight} for name, weight in (("a", 3), ("b", 1))]
    served = call("lab:1", "policy:a#2.p2", "policy:b#0", tool="read_policy")
    report = "## Answer: YES\n[lab:1, policy:a#2.p2, policy:b#1]"
    result = score(gold(policies=items), report, served)
    assert (result["policy_support"], result["policy_citations"]) == (0.75, ["policy:a#2.p2"])
    assert result["citations"] == {"cited": 3, "counted": 2, "resolvable": 1, "served": 1, "relevant": 1}
    assert score(gold(), report, served)["policy_support"] is None


def test_without_citations_precision_is_zero() -> None:
    assert score(gold(), "## Answer: YES", call("lab:1"))["citation_precision"] == 0.0


YES, NO, UNKNOWN, BARE = (
    handed_in(text) for text in ("## Answer: YES", "# Answer: NO", "# Answer: maybe", "Nothing.")
)
TOO_LARGE = handed_in(b"## Answer: YES\n" + b"a" * 64 * 1024)
LATIN = handed_in("## Answer: YES é".encode("latin-1"))
LINK = FileReading(problem="is not a regular file")


@pytest.mark.parametrize(
    ("file", "tool", "outcome"),
    [
        (YES, MISSING, "right"),
        (MISSING, YES, "right"),
        (YES, YES, "right"),
        (BARE, YES, "right"),
        (YES, BARE, "right"),
        (NO, NO, "wrong_verdict"),
        (YES, NO, "conflicting_answers"),
        (YES, UNKNOWN, "unknown_answer"),
        (UNKNOWN, MISSING, "unknown_answer"),
        (BARE, BARE, "no_answer"),
        (MISSING, MISSING, "no_answer"),
        (TOO_LARGE, MISSING, "bad_report"),
        (TOO_LARGE, YES, "bad_report"),
        (YES, TOO_LARGE, "bad_report"),
        (LATIN, MISSING, "bad_report"),
        (LINK, YES, "bad_report"),
    ],
)
def test_file_and_tool_are_read_as_one_answer(file: FileReading, tool: FileReading, outcome: str) -> None:
    assert score(gold(), file, submission=tool)["outcome"] == outcome


def test_a_report_of_exactly_64_kilobytes_is_read() -> None:
    text = b"## Answer: YES\n"
    assert score(gold(), handed_in(text.ljust(64 * 1024, b"a")))["outcome"] == "right"


@pytest.mark.parametrize(
    ("mode", "expected"), [("outcome", 1.0), ("supported", 0.0), ("multi", 0.5 + 0.3 * 0.5 + 0.2)]
)
def test_the_reward_follows_its_mode(mode: str, expected: float) -> None:
    needs = [rows("first", ["lab:1"]), rows("second", ["lab:2"])]
    result = score(gold("yes", *needs), RIGHT, call("lab:1"), mode=mode)
    assert result["reward"] == pytest.approx(expected)
    assert result["reward_mode"] == mode


def test_an_unknown_reward_mode_is_an_error() -> None:
    with pytest.raises(ValueError, match="none of outcome, supported, multi"):
        score(gold(), RIGHT, call("lab:1"), mode="best")


def test_every_number_is_finite_in_every_mode() -> None:
    for mode in REWARD_MODES:
        result = score(gold(), "", mode=mode)
        assert all(math.isfinite(result[name]) for name in ("reward", *COMPONENTS))


def test_call_health_counts_what_went_wrong() -> None:
    result = score(
        gold(),
        RIGHT,
        call("lab:1", args={"items": [1]}),
        call("lab:1", args={"items": [1]}),
        call(tool="get_labs", args={"items": [2]}, outcome="refused"),
        call(tool="get_observations", args={"items": [1]}, outcome="error"),
        searched("hosp.emar", "emar:1", complete=False, args={"n": 1}),
        searched("hosp.emar", "emar:1", complete=False, args={"n": 2}),
        searched("icu.inputevents", "lab:2", complete=False, args={"n": 3}),
        searched("icu.inputevents", "lab:3", args={"n": 4}),
    )
    assert result["calls"] == {"calls": 8, "errors": 1, "refusals": 1, "repeats": 1, "truncated_unread": 1}


DAMAGES: list[tuple[dict[str, Any], str]] = [
    ({"requirements": []}, "requirements: empty"),
    ({"requirements": None}, "requirements: not a list"),
    ({"requirements": [rows("a", [])]}, "an alternative is empty"),
    ({"requirements": [rows("a")]}, "nothing can satisfy it"),
    ({"requirements": [requirement("a", "rows", search=[entry()])]}, "nothing can satisfy it"),
    ({"requirements": [requirement("a", "absence")]}, "nothing can satisfy it"),
    ({"requirements": [rows("a", ["lab:1"]), rows("a", ["lab:2"])]}, "an id occurs twice"),
    ({"requirements": [rows("a", ["labevents:1"])]}, "is no evidence id"),
    ({"requirements": [requirement("a", "guess", [["lab:1"]])]}, "kind 'guess'"),
    ({"requirements": [requirement("a", "absence", search=[entry(start="soon")])]}, "is not a local time"),
    ({"requirements": [requirement("a", "absence", search=[entry(end="2180-01-01T07:00:00")])]}, "before it begins"),
    ({"requirements": [requirement("a", "series", search=[entry()]) | {"any": True}]}, "for an absence only"),
    ({"verdict": "maybe"}, "verdict: 'maybe'"),
    ({"label": "certain"}, "label: 'certain'"),
    ({"fragile": "no"}, "fragile: neither true nor false"),
    ({"known": {"lab": [[1, "x"]]}}, "neither a range nor a text"),
    ({"known": None}, "known: not an object"),
    ({"task": ""}, "task: missing"),
    ({"policies": {}}, "policies: not a list"),
    ({"policies": [{"id": "a", "document": "x y", "weight": 1}]}, "is no document's id"),
    ({"policies": [{"id": "a", "document": "x", "weight": 0}]}, "weight must be a whole number"),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "message"), DAMAGES)
def test_damaged_gold_is_an_error_and_never_a_score(damage: dict[str, Any], message: str) -> None:
    with pytest.raises(GoldError, match=message):
        score(gold(**damage), RIGHT, call("lab:1"))


def test_without_a_sound_audit_of_this_task_there_is_no_score() -> None:
    for lines, message in (
        (audit(call("lab:1"), seal=False), "no seal"),
        ([], "no header"),
        (audit(call("lab:1"), task="another-task"), "the audit is of task another-task"),
        ([line.replace("lab:1", "lab:2") for line in audit(call("lab:1"))], "breaks the hash chain"),
        ([*audit(call("lab:1")), "{}"], "follows the seal"),
        (chained([{"v": 99}]), "known version"),
        (['{"v": NaN}'], "is not JSON"),
        (["[" * 100_000], "is not JSON"),
    ):
        with pytest.raises(UnsealedError, match=message):
            score_trial(gold(), handed_in(RIGHT), MISSING, lines)
