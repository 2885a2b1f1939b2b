"""The log: JSON lines or text, and nothing in it that a library or a bug says of a record."""

import io
import json
import logging

from mcp_mimic.logs import Flood, event, logging_to_stderr


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_has_time_level_event_and_the_fields_that_apply() -> None:
    out = io.StringIO()
    with logging_to_stderr("auto", out):
        event("call", grant="g1", tool="get_labs", outcome="refused", rule="grant.tools", ms=3)
        event("listening", "listening on x")
    call, listening = map(json.loads, out.getvalue().splitlines())
    assert call.pop("time").endswith("+00:00")
    assert call == {
        "level": "info",
        "event": "call",
        "grant": "g1",
        "tool": "get_labs",
        "outcome": "refused",
        "rule": "grant.tools",
        "ms": 3,
    }
    assert listening["message"] == "listening on x"


def test_a_terminal_gets_text_unless_json_is_asked_for() -> None:
    out = Terminal()
    with logging_to_stderr("auto", out):
        event("call", grant="g1\x1b[31m", outcome="ok")
    assert "call grant=g1 [31m outcome=ok" in out.getvalue()
    out = Terminal()
    with logging_to_stderr("json", out):
        event("call")
    assert json.loads(out.getvalue())["event"] == "call"


def test_fields_that_are_not_known_do_not_reach_the_log() -> None:
    out = io.StringIO()
    with logging_to_stderr("json", out):
        event("call", value="6.2", arguments="potassium")
    assert set(json.loads(out.getvalue())) == {"time", "level", "event"}


def test_of_a_library_only_its_name_and_the_type_of_its_error_are_told() -> None:
    out = io.StringIO()
    with logging_to_stderr("json", out):
        for name in ("uvicorn.error", "fastmcp.server", "some.library"):
            try:
                float("potassium 6.2")
            except ValueError:
                logging.getLogger(name).exception("while answering %s", "potassium 6.2")
        logging.getLogger("fastmcp").warning("potassium 6.2")
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert "6.2" not in out.getvalue()
    assert [(line["event"], line["reason"], line["message"]) for line in lines] == [
        ("library", "ValueError", "uvicorn.error"),
        ("library", "ValueError", "fastmcp.server"),
        ("library", "ValueError", "some.library"),
    ]


def test_logging_is_afterwards_as_it_was_before() -> None:
    root, library = logging.getLogger(), logging.getLogger("fastmcp")
    before = (root.handlers[:], root.level, library.handlers[:], library.level, library.propagate)
    with logging_to_stderr("json", io.StringIO()):
        assert root.handlers != before[0]
    assert (root.handlers[:], root.level, library.handlers[:], library.level, library.propagate) == before


def test_a_flood_is_told_ten_times_a_second() -> None:
    flood = Flood(10)
    assert 10 <= sum(flood.tells() for _ in range(1000)) <= 20
