"""Forged, bent and borrowed bearer tokens: each gets the same refusal, byte for byte, and no call is begun."""

import base64
import hashlib
import hmac
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from mcp_mimic.contract import read_audit
from mcp_mimic.governance.bearer import issue, make_key
from mcp_mimic.governance.grants import GrantFolder, make_folder
from mcp_mimic.store.store import Store
from tests.adversarial.attempts import HEADERS, message
from tests.adversarial.guarded import betrayals, guarded_grant
from tests.hospital import BEN

_SERVE = """
import sys
from pathlib import Path
from mcp_mimic.http import serve
from mcp_mimic.settings import ServeSettings
store, grants, audit = map(Path, sys.argv[1:])
serve(ServeSettings(store=store, grants=grants, audit=audit, http=True, port=0))
"""


@dataclass(frozen=True)
class Many:
    """A server of many sessions, its key and its folders."""

    url: str
    key: bytes
    store: str
    grants: Path
    audits: Path

    def token(self, grant: str, **changes: Any) -> str:
        claims = {"sub": grant, "aud": self.store, "exp": int(time.time()) + 600} | changes
        return signed(self.key, {k: v for k, v in claims.items() if v is not None})

    def post(self, authorization: str | None, body: bytes | None = None) -> httpx.Response:
        body = message("tools/call", {"name": "get_labs", "arguments": {}}) if body is None else body
        head = HEADERS | ({} if authorization is None else {"authorization": authorization})
        return httpx.post(self.url, content=body, headers=head, timeout=30)


def part(value: Any) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def signed(key: bytes, claims: Any, header: Any = None, digest: str = "sha256") -> str:
    """A token made by hand, so that no library's good manners stand in the way."""
    body = f"{part({'alg': 'HS256', 'typ': 'JWT'} if header is None else header)}.{part(claims)}"
    return f"{body}.{part(hmac.new(key, body.encode(), digest).digest())}"


@pytest.fixture(scope="module")
def many(guarded_store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Many]:
    folder, store = tmp_path_factory.mktemp("many"), guarded_store
    fingerprint = store.manifest.fingerprint
    grants, audits = folder / "grants", folder / "audits"
    make_folder(grants)
    key = make_key(grants / "token.key")
    issued = GrantFolder(grants, fingerprint)
    base = guarded_grant(store).to_json()
    for name, changes in (
        ("ada", {}),
        (
            "ben",
            {
                "subject_id": BEN,
                "as_of": "2131-08-12T00:00:00",
                "tools": ["get_labs", "get_patient_overview"],
            },
        ),
        ("gone", {}),
    ):
        issued.write(type(guarded_grant(store)).from_json(base | {"grant": name} | changes))
    (grants / "gone.json").unlink()
    command = [sys.executable, "-c", _SERVE, str(store.path), str(grants), str(audits)]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stderr is not None
        said = ""
        try:
            while "listening on " not in said:
                said = process.stderr.readline()
                assert said, "the server did not start"
            url = "http" + said.split("http", 1)[1].split()[0].strip('",}')
            yield Many(url, key, fingerprint, grants, audits)
        finally:
            process.kill()


