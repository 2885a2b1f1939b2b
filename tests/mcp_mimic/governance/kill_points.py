"""A process that is killed at every n-th instruction of its audit's code, over and over.

Run as `python kill_points.py FOLDER STEP OFFSET`. Each life opens an audit, answers calls, opens it again, answers one
more and seals; it ends itself with SIGKILL before one chosen instruction. Prints one JSON line a life: how many
calls it had answered by then.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import CodeType
from typing import Any

from mcp_mimic.contract import Coverage, Grant
from mcp_mimic.governance import audit, audit_file
from mcp_mimic.governance.audit import AuditLog

GRANT = Grant(grant="g1", task="t1", subject_id=1, as_of=datetime(2150, 3, 4, 12), store="f" * 64)
COVERAGE = Coverage("hosp.labevents", (50912,), None, None, "2150-03-04T12:00:00", 3, 3, True)
WATCHED = frozenset({audit.__file__, audit_file.__file__})


def one_call(log: AuditLog) -> int:
    """Audit one call; returns its number."""
    return log.call(
        tool="get_labs", args={}, outcome="ok", rule=None, coverage=COVERAGE, eids=["lab:1"], chars=10, ms=1
    )


def life(folder: Path, answered: Callable[[int], None]) -> None:
    """All of one server's dealings with its audit, told call by call."""
    log = AuditLog(folder, GRANT, "test 0")
    answered(one_call(log))
    answered(one_call(log))
    log.close()
    log = AuditLog(folder, GRANT, "test 0")
    answered(one_call(log))
    log.seal()


def die_at(limit: int) -> None:
    """End this process with SIGKILL before instruction `limit` of the audit's code."""
    reached = 0

    def count(code: CodeType, _: int) -> Any:
        nonlocal reached
        if code.co_filename not in WATCHED:
            return sys.monitoring.DISABLE
        reached += 1
        if reached == limit:
            os.kill(os.getpid(), signal.SIGKILL)
        return None

    tool = sys.monitoring.DEBUGGER_ID
    sys.monitoring.use_tool_id(tool, "kill points")
    sys.monitoring.register_callback(tool, sys.monitoring.events.INSTRUCTION, count)
    sys.monitoring.set_events(tool, sys.monitoring.events.INSTRUCTION)


def killed_at(folder: Path, limit: int) -> tuple[bool, list[int]]:
    """Live in `folder` until instruction `limit`; whether that was reached, and the calls answered before."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        die_at(limit)
        life(folder, lambda number: os.write(writer, bytes([number])) and None)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as told:
        calls = list(told.read())
    return os.waitpid(child, 0)[1] == signal.SIGKILL, calls


def main(root: Path, step: int, offset: int) -> None:
    """Kill at instruction offset, offset + step, … until a life ends by itself."""
    limit = offset
    killed = True
    while killed:
        folder = root / str(limit)
        folder.mkdir()
        killed, calls = killed_at(folder, limit)
        print(json.dumps({"limit": limit, "killed": killed, "answered": calls}))
        limit += step


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
