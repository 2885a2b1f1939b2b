"""Notes: listed, read by passage, and searched."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from mcp_mimic.contract import Limits, parse_eid, text_term
from tests.mcp_mimic.charts import AS_OF, Rows, Session, Told, at, hours, session, size
from tests.mcp_mimic.notes import MODULES, SUMMARY, a_chart_with_notes, report, summary


def with_notes(
    folder: Path, body: Callable[[Session], Awaitable[None]], rows: Rows | None = None, **grant: Any
) -> None:
    async def run() -> None:
        async with session(folder, rows or a_chart_with_notes(), modules=MODULES, **grant) as chart:
            await body(chart)

    asyncio.run(run())


def ask(folder: Path, tool: str, *, rows: Rows | None = None, grant: Any = None, **arguments: Any) -> Told:
    told: list[Told] = []

    async def body(chart: Session) -> None:
        told.append(await chart.call(tool, **arguments))

    with_notes(folder, body, rows, **(grant or {}))
    return told[0]


def test_a_listing_says_type_times_length_and_sections_but_not_the_text(tmp_path: Path) -> None:
    told = ask(tmp_path, "list_notes")
    assert told.data["rows"] == [
        {
            "eid": "note:DS-2",
            "note_type": "DS",
            "charttime": "2150-02-01T00:00:00",
            "storetime": "2150-02-02T10:00:00",
            "characters": len(SUMMARY),
            "passages": 6,
            "sections": [
                "Beginning",
                "Service",
                "Chief Complaint",
                "Brief Hospital Course",
                "Brief Hospital Course / ACTIVE ISSUES",
                "Discharge Medications",
            ],
        }
    ]
    assert "note:DS-2 | 2150-02-01 | DS" in told.text
    assert "LVEF" not in told.text


def test_reports_are_listed_with_their_exams_and_found_by_them(tmp_path: Path) -> None:
    async def body(chart: Session) -> None:
        told = await chart.call("list_notes", kind="radiology")
        assert told.eids == ["note:RR-2", "note:RR-1"]
        assert {
            "field_name": "exam_name",
            "field_value": "CHEST (PORTABLE AP)",
            "field_ordinal": 1,
        } in told.data["rows"][1]["detail"]
        for name in ("ct head", "CTHEAD"):
            assert (await chart.call("list_notes", kind="radiology", names=[name])).eids == ["note:RR-2"]
        told = await chart.call("list_notes", kind="radiology", names=["mri"], start=at(0))
        assert told.data["total"] == 0
        assert chart.last()["coverage"] == {
            "source": "note.radiology",
            "items": None,
            "names": ["mri"],
            "from": at(0),
            "to": AS_OF.isoformat(),
            "total": 0,
            "returned": 0,
            "complete": True,
        }

    with_notes(tmp_path, body)


def test_summaries_have_no_exam_names(tmp_path: Path) -> None:
    assert ask(tmp_path, "list_notes", names=["ct"]).data["error"]["code"] == "no_names"


@pytest.mark.parametrize(
    ("window", "found"),
    [
        ({"start": "2150-02-01T08:00"}, 1),
        ({"start": "2150-02-02"}, 0),
        ({"end": "2150-02-01T00:00"}, 1),
        ({"end": "2150-01-31"}, 0),
    ],
)
def test_a_summary_dated_at_midnight_is_of_its_whole_day(
    tmp_path: Path, window: dict[str, str], found: int
) -> None:
    async def body(chart: Session) -> None:
        assert (await chart.call("list_notes", **window)).data["total"] == found
        assert (await chart.call("search_notes", query="lvef", **window)).data["notes"] == found

    with_notes(tmp_path, body)


def test_a_note_is_read_whole_passage_by_passage_with_ids_that_are_audited(tmp_path: Path) -> None:
    async def body(chart: Session) -> None:
        told = await chart.call("read_note", note="note:DS-2")
        eids = [f"note:DS-2#{n}" for n in range(1, 7)]
        assert [passage["eid"] for passage in told.data["passages"]] == chart.last()["eids"] == eids
        assert all(parse_eid(eid) for eid in eids)
        read = "".join("".join(passage["text"].split()) for passage in told.data["passages"])
        assert read == "".join(SUMMARY.split())
        assert chart.last()["coverage"] is None
        assert 'section "Discharge Medications"\n> Discharge Medications:\n> 1. Furosemide 40 mg' in told.text

    with_notes(tmp_path, body)


def test_a_section_comes_with_its_parts_and_a_passage_alone(tmp_path: Path) -> None:
    async def body(chart: Session) -> None:
        told = await chart.call("read_note", note="DS-2", section="brief hospital course")
        assert [passage["eid"] for passage in told.data["passages"]] == ["note:DS-2#4", "note:DS-2#5"]
        told = await chart.call("read_note", note="note:RR-1#4")
        assert [passage["section"] for passage in told.data["passages"]] == ["IMPRESSION"]
        assert told.data["exams"] == "CHEST (PORTABLE AP); C11"

    with_notes(tmp_path, body)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"note": "note:DS-9"}, "unknown_note"),
        ({"note": "lab:1"}, "unknown_note"),
        ({"note": "note:DS-2#0"}, "unknown_passage"),
        ({"note": "note:DS-2#7"}, "unknown_passage"),
        ({"note": "note:DS-2", "section": "Allergies"}, "unknown_section"),
        ({"note": "note:DS-2", "cursor": "AAAA"}, "cursor"),
        ({"note": "   "}, "arguments"),
    ],
)
def test_what_there_is_not_to_read_is_an_error_with_a_remedy(
    tmp_path: Path, arguments: dict[str, str], code: str
) -> None:
    told = ask(tmp_path, "read_note", **arguments)
    assert told.data["error"]["code"] == code
    assert told.data["error"]["remedy"]


def test_a_long_note_is_read_in_pages_to_the_end(tmp_path: Path) -> None:
    text = "Brief Hospital Course:\n" + "\n\n".join(f"Day {n}. " + "stable " * 120 for n in range(40))
    rows = a_chart_with_notes([summary(2, text)])

    async def body(chart: Session) -> None:
        seen: list[str] = []
        cursor, complete = None, False
        while not complete:
            told = await chart.call("read_note", note="note:DS-2", cursor=cursor)
            assert size(told) <= 6000
            seen += [passage["eid"] for passage in told.data["passages"]]
            assert told.data["returned"] == len(seen)
            cursor, complete = told.data["next_cursor"], told.data["complete"]
        assert seen == [f"note:DS-2#{n}" for n in range(1, 41)]

    with_notes(tmp_path, body, rows, limits=Limits(chars=6000))


def test_a_search_finds_words_ranked_with_the_passage_that_holds_them(tmp_path: Path) -> None:
    async def body(chart: Session) -> None:
        told = await chart.call("search_notes", query="metop* bradycardia furosemide")
        assert [hit["eid"] for hit in told.data["passages"]] == ["note:DS-2#5", "note:DS-2#6", "note:DS-2#4"]
        assert told.data["passages"][0]["terms"] == {"metop*": 1, "bradycardia": 1}
        assert "metoprolol held for bradycardia" in told.data["passages"][0]["snippet"]
        assert chart.last()["eids"] == ["note:DS-2#5", "note:DS-2#6", "note:DS-2#4"]

    with_notes(tmp_path, body)


def test_a_term_is_whole_words_also_across_the_end_of_a_line(tmp_path: Path) -> None:
    async def body(chart: Session) -> None:
        assert (await chart.call("search_notes", query="ef")).data["total"] == 0
        assert (await chart.call("search_notes", query="*ef")).is_error
        told = await chart.call("search_notes", query='"pleural effusion"', kind="radiology")
        assert [hit["eid"] for hit in told.data["passages"]] == ["note:RR-1#3"]

    with_notes(tmp_path, body)


def test_equal_passages_come_newest_first_and_the_order_can_be_by_time(tmp_path: Path) -> None:
    notes = [summary(n, "Brief Hospital Course:\nSepsis.", datetime(2149, n, 1)) for n in (1, 2, 3)]
    rows = a_chart_with_notes(notes)

    async def body(chart: Session) -> None:
        for order, expected in (("best", [3, 2, 1]), ("newest", [3, 2, 1]), ("oldest", [1, 2, 3])):
            told = await chart.call("search_notes", query="sepsis", order=order)
            assert [hit["note"] for hit in told.data["passages"]] == [f"note:DS-{n}" for n in expected]

    with_notes(tmp_path, body, rows)


def test_a_search_covers_the_text_of_one_kind_and_logs_no_word_of_the_query(tmp_path: Path) -> None:
    async def body(chart: Session) -> None:
        told = await chart.call("search_notes", query="hemorrhage Acute", start="2149-01-01")
        assert told.data["total"] == 0
        assert told.data["other_kind"] == {"note.radiology": 2}
        line = chart.last()
        assert line["coverage"] == {
            "source": "note.discharge.text",
            "items": None,
            "names": [text_term(" hemorrhage "), text_term(" acute ")],
            "from": "2149-01-01T00:00:00",
            "to": AS_OF.isoformat(),
            "total": 0,
            "returned": 0,
            "complete": True,
        }
        assert set(line["args"]["query"]) == {"length", "sha256"}
        assert "hemorrhage" not in (tmp_path / "audit.jsonl").read_text()

    with_notes(tmp_path, body)


def test_pages_of_a_search_count_on_and_the_last_is_complete(tmp_path: Path) -> None:
    rows = a_chart_with_notes(
        [summary(n, "Service: X\n\nSepsis.", datetime(2149, n, 1)) for n in range(1, 6)]
    )

    async def body(chart: Session) -> None:
        seen: list[str] = []
        cursor, complete = None, False
        while not complete:
            told = await chart.call("search_notes", query="sepsis", limit=2, cursor=cursor)
            seen += [hit["eid"] for hit in told.data["passages"]]
            assert chart.last()["coverage"]["returned"] == len(seen)
            cursor, complete = told.data["next_cursor"], told.data["complete"]
        assert len(set(seen)) == 5
        first = await chart.call("search_notes", query="sepsis", limit=2)
        other = await chart.call("search_notes", query="septic", cursor=first.data["next_cursor"])
        assert other.data["error"]["code"] == "cursor"

    with_notes(tmp_path, body, rows)


def test_a_window_leaves_out_what_lies_outside(tmp_path: Path) -> None:
    told = ask(tmp_path, "search_notes", query="no", kind="radiology", start=at(10))
    assert [hit["note"] for hit in told.data["passages"]] == ["note:RR-2"]
    assert told.data["notes"] == 1


@pytest.mark.parametrize("query", ["", "...", "x" * 501, " ".join(f"w{n}" for n in range(30))])
def test_a_query_that_cannot_be_searched_is_an_error(tmp_path: Path, query: str) -> None:
    assert ask(tmp_path, "search_notes", query=query).data["error"]["code"] in {"arguments", "query"}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("list_notes", {"kind": "radiology"}),
        ("list_notes", {}),
        ("search_notes", {"query": "lvef"}),
    ],
)
def test_a_store_without_notes_says_so_and_shows_no_absence(
    tmp_path: Path, tool: str, arguments: dict[str, str]
) -> None:
    async def run() -> None:
        async with session(tmp_path) as chart:
            told = await chart.call(tool, **arguments)
            assert not told.is_error
            assert told.data["module_present"] is False
            assert "this store has no note module" in told.text
            assert "read to the end" not in told.text
            assert told.data["complete"] is False
            assert chart.last()["coverage"] is None

    asyncio.run(run())


def test_the_overview_counts_notes_where_there_are_any(tmp_path: Path) -> None:
    told = ask(tmp_path, "get_patient_overview")
    counts = {source["source"]: source["rows"] for source in told.data["sources"]}
    assert (counts["note.discharge"], counts["note.radiology"]) == (1, 2)


def test_ranking_is_the_same_in_every_process(tmp_path: Path) -> None:
    words = [f"w{n}" for n in range(50)]
    rows = a_chart_with_notes() | {
        "note.radiology": [
            report(n, "FINDINGS: " + " ".join(words[(n * k) % 50] for k in range(1, 40)), hours(n / 10))
            for n in range(1, 60)
        ]
    }
    orders = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        told = ask(
            tmp_path / folder, "search_notes", rows=rows, query="w1 w2 w7 w11", kind="radiology", limit=100
        )
        orders.append([hit["eid"] for hit in told.data["passages"]])
    assert orders[0] == orders[1]
    assert len(orders[0]) > 40
