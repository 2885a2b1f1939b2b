"""Claims of absence and series: what searches must cover together, and what one alone."""

from typing import Any

import pytest

from mcp_mimic.contract import text_term
from tests.harness.scoring.casebook import entry, gold, requirement, score, searched

A, B, C = "2180-01-01T08:00:00", "2180-01-01T11:00:00", "2180-01-01T14:00:00"


def _satisfied(need: dict[str, Any], *calls: dict[str, Any], cite: str | None = None) -> bool:
    cited = cite or ", ".join(f"search:{number}" for number in range(1, len(calls) + 1))
    result = score(gold("no", need), f"## Answer: NO\n[{cited}]", *calls)
    return bool(result["requirements"][0]["satisfied"])


def _absence(*entries: dict[str, Any]) -> dict[str, Any]:
    return requirement("none_given", "absence", search=entries)


def test_one_search_over_the_whole_window_covers_it() -> None:
    assert _satisfied(_absence(entry()), searched())


@pytest.mark.parametrize(
    ("windows", "covered"),
    [
        ([(A, B), (B, C)], True),
        ([(B, C), (A, B)], True),
        ([(A, B), ("2180-01-01T11:00:01", C)], True),
        ([(A, B), ("2180-01-01T11:00:02", C)], False),
        ([(A, "2180-01-01T12:00:00"), ("2180-01-01T10:00:00", C)], True),
        ([(A, C), ("2180-01-01T09:00:00", "2180-01-01T10:00:00")], True),
        ([("2180-01-01T08:00:01", C)], False),
        ([(A, "2180-01-01T13:59:59")], False),
        ([("2180-01-01T07:00:00", "2180-01-02T00:00:00")], True),
        ([(None, C)], True),
        ([(A, None)], True),
        ([(None, None)], True),
        ([(None, B), (B, None)], True),
        ([(None, B)], False),
        ([("2180-01-01", "2180-01-02")], True),
        ([(C, A)], False),
    ],
)
def test_windows_are_united(windows: list[tuple[str | None, str | None]], covered: bool) -> None:
    calls = [searched(start=start, end=end) for start, end in windows]
    assert _satisfied(_absence(entry()), *calls) == covered


@pytest.mark.parametrize(
    ("start", "end", "covered"), [(None, C, True), (None, None, True), (A, C, False), (A, None, False)]
)
def test_an_open_window_is_covered_only_by_an_open_search(
    start: str | None, end: str | None, covered: bool
) -> None:
    assert _satisfied(_absence(entry(start=None)), searched(start=start, end=end)) == covered


def test_every_item_must_be_covered() -> None:
    need = _absence(entry("icu.inputevents", items=[1, 2]))
    assert not _satisfied(need, searched("icu.inputevents", items=[1]))
    assert _satisfied(need, searched("icu.inputevents", items=[1]), searched("icu.inputevents", items=[2, 3]))
    assert _satisfied(need, searched("icu.inputevents"))


def test_every_string_must_be_covered_by_some_substring() -> None:
    need = _absence(entry(names=["calcium gluconate", "calcium chloride", "insulin"]))
    assert _satisfied(need, searched(names=["CALCIUM", "insulin"]))
    assert _satisfied(need, searched(names=["calcium "]), searched(names=["sulin"]))
    assert not _satisfied(need, searched(names=["calcium gluconate", "insulin"]))
    assert not _satisfied(need, searched(names=["calcium gluconate 10 mL", "insulin", "chloride"]))


def test_items_and_strings_may_be_covered_over_different_windows() -> None:
    need = _absence(entry("icu.inputevents", items=[1, 2]))
    assert _satisfied(
        need,
        searched("icu.inputevents", items=[1], start=A, end=B),
        searched("icu.inputevents", items=[1, 2], start=B, end=C),
        searched("icu.inputevents", items=[2], start=A, end=B),
    )


def test_a_search_by_label_covers_the_items_whose_labels_contain_it() -> None:
    labels = ["dialysis - crrt", "peritoneal dialysis"]
    need = _absence(entry("icu.procedureevents", items=[1, 2]) | {"labels": labels})
    assert _satisfied(need, searched("icu.procedureevents", items=[], names=["Dialysis"]))
    assert _satisfied(need, searched("icu.procedureevents", items=[1], names=["peritoneal"]))
    assert not _satisfied(need, searched("icu.procedureevents", items=[], names=["crrt"]))
    assert not _satisfied(need, searched("icu.procedureevents", items=[3], names=["ventilation"]))


def test_an_item_that_the_chart_lacks_must_be_looked_for_all_the_same() -> None:
    need = _absence(entry("icu.procedureevents", items=[1]))
    assert not _satisfied(need, searched("icu.procedureevents", items=[2]))
    assert not _satisfied(need, searched("icu.procedureevents", items=[]))
    assert _satisfied(need, searched("icu.procedureevents", items=[1]))


