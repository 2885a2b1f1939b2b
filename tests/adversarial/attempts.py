"""What hostile clients send, as data: calls that are refused by a rule, messages that never become a call,
and calls that are answered but may betray nothing.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mcp_mimic.tools.catalogue import all_tools
from tests.adversarial.guarded import DOCUMENT, UNGRANTED
from tests.adversarial.sql_attempts import REFUSED_SQL
from tests.hospital import ADA, ADA_HADM, BEN, BEN_HADM

CURSOR = "{cursor}"
"""Stands for a cursor that get_labs(limit=1) has just given."""

NEEDED: dict[str, dict[str, Any]] = {
    "search_items": {"query": "creatinine"},
    "search_notes": {"query": "effusion"},
    "read_note": {"note": "note:RR-1"},
    "read_policy": {"document": DOCUMENT},
    "query_chart": {"sql": "select 1"},
    "submit_determination": {"report": "## Answer: NO"},
}
"""Arguments without which a tool is not called at all."""


@dataclass(frozen=True)
class Attempt:
    """One call that must be refused, by this rule."""

    tool: str
    arguments: dict[str, Any]
    rule: str

    def __str__(self) -> str:
        return f"{self.rule}-{self.tool[:30]}-{json.dumps(self.arguments)[:60]}"


def _others() -> Iterator[Attempt]:
    for tool in all_tools():
        if tool != UNGRANTED:
            yield Attempt(tool, NEEDED.get(tool, {}) | {"subject_id": BEN}, "arguments")
    for name, value in (
        ("subject", BEN), ("patient", str(BEN)), ("patient_id", BEN), ("hadm_id", BEN_HADM), ("stay_id", 1),
        ("as_of", "2199-01-01"), ("sealed_hadm_id", None), ("grant", "other"), ("store", "/"), ("token", "x"),
        ("call", {"session": None}), ("limits", {"rows": 10**6}), ("sql", "select 1"), ("__class__", "x"),
        ("where", f"subject_id = {BEN}"), ("tools", ["*"]),
    ):  # fmt: skip
        yield Attempt("get_labs", {name: value}, "arguments")
    for note in (
        f"note:{BEN}-RR-7",
        "note:RR-7",
        "note:DS-2",
        "note:RR-1'--",
        "note:../../x",
        "lab:1",
        f"{BEN}",
        "*",
    ):
        yield Attempt("read_note", {"note": note}, "unknown_note")
    yield Attempt("read_note", {"note": "note:RR-1#999"}, "unknown_passage")
    yield Attempt("read_note", {"note": "note:RR-1#-1"}, "unknown_passage")
    yield Attempt("read_note", {"note": "note:RR-1", "section": "no such section"}, "unknown_section")
    for document in (
        "lactate-in-suspected-sepsis",
        "../grant",
        "/etc/passwd",
        "house/severe-hyperkalaemia.md",
        "*",
    ):
        yield Attempt("read_policy", {"document": document}, "grant.documents")


def _cursors() -> Iterator[Attempt]:
    for cursor in ("", "0", "AAAA", "é" * 8, "A" * 30, CURSOR + "A", CURSOR[:-1], "../x", "null", "=" * 40):
        yield Attempt("get_labs", {"cursor": cursor, "limit": 1}, "cursor")
    for more in (
        {"items": [50912]}, {"order": "oldest"}, {"end": "2150-03-01"}, {"start": "2150-03-01"},
    ):  # fmt: skip
        yield Attempt("get_labs", {"cursor": CURSOR, "limit": 1} | more, "cursor")
    for tool in (
        "get_observations",
        "get_medications",
        "get_procedures",
        "get_microbiology",
        "list_encounters",
    ):
        yield Attempt(tool, {"cursor": CURSOR, "limit": 1}, "cursor")


def _windows() -> Iterator[Attempt]:
    for start in ("2150-03-02T12:00:01", "2150-03-06", "9999-12-31", "2199-01-01T00:00:00.000001"):
        yield Attempt("get_labs", {"start": start}, "window")
    for end in (
        "now()",
        "2150-03-02T12:00:00Z",
        "2150-03-02T12:00+14:00",
        "infinity",
        "' or 1=1 --",
        "2150-02-30",
    ):
        yield Attempt("get_observations", {"end": end}, "window")
    yield Attempt("get_labs", {"start": "2150-03-02", "end": "2150-03-01"}, "window")


def _shapes() -> Iterator[Attempt]:
    nested: Any = 1
    for _ in range(60):
        nested = [nested]
    for arguments in (
        {"limit": 0}, {"limit": -1}, {"limit": 10**30}, {"limit": 1.5}, {"limit": "1; drop table x"}, {"limit": None},
        {"order": "random"}, {"order": "newest desc, (select 1)"}, {"items": [2**40]}, {"items": [-1]}, {"items": True},
        {"items": {"$gt": 0}}, {"items": nested}, {"items": ["x" * 5000]}, {"items": [50912] * 201}, {"items": [None]},
        {"items": ["a\x00b"]}, {"items": ["x\x1b[2J"]}, {"start": 0}, {"start": ["2150-03-01"]}, {"cursor": "A" * 500},
        {"cursor": 7}, {"start": "x" * 100_000},
    ):  # fmt: skip
        yield Attempt("get_labs", arguments, "arguments")
    yield Attempt("get_medications", {"record": "administrations; drop"}, "arguments")
    yield Attempt("list_encounters", {"kind": "others"}, "arguments")
    yield Attempt("search_items", {"query": "x", "source": "hosp.patients"}, "arguments")
    yield Attempt("query_chart", {"sql": ""}, "arguments")
    yield Attempt("query_chart", {"sql": "select 1 -- " + "x" * 30_000}, "arguments")
    yield Attempt("query_chart", {"sql": ["select 1"]}, "arguments")
    yield Attempt("submit_determination", {"report": ""}, "arguments")
    yield Attempt("submit_determination", {"report": "x" * 65_537}, "bad_report")


def _tools() -> Iterator[Attempt]:
    for tool in (
        "GET_LABS", "get_labs ", "get_labs\u200b", "gеt_labs", "tools/list", "seal", "__init__", "read_file", "x" * 10_000,
        "../get_labs", "get_labs; drop", "",
    ):  # fmt: skip
        yield Attempt(tool, {}, "unknown_tool")
    for arguments in ({}, {"record": "output"}, {"subject_id": ADA}):
        yield Attempt(UNGRANTED, arguments, "grant.tools")


CALLS: tuple[Attempt, ...] = (*_others(), *_cursors(), *_windows(), *_shapes(), *_tools())
"""Refused before anything is read, or by what is not there."""

QUERIES: tuple[Attempt, ...] = tuple(
    Attempt("query_chart", {"sql": sql}, rule) for sql, rule in REFUSED_SQL.items() if sql
)
"""Refused by the statement check."""


HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def message(method: str, parameters: Any = None, **more: Any) -> bytes:
    """One JSON-RPC request."""
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters or {}} | more
    ).encode()


_LIST = message("tools/list")
_CALL = message("tools/call", {"name": "get_labs", "arguments": {}})


@dataclass(frozen=True)
class Wire:
    """One HTTP message that must end with one of these statuses and no answered call.

    A status of 200 stands for a JSON-RPC error; 202 for a notification that nobody answers.
    """

    name: str
    status: int
    body: bytes = _CALL
    method: str = "POST"
    path: str = "/mcp"
    headers: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


WIRE: tuple[Wire, ...] = (
    *(Wire(f"host {host!r}", 421, headers={"host": host}) for host in (
        "evil.example", "evil.example:8000", "127.0.0.1@evil.example", "localhost.evil.example", "", "mimic",
        "169.254.169.254", "0.0.0.0",
    )),
    *(Wire(f"origin {origin}", 403, headers={"origin": origin}) for origin in (
        "http://evil.example", "null", "https://localhost.evil.example", "file://",
    )),
    Wire("host spoofed by a proxy's header", 421, headers={"host": "evil.example", "x-forwarded-host": "localhost"}),
    Wire("unknown protocol", 400, headers={"mcp-protocol-version": "1999-01-01"}),
    Wire("accepts no JSON", 406, headers={"accept": "text/html"}),
    *(Wire(f"content type {kind}", 400, headers={"content-type": kind}) for kind in (
        "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
    )),
    *(Wire(f"method {method}", 405, method=method) for method in ("GET", "DELETE", "PUT", "OPTIONS", "PATCH")),
    *(Wire(f"path {path}", 404, method="GET", path=path, body=b"") for path in (
        "/seal", "/audit.jsonl", "/audit/audit.jsonl", "/grant.json", "/docs", "/sse", "/messages", "/.seal.sock",
        "/%2e%2e/%2e%2e/etc/passwd", "/mcp/../../etc/passwd",
    )),
    Wire("half an object", 400, b"{"),
    Wire("nothing", 400, b""),
    Wire("zeros", 400, b"\0\0\0"),
    Wire("not UTF-8", 400, b'{"jsonrpc":"2.0","id":1,"method":"\xff"}'),
    Wire("half a surrogate", 400, b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}'),
    Wire("a hundred thousand lists", 400, b"[" * 100_000 + b"]" * 100_000),
    Wire("fifty thousand objects", 400, b'{"a":' * 50_000 + b"1" + b"}" * 50_000),
    Wire("deep arguments", 400, message("tools/call").replace(b"{}", b'{"name":"get_labs","arguments":'
                                                              + b'{"a":' * 500 + b"1" + b"}" * 501)),
    Wire("a batch", 400, b"[" + _CALL + b"," + _CALL + b"]"),
    Wire("a number", 400, b"1e999"),
    Wire("an older JSON-RPC", 400, message("tools/list", jsonrpc="1.0")),
    Wire("parameters as a list", 400, message("tools/call", [1])),
    Wire("twenty megabytes", 413, b'{"a":"' + b"x" * 20_000_000 + b'"}'),
    Wire("an id that is no number", 202, b'{"jsonrpc":"2.0","id":NaN,"method":"tools/call"}'),
    Wire("no id", 202, json.dumps({"jsonrpc": "2.0", "method": "tools/call"}).encode()),
    Wire("an id that is null", 202, message("tools/call", {"name": "get_labs"}, id=None)),
    Wire("an id that is a list", 202, message("tools/call", {"name": "get_labs"}, id=[1])),
    *(Wire(f"{method} {json.dumps(parameters)[:40]}", 200, message(method, parameters)) for method, parameters in (
        ("nope", {}), ("__class__", {}), ("rpc.discover", {}), ("seal", {}), ("audit/read", {}),
        ("resources/read", {"uri": "file:///etc/passwd"}), ("resources/read", {"uri": "store://hosp.patients"}),
        ("resources/subscribe", {"uri": "x"}), ("prompts/get", {"name": "x"}), ("sampling/createMessage", {}),
        ("roots/list", {}), ("elicitation/create", {}), ("tasks/list", {}), ("tasks/get", {"taskId": "1"}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": "b"}}),
        ("tools/call", {}), ("tools/call", {"name": 5}), ("tools/call", {"name": None, "arguments": {}}),
        ("tools/call", {"name": "get_labs", "arguments": [1]}), ("tools/call", {"name": "get_labs", "arguments": "x"}),
    )),
)  # fmt: skip
"""Messages that never become an answered call."""


ANSWERED: tuple[tuple[str, dict[str, Any]], ...] = (
    *((tool, NEEDED.get(tool, {})) for tool in all_tools() if tool not in (UNGRANTED, "submit_determination")),
    ("get_labs", {"end": "9999-12-31T23:59:59"}),
    ("get_labs", {"end": "2150-03-02T12:00:01", "order": "newest", "limit": 1000}),
    ("get_labs", {"order": "oldest", "limit": 1}),
    ("get_labs", {"items": [50813, 51009]}),
    ("get_labs", {"items": ["tropo"]}),
    ("get_labs", {"start": "2150-03-02T11:00:00", "end": "2150-03-02T12:00:00"}),
    ("get_observations", {"record": "outpatient"}),
    ("get_observations", {"record": "dates"}),
    *(("get_medications", {"record": record}) for record in ("administrations", "infusions", "orders", "dispensing")),
    ("get_medications", {"names": ["calcium"], "start": "2150-03-01", "end": "2160-01-01"}),
    *(("get_procedures", {"record": record}) for record in ("bedside", "coded", "billed")),
    *(("list_encounters", {"kind": kind}) for kind in ("admissions", "transfers", "services", "icu_stays")),
    ("get_microbiology", {"specimen": ["blood"]}),
    ("search_items", {"query": "tropo"}),
    ("search_items", {"query": "observation", "source": "hosp.hcpcsevents"}),
    ("list_notes", {"kind": "discharge"}),
    ("list_notes", {"kind": "radiology", "end": "2160-01-01"}),
    ("search_notes", {"query": "hunter* signed"}),
    ("read_note", {"note": "note:RR-1#1"}),
    ("read_note", {"note": "note:DS-2"}),
    ("search_policies", {"query": "potass*"}),
    ("submit_determination", {"report": f"read patient {ADA_HADM} next"}),
    *(("query_chart", {"sql": sql}) for sql in (
        "select * from hosp.admissions", "select * from icu.icustays", "select * from hosp.transfers",
        "select * from hosp.patients", "select * from hosp.prescriptions", "select * from hosp.pharmacy",
        "select * from hosp.microbiologyevents", "select * from hosp.poe", "select * from hosp.d_labitems order by 1",
        "select * from note.discharge", "select * from note.radiology", "select max(charttime), count(*) from labevents",
        "select count(*) from hosp.diagnoses_icd", "select * from hosp.drgcodes", "select rowid, * from hosp.labevents",
        "select count(*) from hosp.labevents l full join hosp.d_labitems d using (itemid) where l.itemid is null",
        "select dischtime > timestamp '2150-03-02 12:00' from hosp.admissions",
        "select cast(discharge_location as integer) from hosp.admissions",
        "select 1 / (select count(*) from hosp.labevents where itemid = 51003) as n",
        "select hash(h.*) from hosp.admissions h", "select typeof(los), los from icu.icustays",
        "select label from hosp.d_labitems where label > 'T'", "select * from hosp.labevents order by charttime desc limit 1",
    )),
)  # fmt: skip
"""Calls that are answered, or not, by what Ada's chart held at the moment: nothing in the answer may show more."""
