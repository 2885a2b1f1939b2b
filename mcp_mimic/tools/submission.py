"""Handing in the determination, for agents that write no files."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

from fastmcp.tools import ToolResult
from pydantic import Field

from mcp_mimic.errors import ToolError
from mcp_mimic.governance.audit import REPORT_FILE
from mcp_mimic.tools.answers import RecordedAnswer
from mcp_mimic.tools.registry import chart_tool
from mcp_mimic.tools.render import Rendered
from mcp_mimic.tools.session import Call

MAX_REPORT_BYTES = 65_536


@partial(chart_tool, answer=RecordedAnswer, read_only=False)
def submit_determination(
    report: Annotated[str, Field(min_length=1, description="The whole report, Markdown, at most 64 KB.")],
    *,
    call: Call,
) -> ToolResult:
    r"""Hand in the report: its reasoning with citations such as [lab:123], and one answer heading.

    The answer is "recorded" and nothing else. A later submission replaces an earlier one.
    Example: submit_determination(report="## Answer: NO\n\nPotassium was 4.1 mmol/L [lab:123] …").
    """
    try:
        data = report.encode()
    except UnicodeEncodeError as error:
        raise ToolError(
            "the report is not UTF-8 text", "send plain Unicode text", code="bad_report"
        ) from error
    if len(data) > MAX_REPORT_BYTES:
        raise ToolError(
            f"the report has {len(data)} bytes, more than {MAX_REPORT_BYTES}",
            "shorten it to what the answer rests on",
            code="bad_report",
        )
    folder = call.session.report_folder
    if folder is None:
        raise ToolError(
            "this session keeps no reports", "give the answer in your own reply", code="no_report_folder"
        )

    with _written(folder, data) as written:
        return call.answer(
            lambda call_id: Rendered("recorded", {"call": call_id, "status": "recorded"}),
            publish=lambda: _replace_report(written, folder),
        )


@contextmanager
def _written(folder: Path, data: bytes) -> Iterator[Path]:
    """A fresh file of `data` that follows no link, on disk; gone at the end unless it was moved."""
    written = folder / f".{REPORT_FILE}.{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with _report_errors(), os.fdopen(os.open(written, flags, 0o644), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield written
    finally:
        written.unlink(missing_ok=True)


def _replace_report(written: Path, folder: Path) -> None:
    """Put the file in the report's place in one step."""
    with _report_errors():
        written.replace(folder / REPORT_FILE)


@contextmanager
def _report_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ToolError(
            f"the report cannot be written: {error.strerror}", "tell the operator", code="report_unwritten"
        ) from error
