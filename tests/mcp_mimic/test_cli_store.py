"""`mcp-mimic import` and `mcp-mimic check` as a person meets them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_mimic.cli import run
from mcp_mimic.commands.app import app
from mcp_mimic.store.store import Store
from tests.hospital import small_rows, write_hospital

Captured = pytest.CaptureFixture[str]


def test_import_prints_what_was_imported_and_nothing_else(
    small_source: Path, small_store: Store, tmp_path: Path, capsys: Captured
) -> None:
    assert run(["import", str(small_source), "--store", str(tmp_path / "store")]) == 0
    out, err = capsys.readouterr()
    rows = sum(map(len, small_rows().values()))
    assert out.splitlines() == [
        f"{tmp_path / 'store'}: release unknown, credentialed, {rows} rows of 31 files",
        f"fingerprint {small_store.manifest.fingerprint}",
    ]
    assert err == ""


def test_import_prints_the_manifest_as_json(small_source: Path, small_store: Store, capsys: Captured) -> None:
    assert run(["import", str(small_source), "--store", str(small_store.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == small_store.manifest.model_dump()


def test_check_prints_a_line_a_table_and_json_on_demand(small_store: Store, capsys: Captured) -> None:
    assert run(["check", "--store", str(small_store.path)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^hosp\.labevents +5 +- +not compared$", out, re.MULTILINE)
    verdict = out.splitlines()[-1]
    assert verdict.startswith(
        "release unknown, credentialed: no official row counts to compare with; checked"
    )
    assert "differs" not in verdict
    assert run(["check", "--store", str(small_store.path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is True
    assert {"table", "rows", "published", "source", "status", "problems"} == set(report["tables"][0])


@pytest.mark.slow
def test_check_ends_with_1_where_something_differs(
    small_source: Path, tmp_path: Path, capsys: Captured
) -> None:
    store = str(tmp_path / "store")
    assert run(["import", str(small_source), "--store", store, "--release", "2.2"]) == 0
    capsys.readouterr()
    assert run(["check", "--store", store]) == 1
    out = capsys.readouterr().out
    assert re.search(r"^hosp\.patients +3 +299,712 +differs$", out, re.MULTILINE)
    assert "published counts: mimic-code" in out
    assert out.splitlines()[-1].endswith("it differs")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["import"], "Missing argument"),
        (["import", "nowhere"], "Missing option '--store'"),
        (["import", "nowhere", "--store", "x"], "nowhere: no such folder"),
        (["import", "nowhere", "--store", "x", "--release", "9"], "'9' is not one of 3.1, 2.2, demo-2.2"),
        (["check", "--store", "nowhere"], "nowhere: no store here"),
        (["check"], "Missing option '--store'"),
        (["chekc"], "No such command 'chekc'"),
        (["check", "--stroe", "x"], "No such option"),
    ],
)
def test_a_mistake_is_one_line_and_a_hint(arguments: list[str], message: str, capsys: Captured) -> None:
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    error, hint = err.splitlines()
    assert error.startswith("error: ")
    assert message in error
    assert hint.startswith("hint: ")
    assert out == ""


def test_a_csv_gz_cut_in_half_is_one_line_and_leaves_nothing(tmp_path: Path, capsys: Captured) -> None:
    source = write_hospital(tmp_path / "source")
    file = source / "icu" / "chartevents.csv.gz"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    assert run(["import", str(source), "--store", str(tmp_path / "store")]) == 2
    err = capsys.readouterr().err
    assert err.splitlines()[0] == f"error: {file}: gzip file cut short"
    assert [entry.name for entry in tmp_path.iterdir()] == ["source"]


def test_every_command_has_an_example_in_its_help(capsys: Captured) -> None:
    for command in app.registered_commands:
        name = command.name or (command.callback and command.callback.__name__) or ""
        assert run([name, "--help"]) == 0
        assert f"Example: mcp-mimic {name}" in " ".join(capsys.readouterr().out.split())


def test_help_does_not_load_the_database(tmp_path: Path) -> None:
    code = (
        "import sys; from mcp_mimic.cli import run; run(['--help']); "
        "print(sorted({'duckdb', 'pydantic', 'fastmcp', 'rich'} & set(sys.modules)), file=sys.stderr)"
    )
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert shown.stderr.strip() == "[]"
    assert "import" in shown.stdout


def test_the_version_is_printed(capsys: Captured) -> None:
    assert run(["--version"]) == 0
    assert re.fullmatch(r"mcp-mimic \d+\.\d+\.\d+\n", capsys.readouterr().out)
