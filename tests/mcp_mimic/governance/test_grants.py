"""Grants from files and flags."""

import json
from pathlib import Path

import pytest

from mcp_mimic.errors import GrantError
from mcp_mimic.governance.grant import bind_to_store, grant_from_flags, read_grant
from tests.mcp_mimic.charts import make_grant


def test_a_grant_file_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "grant.json"
    path.write_text(json.dumps(make_grant().to_json()))
    assert read_grant(path) == make_grant()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"grant":', "not a JSON object"),
        ("[]", "not a JSON object"),
        ("[" * 100_000, "larger than 64 KB"),
        ("[" * 60_000, "not a JSON object"),
        ("{}", "missing key as_of"),
        ('{"grant": "a", "grant": "b"}', "key grant is given twice"),
        ('{"limits": {"calls": 1, "calls": 2}}', "key calls is given twice"),
        (json.dumps(make_grant().to_json() | {"patient": 3}), "unknown key patient"),
        (json.dumps(make_grant().to_json() | {"as_of": "soon"}), "as_of must be a time"),
        (json.dumps(make_grant().to_json() | {"limits": {"calls": -1}}), "limits.calls"),
        (json.dumps(make_grant().to_json() | {"limits": {"seconds": 10**20}}), "limits.seconds"),
        (json.dumps(make_grant().to_json() | {"subject_id": 10**60}), "subject_id must be a whole number"),
        (json.dumps(make_grant().to_json() | {"sealed_hadm_id": 2**63}), "sealed_hadm_id must be a whole"),
    ],
)
def test_a_broken_grant_is_one_line_and_a_remedy(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "grant.json"
    path.write_text(text)
    with pytest.raises(GrantError, match=said) as caught:
        read_grant(path)
    assert caught.value.remedy


def test_a_missing_grant_is_named(tmp_path: Path) -> None:
    with pytest.raises(GrantError, match="cannot be read"):
        read_grant(tmp_path / "none.json")


def test_flags_make_a_grant_with_default_limits() -> None:
    grant = grant_from_flags(7, "2150-03-04T12:00:00", 20)
    assert (grant.subject_id, grant.sealed_hadm_id, grant.tools) == (7, 20, ("*",))


def test_each_chart_and_moment_asked_for_by_flags_is_a_grant_of_its_own_name() -> None:
    asked = [
        (7, "2150-03-04T12:00:00", 20),
        (8, "2150-03-04T12:00:00", 20),
        (7, "2150-03-04", 20),
        (7, "2150-03-04", None),
    ]
    names = [grant_from_flags(*flags).grant for flags in asked]
    assert len(set(names)) == len(names)
    assert grant_from_flags(*asked[0]).grant == names[0]
    assert grant_from_flags(7, "2150-03-04 12:00", 20).grant == names[0]


def test_what_is_wrong_is_named_by_its_flag() -> None:
    with pytest.raises(GrantError, match="--as-of must be a time"):
        grant_from_flags(7, "yesterday")
    with pytest.raises(GrantError, match="--patient must be a whole number"):
        grant_from_flags(2**63, "2150-03-04")
    with pytest.raises(GrantError, match="--sealed-hadm-id must be a whole number"):
        grant_from_flags(7, "2150-03-04", 2**63)


def test_a_grant_is_bound_to_its_store_and_refused_for_another() -> None:
    assert bind_to_store(make_grant(), "f" * 64).store == "f" * 64
    assert bind_to_store(grant_from_flags(7, "2150-03-04"), "a" * 64).store == "a" * 64
    with pytest.raises(GrantError, match="another store") as caught:
        bind_to_store(make_grant(), "a" * 64)
    assert caught.value.code == "store_mismatch"
