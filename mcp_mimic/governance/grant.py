"""Where a grant comes from: a file (the sidecar) or flags (a person at the MCP inspector)."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from mcp_mimic.contract import ContractError, Grant
from mcp_mimic.errors import GrantError

_MAX_GRANT_BYTES = 65_536
_FLAGS = {
    "subject_id": ("--patient", "give a subject_id of hosp.patients"),
    "as_of": ("--as-of", "write it as 2150-03-04T14:00:00, or 2150-03-04 for the midnight that begins it"),
    "sealed_hadm_id": ("--sealed-hadm-id", "give a hadm_id of hosp.admissions"),
}
"""By key of a grant: the option that gives it, and in which form."""


def read_grant(path: Path) -> Grant:
    """The grant that a JSON file holds; GrantError says what is wrong with it."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise GrantError(
            f"grant {path} cannot be read: {error.strerror}", "name a readable grant file with --grant"
        ) from error
    if len(data) > _MAX_GRANT_BYTES:
        raise GrantError(
            f"grant {path} is larger than 64 KB", "a grant is a small JSON object; name that file"
        )
    try:
        return Grant.from_json(json.loads(data, object_pairs_hook=_unrepeated))
    except ContractError as error:
        raise GrantError(f"{path}: {error}", "mend that key in the grant file") from error
    except (ValueError, RecursionError) as error:
        raise GrantError(f"{path}: not a JSON object", "write the grant as one JSON object") from error


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; readers that disagree on which of two equal keys counts would see two grants."""
    read: dict[str, Any] = {}
    for name, value in pairs:
        if name in read:
            raise ContractError(f"grant: key {name[:40]} is given twice")
        read[name] = value
    return read


def grant_from_flags(
    subject_id: int, as_of: str, sealed_hadm_id: int | None = None, *, command: str = "serve"
) -> Grant:
    """A grant for one person's own session, with the default limits and every tool but `query_chart`.

    Its name ends with a part of its digest, so that two charts, or one at two moments, have two names. The
    name does not show the subject's number, but hides it from nobody who can try all numbers. GrantError points
    to the help of `command`, to which the flags were given.
    """
    try:
        grant = Grant.from_json(
            {
                "grant": "flags",
                "task": "interactive",
                "subject_id": subject_id,
                "as_of": as_of,
                "sealed_hadm_id": sealed_hadm_id,
            }
        )
    except ContractError as error:
        text, form = str(error), ""
        for key, (flag, its_form) in _FLAGS.items():
            if text.startswith(f"grant: {key} "):
                text, form = text.replace(f"grant: {key}", flag, 1), f"{its_form}; "
        raise GrantError(text, f"{form}see mcp-mimic {command} --help") from error
    return replace(grant, grant=f"{grant.grant}-{grant.digest()[:12]}")


def bind_to_store(grant: Grant, fingerprint: str) -> Grant:
    """The grant bound to the store it is used with; a grant for another store is refused."""
    if grant.store and grant.store != fingerprint:
        raise GrantError(
            f"grant {grant.grant} was made for another store ({grant.store[:12]}… is not {fingerprint[:12]}…)",
            "serve the store that the tasks were built from, or build the tasks again",
            code="store_mismatch",
        )
    return replace(grant, store=fingerprint)
