"""The catalogue of codes is the code's: what is raised is listed, and what is listed is raised."""

import ast
from collections.abc import Iterator
from pathlib import Path

import mcp_mimic
from mcp_mimic.codes import CALLS, COMMANDS, EVENTS, TOKENS

ROOT = Path(mcp_mimic.__file__).parent
SHOWN_ONLY = {"audit_unavailable", "sealed", "grant", "chart_unavailable"}
"""Codes that a server with grants gives a call whose session cannot be opened."""


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Every call in the package, with the name of what is called."""
    for file in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield getattr(node.func, "id", getattr(node.func, "attr", "")), node


def texts(*nodes: ast.expr | None) -> set[str]:
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def codes_of(*kinds: str) -> set[str]:
    """The codes given as keyword to errors of these kinds."""
    return {
        code
        for name, node in calls()
        if name in kinds
        for keyword in node.keywords
        if keyword.arg == "code"
        for code in texts(keyword.value)
    }


def class_codes() -> set[str]:
    """The codes that the classes of errors have by themselves."""
    return {
        code
        for file in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "code"
        for code in texts(node.value)
    }


def test_every_code_of_a_call_is_listed_and_no_other() -> None:
    raised = codes_of("ToolError")
    for name, node in calls():
        if name == "Decision" and node.args:
            raised |= texts(node.args[0])
        if name == "fail":
            raised |= texts(node.args[1])
    assert raised | SHOWN_ONLY == set(CALLS)


def test_every_code_of_a_command_is_listed_and_no_other() -> None:
    raised = codes_of("StoreError", "GrantError", "SettingsError") | class_codes()
    assert raised - {"error", "tool"} == set(COMMANDS)


def test_every_reason_for_refusing_a_token_is_listed_and_no_other() -> None:
    refused = {code for name, node in calls() if name == "TokenRefused" for code in texts(node.args[0])}
    assert refused | {"missing", "unknown_grant", "store_mismatch", "grant"} == set(TOKENS)


def test_every_event_of_the_log_is_listed_and_no_other() -> None:
    told = {name for called, node in calls() if called == "event" for name in texts(node.args[0])}
    assert told | {"problem", "library"} == set(EVENTS)
