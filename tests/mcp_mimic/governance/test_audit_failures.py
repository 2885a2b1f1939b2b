"""Audits that cannot be written, and servers that are killed: nothing is answered unaudited, and every chain holds."""

import asyncio
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_mimic.cli import run as mcp_mimic
from mcp_mimic.contract import read_audit
from mcp_mimic.errors import SettingsError, ToolError
from mcp_mimic.governance.audit import AuditLog, Entry
from mcp_mimic.governance.audit_file import AuditWrites
from mcp_mimic.governance.verification import verify
from tests.mcp_mimic.charts import session
from tests.mcp_mimic.governance import kill_points
from tests.mcp_mimic.governance.kill_points import GRANT, one_call


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """What a full disk does: a write gets as far as it can, and then an error."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def removed(file: Path) -> None:
    file.unlink()


def replaced_by_a_link(file: Path) -> None:
    file.rename(file.with_name("moved"))
    file.symlink_to("moved")


def replaced_by_a_copy(file: Path) -> None:
    lines = file.read_bytes()
    file.unlink()
    file.write_bytes(lines)


def appended_to(file: Path) -> None:
    with file.open("a") as other:
        other.write("{}\n")


def emptied(file: Path) -> None:
    file.write_bytes(b"")


MISDEEDS = {
    removed: "was removed",
    replaced_by_a_link: "another file",
    replaced_by_a_copy: "another file",
    appended_to: "changed by somebody else",
    emptied: "changed by somebody else",
}


@pytest.mark.parametrize(
    ("misdeed", "why"), MISDEEDS.items(), ids=lambda value: getattr(value, "__name__", "")
)
def test_a_call_is_refused_and_told_why_once_the_audit_is_not_what_was_written(
    tmp_path: Path, misdeed: object, why: str
) -> None:
    async def run() -> None:
        async with session(tmp_path) as chart:
            assert not (await chart.call("get_labs")).is_error
            assert chart.server.session.problem() is None
            misdeed(tmp_path / "audit.jsonl")  # type: ignore[operator]
            for tool in ("get_labs", "forget_everything", "get_labs"):
                told = await chart.call(tool)
                assert told.is_error
                assert told.data["error"]["code"] == "audit_unavailable"
                assert why in told.data["error"]["message"]
                assert "rows" not in told.data
            assert why in (chart.server.session.problem() or "")

    asyncio.run(run())


def test_on_a_full_disk_calls_are_refused_and_go_on_once_there_is_room(tmp_path: Path) -> None:
    async def run() -> None:
        async with session(tmp_path) as chart:
            await chart.call("get_labs")
            whole = (tmp_path / "audit.jsonl").read_bytes()
            with files_of_at_most(len(whole) + 30):
                told = await chart.call("get_labs")
                assert told.data["error"]["code"] == "audit_unavailable"
                assert "File too large" in told.data["error"]["message"]
            assert (tmp_path / "audit.jsonl").read_bytes() == whole
            assert (await chart.call("get_labs")).data["call"] == "search:2"
            assert chart.audit().problem is None

    asyncio.run(run())


def test_a_session_is_not_ready_after_a_write_that_failed_until_one_works(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        async with session(tmp_path) as chart:
            await chart.call("get_labs")
            problem = chart.server.problem
            with files_of_at_most(10):
                assert problem() is None
                await chart.call("get_labs")
                for _ in range(2):
                    assert problem() == "the last line of an audit could not be written: File too large"
            left = sorted(path.name for path in tmp_path.iterdir())
            assert problem() is None
            assert left == ["audit.jsonl"]
            assert not (await chart.call("get_labs")).is_error

    with caplog.at_level("INFO", "mcp_mimic.events"):
        asyncio.run(run())
    calls = [record for record in caplog.records if getattr(record, "event", None) == "call"]
    assert [record.levelname for record in calls] == ["INFO", "WARNING", "INFO"]
    assert "File too large" in calls[1].getMessage()


def test_only_a_write_as_long_as_the_one_that_failed_shows_that_there_is_room(tmp_path: Path) -> None:
    writes = AuditWrites()
    writes.failed(OSError(28, "No space left on device"), 500)
    writes.worked(499)
    with files_of_at_most(499):
        assert "No space left" in (writes.problem(tmp_path) or "")
    writes.worked(500)
    with files_of_at_most(10):
        assert writes.problem(tmp_path) is None


def test_an_audit_that_cannot_be_begun_stops_the_server(tmp_path: Path) -> None:
    with files_of_at_most(10), pytest.raises(SettingsError, match="cannot be begun"):
        AuditLog(tmp_path, GRANT, "test 0")
    AuditLog(tmp_path, GRANT, "test 0").close()
    assert verify(tmp_path).holds


def test_a_seal_that_does_not_fit_is_an_error_and_can_be_asked_for_again(tmp_path: Path) -> None:
    log = AuditLog(tmp_path, GRANT, "test 0")
    with files_of_at_most(10), pytest.raises(ToolError, match="File too large"):
        log.seal()
    assert not verify(tmp_path).sealed
    log.seal()
    assert verify(tmp_path).sealed


def _check_lives(root: Path, step: int, offset: int) -> int:
    """Kill in steps; every chain holds up to its last whole line, lost no answered call, and goes on."""
    done = subprocess.run(
        [sys.executable, kill_points.__file__, str(root), str(step), str(offset)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
        capture_output=True,
        text=True,
    )
    lives = [json.loads(line) for line in done.stdout.splitlines()]
    for life in lives:
        folder = root / str(life["limit"])
        file = folder / "audit.jsonl"
        data = file.read_bytes() if file.exists() else b""
        reading = read_audit(data[: data.rfind(b"\n") + 1].decode().splitlines())
        assert reading.problem in (None, "no header"), life
        assert len(reading.calls) >= len(life["answered"]), life
        if reading.sealed:
            continue
        log = AuditLog(folder, GRANT, "test 0")
        assert one_call(log) == len(reading.calls) + 1
        log.close()
        assert verify(folder).holds, life
    assert not lives[-1]["killed"]
    assert lives[-1]["answered"] == [1, 2, 3]
    return len(lives)


def test_a_server_killed_at_many_points_leaves_a_chain_that_holds_and_goes_on(tmp_path: Path) -> None:
    assert _check_lives(tmp_path, step=19, offset=7) > 50


@pytest.mark.slow
def test_a_server_killed_before_any_instruction_leaves_a_chain_that_holds_and_goes_on(tmp_path: Path) -> None:
    assert _check_lives(tmp_path, step=1, offset=1) > 1000


def test_a_line_cut_anywhere_is_set_aside_and_the_chain_goes_on(tmp_path: Path) -> None:
    log = AuditLog(tmp_path, GRANT, "test 0")
    one_call(log)
    log.close()
    data = (tmp_path / "audit.jsonl").read_bytes()
    for size in range(0, len(data), 11):
        folder = tmp_path / str(size)
        folder.mkdir()
        (folder / "audit.jsonl").write_bytes(data[:size])
        assert verify(folder).torn == size - (data[:size].rfind(b"\n") + 1)
        log = AuditLog(folder, GRANT, "test 0")
        one_call(log)
        log.close()
        assert verify(folder).holds


def _audit(folder: Path, *, seal: bool = True) -> Path:
    log = AuditLog(folder, GRANT, "test 0")
    one_call(log)
    one_call(log)
    if seal:
        log.seal()
    log.close()
    return folder / "audit.jsonl"


def test_verify_says_what_holds_and_ends_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _audit(tmp_path)
    for named in (file, tmp_path):
        assert mcp_mimic(["audit", "verify", str(named)]) == 0
        told = capsys.readouterr().out
        assert "4 lines hold: 2 calls (ok 2), sealed" in told
    assert mcp_mimic(["audit", "verify", str(file), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["holds"], said["calls"], said["sealed"], said["lines"]) == (True, 2, True, 4)


def test_verify_tells_an_unsealed_audit_apart_and_can_insist_on_the_seal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _audit(tmp_path, seal=False)
    assert mcp_mimic(["audit", "verify", str(file)]) == 0
    told = capsys.readouterr()
    assert "not sealed" in told.out
    assert told.err == ""
    assert mcp_mimic(["audit", "verify", str(file), "--sealed"]) == 1
    error, hint = capsys.readouterr().err.splitlines()
    assert "the audit holds, but was never sealed" in error
    assert "mcp-mimic seal --audit DIR" in hint


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace('"lab:1"', '"lab:7"', 1), "line 2 breaks the hash chain"),
        (lambda text: text[:-20], "bytes of a torn line"),
        (lambda text: text + "{}\n", "line 5 follows the seal"),
        (lambda text: "", "no header"),
    ],
)
def test_verify_says_where_an_audit_breaks_and_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: object, said: str
) -> None:
    file = _audit(tmp_path)
    file.write_text(change(file.read_text()))  # type: ignore[operator]
    for more in ([], ["--sealed"], ["--json"]):
        assert mcp_mimic(["audit", "verify", str(file), *more]) == 1
        told = capsys.readouterr()
        error, hint = told.err.splitlines()
        assert (said in told.out or more == ["--json"], said in error) == (True, True)
        assert hint


def test_verify_follows_no_link_and_names_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "link").symlink_to(_audit(tmp_path))
    for name in ("link", "none"):
        assert mcp_mimic(["audit", "verify", str(tmp_path / name)]) == 2
        assert "cannot be read" in capsys.readouterr().err


def _entered(log: AuditLog, told: Callable[[], None]) -> Entry:
    with log.turn:
        return log.enter(
            tool="get_labs",
            args={},
            outcome="ok",
            rule=None,
            coverage=None,
            eids=[],
            chars=10,
            ms=1,
            publish=told,
        )


def test_lines_that_wait_are_written_together_and_published_in_their_order(tmp_path: Path) -> None:
    log = AuditLog(tmp_path, GRANT, "test 0")
    told: list[int] = []
    entries = [_entered(log, lambda number=number: told.append(number)) for number in range(3)]  # type: ignore[misc]
    assert not told
    assert verify(tmp_path).calls == 0
    log.settle(entries[2])
    assert (told, verify(tmp_path).calls) == ([0, 1, 2], 3)
    for entry in entries:
        log.settle(entry)
    assert (told, verify(tmp_path).calls) == ([0, 1, 2], 3)


def test_if_lines_do_not_get_to_the_disk_none_of_them_is_answered_and_their_numbers_are_free(
    tmp_path: Path,
) -> None:
    log = AuditLog(tmp_path, GRANT, "test 0")
    one_call(log)
    told: list[int] = []
    entries = [_entered(log, lambda: told.append(1)) for _ in range(3)]
    whole = (tmp_path / "audit.jsonl").read_bytes()
    with files_of_at_most(len(whole) + 30), pytest.raises(ToolError, match="File too large"):
        log.settle(entries[0])
    for entry in entries[1:]:
        with pytest.raises(ToolError, match="File too large"):
            log.settle(entry)
    assert (told, log.calls, log.chars) == ([], 1, 10)
    assert (tmp_path / "audit.jsonl").read_bytes() == whole
    assert one_call(log) == 2
    assert verify(tmp_path).calls == 2


def test_what_one_call_cannot_publish_is_its_own_error_alone(tmp_path: Path) -> None:
    def fail() -> None:
        raise ToolError("the report cannot be written", "tell the operator", code="report_unwritten")

    log = AuditLog(tmp_path, GRANT, "test 0")
    told: list[int] = []
    entries = [_entered(log, fail), _entered(log, lambda: told.append(1))]
    with pytest.raises(ToolError, match="report cannot"):
        log.settle(entries[0])
    log.settle(entries[1])
    assert (told, verify(tmp_path).calls) == ([1], 2)


def test_lines_that_wait_when_the_session_is_sealed_come_before_the_seal(tmp_path: Path) -> None:
    log = AuditLog(tmp_path, GRANT, "test 0")
    entry = _entered(log, lambda: None)
    assert log.seal()["calls"] == 1
    log.settle(entry)
    assert verify(tmp_path).sealed
    with pytest.raises(ToolError, match="closed"):
        one_call(log)


def test_lines_that_wait_when_the_file_is_let_go_are_not_answered(tmp_path: Path) -> None:
    log = AuditLog(tmp_path, GRANT, "test 0")
    entry = _entered(log, lambda: None)
    log.close()
    with pytest.raises(ToolError, match="closed"):
        log.settle(entry)
    assert verify(tmp_path).calls == 0


def test_calls_of_many_threads_have_one_order_and_each_is_on_disk_when_it_returns(tmp_path: Path) -> None:
    log = AuditLog(tmp_path, GRANT, "test 0")

    def calls(_: int) -> list[bool]:
        return [one_call(log) <= verify(tmp_path).calls for _ in range(20)]

    with ThreadPoolExecutor(8) as threads:
        assert all(kept for several in threads.map(calls, range(8)) for kept in several)
    assert verify(tmp_path).holds
    assert verify(tmp_path).calls == 160
