"""The reference pages that are made from the code: `python -m mcp_mimic.reference docs/reference`."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fastmcp.tools import Tool

from mcp_mimic.governance.decision import EXPLICIT_TOOLS
from mcp_mimic.operations import commands_page, errors_page, settings_page
from mcp_mimic.store.tables import TABLES
from mcp_mimic.tools.catalogue import all_tools
from mcp_mimic.tools.query_chart import TABLES_HEAD
from mcp_mimic.tools.source import Source
from mcp_mimic.tools.sources import SOURCES

_EXAMPLE = "Example: "
_PLAIN_TYPES = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true or false"}


def tools_page() -> str:
    """Every tool with its arguments, the tables that it reads, and the shape of its answer."""
    tools = all_tools()
    lines = [
        "# Tools",
        "",
        "Made from the code by `just docs`. No tool names a patient: the grant does.",
        "",
        "A call is answered twice, as structured content of the shape that is named here and as compact text of "
        "the same. A call that is refused or in error has `is_error` and, instead of the shape, `call` and `error` "
        "with a code, a sentence and a remedy.",
        "",
        *_table(("tool", "what"), ((f"[{name}](#{name})", _summary(tool)) for name, tool in tools.items())),
        "",
    ]
    for name, tool in tools.items():
        lines += _tool(name, tool)
    lines += ["## Shapes of answers", ""]
    for title, shape in sorted(_shapes(tools.values()).items()):
        lines += _shape(title, shape)
    return "\n".join(lines).rstrip() + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "tools.md": tools_page,
    "settings.md": settings_page,
    "commands.md": commands_page,
    "errors.md": errors_page,
}
"""The pages by file name."""


def write_pages(folder: Path) -> None:
    """Write every page into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")


def _tool(name: str, tool: Tool) -> list[str]:
    description, _, example = (tool.description or "").rpartition(_EXAMPLE)
    lines = [f"## {name}", "", description.strip(), ""]
    if name in EXPLICIT_TOOLS:
        lines += ["Off unless the grant names it.", ""]
    example, _, tables = example.partition(TABLES_HEAD)
    lines += ["```python", example.strip().removesuffix("."), "```", ""]
    if tables:
        listed = map(_columns, tables.strip().removesuffix(".").split("; "))
        lines += [*_table(("table", "columns"), listed), ""]
    properties = tool.parameters.get("properties", {})
    required = tool.parameters.get("required", [])
    if properties:
        rows = (
            (
                f"`{argument}`",
                _type(schema),
                "required" if argument in required else _default(schema),
                schema["description"],
            )
            for argument, schema in properties.items()
        )
        lines += [*_table(("argument", "type", "default", "meaning"), rows), ""]
    read = [source for source in SOURCES.values() if name in source.tool]
    if read:
        heads = ("table", "evidence id", "how", "written freely", "units")
        lines += [*_table(heads, map(_source, read)), ""]
    if tool.output_schema is not None:
        title = tool.output_schema.get("title", "")
        lines += [f"Answer: [{title}](#{title.lower()}).", ""]
    return lines


def _columns(table: str) -> tuple[str, str]:
    """A table and its columns, of `schema.table(column, column)`."""
    name, _, columns = table.removesuffix(")").partition("(")
    return f"`{name}`", ", ".join(f"`{column}`" for column in columns.split(", "))


def _summary(tool: Tool) -> str:
    return (tool.description or "").strip().split("\n\n")[0].replace("\n", " ")


def _source(source: Source) -> tuple[str, ...]:
    free = [*source.free, *(source.detail.free if source.detail else ())]
    units = [f"{name} {unit}" for name, unit in source.known_units.items()]
    return (
        f"`{source.table}`",
        f"`{TABLES[source.table].kind}:`",
        f"`{source.tool}`",
        ", ".join(f"`{name}`" for name in free) or "-",
        ", ".join(units) or "-",
    )


def _shapes(tools: Iterable[Tool]) -> dict[str, Mapping[str, Any]]:
    """Every answer's schema and those inside it, by title."""
    shapes: dict[str, Mapping[str, Any]] = {}
    for tool in tools:
        schema = tool.output_schema or {}
        for shape in (schema, *sorted(_inner(schema), key=lambda inner: str(inner["title"]))):
            shapes.setdefault(shape.get("title", ""), shape)
    return shapes


def _inner(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The shapes inside a schema, but that of the error, which every answer may be instead."""
    parts = [part for name, part in schema.get("properties", {}).items() if name != "error"]
    for part in (*parts, *schema.get("anyOf", ()), schema.get("items", {})):
        if "properties" in part:
            yield part
        if part:
            yield from _inner(part)


def _shape(title: str, shape: Mapping[str, Any]) -> list[str]:
    rows = (
        (f"`{name}`", _type(schema))
        for name, schema in shape.get("properties", {}).items()
        if name != "error"
    )
    about = [shape["description"], ""] if "description" in shape else []
    return [f"### {title}", "", *about, *_table(("key", "type"), rows), ""]


def _type(schema: Mapping[str, Any]) -> str:
    if "properties" in schema:
        title = schema["title"]
        return f"[{title}](#{title.lower()})"
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    if "anyOf" in schema:
        kinds = [_type(part) for part in schema["anyOf"] if part.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return _PLAIN_TYPES.get(schema.get("type", ""), "object")


def _default(schema: Mapping[str, Any]) -> str:
    value = schema.get("default")
    return "-" if value is None else f"`{value}`"


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    return [line(heads), line("---" for _ in heads), *(line(row) for row in rows)]


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
