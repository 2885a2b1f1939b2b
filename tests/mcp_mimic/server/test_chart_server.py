"""The server as a client meets it: tools, refusals, limits, audit, sealing, many clients."""

import asyncio
import hashlib
import json
from pathlib import Path

import jsonschema
import pytest
from fastmcp import Client

from mcp_mimic.contract import Limits
from mcp_mimic.errors import GrantError, SettingsError
from mcp_mimic.server import create_server
from mcp_mimic.tools.catalogue import all_tools
from tests.mcp_mimic.charts import a_chart, make_grant, make_slice, session, shared_slice

TOOLS = [
    "get_patient_overview",
    "list_encounters",
    "search_items",
    "get_labs",
    "get_observations",
    "get_medications",
    "get_intake_output",
    "get_procedures",
    "get_microbiology",
    "get_diagnoses",
    "get_orders",
    "list_ed_visits",
    "get_ed_records",
    "get_ecgs",
    "get_imaging",
    "get_echos",
    "list_notes",
    "read_note",
    "search_notes",
    "search_policies",
    "read_policy",
    "query_chart",
    "submit_determination",
]


def test_every_tool_has_one_description_with_an_example_and_a_closed_schema() -> None:
    assert list(all_tools()) == TOOLS
    for name, tool in all_tools().items():
        assert tool.description is not None
        assert f"Example: {name}(" in tool.description
        assert tool.parameters["additionalProperties"] is False
        assert "call" not in tool.parameters["properties"]
        assert "subject" not in json.dumps(tool.parameters)
        assert all("description" in argument for argument in tool.parameters["properties"].values())


def test_answers_and_errors_both_fit_the_published_schema(tmp_path: Path) -> None:
    async def run() -> None:
        async with session(tmp_path, tools=("*", "query_chart")) as chart:
            schemas = {tool.name: tool.output_schema for tool in await chart.client.list_tools()}
            for tool in TOOLS:
                for arguments in ({}, {"query": "potassium"}, {"report": "## Answer: NO"}, {"nope": 1}):
                    told = await chart.call(tool, **arguments)
                    jsonschema.validate(told.data, schemas[tool])

    asyncio.run(run())


def test_tools_outside_the_grant_are_neither_listed_nor_answered(tmp_path: Path) -> None:
    async def run() -> None:
        async with session(tmp_path, tools=("get_labs",)) as chart:
            assert [tool.name for tool in await chart.client.list_tools()] == ["get_labs"]
            told = await chart.call("get_microbiology")
            assert told.data["error"]["code"] == "grant.tools"
            assert (chart.last()["outcome"], chart.last()["rule"]) == ("refused", "grant.tools")
            assert not (await chart.call("get_labs")).is_error

    asyncio.run(run())


@pytest.mark.parametrize(
    ("tool", "arguments", "rule"),
    [
        ("get_labs", {"patient": 7}, "arguments"),
        ("get_labs", {"limit": 0}, "arguments"),
        ("get_labs", {"limit": 10**9}, "arguments"),
        ("get_labs", {"order": "random"}, "arguments"),
        ("get_labs", {"items": [2**40]}, "arguments"),
        ("get_labs", {"items": [True]}, "arguments"),
        ("get_labs", {"items": True}, "arguments"),
        ("get_medications", {"record": "infusions", "items": [True]}, "arguments"),
        ("get_labs", {"start": "noon"}, "window"),
        ("get_labs", {"cursor": "AAAA"}, "cursor"),
        ("get_medications", {"record": "dreams"}, "arguments"),
        ("search_items", {}, "arguments"),
        ("forget_everything", {}, "unknown_tool"),
    ],
)
def test_every_error_is_told_and_audited_alike(
    tmp_path: Path, tool: str, arguments: dict[str, object], rule: str
) -> None:
    async def run() -> None:
        async with session(tmp_path) as chart:
            told = await chart.call(tool, **arguments)
            assert told.is_error
            error = told.data["error"]
            assert error["code"] == rule
            assert error["message"] in told.text
            assert error["remedy"] in told.text
            assert told.data["call"] == "search:1"
            line = chart.last()
            assert (line["seq"], line["outcome"], line["rule"], line["eids"]) == (1, "error", rule, [])

    asyncio.run(run())


