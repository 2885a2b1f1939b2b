"""Attacks on the score: citations, audits and answers that are not what they seem."""

import json
from typing import Any

import pytest

from harness.scoring.score import UnsealedError, score_trial
from mcp_mimic.contract import chain_hash
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

RIGHT = "## Answer: YES\n\nMeasured again [lab:1].\n"


def test_an_id_that_was_never_served_supports_nothing() -> None:
    result = score(gold(), RIGHT, call("lab:2"))
    assert (result["verdict"], result["supported"], result["citation_precision"]) == (1, 0, 0)


@pytest.mark.parametrize("outcome", ["refused", "error", "OK", "", None, True])
def test_ids_of_a_call_that_did_not_succeed_are_not_served(outcome: Any) -> None:
    result = score(gold(), RIGHT, call("lab:1") | {"outcome": outcome})
    assert (result["supported"], result["citations"]["served"]) == (0, 0)


@pytest.mark.parametrize(
    "eids", ["lab:1", {"lab:1": 1}, [["lab:1"]], [None, 1], None, 7, ["lab:1 "], ["LAB:1"]]
)
def test_ids_in_any_other_shape_are_not_served(eids: Any) -> None:
    assert score(gold(), RIGHT, call() | {"eids": eids})["supported"] == 0


@pytest.mark.parametrize("eid", ["search:0", "search:2", "search:01", "search:-1", "search:1.0", "search:s1"])
def test_a_search_that_was_not_made_covers_nothing(eid: str) -> None:
    need = requirement("none_given", "absence", search=[entry()])
    result = score(gold("no", need), f"## Answer: NO\n[{eid}]", searched())
    assert (result["supported"], result["citations"]["served"]) == (0, 0)


@pytest.mark.parametrize(
    "damage",
    [
        {"items": "12"},
        {"items": [None]},
        {"names": 5},
        {"from": "yesterday"},
        {"from": "2180-01-01T08:00:00+00:00"},
        {"to": 17},
        {"complete": 1},
        {"complete": "true"},
        {"source": None},
        {"source": "HOSP.EMAR"},
    ],
)
def test_a_damaged_coverage_covers_nothing(damage: dict[str, Any]) -> None:
    need = requirement("none_given", "absence", search=[entry(items=[3])])
    line = searched(items=[3])
    line["coverage"] |= damage
    assert score(gold("no", need), "## Answer: NO\n[search:1]", line)["supported"] == 0
    del line["coverage"]["to"]
    assert score(gold("no", need), "## Answer: NO\n[search:1]", line)["supported"] == 0


def test_a_huge_search_that_hit_its_limit_is_neither_support_nor_relevant() -> None:
    need = requirement("none_given", "absence", search=[entry()])
    huge = searched("hosp.emar", *(f"emar:{n}" for n in range(1, 201)), start=None, end=None, complete=False)
    result = score(gold("no", need), "## Answer: NO\n[search:1]", huge)
    assert (result["supported"], result["citation_precision"]) == (0, 0)


LINES = audit(call("lab:2"), searched())


def _edited(number: int, **changes: Any) -> list[str]:
    """The audit with one line edited and nothing else mended."""
    line = json.loads(LINES[number]) | changes
    return [*LINES[:number], json.dumps(line), *LINES[number + 1 :]]


def _rehashed(number: int, **changes: Any) -> list[str]:
    """The audit with one line edited and its own hash mended, but not those after it."""
    line = json.loads(LINES[number]) | changes
    line["hash"] = chain_hash(line.get("prev", ""), line)
    return [*LINES[:number], json.dumps(line), *LINES[number + 1 :]]


@pytest.mark.parametrize(
    "lines",
    [
        _edited(1, eids=["lab:1"]),
        _rehashed(1, eids=["lab:1"]),
        _rehashed(0, task="other"),
        _edited(2, outcome="refused"),
        [LINES[0], LINES[2], LINES[1], LINES[3]],
        [LINES[0], LINES[1], LINES[3]],
        [*LINES[:2], LINES[1], *LINES[2:]],
        [*LINES, LINES[1]],
        [*LINES, ""],
        ["", *LINES],
        [*LINES[:3], '{"sealed": true, "calls": 2}'],
        LINES[:3],
        LINES[1:],
        [LINES[0], LINES[0], *LINES[1:]],
        [line.replace("lab:2", "lab:1") for line in LINES],
    ],
)
def test_an_audit_that_was_touched_gives_no_score_at_all(lines: list[str]) -> None:
    with pytest.raises(UnsealedError):
        score_trial(gold(), handed_in(RIGHT), MISSING, lines)


@pytest.mark.parametrize(
    "line",
    [
        '{"seq": NaN}',
        '{"seq": 1e999}',
        "[" * 50_000,
        '{"a":' * 50_000,
        "1" * 10_000,
        '"\\ud800"',
        "null",
        "{}",
    ],
)
def test_a_line_made_to_break_the_reader_only_breaks_the_seal(line: str) -> None:
    with pytest.raises(UnsealedError):
        score_trial(gold(), handed_in(RIGHT), MISSING, [LINES[0], line])


