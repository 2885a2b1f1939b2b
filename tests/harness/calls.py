"""The calls of a trial, told twice: by the agent's trajectory and by the server's audit."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from harbor.models.trajectories import Trajectory

Calls = list[tuple[str, dict[str, Any]]]
"""Tool and arguments, in order."""


def called(trajectory: Path, prefix: str = "") -> Calls:
    """What the trajectory says was called, of the tools whose names begin with `prefix`, which is left out."""
    record = Trajectory.model_validate_json(trajectory.read_bytes())
    calls = [call for step in record.steps for call in step.tool_calls or []]
    return [
        (call.function_name.removeprefix(prefix), dict(call.arguments))
        for call in calls
        if call.function_name.startswith(prefix)
    ]


def logged(audit: Path) -> Calls:
    """What the audit says was called; free text stands there as length and digest."""
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    return [(line["tool"], line["args"]) for line in lines if "tool" in line]


def as_logged(calls: Calls, audit: Calls) -> Calls:
    """The calls with the text that the audit has digested in the same place digested likewise."""
    pairs = zip(calls, [*audit, *[("", {})] * len(calls)], strict=False)
    return [
        (
            tool,
            {
                name: _digest(value) if isinstance(noted.get(name), dict) else value
                for name, value in arguments.items()
            },
        )
        for (tool, arguments), (_, noted) in pairs
    ]


def _digest(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    return {"length": len(text), "sha256": sha256(text.encode()).hexdigest()}
