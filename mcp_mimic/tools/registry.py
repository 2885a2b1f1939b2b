"""How a function becomes a tool: guarded, with its published result, and its docstring as description."""

import logging
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from fastmcp.tools import ToolResult, tool
from mcp_types import ToolAnnotations

from mcp_mimic.errors import ToolError
from mcp_mimic.tools.answers import RowsAnswer, published_schema
from mcp_mimic.tools.session import Call

logger = logging.getLogger(__name__)

type ToolFunction = Callable[..., ToolResult]


def chart_tool(function: ToolFunction, *, answer: Any, read_only: bool = True) -> ToolFunction:
    """Mark `function` as a tool whose structured result is `answer`; what it raises becomes an answer too.

    The function takes the call in progress as `call`, which clients do not see.
    """

    @wraps(function)
    def guarded(*, call: Call, **arguments: Any) -> ToolResult:
        try:
            return function(call=call, **arguments)
        except ToolError as error:
            refused = error.code.startswith("limits.")
            return call.fail("refused" if refused else "error", error.code, error.message, error.remedy)
        except Exception as error:  # noqa: BLE001 a bug too must be audited, and its message may hold values
            logger.error("tool failed: %s", type(error).__name__)  # noqa: TRY400
            return call.fail(
                "error",
                "internal",
                f"the call failed ({type(error).__name__})",
                "ask for a narrower window; tell the operator if it happens again",
            )

    marks = ToolAnnotations(
        read_only_hint=read_only, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    marked: ToolFunction = tool(output_schema=published_schema(answer), annotations=marks)(guarded)
    return marked


read_tool = partial(chart_tool, answer=RowsAnswer)
"""A tool that answers with rows of one table."""
