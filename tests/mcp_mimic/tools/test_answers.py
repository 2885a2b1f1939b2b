"""Schemas of the structured results, as clients read them."""

import json
from typing import Any

from fastmcp.utilities.json_schema import dereference_refs
from pydantic import TypeAdapter

from mcp_mimic.tools import answers
from mcp_mimic.tools.catalogue import all_tools

_ANSWERS = [value for name, value in vars(answers).items() if name.endswith("Answer")]


def test_a_published_schema_is_what_the_framework_would_write_out() -> None:
    referring = 0
    for answer in _ANSWERS:
        plain = TypeAdapter(answer).json_schema()
        referring += "$defs" in plain
        assert _own(answers.published_schema(answer)) == _own(dereference_refs(plain)), answer
    assert referring


def test_no_published_schema_refers_to_a_definition() -> None:
    told = json.dumps([[tool.parameters, tool.output_schema] for tool in all_tools().values()])
    assert "$ref" not in told
    assert "$defs" not in told


def _own(schema: dict[str, Any]) -> str:
    """A schema, in its order, without what publishing changes for every tool."""
    properties = {name: of for name, of in schema["properties"].items() if name not in ("call", "error")}
    return json.dumps(schema | {"properties": properties, "required": []})