def test_a_whole_table_is_not_covered_by_a_restricted_search() -> None:
    assert not _satisfied(_absence(entry()), searched(items=[1]))
    assert not _satisfied(_absence(entry()), searched(names=["a"]))


def test_every_entry_must_be_covered_in_its_own_table() -> None:
    need = _absence(entry(), entry("icu.inputevents"))
    assert not _satisfied(need, searched())
    assert _satisfied(need, searched(), searched("icu.inputevents"))


def test_where_no_string_of_the_store_matches_any_filter_shows_as_much() -> None:
    need = _absence(entry(names=[]))
    assert _satisfied(need, searched(names=["patiromer"]))
    assert not _satisfied(need, searched("hosp.pharmacy"))
    assert not _satisfied(need, searched(end=B))


@pytest.mark.parametrize("outcome", ["refused", "error"])
def test_a_failed_search_covers_nothing(outcome: str) -> None:
    assert not _satisfied(_absence(entry()), searched(outcome=outcome))


def test_an_unfinished_search_covers_nothing() -> None:
    assert not _satisfied(_absence(entry()), searched("hosp.emar", "emar:1", complete=False))


def test_an_unfinished_page_counts_once_a_later_page_has_finished_it() -> None:
    pages = [searched("hosp.emar", "emar:1", complete=False), searched("hosp.emar", "emar:2")]
    assert _satisfied(_absence(entry()), *pages, cite="search:1")
    assert _satisfied(_absence(entry()), *pages, cite="search:2")
    other = searched(names=["insulin"])
    assert not _satisfied(_absence(entry()), pages[0], other, cite="search:1")


def test_a_search_must_be_cited() -> None:
    result = score(gold("no", _absence(entry())), "## Answer: NO", searched())
    [finding] = result["requirements"]
    assert (finding["retrieved"], finding["satisfied"]) == (True, False)
    assert finding["why"].startswith("retrieved, but not cited")


def test_a_series_needs_one_search_that_covers_it_alone() -> None:
    need = requirement("hourly_urine", "series", search=[entry("icu.outputevents", items=[1, 2])])
    halves = [
        searched("icu.outputevents", items=[1, 2], start=A, end=B),
        searched("icu.outputevents", items=[1, 2], start=B, end=C),
    ]
    assert not _satisfied(need, *halves)
    assert not _satisfied(need, *(searched("icu.outputevents", items=[item]) for item in (1, 2)))
    assert _satisfied(need, *halves, searched("icu.outputevents", items=[1, 2]))


def test_a_series_may_use_another_search_for_each_entry() -> None:
    need = requirement("in_and_out", "series", search=[entry("icu.outputevents"), entry("icu.inputevents")])
    assert _satisfied(need, searched("icu.outputevents"), searched("icu.inputevents"))


def test_rows_or_a_search_satisfy_a_requirement_that_has_both() -> None:
    need = requirement("not_given", "absence", [["emar:5"]], search=[entry()])
    assert _satisfied(need, searched())
    assert _satisfied(need, searched("hosp.emar", "emar:5", complete=False), cite="emar:5")
    assert not _satisfied(need, searched("hosp.emar", "emar:5", complete=False))


def test_one_covered_entry_is_enough_where_any_will_do() -> None:
    either = _absence(entry("icu.outputevents"), entry("icu.chartevents")) | {"any": True}
    assert _satisfied(either, searched("icu.chartevents"))
    assert not _satisfied(either, searched("icu.chartevents", end=B))
    assert not _satisfied(either | {"any": False}, searched("icu.chartevents"))


def test_a_hole_is_named() -> None:
    result = score(
        gold("no", _absence(entry(names=["insulin"]))), "## Answer: NO\n[search:1]", searched(start=A, end=B)
    )
    assert result["requirements"][0]["why"] == (
        "not retrieved: hosp.emar 'insulin' not covered from 2180-01-01T11:00:01 to 2180-01-01T14:00:00"
    )


@pytest.mark.parametrize(
    ("search", "relevant"),
    [
        (searched(), 1),
        (searched(start=C, end=None), 1),
        (searched(start="2180-01-01T14:00:01", end=None), 0),
        (searched(names=["heparin"]), 0),
        (searched(names=["insulin"]), 1),
        (searched("hosp.pharmacy"), 0),
        (searched("hosp.emar", "emar:1", complete=False), 0),
        (searched(outcome="refused"), 0),
    ],
)
def test_a_cited_search_is_relevant_if_it_finished_part_of_what_is_wanted(
    search: dict[str, Any], relevant: int
) -> None:
    need = _absence(entry(names=["insulin"]))
    assert score(gold("no", need), "[search:1]", search)["citations"]["relevant"] == relevant