def forgeries(many: Many) -> dict[str, str | None]:
    """Names and Authorization headers that must not get in."""
    now = int(time.time())
    good = many.token("ada")
    head, body, mark = good.split(".")
    claims = {"sub": "ada", "aud": many.store, "exp": now + 600}
    other_key = hashlib.sha256(b"another key").digest()
    bent = mark[:-2] + ("A" if mark[-2] != "A" else "B") + mark[-1]
    tokens = {
        "signed with another key": signed(other_key, claims),
        "signed with an empty key": signed(b"", claims),
        "signed with the key as text": signed(many.key.hex().encode(), claims),
        "unsigned": f"{part({'alg': 'none'})}.{part(claims)}.",
        "unsigned, oddly spelt": f"{part({'alg': 'nOnE'})}.{part(claims)}.",
        "no signature": f"{head}.{body}.",
        "another algorithm": signed(many.key, claims, {"alg": "HS512"}, "sha512"),
        "an algorithm that is not its own": signed(many.key, claims, {"alg": "RS256"}),
        "a key of its own": signed(
            other_key, claims, {"alg": "HS256", "jwk": {"kty": "oct", "k": part(other_key)}}
        ),
        "a key from elsewhere": signed(other_key, claims, {"alg": "HS256", "jku": "http://127.0.0.1:1/keys"}),
        "a key from a file": signed(b"", claims, {"alg": "HS256", "kid": "../../../dev/null"}),
        "a critical header": signed(many.key, claims, {"alg": "HS256", "crit": ["exp"], "b64": False}),
        "bent signature": f"{head}.{body}.{bent}",
        "another's body under this signature": f"{head}.{part(claims | {'sub': 'ben'})}.{mark}",
        "padded": good + "=",
        "with a blank": good + " x",
        "with more parts": good + ".AAAA",
        "doubled": f"{good},{good}",
        "expired": many.token("ada", exp=now - 1),
        "expired long ago": many.token("ada", exp=1),
        "without expiry": many.token("ada", exp=None),
        "expiry as text": many.token("ada", exp=str(now + 600)),
        "expiry that is true": many.token("ada", exp=True),
        "endless expiry": many.token("ada", exp=1e308),
        "expiry that is negative": many.token("ada", exp=-1),
        "for another store": many.token("ada", aud="f" * 64),
        "for no store": many.token("ada", aud=None),
        "for every store": many.token("ada", aud="*"),
        "for several stores": many.token("ada", aud=[many.store, "f" * 64]),
        "without a grant": many.token("ada", sub=None),
        "for a grant that is gone": many.token("gone"),
        "for a grant that never was": many.token("nobody"),
        "for a file beside the grants": many.token("token.key"),
        "for a path": many.token("../grants/ada"),
        "for an absolute path": many.token(str(many.grants / "ada")),
        "for a list of grants": many.token("ada", sub=["ada"]),
        "with a subject of its own": many.token("ada", subject_id=BEN),
        "with more tools": many.token("ada", tools=["*"], scope="admin"),
        "not yet valid": many.token("ada", nbf=now + 500),
        "claims that are a list": signed(many.key, [claims]),
        "claims that are text": signed(many.key, b"ada"),
        "not a token": "secret",
        "dots": "..",
        "huge": "A" * 7_000,
        "deep": f"{part(b'[' * 4000)}.{body}.{mark}",
    }
    headers: dict[str, str | None] = {name: f"Bearer {token}" for name, token in tokens.items()}
    basic = base64.b64encode(b"ada:x").decode()
    return headers | {
        "missing": None,
        "another scheme": f"Basic {basic}",
        "no scheme": good,
        "only a scheme": "Bearer",
    }


def test_every_forged_token_gets_the_same_refusal_and_begins_no_call(many: Many) -> None:
    told = {name: many.post(header) for name, header in forgeries(many).items()}
    assert len(told) >= 45
    assert {name: said.status_code for name, said in told.items() if said.status_code != 401} == {}
    first = told["missing"]
    for name, said in told.items():
        own = {key: value for key, value in said.headers.items() if key != "date"}
        assert (said.content, own) == (
            first.content,
            {k: v for k, v in first.headers.items() if k != "date"},
        ), name
    assert not any(file.name == "audit.jsonl" for file in many.audits.rglob("*"))
    assert (
        many.post(f"Bearer {issue(many.key, 'ada', many.store, int(time.time()) + 600)}").status_code == 200
    )


@pytest.mark.slow
def test_a_tokens_grant_is_what_it_reads_under_also_when_two_take_turns(many: Many) -> None:
    tokens = {name: issue(many.key, name, many.store, int(time.time()) + 600) for name in ("ada", "ben")}
    call = message("tools/call", {"name": "get_labs", "arguments": {}})

    def ask(name: str) -> tuple[str, str]:
        said = many.post(f"Bearer {tokens[name]}", call)
        return name, json.dumps(said.json()["result"]["structuredContent"], ensure_ascii=False)

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(ask, ["ada", "ben"] * 20))
    assert all("2131-08-11" in answer and "2150" not in answer for name, answer in told if name == "ben")
    assert all("2150-03" in answer and betrayals(answer) == [] for name, answer in told if name == "ada")
    listed = many.post(f"Bearer {tokens['ben']}", message("tools/list")).json()["result"]["tools"]
    assert {tool["name"] for tool in listed} == {"get_labs", "get_patient_overview"}
    refused = many.post(
        f"Bearer {tokens['ben']}",
        message("tools/call", {"name": "query_chart", "arguments": {"sql": "select 1"}}),
    )
    assert refused.json()["result"]["structuredContent"]["error"]["code"] == "grant.tools"
    for file in many.audits.rglob("audit.jsonl"):
        reading = read_audit(file.read_text().splitlines())
        assert reading.problem is None
        assert reading.header is not None
        assert len({call["seq"] for call in reading.calls}) == len(reading.calls) >= 20


@pytest.mark.slow
def test_a_grant_that_is_taken_away_ends_its_token_at_once(many: Many) -> None:
    grant = json.loads((many.grants / "ada.json").read_text()) | {"grant": "brief"}
    file = many.grants / "brief.json"
    file.write_text(json.dumps(grant))
    token = f"Bearer {issue(many.key, 'brief', many.store, int(time.time()) + 600)}"
    assert many.post(token).status_code == 200
    file.unlink()
    assert many.post(token).status_code == 401
