"""Probes that know the verdict and read too much, or say too much."""

from typing import TYPE_CHECKING, Any

from harness.agents.base import Answer, Gold, TaskView
from harness.agents.oracle import Grounds, Oracle, satisfy, sentence
from harness.agents.reading import read_source
from harness.agents.writing import cited, heading, report
from harness.sources import ROUTES
from mcp_mimic.contract import VERDICTS

if TYPE_CHECKING:
    from fastmcp import Client

_DUMPED = 900
"""Ids that a dump cites at most: its report must stay within the size that is read."""


class TwoAnswers:
    """The oracle's evidence under two different answers."""

    async def answer_knowing(self, task: TaskView, client: "Client[Any]", gold: Gold) -> Answer:
        """Append another verdict to the oracle's report."""
        first = await Oracle().answer_knowing(task, client, gold)
        other = next(verdict for verdict in VERDICTS if verdict != gold["verdict"])
        return Answer(f"{first.report}\n{heading(other)}\n")


class ChartDump:
    """The right verdict, citing whatever was served, the largest tables first."""

    async def answer_knowing(self, task: TaskView, client: "Client[Any]", gold: Gold) -> Answer:  # noqa: ARG002
        """Read the newest page of every table and cite all of it."""
        readings = [await read_source(client, source, max_pages=1) for source in ROUTES]
        largest_first = sorted(readings, key=lambda reading: -reading.total)
        rows = [eid for reading in largest_first for eid in reading.eids]
        return Answer(report(gold["verdict"], [cited("All of the chart was read", rows[:_DUMPED])]))


class BlanketSearch:
    """The oracle's rows, but what only a search can show rests on one too wide to have been read."""

    async def answer_knowing(self, task: TaskView, client: "Client[Any]", gold: Gold) -> Answer:  # noqa: ARG002
        """Cite the first page of one source's whole record wherever a search is needed."""
        blanket = await read_source(client, "icu.chartevents", max_pages=1)
        by_rows = [requirement for requirement in gold["requirements"] if requirement["alternatives"]]
        grounds = await satisfy(client, by_rows) + [
            Grounds(requirement["id"], (blanket.last_call,), by_search=True)
            for requirement in gold["requirements"]
            if not requirement["alternatives"]
        ]
        return Answer(report(gold["verdict"], [sentence(ground) for ground in grounds]))
