"""What an agent is, and what it may see.

An `Agent` sees the instruction and a connected MCP client, nothing else. An `Instrument` is also handed
the gold: it measures the benchmark and is never ranked. Which of the two a system is stands in
`systems.toml` (`sees_gold`), and only the runner hands gold out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from fastmcp import Client


Gold = Mapping[str, Any]
"""A task's tests/gold.json."""


@dataclass(frozen=True)
class TaskView:
    """What every agent sees of a task besides its tools."""

    task_id: str
    instruction: str


@dataclass(frozen=True)
class Answer:
    """What an agent leaves behind: its report, or None if it sent one with `submit_determination`."""

    report: str | None


class Agent(Protocol):
    """A contestant, or a probe that needs no gold."""

    async def answer(self, task: TaskView, client: "Client[Any]") -> Answer:
        """Answer one task with nothing but its instruction and the tools."""
        ...


class Instrument(Protocol):
    """The oracle or a probe: it knows the gold and shows what the scores make of a behaviour."""

    async def answer_knowing(self, task: TaskView, client: "Client[Any]", gold: Gold) -> Answer:
        """Answer one task, knowing the gold."""
        ...
