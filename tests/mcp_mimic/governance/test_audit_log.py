"""The audit file: chained, append-only, resumable, sealed once."""

import json
import os
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_mimic.contract import AuditReading, Coverage, Grant, read_audit
from mcp_mimic.errors import GrantError, SealError, SettingsError, ToolError
from mcp_mimic.governance.audit import AuditLog
from mcp_mimic.governance.redaction import audited_arguments, audited_tool
from mcp_mimic.governance.sealing import SEAL_SOCKET, GrantSealListener, SealListener, request_seal
from tests.mcp_mimic.charts import make_grant

COVERAGE = Coverage("hosp.labevents", (50912,), None, None, "2150-03-04T12:00:00", 3, 3, True)


@contextmanager
def log(folder: Path | None, **grant: Any) -> Iterator[AuditLog]:
    audit = AuditLog(folder, make_grant(**grant), "test 0")
    try:
        yield audit
    finally:
        audit.close()


def one_call(audit: AuditLog, tool: str = "get_labs") -> int:
    return audit.call(
        tool=tool, args={}, outcome="ok", rule=None, coverage=COVERAGE, eids=["lab:1"], chars=10, ms=1
    )


def read(folder: Path) -> AuditReading:
    return read_audit((folder / "audit.jsonl").read_text().splitlines())


def test_header_calls_and_seal_verify_as_one_chain(tmp_path: Path) -> None:
    with log(tmp_path) as audit:
        assert [one_call(audit), one_call(audit)] == [1, 2]
        assert audit.seal()["calls"] == 2
    reading = read(tmp_path)
    assert (reading.problem, reading.sealed, len(reading.calls)) == (None, True, 2)
    assert reading.header is not None
    assert reading.header["grant"] == "g1"
    assert reading.calls[0]["coverage"] == COVERAGE.to_json()


def test_each_line_is_on_disk_before_the_call_returns(tmp_path: Path) -> None:
    with log(tmp_path) as audit:
        one_call(audit)
        assert len(read(tmp_path).calls) == 1


def test_any_changed_line_breaks_the_chain(tmp_path: Path) -> None:
    with log(tmp_path) as audit:
        one_call(audit)
        one_call(audit)
        audit.seal()
    lines = (tmp_path / "audit.jsonl").read_text().splitlines()
    for number, line in enumerate(lines):
        forged = [*lines[:number], line.replace("lab:1", "lab:2").replace("t1", "t2").replace("2150", "2151")]
        if forged[-1] == line:
            forged[-1] = line.replace('"calls":2', '"calls":1')
        reading = read_audit([*forged, *lines[number + 1 :]])
        assert not reading.sealed
        assert reading.problem is not None


def test_nothing_can_follow_the_seal(tmp_path: Path) -> None:
    with log(tmp_path) as audit:
        audit.seal()
        with pytest.raises(ToolError, match="closed"):
            one_call(audit)
    assert read(tmp_path).sealed


def test_sealing_twice_says_the_same(tmp_path: Path) -> None:
    with log(tmp_path) as audit:
        assert audit.seal() == audit.seal()


def test_a_restarted_server_goes_on_with_its_own_chain(tmp_path: Path) -> None:
    with log(tmp_path) as audit:
        one_call(audit)
    with log(tmp_path) as audit:
        assert audit.chars == 10
        assert one_call(audit) == 2
        audit.seal()
    assert read(tmp_path).sealed


