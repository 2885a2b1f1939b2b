"""The manifest of a local corpus: the documents that come with the harness, and those that its user names."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness.data import data_folder
from mcp_mimic.policies.corpus import MANIFEST, Entry, read_manifest

_HEAD = """# Written by `harness corpus`: the documents that come with the harness, with the path of each that is here.
# What is changed in them here is overwritten. Add documents of your own as further [[document]] tables.

[manifest]
schema = 1
"""


def known_entries(folder: Path) -> dict[str, Entry]:
    """Every document that can be in the folder: the harness's, then the user's own, without paths of texts.

    SettingsError if a manifest cannot be used.
    """
    entries = {entry.id: _unplaced(entry) for entry in read_manifest(data_folder("corpus"))}
    if (folder / MANIFEST).is_file():
        for entry in read_manifest(folder):
            if entry.access != "shipped":
                entries.setdefault(entry.id, _unplaced(entry))
    return entries


def _unplaced(entry: Entry) -> Entry:
    return entry if entry.access == "shipped" else entry.model_copy(update={"path": None})


def manifest_text(entries: Iterable[Entry]) -> str:
    """The manifest as TOML."""
    return _HEAD + "".join(_table(entry) for entry in entries)


def _table(entry: Entry) -> str:
    values = entry.model_dump(mode="json", exclude_none=True)
    return "\n[[document]]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in values.items())


def _toml(value: Any) -> str:
    """A string, number, boolean or list of strings: JSON writes them as TOML reads them, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