def test_a_search_that_only_led_to_rows_is_not_relevant() -> None:
    need = requirement("index", "rows", [["emar:1"]], search=[entry()])
    result = score(gold("yes", need), "## Answer: YES\n[emar:1, search:1]", searched("hosp.emar", "emar:1"))
    assert result["citations"]["relevant"] == 1
    assert result["supported"] == 1


@pytest.mark.parametrize(
    ("pieces", "covered"),
    [
        ([" ejection fraction ", " lvef "], True),
        ([" ejection ", " lvef "], True),
        ([" ejec", "vef "], True),
        ([" lvef "], False),
        ([" ef ", " fraction "], False),
        ([" ejection fraction of ", " lvef "], False),
        ([], False),
    ],
)
def test_a_search_of_text_covers_what_its_terms_are_pieces_of(pieces: list[str], covered: bool) -> None:
    text = "note.discharge.text"
    need = _absence(entry(text, names=[" ejection fraction ", " lvef "]))
    assert _satisfied(need, searched(text, names=[text_term(piece) for piece in pieces])) == covered


def test_what_is_missing_of_a_text_is_named_as_it_can_be_sought() -> None:
    text = "note.discharge.text"

    def why(piece: str) -> str:
        need = _absence(entry(text, names=[piece]))
        return str(score(gold("no", need), "## Answer: NO")["requirements"][0]["why"])

    assert f"{text} 'ejection fraction' not covered" in why(" ejection fraction ")
    assert f"{text} 'metopr*' not covered" in why(" metopr")


_LETTERS = [text_term(letter) for letter in "abcdefghijklmnopqrstuvwxyz0123456789"]
"""A search for these texts finds nothing in any table."""


@pytest.mark.parametrize("kind", ["absence", "series"])
@pytest.mark.parametrize(
    ("wanted", "search"),
    [
        (
            entry(names=["calcium gluconate"]),
            {"names": [*_LETTERS, text_term("calcium"), text_term(" calcium ")]},
        ),
        (entry("hosp.labevents", items=[50813]) | {"labels": ["lactate"]}, {"items": [], "names": _LETTERS}),
        (
            entry("icu.procedureevents", items=[1, 2]) | {"labels": ["dialysis - crrt", "hemodialysis"]},
            {"items": [], "names": [*_LETTERS, text_term("dialysis")]},
        ),
        (entry("note.radiology", names=["ct head"]), {"names": [*_LETTERS, text_term("ct head")]}),
    ],
)
def test_the_digest_of_a_name_is_not_a_part_of_it(
    kind: str, wanted: dict[str, Any], search: dict[str, Any]
) -> None:
    assert not _satisfied(requirement("sought", kind, search=[wanted]), searched(wanted["source"], **search))


def test_a_digest_that_a_name_holds_is_a_part_of_it() -> None:
    name = f"kit {text_term('a')}"
    assert _satisfied(_absence(entry(names=[name])), searched(names=[text_term("a")]))


def test_a_cited_search_for_digests_of_letters_is_not_relevant() -> None:
    need = _absence(entry(names=["insulin"]))
    assert score(gold("no", need), "[search:1]", searched(names=_LETTERS))["citations"]["relevant"] == 0


@pytest.mark.parametrize("part", ["", " ", "  ", "*", "*insulin", "insu*"])
def test_a_part_that_is_blank_or_has_a_star_is_not_a_part_of_a_name(part: str) -> None:
    need = _absence(entry(names=["insulin human regular"]))
    assert not _satisfied(need, searched(names=[part]))
    text = "note.discharge.text"
    assert not _satisfied(_absence(entry(text, names=[" lvef "])), searched(text, names=[part]))


@pytest.mark.parametrize(
    ("piece", "covered"),
    [
        (" a fib ", True),
        (" a ", True),
        ("fib ", True),
        ("a fi", True),
        (" ", False),
        ("", False),
        ("a", False),
        (" f", False),
        ("ib ", False),
        (" a f", False),
    ],
)
def test_a_piece_of_text_counts_if_it_is_long_enough_to_be_sought(piece: str, covered: bool) -> None:
    text = "note.discharge.text"
    need = _absence(entry(text, names=[" a fib "]))
    assert _satisfied(need, searched(text, names=[text_term(piece)])) == covered


def test_a_search_of_text_is_read_by_digests_alone() -> None:
    text = "note.discharge.text"
    assert not _satisfied(_absence(entry(text, names=[" lvef "])), searched(text, names=[" lvef ", "lvef"]))


def test_a_list_of_notes_covers_nothing_of_their_text() -> None:
    need = _absence(entry("note.discharge.text", names=[" lvef "]))
    assert not _satisfied(need, searched("note.discharge"))
