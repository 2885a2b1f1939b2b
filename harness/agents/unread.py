"""Probes that know the verdict and read nothing."""

from typing import TYPE_CHECKING, Any

from harness.agents.base import Answer, Gold, TaskView
from harness.agents.oracle import MAX_CITATIONS
from harness.agents.writing import cited, report

if TYPE_CHECKING:
    from fastmcp import Client

_INVENTED = ("lab:999999999999", "emar:999999999999", "obs:999999999999")
"""Ids of the right form that no chart has: their keys lie beyond every key of a release."""


class RightWithoutEvidence:
    """The right verdict, with nothing behind it."""

    async def answer_knowing(self, task: TaskView, client: "Client[Any]", gold: Gold) -> Answer:  # noqa: ARG002
        """State the verdict."""
        return Answer(report(gold["verdict"], ["The chart supports this."]))


class InventedCitations:
    """The right verdict, resting on rows that do not exist."""

    async def answer_knowing(self, task: TaskView, client: "Client[Any]", gold: Gold) -> Answer:  # noqa: ARG002
        """State the verdict and cite ids made up."""
        return Answer(report(gold["verdict"], [cited("The deciding rows are these", _INVENTED)]))


class UnreadCitations:
    """The right verdict and the right rows, none of them ever served."""

    async def answer_knowing(self, task: TaskView, client: "Client[Any]", gold: Gold) -> Answer:  # noqa: ARG002
        """State the verdict and cite one sufficient set a requirement, or else some row of the chart, unread."""
        least = [min(req["alternatives"], key=len) for req in gold["requirements"] if req.get("alternatives")]
        eids = list(dict.fromkeys(eid for alternative in least for eid in alternative))
        eids = eids[:MAX_CITATIONS] or [_some_row(gold)]
        return Answer(report(gold["verdict"], [cited("The deciding rows are these", eids)]))


def _some_row(gold: Gold) -> str:
    """A row that the chart has, for verdicts that rest on searches alone."""
    kind, keys = next(iter(gold["known"].items()))
    key = keys[0] if isinstance(keys[0], str) else keys[0][0]
    return f"{kind}:{key}"
