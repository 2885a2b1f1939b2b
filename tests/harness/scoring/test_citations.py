import pytest

from harness.scoring.report import read_report, read_submissions
from tests.harness.scoring.casebook import MISSING, handed_in, rows, score
from tests.harness.scoring.casebook import gold as make_gold

READINGS = [
    ("[lab:1]", ["lab:1"]),
    ("[lab:1, emar:74]", ["lab:1", "emar:74"]),
    ("[lab:1,emar:74 ,  note:DS-2#4]", ["lab:1", "emar:74", "note:DS-2#4"]),
    ("[lab:2] then [lab:1] then [lab:2]", ["lab:2", "lab:1"]),
    ("[lab:1,\nlab:2]", ["lab:1", "lab:2"]),
    ("[lab:1][lab:2]", ["lab:1", "lab:2"]),
    ("[[lab:1]]", ["lab:1"]),
    ("**[lab:1]**", ["lab:1"]),
    ("[lab:1](http://example.org)", ["lab:1"]),
    ("[lab:1]: http://example.org", ["lab:1"]),
    ("lab:1 and (lab:2)", []),
    ("[see lab:1]", []),
    ("[lab:1; lab:2]", []),
    ("[lab:1, see the chart]", ["lab:1"]),
    ("[12:30] [x] [ ] [^1] [a link](http://example.org)", []),
    ("[http://example.org]", []),
    ("[labevents:7] [LAB:7] [foo:bar]", ["labevents:7", "LAB:7", "foo:bar"]),
    ("[micro:s123] [search:17] [policy:house#2]", ["micro:s123", "search:17", "policy:house#2"]),
    ("[lab:1\u200b]", []),
    ("[ lab:1 ]", ["lab:1"]),
    ("\\[lab:1\\]", []),
    ("`[lab:1]` [lab:2]", ["lab:2"]),
    ("[`lab:1`]", []),
    ("``[lab:1] ` [lab:2]`` [lab:3]", ["lab:3"]),
    ("` [lab:1]", ["lab:1"]),
    ("\\`[lab:1]`", ["lab:1"]),
    ("a `code\n[lab:1]` b", []),
    ("a `code\n\n[lab:1]` b", ["lab:1"]),
    ("<code>[lab:1]</code> [lab:2]", ["lab:2"]),
    ("<code>[lab:1]", ["lab:1"]),
    ("```\n[lab:1]\n```\n[lab:2]", ["lab:2"]),
    ("text\n\n    [lab:1]", []),
    ("text\n    [lab:1]", ["lab:1"]),
    ("> [lab:1]\n[lab:2]", ["lab:1", "lab:2"]),
    ("| a |\n|---|\n| [lab:1] |", ["lab:1"]),
    ("- [lab:1]\n  1. [lab:2]", ["lab:1", "lab:2"]),
    ("## Findings [lab:1]", ["lab:1"]),
    ("Findings [lab:1]\n===", ["lab:1"]),
    ("<!-- [lab:1] -->", []),
    ("<!-- [lab:1] --> [lab:2]", ["lab:2"]),
    ("text <!-- [lab:1] --> [lab:2]", ["lab:2"]),
    ("text <!-- [lab:1]\nmore --> [lab:2]", ["lab:2"]),
    ("text <!-- [lab:1]", ["lab:1"]),
    ("<!-- [lab:1]", []),
    ("<pre>[lab:1]</pre>", []),
    ("<div>[lab:1]</div>", ["lab:1"]),
    ("<details>\n<summary>Evidence</summary>\n[lab:1]\n</details>", ["lab:1"]),
]


@pytest.mark.parametrize(("text", "expected"), READINGS)
def test_citations_are_read_outside_code_and_comments(text: str, expected: list[str]) -> None:
    assert list(read_report(text).citations) == expected


def test_only_the_first_twelve_distinct_citations_count() -> None:
    report = "## Answer: YES\n" + " ".join(f"[lab:{n}]" for n in [*range(2, 14), 2, 3, 1])
    citations = score(make_gold("yes", rows("index", ["lab:1"])), report)["citations"]
    assert citations == {"cited": 13, "counted": 12, "resolvable": 12, "served": 0, "relevant": 0}


def test_a_malformed_id_takes_a_place_and_never_resolves() -> None:
    report = "## Answer: YES [labevents:1]\n[lab:1]"
    citations = score(make_gold(), report)["citations"]
    assert (citations["counted"], citations["resolvable"]) == (2, 1)


@pytest.mark.parametrize(
    ("eid", "resolvable"),
    [
        ("lab:1", True), ("lab:60", True), ("lab:61", False), ("lab:0", False), ("lab:01", False),
        ("micro:9", True), ("micro:s123", True), ("micro:s124", False), ("note:DS-2#4", True),
        ("icu:1", False), ("search:1", False), ("lab:99999999999999999999", False),
    ],
)  # fmt: skip
def test_an_id_resolves_if_the_slice_or_the_trial_has_it(eid: str, resolvable: bool) -> None:
    assert score(make_gold(), f"[{eid}]")["citations"]["resolvable"] == resolvable


def test_citations_are_the_files_if_there_is_a_file() -> None:
    file, tool = handed_in("## Answer: YES\n[lab:1]"), handed_in("## Answer: YES\n[lab:2]")
    assert read_submissions(file, tool).citations == ("lab:1",)
    assert read_submissions(MISSING, tool).citations == ("lab:2",)
    assert read_submissions(handed_in("notes only"), tool).citations == ()
