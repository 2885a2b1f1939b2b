"""Reading what `mcp-mimic inspect` prints."""

import json
from typing import Any


def after(text: str, heading: str) -> str:
    """What stands under the line that ends with `heading`, up to the next way of doing it."""
    return text.split(f"{heading}:\n\n", 1)[1].split("\n\nor ", 1)[0].strip()


def server(text: str, heading: str = ".mcp.json") -> dict[str, Any]:
    """The one server of a configuration in JSON."""
    found: dict[str, Any] = json.loads(after(text, heading))["mcpServers"]["mimic"]
    return found
