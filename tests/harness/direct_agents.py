"""Agents that misbehave in one way each, for tests of the direct runner."""

import asyncio
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

from fastmcp import Client

from harness.agents.base import Answer, TaskView


class Raises:
    async def answer(self, task: TaskView, client: Client[Any]) -> Answer:
        await client.call_tool_mcp("get_labs", {})
        raise RuntimeError("the agent lost its way")


class Sleeps:
    async def answer(self, task: TaskView, client: Client[Any]) -> Answer:
        await asyncio.sleep(60)
        return Answer("## Answer: YES\n")


class Submits:
    async def answer(self, task: TaskView, client: Client[Any]) -> Answer:
        page = await client.call_tool_mcp("get_labs", {"items": [50813]})
        eid = page.structured_content["rows"][-1]["eid"]
        await client.call_tool_mcp("submit_determination", {"report": f"## Answer: YES\n\nHigh [{eid}].\n"})
        return Answer(None)


class Careless:
    """Calls at once, wrongly, and what does not exist."""

    async def answer(self, task: TaskView, client: Client[Any]) -> Answer:
        await asyncio.gather(
            client.call_tool_mcp("get_labs", {"limit": 2}),
            client.call_tool_mcp("get_labs", {"limit": "many"}),
            client.call_tool_mcp("get_weather", {}),
            client.call_tool_mcp("get_labs", {"start": "yesterday"}),
            client.call_tool_mcp("list_encounters", {"kind": "icu_stays"}),
        )
        return Answer("## Answer: YES\n")


class KillsItsWorker:
    async def answer(self, task: TaskView, client: Client[Any]) -> Answer:
        os.kill(os.getpid(), signal.SIGKILL)
        return Answer(None)


class WaitsForAFile:
    """Answers once the file that the environment names exists; leaves its process id in another first."""

    async def answer(self, task: TaskView, client: Client[Any]) -> Answer:
        gate = Path(os.environ["CLINICARE_TEST_GATE"])
        draft = gate.with_suffix(".draft")
        draft.write_text(str(os.getpid()))
        draft.rename(gate.with_suffix(".begun"))
        while not gate.exists():
            await asyncio.sleep(0.02)
        return Answer("## Answer: YES\n")


class WritesWhatUtf8CannotHold:
    async def answer(self, task: TaskView, client: Client[Any]) -> Answer:
        return Answer("## Answer: YES\n\udc80")


class AsksWhatUtf8CannotHold:
    async def answer(self, task: TaskView, client: Client[Any]) -> Answer:
        await client.call_tool_mcp("get_labs", {"items": ["\udc80"]})
        return Answer("## Answer: YES\n")


class AsksWhatJsonCannotHold:
    async def answer(self, task: TaskView, client: Client[Any]) -> Answer:
        await client.call_tool_mcp("get_labs", {"items": object()})
        return Answer("## Answer: YES\n")


class RaisesWhatUtf8CannotHold:
    async def answer(self, task: TaskView, client: Client[Any]) -> Answer:
        raise ValueError("\udc80" + "and on " * 10_000_000)


class RaisesWhatCannotBeTold:
    async def answer(self, task: TaskView, client: Client[Any]) -> Answer:
        class UntoldError(Exception):
            def __str__(self) -> str:
                raise RuntimeError

        raise UntoldError


class ReturnsNothing:
    async def answer(self, task: TaskView, client: Client[Any]) -> Answer | None:
        return None


class ReturnsANumber:
    async def answer(self, task: TaskView, client: Client[Any]) -> Answer:
        return Answer(5)  # type: ignore[arg-type]


class Exits:
    async def answer(self, task: TaskView, client: Client[Any]) -> Answer:
        sys.exit(3)


class CancelsItself:
    async def answer(self, task: TaskView, client: Client[Any]) -> Answer:
        task_of_mine = asyncio.current_task()
        assert task_of_mine is not None
        task_of_mine.cancel()
        await asyncio.sleep(1)
        return Answer("## Answer: YES\n")


class WritesTooMuch:
    async def answer(self, task: TaskView, client: Client[Any]) -> Answer:
        return Answer("## Answer: YES\n" + "and on " * 100_000)


class FillsTheDisk:
    """From its answer on, no file of this process may grow beyond a thousand bytes."""

    async def answer(self, task: TaskView, client: Client[Any]) -> Answer:
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, most))
        return Answer("## Answer: YES\n" + "and on " * 1000)


class ReadsThePolicy:
    """Searches the session's policies, and cites the sections that it was shown."""

    async def answer(self, task: TaskView, client: Client[Any]) -> Answer:
        found = await client.call_tool_mcp("search_policies", {"query": "measured"})
        shown: dict[str, Any] = found.structured_content
        return Answer("## Answer: YES\n\n" + " ".join(f"[{hit['eid']}]" for hit in shown["passages"]))