def test_a_line_torn_by_a_kill_is_kept_aside_and_the_chain_goes_on(tmp_path: Path) -> None:
    with log(tmp_path) as audit:
        one_call(audit)
    with (tmp_path / "audit.jsonl").open("a") as file:
        file.write('{"seq": 2, "t')
    with log(tmp_path) as audit:
        assert one_call(audit) == 2
        audit.seal()
    assert read(tmp_path).sealed
    assert [torn.read_text() for torn in tmp_path.glob("audit.torn.*")] == ['{"seq": 2, "t']


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"grant": "other"}, "another grant"),
        ({"sealed": True}, "is sealed"),
        ({"forged": True}, "does not hold"),
    ],
)
def test_an_audit_that_is_not_this_sessions_own_stops_the_server(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    with log(tmp_path) as audit:
        one_call(audit)
        if "sealed" in change:
            audit.seal()
    if "forged" in change:
        file = tmp_path / "audit.jsonl"
        file.write_text(file.read_text().replace("lab:1", "lab:9"))
    before = (tmp_path / "audit.jsonl").read_bytes()
    other = (
        make_grant()
        if "grant" not in change
        else make_grant().from_json(make_grant().to_json() | {"grant": "other"})
    )
    with pytest.raises(SettingsError, match=said):
        AuditLog(tmp_path, other, "test 0")
    assert (tmp_path / "audit.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    "change",
    [{"subject_id": 2}, {"as_of": "2150-03-04T12:00:01"}, {"sealed_hadm_id": 20}, {"limits": {"calls": 7}}],
)
def test_an_audit_is_not_continued_by_another_grant_of_the_same_name(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    with log(tmp_path) as audit:
        one_call(audit)
    other = Grant.from_json(make_grant().to_json() | change)
    with pytest.raises(SettingsError, match="another grant"):
        AuditLog(tmp_path, other, "test 0")


def test_the_header_names_the_grant_by_its_digest_and_no_subject(tmp_path: Path) -> None:
    with log(tmp_path):
        header = read(tmp_path).header
    assert header is not None
    assert header["grant_digest"] == make_grant().digest()
    assert "subject_id" not in header


def test_a_report_that_a_new_audit_finds_is_kept_aside(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text("stale")
    with log(tmp_path):
        assert not (tmp_path / "report.md").exists()
        assert [report.read_text() for report in tmp_path.glob("report.earlier.*.md")] == ["stale"]


def test_a_restarted_server_keeps_the_report_of_its_own_session(tmp_path: Path) -> None:
    with log(tmp_path) as audit:
        one_call(audit, "submit_determination")
    (tmp_path / "report.md").write_text("mine")
    with log(tmp_path) as audit:
        assert audit.calls == 1
    assert (tmp_path / "report.md").read_text() == "mine"


def test_sealing_a_sealed_audit_says_the_same_without_a_live_server(tmp_path: Path) -> None:
    with log(tmp_path) as audit:
        seal = audit.seal()
    assert request_seal(tmp_path) == seal


def test_two_live_servers_cannot_share_a_folder(tmp_path: Path) -> None:
    with log(tmp_path), pytest.raises(SettingsError, match="another live server"):
        AuditLog(tmp_path, make_grant(), "test 0")


def test_a_pipe_in_the_place_of_the_audit_is_refused_rather_than_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "audit.jsonl")
    with pytest.raises(SettingsError, match="not a regular file"):
        AuditLog(tmp_path, make_grant(), "test 0")


def test_a_link_in_the_place_of_the_audit_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("keep")
    folder = tmp_path / "audit"
    folder.mkdir()
    (folder / "audit.jsonl").symlink_to(victim)
    with pytest.raises(SettingsError, match="cannot be written"):
        AuditLog(folder, make_grant(), "test 0")
    assert victim.read_text() == "keep"


def test_without_a_folder_calls_are_numbered_all_the_same() -> None:
    with log(None) as audit:
        assert [one_call(audit), one_call(audit)] == [1, 2]


def test_filters_are_kept_and_free_text_is_only_measured() -> None:
    kept = audited_arguments(
        {
            "items": [50912, "creatinine"],
            "limit": 3,
            "query": "secret",
            "report": "## Answer: NO",
            "end": None,
        }
    )
    assert kept["items"] == [50912, "creatinine"]
    assert (kept["limit"], kept["end"]) == (3, None)
    assert kept["query"]["length"] == 6
    assert "secret" not in json.dumps(kept)
    assert "Answer" not in json.dumps(kept)


@pytest.mark.parametrize(
    "value",
    [
        "\ud800",
        "x" * 10_000,
        float("nan"),
        10**5000,
        ["a"] * 5000,
        ["a" * 200] * 200,
        {"deep": [{"er": "\x00"}]},
        [[["a" * 200] * 100] * 100],
    ],
    ids=["surrogate", "long", "nan", "huge number", "long list", "long texts", "nested", "nested lists"],
)
def test_hostile_arguments_become_short_json(value: Any) -> None:
    for name in ("items", "query", "nope", "\ud800" * 300):
        kept = json.dumps(audited_arguments({name: value}), allow_nan=False)
        assert len(kept) < 300


def test_all_filters_of_a_call_together_stay_short() -> None:
    filters = ("start", "end", "order", "kind", "record", "source", "items", "names", "specimen")
    kept = audited_arguments({name: ["a" * 100] * 50 for name in filters})
    assert kept["start"] == ["a" * 100] * 50
    assert len(json.dumps(kept)) < 10_000


def test_what_was_called_instead_of_a_tool_is_not_written_out() -> None:
    assert audited_tool("get_labs") == "get_labs"
    assert audited_tool("x; drop table").startswith("unknown:")


def test_a_seal_that_could_not_be_written_can_be_asked_for_again(tmp_path: Path) -> None:
    answers = iter([ToolError("the disk is full", "free some"), {"calls": 3, "hash": "h"}])

    def seal() -> dict[str, Any]:
        answer = next(answers)
        if isinstance(answer, ToolError):
            raise answer
        return answer

    with SealListener(tmp_path, seal):
        with pytest.raises(SealError, match="could not seal"):
            request_seal(tmp_path)
        assert request_seal(tmp_path) == {"calls": 3, "hash": "h"}


def test_nothing_is_sealed_or_answered_before_it_is_asked_for(tmp_path: Path) -> None:
    asked: list[bool] = []

    def seal() -> dict[str, Any]:
        asked.append(True)
        return {"calls": 0, "hash": "h"}

    with SealListener(tmp_path, seal):
        for unfinished in (b"", b"a"):
            with socket.socket(socket.AF_UNIX) as passer_by:
                passer_by.connect(str(tmp_path / SEAL_SOCKET))
                passer_by.sendall(unfinished)
                assert not select.select([passer_by], [], [], 0.1)[0]
        assert not asked
        assert request_seal(tmp_path) == {"calls": 0, "hash": "h"}


def test_one_session_of_many_is_sealed_by_its_grant_and_the_next_after_it(tmp_path: Path) -> None:
    asked: list[str] = []

    def seal(grant: str) -> dict[str, Any]:
        asked.append(grant)
        if grant == "gone":
            raise GrantError("there is no grant gone", "issue it")
        return {"calls": len(asked), "hash": "h"}

    with GrantSealListener(tmp_path, seal):
        assert request_seal(tmp_path, "a") == {"calls": 1, "hash": "h"}
        with pytest.raises(SealError, match="there is no grant gone"):
            request_seal(tmp_path, "gone")
        assert request_seal(tmp_path, "b") == {"calls": 3, "hash": "h"}
        with pytest.raises(SealError, match="no grant's id"):
            request_seal(tmp_path, "../a")
        with pytest.raises(SealError, match="many sessions, so that one must be named") as unnamed:
            request_seal(tmp_path)
        assert "--grant ID" in unnamed.value.remedy
    assert asked == ["a", "gone", "b"]
    with pytest.raises(SealError, match="no live server"):
        request_seal(tmp_path, "a")


def test_two_servers_of_many_sessions_cannot_share_their_audits(tmp_path: Path) -> None:
    with GrantSealListener(tmp_path, lambda _: {"calls": 0, "hash": "h"}):
        with (
            pytest.raises(SettingsError, match="another live server"),
            GrantSealListener(tmp_path, lambda _: {}),
        ):
            pass
        assert request_seal(tmp_path, "a")["calls"] == 0
    with GrantSealListener(tmp_path, lambda _: {}):
        pass
