"""Decisions on calls: pure, in a fixed order, each with its rule and a remedy."""

import pytest

from mcp_mimic.contract import Grant, Limits
from mcp_mimic.governance.decision import decide, grants_tool
from mcp_mimic.governance.limits import Usage
from tests.mcp_mimic.charts import make_grant


def grant(*tools: str, **limits: int) -> Grant:
    return make_grant(tools=tools or ("*",), limits=Limits(**limits))


@pytest.mark.parametrize(
    ("usage", "tool", "known", "rule"),
    [
        (Usage(calls=1), "get_labs", True, None),
        (Usage(calls=5), "get_labs", True, None),
        (Usage(calls=6), "get_labs", True, "limits.calls"),
        (Usage(calls=50), "submit_determination", True, None),
        (Usage(calls=51), "submit_determination", True, "limits.calls"),
        (Usage(calls=1, chars=1000), "get_labs", True, "limits.total_chars"),
        (Usage(calls=1, chars=1000), "submit_determination", True, None),
        (Usage(calls=1), "drop_table", False, "unknown_tool"),
        (Usage(calls=1), "query_chart", True, "grant.tools"),
        (Usage(calls=6, sealed=True), "submit_determination", True, "sealed"),
    ],
)
def test_a_call_is_decided_by_the_first_rule_that_holds(
    usage: Usage, tool: str, known: bool, rule: str | None
) -> None:
    decision = decide(grant(calls=5, total_chars=1000), usage, tool, known)
    assert decision.rule == rule
    assert decision.allowed is (rule is None)
    assert bool(decision.message and decision.remedy) is (rule is not None)


def test_the_star_stands_for_all_tools_but_query_chart() -> None:
    assert grants_tool(grant("*"), "get_labs")
    assert not grants_tool(grant("*"), "query_chart")
    assert grants_tool(grant("*", "query_chart"), "query_chart")
    assert not grants_tool(grant("get_labs"), "get_microbiology")