def test_calls_beyond_the_limit_are_refused_but_a_report_still_goes_in(tmp_path: Path) -> None:
    async def run() -> None:
        async with session(tmp_path, limits=Limits(calls=2)) as chart:
            assert [(await chart.call("get_labs")).is_error for _ in range(4)] == [False, False, True, True]
            assert chart.last()["rule"] == "limits.calls"
            assert (await chart.call("submit_determination", report="## Answer: NO")).text == "recorded"
            assert [call["seq"] for call in chart.audit().calls] == [1, 2, 3, 4, 5]

    asyncio.run(run())


def test_characters_beyond_the_session_limit_are_never_served(tmp_path: Path) -> None:
    async def run() -> None:
        async with session(tmp_path, limits=Limits(total_chars=3000)) as chart:
            for _ in range(8):
                await chart.call("get_labs")
            served = [call["chars"] for call in chart.audit().calls if call["outcome"] == "ok"]
            refused = [call for call in chart.audit().calls if call["rule"] == "limits.total_chars"]
            assert 0 < sum(served) <= 3000
            assert len(served) + len(refused) == 8
            assert all(call["eids"] == [] for call in refused)

    asyncio.run(run())


def test_the_audit_tells_what_was_served_and_no_value_of_it(tmp_path: Path) -> None:
    async def run() -> None:
        async with session(tmp_path) as chart:
            told = await chart.call("get_labs", items=["potassium"], order="oldest")
            line = chart.last()
            assert line["eids"] == told.eids == ["lab:2", "lab:21"]
            assert line["args"] == {"items": ["potassium"], "order": "oldest"}
            assert line["coverage"]["items"] == [50822, 50971]
            answer = {name: value for name, value in line.items() if name not in ("t", "hash", "prev")}
            assert "6.2" not in json.dumps(answer)
            assert "INSTRUCTIONS" not in json.dumps(answer)
            assert chart.audit().problem is None

    asyncio.run(run())


def test_a_report_is_recorded_whole_and_audited_by_its_digest(tmp_path: Path) -> None:
    async def run() -> None:
        async with session(tmp_path) as chart:
            await chart.call("submit_determination", report="first")
            text = "## Answer: NO\n\nPotassium 4.1 [lab:2] – µ"
            told = await chart.call("submit_determination", report=text)
            assert (told.text, told.data) == ("recorded", {"call": "search:2", "status": "recorded"})
            assert (tmp_path / "report.md").read_text() == text
            digest = hashlib.sha256(text.encode()).hexdigest()
            assert chart.last()["args"] == {"report": {"length": len(text), "sha256": digest}}
            assert sorted(path.name for path in tmp_path.iterdir()) == ["audit.jsonl", "report.md"]

    asyncio.run(run())


@pytest.mark.parametrize("report", ["x" * 65_537, "é" * 32_769])
def test_a_report_over_64_kilobytes_is_refused_and_the_earlier_one_stays(tmp_path: Path, report: str) -> None:
    async def run() -> None:
        async with session(tmp_path) as chart:
            await chart.call("submit_determination", report="kept")
            told = await chart.call("submit_determination", report=report)
            assert told.data["error"]["code"] == "bad_report"
            assert (tmp_path / "report.md").read_text() == "kept"

    asyncio.run(run())


def test_a_report_that_cannot_be_audited_takes_no_place(tmp_path: Path) -> None:
    async def run() -> None:
        async with session(tmp_path) as chart:
            await chart.call("submit_determination", report="kept")
            chart.server.audit.close()
            told = await chart.call("submit_determination", report="unaudited")
            assert told.data["error"]["code"] == "sealed"
            assert (tmp_path / "report.md").read_text() == "kept"
            assert sorted(path.name for path in tmp_path.iterdir()) == ["audit.jsonl", "report.md"]

    asyncio.run(run())


def test_a_report_that_cannot_take_its_place_is_an_error(tmp_path: Path) -> None:
    async def run() -> None:
        async with session(tmp_path) as chart:
            (tmp_path / "report.md").mkdir()
            told = await chart.call("submit_determination", report="lost")
            assert told.data["error"]["code"] == "report_unwritten"
            assert chart.last()["rule"] == "report_unwritten"
            assert sorted(path.name for path in tmp_path.iterdir()) == ["audit.jsonl", "report.md"]

    asyncio.run(run())


