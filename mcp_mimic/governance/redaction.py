"""What the audit may hold of a call: plain filters as they are, all free text as length and sha256."""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from mcp_mimic.contract import canonical_json

_PLAIN_ARGUMENTS = frozenset(
    {"start", "end", "order", "limit", "kind", "record", "source", "items", "names", "specimen"}
)
_PLAIN_TEXT = re.compile(r"[ -~]{0,200}")
_NAME = re.compile(r"[a-z_]{1,64}")
_MAX_LIST, _MAX_ARGUMENTS = 200, 32
_MAX_KEPT = 8_000
"""Characters of plain arguments in one line: what is refused unread must not fill the disk."""
_MAX_WHOLE = 2**53


def audited_tool(name: str) -> str:
    """A tool's name, or a digest of what was called instead of one."""
    return name if _NAME.fullmatch(name) else f"unknown:{_digest(name)['sha256'][:12]}"


def audited_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as the audit keeps them: plain filters as they are, anything else as length and sha256."""
    kept: dict[str, Any] = {}
    room = _MAX_KEPT
    for name, value in list(arguments.items())[:_MAX_ARGUMENTS]:
        key = name if _NAME.fullmatch(name) else f"unknown:{_digest(name)['sha256'][:12]}"
        kept[key] = _plain(value) if name in _PLAIN_ARGUMENTS else _digest_unless_scalar(value)
        length = len(canonical_json(kept[key]))
        if length > room:
            kept[key] = _digest(value)
        else:
            room -= length
    return kept


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple) and len(value) <= _MAX_LIST:
        return [_plain_scalar(item) for item in value]
    return _plain_scalar(value)


def _plain_scalar(value: Any) -> Any:
    if isinstance(value, str) and _PLAIN_TEXT.fullmatch(value):
        return value
    return _digest_unless_scalar(value)


def _digest_unless_scalar(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) <= _MAX_WHOLE:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return _digest(value)


def _digest(value: Any) -> dict[str, Any]:
    text = value if isinstance(value, str) else _as_text(value)
    data = text.encode("utf-8", "surrogatepass")
    return {"length": len(text), "sha256": hashlib.sha256(data).hexdigest()}


def _as_text(value: Any) -> str:
    """A stable text of any JSON value; one that Python will not print counts as its type alone."""
    try:
        return json.dumps(value, sort_keys=True, default=repr)
    except (ValueError, RecursionError, TypeError):
        return type(value).__name__
