"""Issuing a grant and its bearer token, as `mcp-mimic grant` does."""

import re
import time
from dataclasses import dataclass, replace
from pathlib import Path

from mcp_mimic.chart.subject import require_grantable
from mcp_mimic.contract import Grant
from mcp_mimic.errors import GrantError, SettingsError
from mcp_mimic.governance.bearer import issue, make_key, read_key
from mcp_mimic.governance.grant import bind_to_store, grant_from_flags, read_grant
from mcp_mimic.governance.grants import GrantFolder, make_folder, new_grant_id
from mcp_mimic.governance.sealing import seal_in
from mcp_mimic.policies.corpus import MANIFEST, open_corpus
from mcp_mimic.settings import ServeSettings
from mcp_mimic.store.store import Store
from mcp_mimic.text.near import did_you_mean
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

    def require_fitting(self) -> None:
        """SettingsError if something is asked for that a grant which is there already would not follow."""
        whose = {
            "--patient": self.patient is not None,
            "--as-of": self.as_of is not None,
            "--sealed-hadm-id": self.sealed_hadm_id is not None,
        }
        terms = {
            "--from": self.file is not None,
            "--id": self.grant_id is not None,
            "--tool": bool(self.tools),
            "--document": bool(self.documents),
            "--calls": self.calls is not None,
        }
        if self.renew is not None:
            told = "a renewed grant keeps its terms, so --renew"
            remedy = "to change them, remove the grant's file and issue another grant"
            options = whose | terms
        elif self.file is not None:
            told, remedy = (
                "the file of --from says whose chart, so it",
                "change it in the file, or leave --from out",
            )
            options = whose
        else:
            return
        if given := [option for option, is_given in options.items() if is_given]:
            raise SettingsError(f"{told} goes without {', '.join(given)}", remedy)


@dataclass(frozen=True)
class Issued:
    """A token, what it is for, and its end in seconds since 1970."""

    token: str
    grant: Grant
    expires: int


def issue_token(settings: ServeSettings, asked: Request, span: str) -> Issued:
    """Write the grant that is asked for (unless it is there to be renewed) and sign a token for it.

    GrantError, SettingsError and StoreError say what is wrong; then nothing was issued. A session is renewed only
    where the settings name the audits, which tell whether it is sealed; documents are named only with their corpus.
    """
    if settings.grants is None:
        raise SettingsError("no folder of grants is named", "give --grants DIR")
    asked.require_fitting()
    expires = int(time.time()) + _seconds(span)
    store = Store.open(settings.store_folder())
    folder = GrantFolder(settings.grants, store.manifest.fingerprint)
    if asked.renew is not None:
        key = read_key(settings.key_file())
        grant = folder.read(asked.renew)
        _require_audits(settings.audit)
        _require_unsealed(settings.audit, grant.grant)
    else:
        grant = bind_to_store(_asked_grant(asked), store.manifest.fingerprint)
        require_known_tools(grant)
        require_grantable(store, grant)
        _require_documents(settings.corpus, grant, asked.documents)
        folder.path(grant.grant)
        _require_unsealed(settings.audit, grant.grant)
        make_folder(settings.grants)
        key = make_key(settings.key_file())
        folder.write(grant)
    return Issued(issue(key, grant.grant, grant.store, expires), grant, expires)


def _asked_grant(asked: Request) -> Grant:
    if asked.file is not None:
        grant = read_grant(asked.file)
    elif asked.patient is not None and asked.as_of is not None:
        grant = grant_from_flags(asked.patient, asked.as_of, asked.sealed_hadm_id, command="grant")
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


def _require_documents(folder: Path | None, grant: Grant, asked: tuple[str, ...]) -> None:
    """Refuse a document that the corpus does not name; without a corpus, a grant file's own are taken as they are."""
    if folder is None and not asked:
        return
    if folder is None:
        raise SettingsError(
            f"no corpus is named in which to look for {', '.join(asked)[:80]}",
            "give --corpus DIR, the one that the server has",
        )
    known = open_corpus(folder).entries
    for name in grant.documents:
        if name not in known:
            raise GrantError(
                f"the corpus in {folder} has no document {name[:80]!r}",
                did_you_mean(name, known) or f"name an id of {folder / MANIFEST}",
                code="unknown_document",
            )


def _require_audits(audits: Path | None) -> None:
    if audits is None:
        raise SettingsError(
            "without the server's audits it cannot be told whether the session is sealed",
            "give --audit DIR, the one that the server has",
        )
    if not audits.is_dir():
        raise SettingsError(
            f"there is no audit folder {audits}",
            "name the server's own with --audit; it makes it at its start",
        )


def _require_unsealed(audits: Path | None, grant_id: str) -> None:
    if audits is not None and seal_in(audits / grant_id) is not None:
        raise GrantError(
            f"the session of {grant_id} is sealed, so that no token opens it any more",
            "issue a new grant, under another id",
            code="sealed",
        )


def _seconds(span: str) -> int:
    found = _SPAN.fullmatch(span.strip())
    seconds = int(found[1]) * _SECONDS[found[2]] if found else 0
    if not 0 < seconds <= _LONGEST:
        raise SettingsError(
            f"--expires: {span[:20]!r} is not a time of up to a year", "write it as 30m, 8h or 7d"
        )
    return seconds