def test_without_an_audit_folder_a_report_is_refused_with_a_remedy() -> None:
    async def run() -> None:
        server = create_server(shared_slice(), make_grant(), audit_dir=None)
        async with Client(server.mcp) as client:
            result = await client.call_tool_mcp("submit_determination", {"report": "## Answer: NO"})
            assert result.structured_content["error"]["code"] == "no_report_folder"

    asyncio.run(run())


def test_after_the_seal_nothing_is_served_and_nothing_written(tmp_path: Path) -> None:
    async def run() -> None:
        async with session(tmp_path) as chart:
            await chart.call("get_labs")
            assert chart.server.seal()["calls"] == 1
            for tool in ("get_labs", "submit_determination", "nope"):
                told = await chart.call(tool, **({"report": "x"} if tool.startswith("submit") else {}))
                assert told.data["error"]["code"] == "sealed"
                assert told.data["call"] is None
            assert (len(chart.audit().calls), chart.audit().sealed) == (1, True)
            assert not (tmp_path / "report.md").exists()

    asyncio.run(run())


def test_many_clients_at_once_make_one_unbroken_sequence(tmp_path: Path) -> None:
    async def run() -> None:
        async with session(tmp_path) as chart:

            async def work(number: int) -> list[tuple[str, list[str]]]:
                async with Client(chart.server.mcp) as client:
                    answers = []
                    for turn in range(5):
                        result = await client.call_tool_mcp("get_labs", {"limit": 1 + (number + turn) % 6})
                        data = result.structured_content
                        answers.append((data["call"], [row["eid"] for row in data["rows"]]))
                    return answers

            answers = [answer for some in await asyncio.gather(*map(work, range(8))) for answer in some]
            reading = chart.audit()
            assert reading.problem is None
            assert {f"search:{call['seq']}": call["eids"] for call in reading.calls} == dict(answers)
            assert len(reading.calls) == 40
            chart.server.seal()
            assert chart.audit().sealed

    asyncio.run(run())


def test_two_servers_share_a_slice_and_nothing_else(tmp_path: Path) -> None:
    async def run() -> None:
        (tmp_path / "a").mkdir()
        (tmp_path / "b").mkdir()
        async with session(tmp_path / "a") as one, session(tmp_path / "b") as two:
            cursor = (await one.call("get_labs", limit=2)).data["next_cursor"]
            told = await two.call("get_labs", limit=2, cursor=cursor)
            assert told.data["error"]["code"] == "cursor"
            assert (len(one.audit().calls), len(two.audit().calls)) == (1, 1)

    asyncio.run(run())


def test_a_search_that_takes_too_long_is_ended_with_a_remedy(tmp_path: Path) -> None:
    async def run() -> None:
        with make_slice(a_chart()) as chart:
            chart.cursor().execute("drop table hosp.labevents")
            chart.cursor().execute(
                "create view hosp.labevents as select 'lab:' || a.range as eid, timestamp '2150-03-01' as "
                "charttime, 1 as itemid, '' as valueuom, null as available_at from range(1000000000) a, "
                "range(1000000) b"
            )
            server = create_server(chart, make_grant(limits=Limits(seconds=1)), audit_dir=tmp_path)
            async with Client(server.mcp) as client:
                result = await client.call_tool_mcp("get_labs", {})
            server.close()
            assert result.structured_content["error"]["code"] == "limits.seconds"
            assert "narrower window" in result.structured_content["error"]["remedy"]

    asyncio.run(run())


def test_a_missing_audit_folder_stops_the_server_before_it_starts(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="does not exist"):
        create_server(shared_slice(), make_grant(), audit_dir=tmp_path / "none")


def test_a_grant_for_a_tool_that_there_is_not_stops_the_server_before_it_starts() -> None:
    with pytest.raises(GrantError, match="unknown tool 'get_lab'"):
        create_server(shared_slice(), make_grant(tools=("get_lab", "get_labs")), audit_dir=None)
