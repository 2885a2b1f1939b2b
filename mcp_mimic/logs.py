"""The server's log on stderr: what happened to which session, and never what a chart or a call holds.

A line has time, level and event, and of these fields those that apply: grant, tool, outcome, rule, ms, reason,
message. Libraries speak through it with their name and the type of an error only, since their own words may
repeat a value.
"""

import json
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TextIO

FIELDS = ("grant", "tool", "outcome", "rule", "ms", "reason", "message")
"""What a line may hold besides time, level and event, in this order."""

_EVENTS = logging.getLogger("mcp_mimic.events")
_LIBRARIES = ("fastmcp", "mcp", "uvicorn", "uvicorn.error", "asyncio")


def event(name: str, message: str = "", *, level: int = logging.INFO, **fields: str | int | None) -> None:
    """Log one event; `message` is for people and holds no value of a record or a call.

    Fields that are None are left out. Outside `logging_to_stderr` only warnings are shown, by their message.
    """
    known = {field: fields[field] for field in FIELDS if fields.get(field) is not None}
    _EVENTS.log(level, "%s", message or name, extra={"event": name, "fields": known, "said": bool(message)})


@contextmanager
def logging_to_stderr(form: str, stream: TextIO | None = None) -> Iterator[None]:
    """Send every log of this process to `stream` (stderr): `json`, `text`, or `auto` for text on a terminal."""
    out = sys.stderr if stream is None else stream
    handler = logging.StreamHandler(out)
    as_text = form == "text" or (form == "auto" and out.isatty())
    handler.setFormatter(_Text() if as_text else _Json())
    loggers = [logging.getLogger(name) for name in ("", "mcp_mimic", *_LIBRARIES)]
    before = [(logger, logger.level, logger.propagate, logger.handlers[:]) for logger in loggers]
    for logger in loggers:
        logger.handlers[:] = []
        logger.propagate = True
        logger.setLevel(logging.ERROR)
    loggers[0].handlers[:] = [handler]
    loggers[1].setLevel(logging.INFO)
    try:
        yield
    finally:
        for logger, level, propagate, handlers in before:
            logger.propagate, logger.handlers[:] = propagate, handlers
            logger.setLevel(level)


class Flood:
    """Keeps a flood of refusals from filling the log: so many a second are told, the rest only happen."""

    def __init__(self, a_second: int = 10) -> None:
        self._most = a_second
        self._second = 0
        self._count = 0

    def tells(self) -> bool:
        """Count one more; whether it is to be told."""
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._count = second, 0
        self._count += 1
        return self._count <= self._most


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
