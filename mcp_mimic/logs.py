"""The server's log on stderr: what happened to which session, and never what a chart or a call holds.

A line has time, level and event, and of these fields those that apply: grant, tool, outcome, rule, ms, reason,
message. Libraries speak through it with their name and the type of an error only, since their own words may
repeat a value.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TextIO

FIELDS = ("grant", "tool", "outcome", "rule", "ms", "reason", "message")
"""What a line may hold besides time, level and event, in this order."""

_EVENTS = logging.getLogger("mcp_mimic.events")
_LIBRARIES = ("fastmcp", "mcp", "uvicorn", "uvicorn.error", "asyncio")


def event(name: str, message: str = "", *, level: int = logging.INFO, **fields: str | int | None) -> None:
    """Log one event; `message` is for people and holds no value of a record or a call.

    Fields that are None are left out. Until `configure` was called, only warnings are shown, by their message.
    """
    known = {field: fields[field] for field in FIELDS if fields.get(field) is not None}
    _EVENTS.log(level, "%s", message or name, extra={"event": name, "fields": known, "said": bool(message)})


def configure(form: str, stream: TextIO | None = None) -> None:
    """Send every log of this process to `stream` (stderr): `json`, `text`, or `auto` for text on a terminal."""
    out = sys.stderr if stream is None else stream
    handler = logging.StreamHandler(out)
    as_text = form == "text" or (form == "auto" and out.isatty())
    handler.setFormatter(_Text() if as_text else _Json())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("mcp_mimic").setLevel(logging.INFO)
    for name in _LIBRARIES:
        library = logging.getLogger(name)
        library.handlers.clear()
        library.propagate = True
        library.setLevel(logging.ERROR)


def _line(record: logging.LogRecord) -> dict[str, str | int]:
    """A record as what may be shown of it."""
    moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    line: dict[str, str | int] = {"time": moment, "level": record.levelname.lower()}
    if record.name == _EVENTS.name:
        said = {"message": record.getMessage()} if getattr(record, "said", False) else {}
        return line | {"event": getattr(record, "event", "")} | getattr(record, "fields", {}) | said
    kind = record.exc_info[0] if record.exc_info else None
    reason = {"reason": kind.__name__} if kind else {}
    if record.name.startswith("mcp_mimic."):
        return line | {"event": "problem"} | reason | {"message": record.getMessage()}
    return line | {"event": "library"} | reason | {"message": record.name}


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(_line(record))


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = _line(record)
        message = line.pop("message", None)
        moment, name = str(line.pop("time")), line.pop("event")
        level = line.pop("level")
        shown = [f"{key}={value}" for key, value in line.items()]
        words = [moment[11:19], "" if level == "info" else str(level), str(message or name), *shown]
        return "".join(
            mark if mark.isprintable() else " " for mark in " ".join(word for word in words if word)
        )
