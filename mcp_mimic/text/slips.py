"""What is wrong with a data file, in words for whoever writes it: which entry, which key, what is allowed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from mcp_mimic.text.near import did_you_mean

_KEY = "[key]"  # pydantic's mark of a key that is itself at fault

_FORMS = {
    r"^[a-z][a-z0-9_]*$": "a small letter, then small letters, digits and _",
    r"^[a-z][a-z0-9-]*$": "a small letter, then small letters, digits and -",
    r"^\d{2}-[a-z0-9]+(-[a-z0-9]+)*$": "two digits and a slug, such as 26-lactate-again",
    r"^10\.\d{4,}/\S+$": "a DOI without an address before it, such as 10.1000/182",
    r"^https://\S+$": "an address that begins with https://",
    r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$": "a letter or digit, then letters, digits, . _ and -, 80 in all at most",
    r"^sha256:[0-9a-f]{64}$": "sha256: and 64 of 0 to 9 and a to f",
    r"^[A-Z0-9]{3,7}$": "a code without its dot, such as N179",
}
_KINDS = {
    "string": "text in quotes",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "dict": "a table",
    "model": "a table",
    "mapping": "a table",
    "date": "a date such as 2026-05-01",
    "datetime": "a date and time such as 2026-05-01T12:00:00",
    "path": "a path",
    "byte": "a size in bytes, such as 500MB",
}
_LIMITS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


@dataclass(frozen=True)
class Slip:
    """The place in the file ("" of the file as a whole), what is wrong there, and what to do."""

    place: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}" if self.place else self.problem


def slip_in_json(error: ValidationError, model: type[BaseModel], text: bytes) -> Slip:
    """The same of a file of JSON, which may be none."""
    try:
        data = json.loads(text)
    except ValueError:
        return Slip("", "it is not JSON", "write it anew")
    return first_slip(error, model, data)


def first_slip(error: ValidationError, model: type[BaseModel], data: Mapping[str, Any]) -> Slip:
    """The first thing wrong with the data of a file; a misspelt key, both unknown and missing, counts as unknown."""
    problems: Sequence[Any] = error.errors(include_url=False)
    first = next((one for one in problems if one["type"] == "extra_forbidden"), problems[0])
    where: tuple[str | int, ...] = first["loc"]
    place = _place(where, data)
    kind, said = first["type"], first.get("ctx", {})
    given = first["input"]
    if kind == "extra_forbidden":
        allowed = sorted(set(_keys(model, where[:-1])))
        return Slip(place, "unknown key", _choose(str(where[-1]), allowed, "remove it: the keys here are"))
    if kind == "missing":
        return Slip(place, "the key is missing", "add the key")
    if kind == "value_error":
        return Slip(place, first["msg"].removeprefix("Value error, "), "correct the value")
    if kind == "literal_error":
        allowed = _listed(said["expected"])
        return Slip(place, f"{_shown(given)} is not allowed", _choose(str(given), allowed, "use one of"))
    if kind == "union_tag_invalid":
        allowed = _listed(said["expected_tags"])
        key, tag = said["discriminator"].strip("'"), said["tag"]
        return Slip(place, f"{key} {tag!r} is not allowed", _choose(tag, allowed, "use one of"))
    if kind == "union_tag_not_found":
        key = said["discriminator"].strip("'")
        return Slip(place, f"{key} is missing", "add the key")
    return Slip(place, *_of_value(kind, said, given, first["msg"]))


def _of_value(kind: str, said: Mapping[str, Any], given: Any, message: str) -> tuple[str, str]:
    """What is wrong with a value of a type, form or size that does not fit."""
    if kind == "string_pattern_mismatch":
        form = _FORMS.get(said["pattern"], f"text that matches {said['pattern']}")
        return f"{_shown(given)} has not the form that is wanted", f"write {form}"
    if kind == "string_too_short" and not given:
        return "is empty", "fill it, or leave the key out"
    if kind in ("string_too_short", "string_too_long"):
        least = kind == "string_too_short"
        number = said["min_length" if least else "max_length"]
        few = f"is too {'short' if least else 'long'}"
        return f"{_shown(given)} {few}", f"write {'at least' if least else 'at most'} {number} characters"
    if kind in ("too_short", "too_long"):
        least = kind == "too_short"
        number = said["min_length" if least else "max_length"]
        return (
            f"has {said['actual_length']} {'entry' if said['actual_length'] == 1 else 'entries'}",
            f"give {'at least' if least else 'at most'} {number}",
        )
    if kind in _LIMITS:
        key, words = _LIMITS[kind]
        return f"{_shown(given)} is out of range", f"give {words} {said[key]:g}"
    if kind == "int_from_float":
        return f"{_shown(given)} is no whole number", "give a whole number"
    if (wanted := _KINDS.get(kind.partition("_")[0])) is not None:
        return f"{_shown(given)} is not {wanted}", f"give {wanted}"
    return message, "correct the value"


def _place(where: Sequence[str | int], data: Any) -> str:
    """The way to a value: keys, entries of lists by their id or else counted from 1."""
    steps: list[str] = []
    for place, step in enumerate(where):
        last = place == len(where) - 1
        if isinstance(step, int) and isinstance(data, list | tuple):
            data = data[step] if step < len(data) else None
            name = data.get("id") if isinstance(data, Mapping) else None
            if isinstance(name, str) and steps:
                steps[-1] += f" {name!r}"
            else:
                steps.append(f"entry {step + 1}")
        elif isinstance(data, Mapping) and (step in data or last) and step != _KEY:
            steps.append(str(step))
            data = data.get(step)
        # every other step is a choice among types, which is no part of the file
    return ", ".join(steps)


def _keys(model: type[BaseModel], where: Sequence[str | int]) -> Iterator[str]:
    """The keys that are allowed at a place; below a choice of tables those of each."""
    models = [model]
    for step in where:
        inner = [found for each in models for found in _below(each, step)]
        models = inner or models
    for each in models:
        for name, field in each.model_fields.items():
            yield field.alias or name


def _below(model: type[BaseModel], step: str | int) -> Iterator[type[BaseModel]]:
    for name, field in model.model_fields.items():
        if step in (name, field.alias):
            yield from _models(field.annotation)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def _choose(given: str, allowed: Sequence[str], otherwise: str) -> str:
    return did_you_mean(given, allowed) or f"{otherwise} {', '.join(allowed)}"


def _listed(expected: str) -> list[str]:
    """The values of pydantic's `'a', 'b' or 'c'`."""
    return [part.strip(" '") for part in expected.replace("' or '", "', '").split(", ")]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
