"""Settings: one precedence of flag, environment, file and default, and each mistake named where it was made."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_mimic.cli import run as mcp_mimic
from mcp_mimic.errors import SettingsError
from mcp_mimic.governance.readers import Reader
from mcp_mimic.settings import PREFIX, ServeSettings, flag_of, read_settings


def written(folder: Path, text: str) -> Path:
    file = folder / "settings.toml"
    file.write_text(text)
    return file


def test_a_flag_counts_before_the_environment_that_before_the_file_that_before_the_default(
    tmp_path: Path,
) -> None:
    file = written(tmp_path, 'port = 1\nhost = "1.1.1.1"\nslices = 1\n')
    flags = {"port": 3, "settings": file}
    found = read_settings(flags, {"MCP_MIMIC_PORT": "2", "MCP_MIMIC_HOST": "2.2.2.2", "PATH": "/bin"})
    settings = found.settings
    assert (settings.port, settings.host, settings.slices, settings.log) == (3, "2.2.2.2", 1, "auto")
    assert found.origins == {"port": "--port", "host": "MCP_MIMIC_HOST", "slices": f"{file}: slices"}


def test_an_empty_variable_and_a_flag_that_is_not_given_are_none() -> None:
    found = read_settings({"port": None}, {"MCP_MIMIC_PORT": "", "MCP_MIMIC_READERS": ""})
    assert found.settings == ServeSettings()
    assert found.origins == {}


def test_the_file_is_named_by_flag_or_variable_or_lies_in_the_users_own_folder(tmp_path: Path) -> None:
    file = written(tmp_path, "port = 1")
    own = tmp_path / "mcp-mimic"
    own.mkdir()
    (own / "settings.toml").write_text("port = 2")
    home = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert read_settings({}, home).settings.port == 2
    assert read_settings({}, home | {"MCP_MIMIC_SETTINGS": str(file)}).settings.port == 1
    assert read_settings({"settings": file}, home).settings.port == 1


def test_no_file_of_the_working_folder_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mcp-mimic.toml", "settings.toml", "mcp-mimic/settings.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("port = 1")
    assert read_settings({}, {"HOME": str(tmp_path / "home")}).settings.port == 8000


def test_paths_in_the_file_are_relative_to_it(tmp_path: Path) -> None:
    file = written(tmp_path, 'store = "store"\naudit = "/audit"')
    settings = read_settings({"settings": file}, {}).settings
    assert (settings.store, settings.audit) == (tmp_path / "store", Path("/audit"))


@pytest.mark.parametrize(
    ("flags", "environment", "file"),
    [
        ({"readers": ["m=a", "n = b=c"]}, {}, ""),
        ({}, {"MCP_MIMIC_READERS": '["m=a", {"model": "n", "agreement": "b=c"}]'}, ""),
        ({}, {}, 'readers = [{model = "m", agreement = "a"}, "n=b=c"]'),
    ],
)
def test_readers_are_named_alike_everywhere(
    tmp_path: Path, flags: dict[str, Any], environment: dict[str, str], file: str
) -> None:
    found = read_settings({**flags, "settings": written(tmp_path, file)}, environment)
    assert found.settings.readers == (
        Reader(model="m", agreement="a"),
        Reader(model="n", agreement="b=c"),
    )


def test_one_item_of_a_list_needs_no_json() -> None:
    found = read_settings({}, {"MCP_MIMIC_READERS": "m=a", "MCP_MIMIC_ALLOW_HOSTS": "mimic"}).settings
    assert (found.readers, found.allow_hosts) == ((Reader(model="m", agreement="a"),), ("mimic",))


@pytest.mark.parametrize(
    ("flags", "environment", "file", "said"),
    [
        ({}, {"MCP_MIMIC_READER": "m=a"}, "", "MCP_MIMIC_READER: there is no such setting"),
        ({}, {}, "prot = 1", "prot: there is no such setting"),
        ({}, {}, "port = 99999", "settings.toml: port: "),
        ({}, {}, "port = ", "is not TOML"),
        ({}, {"MCP_MIMIC_PORT": "http"}, "", "MCP_MIMIC_PORT: "),
        ({}, {"MCP_MIMIC_READERS": "[1"}, "", "MCP_MIMIC_READERS: not JSON"),
        ({}, {"MCP_MIMIC_READERS": "model"}, "", "MCP_MIMIC_READERS: write it as MODEL=AGREEMENT"),
        ({"readers": ["=agreement"]}, {}, "", "--reader: "),
        ({"readers": ["model= "]}, {}, "", "--reader: "),
        ({"log": "loud"}, {}, "", "--log: "),
        ({"slice_memory": "much"}, {}, "", "--slice-memory: "),
        ({"settings": Path("/nonexistent")}, {}, "", "/nonexistent cannot be read"),
    ],
)
def test_a_mistake_is_named_where_it_was_made(
    tmp_path: Path, flags: dict[str, Any], environment: dict[str, str], file: str, said: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings({"settings": written(tmp_path, file), **flags}, environment)
    assert said in caught.value.message
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"grants": Path("g")}, "travel over HTTP"),
        ({"grants": Path("g"), "http": True}, "kept in their audits"),
        ({"grants": Path("g"), "http": True, "audit": Path("a"), "patient": 1}, "two settings say"),
        ({"grant": Path("g"), "grants": Path("g")}, "two settings say"),
        ({}, "no folder of grants"),
    ],
)
def test_many_sessions_need_grants_http_and_an_audit(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        ServeSettings(**given).grants_folder()


def test_the_command_shows_every_setting_and_where_it_came_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("MCP_MIMIC_HOST", "::1")
    assert mcp_mimic(["settings", "--json", "--http", "--port", "9", "--reader", "m=a"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert set(shown) == set(ServeSettings.model_fields)
    assert shown["http"] == {"value": True, "from": "--http"}
    assert shown["host"] == {"value": "::1", "from": "MCP_MIMIC_HOST"}
    assert shown["readers"] == {"value": [{"model": "m", "agreement": "a"}], "from": "--reader"}
    assert shown["store"] == {"value": None, "from": "default"}
    assert mcp_mimic(["settings"]) == 0
    assert 'host            "::1"' in capsys.readouterr().out
    assert mcp_mimic(["settings", "--prot", "9"]) == 2


def test_every_setting_can_be_given_as_an_option_of_serve(capsys: pytest.CaptureFixture[str]) -> None:
    assert mcp_mimic(["serve", "--help"]) == 0
    told = capsys.readouterr().out
    for name in ServeSettings.model_fields:
        assert flag_of(name) in told, name
    assert PREFIX in told
