"""May this call be answered? A pure decision, with the rule that made it and what to do next."""

from dataclasses import dataclass

from mcp_mimic.contract import Grant
from mcp_mimic.governance.limits import FLOOD_FACTOR, Usage

EXPLICIT_TOOLS = frozenset({"query_chart"})
"""Tools that `*` does not stand for: a grant must name them."""

UNMETERED_TOOLS = frozenset({"submit_determination"})
"""Tools that stay open when calls or characters are used up, so that an answer can still be given."""


@dataclass(frozen=True)
class Decision:
    """Allowed, or refused by `rule` with a sentence and a remedy for the client."""

    rule: str | None = None
    message: str = ""
    remedy: str = ""

    @property
    def allowed(self) -> bool:
        """Whether the call may go on."""
        return self.rule is None


ALLOWED = Decision()


def grants_tool(grant: Grant, tool: str) -> bool:
    """Whether the grant lets `tool` be listed and called."""
    return tool in grant.tools or ("*" in grant.tools and tool not in EXPLICIT_TOOLS)


def decide(grant: Grant, usage: Usage, tool: str, known: bool) -> Decision:
    """Decide on a call that is about to start; `usage.calls` counts it already.

    The rules, in order: sealed, unknown_tool, grant.tools, limits.calls, limits.total_chars.
    """
    if usage.sealed:
        return Decision("sealed", "the session is closed and its audit sealed", "no further call is possible")
    if not known:
        return Decision(
            "unknown_tool", "no such tool", "list the tools and call one of them by its exact name"
        )
    if not grants_tool(grant, tool):
        return Decision(
            "grant.tools",
            f"the grant does not include {tool}",
            "use the tools that are listed for this session",
        )
    limits = grant.limits
    if tool in UNMETERED_TOOLS and usage.calls <= FLOOD_FACTOR * limits.calls:
        return ALLOWED
    if usage.calls > limits.calls:
        return Decision(
            "limits.calls",
            f"all {limits.calls} calls of this session are used",
            "give your answer from what you have been served",
        )
    if usage.chars >= limits.total_chars:
        return Decision(
            "limits.total_chars",
            f"all {limits.total_chars} characters of this session are used",
            "give your answer from what you have been served",
        )
    return ALLOWED
