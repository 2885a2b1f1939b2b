"""An agent that makes the calls that it was told to, keeps the answers, and leaves the report that it was told."""

import json
import shlex
from pathlib import Path
from typing import Any

from harbor.agents.base import BaseAgent
from harbor.agents.capabilities import AgentCapabilities
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

from tests.containers.attack import inside


class Asking(BaseAgent):
    """`notes` is the folder with calls.json and report.md, where answers.json is left."""

    capabilities = AgentCapabilities(mcp_servers=True)

    def __init__(self, notes: str, **options: Any) -> None:
        super().__init__(**options)
        self.notes = Path(notes)

    @staticmethod
    def name() -> str:
        """As the record of a trial names it."""
        return "asking"

    def version(self) -> str:
        """Of no matter."""
        return "1"

    async def setup(self, environment: BaseEnvironment) -> None:
        """There is nothing to install."""

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        """Ask, and answer."""
        calls = json.loads((self.notes / "calls.json").read_bytes())
        answers = await inside(environment, "ask", calls, "agent")
        (self.notes / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
        report = (self.notes / "report.md").read_text(encoding="utf-8")
        await environment.exec(f"printf %s {shlex.quote(report)} > /workspace/report.md")
