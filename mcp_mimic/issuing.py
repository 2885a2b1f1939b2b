"""Issuing a grant and its bearer token, as `mcp-mimic grant` does."""

import re
import time
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from mcp_mimic.contract import Grant
from mcp_mimic.errors import GrantError, SettingsError
from mcp_mimic.governance.bearer import issue, make_key, read_key
from mcp_mimic.governance.grant import bind_to_store, grant_from_flags, read_grant
from mcp_mimic.governance.grants import GrantFolder, make_folder, new_grant_id
from mcp_mimic.settings import ServeSettings
from mcp_mimic.store.store import Store
from mcp_mimic.tools.catalogue import require_known_tools

_SPAN = re.compile(r"(\d{1,6})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_LONGEST = 366 * 86_400


@dataclass(frozen=True)
class Request:
    """What is asked for: a grant file to take, a grant to renew, or a patient and a moment."""

    file: Path | None = None
    renew: str | None = None
    grant_id: str | None = None
    patient: int | None = None
    as_of: str | None = None
    sealed_hadm_id: int | None = None
    tools: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    calls: int | None = None


@dataclass(frozen=True)
class Issued:
    """A token, the grant's id, and the token's end in seconds since 1970."""

    token: str
    grant: str
    expires: int


def issue_token(settings: ServeSettings, asked: Request, span: str) -> Issued:
    """Write the grant that is asked for (unless it is there to be renewed) and sign a token for it.

    GrantError, SettingsError and StoreError say what is wrong; then nothing was issued.
    """
    if settings.grants is None:
        raise SettingsError("no folder of grants is named", "give --grants DIR")
    expires = int(time.time()) + _seconds(span)
    store = Store.open(settings.store_folder())
    folder = GrantFolder(settings.grants, store.manifest.fingerprint)
    if asked.renew is not None:
        key = read_key(settings.key_file())
        grant = folder.read(asked.renew)
    else:
        grant = bind_to_store(_asked_grant(asked), store.manifest.fingerprint)
        require_known_tools(grant)
        _require_subject(store, grant)
        folder.path(grant.grant)
        make_folder(settings.grants)
        key = make_key(settings.key_file())
        folder.write(grant)
    return Issued(issue(key, grant.grant, grant.store, expires), grant.grant, expires)


def _asked_grant(asked: Request) -> Grant:
    if asked.file is not None:
        grant = read_grant(asked.file)
    elif asked.patient is not None and asked.as_of is not None:
        grant = grant_from_flags(asked.patient, asked.as_of, asked.sealed_hadm_id)
        grant = replace(grant, grant=new_grant_id())
    else:
        raise GrantError(
            "it is not said whose chart is granted",
            "give --patient SUBJECT and --as-of TIME, or --from FILE, or --renew ID",
        )
    changes = {
        "grant": asked.grant_id,
        "tools": asked.tools,
        "documents": asked.documents,
        "limits": asked.calls and {**grant.to_json()["limits"], "calls": asked.calls},
    }
    return Grant.from_json(grant.to_json() | {name: value for name, value in changes.items() if value})


def _require_subject(store: Store, grant: Grant) -> None:
    """Refuse here what would otherwise show at the first call of a client."""
    with duckdb.connect(":memory:") as connection:
        store.attach(connection)
        found = connection.execute(
            "select 1 from store.hosp.patients where subject_id = ?", [grant.subject_id]
        ).fetchone()
    if found is None:
        raise GrantError(
            f"subject {grant.subject_id} is not in this store",
            "use a subject_id of hosp.patients in this very store",
            code="unknown_subject",
        )


def _seconds(span: str) -> int:
    found = _SPAN.fullmatch(span.strip())
    seconds = int(found[1]) * _SECONDS[found[2]] if found else 0
    if not 0 < seconds <= _LONGEST:
        raise SettingsError(
            f"--expires: {span[:20]!r} is not a time of up to a year", "write it as 30m, 8h or 7d"
        )
    return seconds
