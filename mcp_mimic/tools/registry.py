"""How a function becomes a tool: guarded, with its published result, and its docstring as description."""

import inspect
import logging
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import Any

from fastmcp.tools import ToolResult, tool
from mcp_types import ToolAnnotations

from mcp_mimic.errors import ToolError
from mcp_mimic.tools.answers import RowsAnswer, published_schema
from mcp_mimic.tools.session import Call, current

logger = logging.getLogger(__name__)

type ToolFunction = Callable[..., ToolResult | Awaitable[ToolResult]]

REFUSALS = ("grant.", "limits.", "query.")
"""How the codes begin by which a tool refuses what it could have done; all others are errors."""


def chart_tool(function: ToolFunction, *, answer: Any, read_only: bool = True) -> ToolFunction:
    """Mark `function` as a tool whose structured result is `answer`; what it raises becomes an answer too.

    The function takes the call in progress as `call`, which clients neither see nor can give. It may be
    asynchronous.
    """

    @wraps(function)
    def guarded(**arguments: Any) -> Any:
        call = current.get()
        try:
            return function(**arguments, call=call)
        except Exception as error:  # noqa: BLE001 a bug too must be audited
            return _failed(call, error)

    @wraps(function)
    async def awaited(**arguments: Any) -> Any:
        call = current.get()
        try:
            return await function(**arguments, call=call)  # type: ignore[misc]
        except Exception as error:  # noqa: BLE001
            return _failed(call, error)

    marks = ToolAnnotations(
        read_only_hint=read_only, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    chosen = awaited if inspect.iscoroutinefunction(function) else guarded
    _hide_call(chosen)
    # A docstring that the framework finds makes it load a parser of docstrings, a tenth of the server's start.
    description, chosen.__doc__ = inspect.getdoc(function), None
    marked: ToolFunction = tool(
        description=description, output_schema=published_schema(answer), annotations=marks
    )(chosen)
    return marked


def _hide_call(wrapper: Callable[..., Any]) -> None:
    """Leave `call` out of what the framework sees: to inject it there would cost a tenth of a call."""
    signature = inspect.signature(wrapper)
    shown = [of for name, of in signature.parameters.items() if name != "call"]
    wrapper.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {name: of for name, of in wrapper.__annotations__.items() if name != "call"}


def _failed(call: Call, error: Exception) -> ToolResult:
    """The audited answer to a call that raised; a bug's own message may hold values and stays out."""
    if isinstance(error, ToolError):
        outcome = "refused" if error.code.startswith(REFUSALS) else "error"
        return call.fail(outcome, error.code, error.message, error.remedy)
    logger.error("tool failed: %s", type(error).__name__)
    return call.fail(
        "error",
        "internal",
        f"the call failed ({type(error).__name__})",
        "ask for a narrower window; tell the operator if it happens again",
    )


read_tool = partial(chart_tool, answer=RowsAnswer)
"""A tool that answers with rows of one table."""
