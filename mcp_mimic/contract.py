"""What crosses the boundary between chart server, harness and verifier.

Verdicts, evidence ids, the grant and the audit record, with the standard library only: this module
also runs in the verifier's container. Times are ISO 8601 local times of the record without a zone,
except the audit's own `t` and `started`, which are UTC.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import Any

AUDIT_VERSION = 1

VERDICTS = ("yes", "no", "lack_of_data", "medical_ambiguity")
"""The four verdicts as data writes them; the last two are the indeterminate ones."""

VERDICT_LABELS = {
    "yes": "YES",
    "no": "NO",
    "lack_of_data": "INDETERMINATE — lack of data",
    "medical_ambiguity": "INDETERMINATE — medical ambiguity",
}

EID_KINDS = (
    "lab", "micro", "emar", "rx", "pharm", "ord", "omr", "adm", "xfer", "svc", "dx", "px", "drg", "hcpcs",
    "obs", "dt", "inf", "ing", "out", "proc", "icu", "edstay", "triage", "edvital", "pyxis", "medrec",
    "eddx", "ecg", "cxr", "echo", "note", "policy", "search",
)  # fmt: skip
"""Evidence-id kinds, one a table (`emar` and `ord` with their detail tables), plus `policy` and `search`."""

_EID = re.compile(r"(?P<kind>[a-z]+):(?P<key>[A-Za-z0-9][A-Za-z0-9._-]*(?:#[A-Za-z0-9._-]+)?)")
_MAX_EID = 120


@dataclass(frozen=True, order=True)
class EvidenceId:
    """`kind:key`, free of the subject's number; `str()` gives it as it is cited."""

    kind: str
    key: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.key}"


def parse_eid(text: str) -> EvidenceId | None:
    """The evidence id that `text` is, or None if it is none (unknown kind, stray characters, too long)."""
    match = _EID.fullmatch(text) if len(text) <= _MAX_EID else None
    if match is None or match["kind"] not in EID_KINDS:
        return None
    return EvidenceId(match["kind"], match["key"])


class ContractError(ValueError):
    """A grant, an audit or a gold file breaks the contract; the text says where."""


_MAX_NUMBER = 2**63 - 1
_MAX_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class Limits:
    """What one session may use. `chars` bounds one answer, `total_chars` all of them; `seconds` one call."""

    calls: int = 200
    rows: int = 200
    chars: int = 16_000
    total_chars: int = 2_000_000
    seconds: int = 20


@dataclass(frozen=True)
class Grant:
    """What one session may see: one subject as of one moment. No grant, no chart.

    `as_of` is a shifted local time of the record. `sealed_hadm_id` is the admission whose summary and
    codes stay hidden even if `as_of` lies after its discharge. `tools` and `documents` name what may be
    used; `("*",)` stands for all tools but `query_chart`. `store` is the fingerprint of the store.
    """

    grant: str
    task: str
    subject_id: int
    as_of: datetime
    sealed_hadm_id: int | None = None
    tools: tuple[str, ...] = ("*",)
    documents: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    store: str = ""

    def to_json(self) -> dict[str, Any]:
        """The grant as its file holds it."""
        data = asdict(self)
        return data | {
            "as_of": self.as_of.isoformat(),
            "tools": list(self.tools),
            "documents": list(self.documents),
        }

    def digest(self) -> str:
        """sha256 over all of the grant, for telling two apart without showing the subject's number.

        Not anonymous: whoever can try every subject and moment finds those that it was taken over.
        """
        return hashlib.sha256(canonical_json(self.to_json()).encode()).hexdigest()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Grant":
        """Read a grant; ContractError names an unknown, missing or ill-typed key."""
        _require_keys(data, {f.name for f in fields(cls)}, required={"grant", "task", "subject_id", "as_of"})
        limits = data.get("limits", {})
        if not isinstance(limits, Mapping):
            raise ContractError("grant: limits must be an object")
        _require_keys(limits, {f.name for f in fields(Limits)}, required=set(), where="limits.")
        for name, value in limits.items():
            if not _is_int(value) or not 0 < value <= _MAX_LIMIT:
                raise ContractError(
                    f"grant: limits.{name} must be a positive whole number of at most {_MAX_LIMIT}"
                )
        return cls(
            grant=_string(data, "grant"),
            task=_string(data, "task"),
            subject_id=_integer(data, "subject_id"),
            as_of=_moment(data, "as_of"),
            sealed_hadm_id=None if data.get("sealed_hadm_id") is None else _integer(data, "sealed_hadm_id"),
            tools=_strings(data, "tools", ("*",)),
            documents=_strings(data, "documents", ()),
            limits=Limits(**limits),
            store=_string(data, "store") if "store" in data else "",
        )


def _require_keys(data: Mapping[str, Any], known: set[str], *, required: set[str], where: str = "") -> None:
    if not isinstance(data, Mapping):
        raise ContractError("grant: not a JSON object")
    for name in data:
        if name not in known:
            raise ContractError(f"grant: unknown key {where}{name}")
    for name in sorted(required):
        if name not in data:
            raise ContractError(f"grant: missing key {where}{name}")


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _integer(data: Mapping[str, Any], name: str) -> int:
    if not _is_int(data[name]) or abs(data[name]) > _MAX_NUMBER:
        raise ContractError(f"grant: {name} must be a whole number of at most {_MAX_NUMBER}")
    return int(data[name])


