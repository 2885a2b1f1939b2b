"""Tokens and the folder of grants: what is taken, what is refused and why, and who may read the key."""

import base64
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey

from mcp_mimic.errors import GrantError, SettingsError
from mcp_mimic.governance.bearer import TokenRefused, derived_key, granted, issue, make_key, read_key
from mcp_mimic.governance.grants import GrantFolder, make_folder, new_grant_id
from tests.mcp_mimic.charts import make_grant

KEY, STORE, NOW = bytes(range(32)), "f" * 64, 1_900_000_000


def signed(claims: dict[str, Any], key: bytes = KEY, header: dict[str, Any] | None = None) -> str:
    return jwt.encode(
        {"alg": "HS256", **(header or {})}, claims, OctKey.import_key(key), algorithms=["HS256"]
    )


def refused(token: str) -> tuple[str, str | None]:
    with pytest.raises(TokenRefused) as caught:
        granted(KEY, token, STORE, now=NOW)
    return caught.value.reason, caught.value.grant


def test_a_token_names_its_grant_and_holds_no_more_than_grant_store_and_end() -> None:
    token = issue(KEY, "g1", STORE, NOW + 10)
    assert granted(KEY, token, STORE, now=NOW) == ("g1", NOW + 10)
    body = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    assert claims == {"sub": "g1", "aud": STORE, "exp": NOW + 10}


@pytest.mark.parametrize(
    ("token", "reason", "grant"),
    [
        (issue(KEY, "g1", STORE, NOW), "expired", "g1"),
        (issue(KEY, "g1", "a" * 64, NOW + 10), "audience", "g1"),
        (issue(bytes(32), "g1", STORE, NOW + 10), "signature", None),
        (signed({"sub": "g1", "aud": STORE}), "no_expiry", "g1"),
        (signed({"sub": "g1", "aud": STORE, "exp": "2150"}), "claims", "g1"),
        (signed({"sub": "g1", "aud": STORE, "exp": True}), "claims", "g1"),
        (signed({"sub": "g1", "aud": STORE, "exp": NOW + 0.5}), "claims", "g1"),
        (signed({"sub": "g1", "aud": STORE, "exp": NOW + 10, "nbf": NOW}), "claims", "g1"),
        (signed({"sub": "g1", "aud": STORE, "exp": NOW + 10, "tools": ["*"]}), "claims", "g1"),
        (signed({"sub": "g1", "aud": [STORE], "exp": NOW + 10}), "audience", "g1"),
        (signed({"sub": "g1", "exp": NOW + 10}), "audience", "g1"),
        (signed({"aud": STORE, "exp": NOW + 10}), "no_grant", None),
        (signed({"sub": ["g1"], "aud": STORE, "exp": NOW + 10}), "no_grant", None),
        (signed({"sub": "g1", "aud": STORE, "exp": NOW + 10}, header={"kid": "x"}), "altered", "g1"),
        ("", "malformed", None),
        ("a.b.c", "malformed", None),
        ("é" * 20, "malformed", None),
        ("x" * 100_000, "malformed", None),
    ],
)
def test_any_other_token_is_refused_for_its_reason(token: str, reason: str, grant: str | None) -> None:
    assert refused(token) == (reason, grant)


def test_no_character_of_a_token_can_be_changed() -> None:
    token = issue(KEY, "g1", STORE, NOW + 10)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    for place, mark in enumerate(token):
        for other in {letters[(letters.find(mark) + step) % 64] for step in (1, 2, 31)} - {mark}:
            refused(token[:place] + other + token[place + 1 :])
    for bent in (token + "=", token + "A", token[:-1], f" {token}", token + ".", token + "\n"):
        refused(bent)


def test_an_unsigned_token_and_one_of_another_algorithm_are_refused() -> None:
    claims = {"sub": "g1", "aud": STORE, "exp": NOW + 10}

    def part(value: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    refused(f"{part({'alg': 'none'})}.{part(claims)}.")
    key = OctKey.import_key(KEY)
    refused(jwt.encode({"alg": "HS512"}, claims, key, algorithms=["HS512"]))


def test_the_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "token.key"
    key = make_key(path)
    assert len(key) == 32
    assert make_key(path) == read_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [found.name for found in tmp_path.iterdir()] == ["token.key"]
    assert derived_key(key, "a") not in (key, derived_key(key, "b"))


def test_a_key_that_others_may_read_or_that_is_none_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "token.key"
    with pytest.raises(SettingsError, match="cannot be read"):
        read_key(path)
    make_key(path)
    path.chmod(0o640)
    with pytest.raises(SettingsError, match="others than its owner"):
        read_key(path)
    path.chmod(0o600)
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(SettingsError, match="cannot be read"):
        read_key(tmp_path / "link")
    for text in ("", "zz" * 32, "ab" * 31, "ab" * 33):
        path.write_text(text)
        with pytest.raises(SettingsError, match="holds no token key"):
            read_key(path)


def test_a_grant_is_written_once_for_its_owner_alone_and_read_until_it_is_removed(tmp_path: Path) -> None:
    make_folder(tmp_path / "grants")
    folder = GrantFolder(tmp_path / "grants", STORE)
    path = folder.write(make_grant())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert folder.read("g1") == make_grant()
    with pytest.raises(GrantError, match="already"):
        folder.write(make_grant())
    path.unlink()
    with pytest.raises(GrantError, match="there is no grant g1"):
        folder.read("g1")


@pytest.mark.parametrize(
    "grant_id", ["", "..", "../g1", "a/b", "-x", ".g1", "g1.json", "x" * 65, "é", "a\n", "a\0"]
)
def test_an_id_that_is_no_plain_name_reads_no_file(tmp_path: Path, grant_id: str) -> None:
    with pytest.raises(GrantError, match="letters, digits"):
        GrantFolder(tmp_path, STORE).read(grant_id)


def test_a_grant_of_another_store_or_name_and_a_link_are_not_read(tmp_path: Path) -> None:
    folder = GrantFolder(tmp_path, STORE)
    (tmp_path / "other.json").write_text(json.dumps(make_grant().to_json()))
    with pytest.raises(GrantError, match="not the grant other"):
        folder.read("other")
    with pytest.raises(GrantError, match="not the grant other of this store"):
        GrantFolder(tmp_path, "a" * 64).read("other")
    (tmp_path / "g1.json").symlink_to(tmp_path / "other.json")
    with pytest.raises(GrantError, match="there is no grant"):
        folder.read("g1")


def test_a_new_id_says_nothing_and_is_new() -> None:
    assert new_grant_id() != new_grant_id()