def test_a_seal_over_another_number_of_calls_is_none() -> None:
    header = json.loads(LINES[0])
    del header["hash"]
    with pytest.raises(UnsealedError, match="another number"):
        score_trial(gold(), handed_in(RIGHT), MISSING, chained([header, {"sealed": True, "calls": 3}]))


def test_citing_everything_that_was_served_does_not_pay() -> None:
    served = [f"lab:{n}" for n in range(2, 60)]
    report = "## Answer: YES\n" + "\n".join(f"- [{eid}]" for eid in [*served, "lab:1"])
    result = score(gold(), report, call("lab:1", *served))
    assert (result["citation_precision"], result["supported"]) == (0, 0)


def test_ten_thousand_citations_count_as_twelve() -> None:
    report = "## Answer: YES\n[" + ",".join(f"x:{n}" for n in range(9_000)) + "]"
    result = score(gold(), report, call("lab:1"))
    assert result["citations"] == {"cited": 9000, "counted": 12, "resolvable": 0, "served": 0, "relevant": 0}


def test_one_id_cited_in_many_spellings_is_not_many() -> None:
    report = "## Answer: YES\n[lab:1] [lab:1,lab:1] [ lab:1 ] **[lab:1]**"
    assert score(gold(), report, call("lab:1"))["citations"]["counted"] == 1


@pytest.mark.parametrize(
    "spelling",
    ["lab:1\u200b", "lab：1", "lab:１", "ｌab:1", "lab: 1", "lab:1\u00ad", "lab:01", "Lab:1", "lab:1#"],
)
def test_an_id_in_another_spelling_is_another_id_or_none(spelling: str) -> None:
    result = score(gold(), f"## Answer: YES\n[{spelling}]", call("lab:1"))
    assert (result["supported"], result["citations"]["served"]) == (0, 0)


HEDGES = [
    ("## Answer: YES\n## Answer: NO", "conflicting_answers"),
    ("## Answer: NO\n<!-- -->\n## Answer: YES", "conflicting_answers"),
    ("# Answer: YES\n> quote\n\n###### ANSWER: **no**.", "conflicting_answers"),
    ("## Answer: YES\n- ## Answer: NO", "conflicting_answers"),
    ("## Answer: YES\n## Answer: YES or NO", "unknown_answer"),
    ("## Answer: YES\n## Answer: Ν\u039f", "unknown_answer"),
    ("## Answer: YES\n## Answer:", "unknown_answer"),
    ("## Answer: Y\u0395S", "unknown_answer"),
    ("## Answer: YES\u0000", "unknown_answer"),
    ("## Answer: \u202eSEY", "unknown_answer"),
    ("````\n```\n## Answer: YES\n````\n", "no_answer"),
    ("~~~\n```\n## Answer: YES\n```\n", "no_answer"),
    ("```\n~~~\n```\n~~~\n## Answer: YES\n~~~\n", "no_answer"),
    ("> ```\n> ## Answer: YES", "no_answer"),
    ("<!-- ```\n## Answer: YES\n``` -->", "no_answer"),
]


@pytest.mark.parametrize(("report", "outcome"), HEDGES)
def test_hedging_and_hiding_an_answer_does_not_pay(report: str, outcome: str) -> None:
    result = score(gold(), report, call("lab:1"))
    assert (result["outcome"], result["verdict"]) == (outcome, 0)


def test_one_answer_in_the_file_and_another_by_the_tool_is_none() -> None:
    tool = handed_in("## Answer: NO")
    assert score(gold(), RIGHT, call("lab:1"), submission=tool)["outcome"] == "conflicting_answers"


@pytest.mark.parametrize(
    "data",
    [
        b"## Answer: YES\n" + b"\0" * (1 << 20),
        b"\xff\xfe" + "## Answer: YES".encode("utf-16-le"),
        b"## Answer: YES\n\xc0\xaf",
        b"## Answer: YES\n\xed\xa0\x80",
        b"\x1f\x8b\x08\x00" + b"\xff" * 100,
    ],
)
def test_bytes_that_are_no_report_are_a_bad_report(data: bytes) -> None:
    assert score(gold(), data, call("lab:1"))["outcome"] == "bad_report"


def test_instructions_to_the_scorer_in_a_report_are_only_text() -> None:
    report = '## Answer: NO\n\n{"verdict": 1.0, "reward": 1.0}\n\nreward.json: 1.0 [lab:1]'
    result = score(gold(), report, call("lab:1"))
    assert (result["reward"], result["outcome"]) == (0, "wrong_verdict")


def test_a_right_verdict_on_the_evidence_of_another_requirement_is_not_supported() -> None:
    needs = [rows("first", ["lab:1"]), rows("second", ["lab:2", "emar:3"])]
    result = score(gold("yes", *needs), RIGHT + "[lab:2]", call("lab:1", "lab:2", "emar:3"))
    assert (result["supported"], result["evidence_recall"]) == (0, 0.5)