def _string(data: Mapping[str, Any], name: str) -> str:
    if not isinstance(data[name], str):
        raise ContractError(f"grant: {name} must be text")
    return str(data[name])


def _strings(data: Mapping[str, Any], name: str, default: tuple[str, ...]) -> tuple[str, ...]:
    value = data.get(name, default)
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ContractError(f"grant: {name} must be a list of texts")
    return tuple(value)


def _moment(data: Mapping[str, Any], name: str) -> datetime:
    try:
        moment = datetime.fromisoformat(_string(data, name))
    except ValueError as error:
        raise ContractError(f"grant: {name} must be a time such as 2150-03-04T14:00:00") from error
    if moment.tzinfo is not None:
        raise ContractError(
            f"grant: {name} must have no time zone (the record's times are shifted local times)"
        )
    return moment


# --- audit -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Coverage:
    """What one answer covered, for claims of absence.

    `source` is the official `schema.table`. `items` are itemids and `names` case-insensitive substrings of
    names or of items' labels; what either of them matches was searched, both None mean all. A search of text
    names the column too (`note.discharge.text`), and its terms by `text_term`. `start` and `end` (written
    `from` and `to`) are ISO times, both included, None where open. `total` rows match; `returned` counts those served up to
    now, over this page and the pages before it; `complete` says that the last of them was served.
    """

    source: str
    items: tuple[int, ...] | None
    names: tuple[str, ...] | None
    start: str | None
    end: str | None
    total: int
    returned: int
    complete: bool

    def to_json(self) -> dict[str, Any]:
        """The coverage as the audit writes it."""
        return {
            "source": self.source,
            "items": None if self.items is None else list(self.items),
            "names": None if self.names is None else list(self.names),
            "from": self.start,
            "to": self.end,
            "total": self.total,
            "returned": self.returned,
            "complete": self.complete,
        }


SHORTEST_PART = 3
"""How many letters and digits a part of a word needs to be sought in text; a whole word needs one."""


def text_term(piece: str) -> str:
    """How a coverage names a piece of text that was sought: by its digest, for what is asked of text is not logged.

    `piece` is a piece of the folded text: words in lower case with one blank between two, and a blank at
    an end where a word must end.
    """
    return f"sha256:{hashlib.sha256(piece.encode()).hexdigest()}"


def canonical_json(value: object) -> str:
    """JSON with sorted keys, no blanks and no NaN: the form that hashes and signatures are taken over."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def chain_hash(previous: str, line: Mapping[str, Any]) -> str:
    """sha256 over the previous hash and the line's canonical JSON without its own `hash`."""
    body = {name: value for name, value in line.items() if name != "hash"}
    return hashlib.sha256((previous + canonical_json(body)).encode()).hexdigest()


@dataclass(frozen=True)
class AuditReading:
    """An audit as read back: its header, the calls up to the first broken line, and whether it is sealed.

    `problem` is None when every line holds; otherwise it says which line broke and how.
    """

    header: Mapping[str, Any] | None
    calls: tuple[Mapping[str, Any], ...]
    sealed: bool
    problem: str | None


def read_audit(lines: Iterable[str]) -> AuditReading:
    """Verify an audit's hash chain line by line and stop at the first line that does not hold.

    The header's hash starts the chain: `prev` of the first call is the header's `hash`. The seal closes it:
    `{"sealed": true, "calls": n, "prev", "hash"}`; nothing may follow it.
    """
    header: Mapping[str, Any] | None = None
    calls: list[Mapping[str, Any]] = []
    previous, sealed = "", False
    for number, text in enumerate(lines, start=1):
        try:
            line = json.loads(text)
            problem = "follows the seal" if sealed else _chain_problem(line, previous)
        except (ValueError, RecursionError):
            problem = "is not JSON"
        if problem is None:
            problem = _place_problem(line, header, len(calls))
        if problem is not None:
            return AuditReading(header, tuple(calls), False, f"line {number} {problem}")
        previous = line["hash"]
        if header is None:
            header = line
        elif line.get("sealed") is True:
            sealed = True
        else:
            calls.append(line)
    return AuditReading(header, tuple(calls), sealed, "no header" if header is None else None)


def _chain_problem(line: object, previous: str) -> str | None:
    """Why a line does not continue the chain; ValueError if it cannot be put in canonical form."""
    if not isinstance(line, dict):
        return "is not an object"
    if line.get("prev", "") != previous or line.get("hash") != chain_hash(previous, line):
        return "breaks the hash chain"
    return None


def _place_problem(line: Mapping[str, Any], header: Mapping[str, Any] | None, calls: int) -> str | None:
    """Why a line of the chain stands in the wrong place."""
    if header is None:
        return None if line.get("v") == AUDIT_VERSION else "is not a header of a known version"
    if line.get("sealed") is True:
        return None if line.get("calls") == calls else "seals another number of calls"
    return None if line.get("seq") == calls + 1 else "is out of sequence"
