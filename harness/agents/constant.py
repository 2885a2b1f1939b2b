"""Probes that answer the same whatever the chart says: what the scores give for nothing."""

from typing import TYPE_CHECKING, Any

from harness.agents.base import Answer, TaskView
from harness.agents.writing import report

if TYPE_CHECKING:
    from fastmcp import Client


class AlwaysYes:
    """Answers YES to everything."""

    async def answer(self, task: TaskView, client: "Client[Any]") -> Answer:  # noqa: ARG002
        """Answer without a look at the chart."""
        return Answer(report("yes", ["The stated criterion is met."]))


class AlwaysDefer:
    """Answers lack of data to everything."""

    async def answer(self, task: TaskView, client: "Client[Any]") -> Answer:  # noqa: ARG002
        """Answer without a look at the chart."""
        return Answer(report("lack_of_data", ["The record does not settle the question."]))
