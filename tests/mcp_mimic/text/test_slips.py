"""A validation error is told as a place of the file, what is wrong there, and what to do."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.errors import TaskError
from harness.taskset import TaskSet
from mcp_mimic.text.slips import Slip, slip_in_json


class Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: str = Field(min_length=2, max_length=5)
    made: date | None = None
    folder: Path | None = None


class Whole(BaseModel):
    model_config = ConfigDict(extra="forbid")

    entry: list[Entry] = []
    named: dict[str, Entry] = {}


def slip(data: Any) -> Slip:
    text = data if isinstance(data, bytes) else json.dumps(data).encode()
    with pytest.raises(ValidationError) as caught:
        Whole.model_validate_json(text)
    return slip_in_json(caught.value, Whole, text)


@pytest.mark.parametrize(
    ("data", "told", "remedy"),
    [
        (b"{", "it is not JSON", "write it anew"),
        ({"entry": 1}, "entry: 1 is not a list", "give a list"),
        ({"entry": [1]}, "entry, entry 1: 1 is not a table", "give a table"),
        ({"entry": [{"id": "a"}]}, "entry 'a', id: 'a' is too short", "write at least 2 characters"),
        (
            {"entry": [{"id": "abcdef"}]},
            "entry 'abcdef', id: 'abcdef' is too long",
            "write at most 5 characters",
        ),
        ({"entry": [{"id": ""}]}, "entry '', id: is empty", "fill it, or leave the key out"),
        ({"named": {"x": {"id": "ab", "made": "1st"}}}, "named, x, made: '1st' is not a date", "give a date"),
        ({"named": {"x": {"id": "ab", "folder": 3}}}, "named, x, folder: 3 is not a path", "give a path"),
        ({"named": {"x": {"idd": "ab"}}}, "named, x, idd: unknown key", "did you mean id?"),
    ],
)
def test_a_slip_is_told_in_our_words(data: Any, told: str, remedy: str) -> None:
    found = slip(data)
    assert str(found).startswith(told)
    assert found.remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("text", "told"),
    [("{", "it is not JSON"), ('{"store": "x"}', "classification: the key is missing")],
)
def test_so_is_a_damaged_manifest_of_tasks(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(TaskError) as caught:
        TaskSet.open(tmp_path)
    assert caught.value.message == f"{tmp_path / 'manifest.json'}: {told}"
    assert "harness build" in caught.value.remedy
