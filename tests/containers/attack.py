"""An agent that attacks its own trial: it runs commands in its container and writes down what they printed.

It is a class of Harbor's, as anybody's own agent is. What is inside a container runs from the scripts in
`inside/`, as root or as the user that agents have; what they found lands in a file that the test reads.
"""

import asyncio
import json
import shlex
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from harbor.agents.base import BaseAgent
from harbor.agents.capabilities import AgentCapabilities
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

_INSIDE = Path(__file__).with_name("inside")


type Attack = Callable[["RootShell", BaseEnvironment], Awaitable[None]]


class RateLimitError(RuntimeError):
    """Named as a provider's error is, and raised by an agent that wants another try."""


class RootShell(BaseAgent):
    """Makes the attack that `attack` names; `notes` is the folder with facts.json, where it tells of it."""

    capabilities = AgentCapabilities(mcp_servers=True)

    def __init__(self, attack: str, notes: str, **options: Any) -> None:
        super().__init__(**options)
        self.attack, self.notes = attack, Path(notes)
        self.facts: dict[str, Any] = json.loads((self.notes / "facts.json").read_text(encoding="utf-8"))
        self.report = self.facts["report"]

    @staticmethod
    def name() -> str:
        """As the record of a trial names it."""
        return "root-shell"

    def version(self) -> str:
        """Of no matter."""
        return "1"

    async def setup(self, environment: BaseEnvironment) -> None:
        """There is nothing to install."""

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        """Attack."""
        await ATTACKS[self.attack](self, environment)

    def tell(self, part: str, found: Any) -> None:
        """Leave what was found for the test."""
        (self.notes / f"{self.attack}.{part}.json").write_text(json.dumps(found), encoding="utf-8")

    async def write_report(self, environment: BaseEnvironment) -> None:
        """The report that an honest agent would leave."""
        await environment.exec(f"printf %s {shlex.quote(self.report)} > /workspace/report.md")


async def inside(environment: BaseEnvironment, script: str, facts: Any, user: str) -> Any:
    """What a script found that ran in the agent's container; the text that it printed if it found nothing."""
    code = (_INSIDE / f"{script}.py").read_text(encoding="utf-8")
    command = (
        f"RES_OPTIONS='timeout:1 attempts:1' python3 -c {shlex.quote(code)} {shlex.quote(json.dumps(facts))}"
    )
    done = await environment.exec(command, user=user)
    said = (done.stdout or "").strip().rpartition("\n")[2]
    try:
        return json.loads(said)
    except ValueError:
        return f"exit {done.return_code}: {(done.stdout or '')[-2000:]}"


def addresses(container: str) -> list[str]:
    """A container's addresses and those of its networks' gateways, as the engine tells them."""
    networks = json.loads(_docker("inspect", "--format", "{{json .NetworkSettings.Networks}}", container))
    return [
        address
        for network in networks.values()
        for address in (network["IPAddress"], network["Gateway"], network["GlobalIPv6Address"])
        if address
    ]


def gateways(container: str) -> list[str]:
    """The first address of each subnet of a container's networks: where a bridge would have the host."""
    found = json.loads(_docker("inspect", "--format", "{{json .NetworkSettings.Networks}}", container))
    return [network["IPAddress"].rpartition(".")[0] + ".1" for network in found.values()]


def _docker(*arguments: str) -> str:
    return subprocess.run(
        ["docker", *arguments],
        check=True,
        capture_output=True,
        text=True,
    ).stdout


async def _wait_for(file: Path) -> None:
    for _ in range(600):
        if file.exists():
            return
        await asyncio.sleep(0.1)


def _container(environment: BaseEnvironment, service: str) -> str:
    return f"{environment.session_id}-{service}-1".lower()


async def _reach(agent: RootShell, environment: BaseEnvironment) -> None:
    """Look and reach for everything that is none of an agent's business, while another trial is there."""
    neighbour = agent.notes / "neighbour.up.json"
    await _wait_for(neighbour)
    other = json.loads(neighbour.read_text(encoding="utf-8"))
    facts = {
        **agent.facts,
        "others": other["names"] + other["addresses"],
        "gateways": gateways(_container(environment, "main")),
    }
    try:
        for user in ("root", "agent"):
            agent.tell(user, await inside(environment, "reach", facts, user))
        agent.tell("tools", await inside(environment, "tools", facts, "agent"))
    finally:
        agent.tell("over", True)
    await agent.write_report(environment)


async def _neighbour(agent: RootShell, environment: BaseEnvironment) -> None:
    """Be there, with a listener of its own, until the other trial has tried."""
    names = [_container(environment, service) for service in ("main", "mimic")]
    server = "import socket, time; one = socket.create_server(('', 9001)); time.sleep(900)"
    await environment.exec(f'setsid python3 -c "{server}" >/dev/null 2>&1 &')
    listens = await environment.exec(
        "for _ in {1..100}; do exec 3<>/dev/tcp/127.0.0.1/9001 && exit 0; sleep 0.1; done 2>/dev/null; exit 1"
    )
    places = [address for name in names for address in addresses(name)]
    agent.tell("up", {"names": names, "addresses": places, "listens": listens.return_code == 0})
    await _wait_for(agent.notes / "reach.over.json")
    await agent.write_report(environment)


async def _server(agent: RootShell, environment: BaseEnvironment) -> None:
    """Go for the chart server, then answer as if nothing had been."""
    agent.tell("agent", await inside(environment, "server", agent.facts, "agent"))
    await agent.write_report(environment)


async def _litter(agent: RootShell, environment: BaseEnvironment) -> None:
    """Leave hostile files beside a good report."""
    agent.tell("agent", await inside(environment, "litter", agent.facts, "agent"))
    await agent.write_report(environment)


def _leaving(command: str) -> Attack:
    """Leave a report as the command makes it; `canary` and `report` are variables of the shell."""

    async def attack(agent: RootShell, environment: BaseEnvironment) -> None:
        await environment.exec(command, env={"canary": agent.facts["canary"], "report": agent.report})

    return attack


async def _garbled(agent: RootShell, environment: BaseEnvironment) -> None:
    """Leave a trajectory that is no text."""
    await environment.exec("printf '{\"steps\": \\377\\376}' > /logs/agent/trajectory.json")
    await agent.write_report(environment)


async def _outlive(agent: RootShell, environment: BaseEnvironment) -> None:
    """Leave a process behind, and end while it is at work."""
    agent.tell("agent", await inside(environment, "outlive", {}, "agent"))
    await asyncio.sleep(1.5)


async def _forge(agent: RootShell, environment: BaseEnvironment) -> None:
    """Answer wrong, and write as root and as the agent what somebody could take for a score or an audit."""
    found = {}
    for user in ("agent", "root"):
        for place in (
            "/logs/verifier/reward.json", "/logs/verifier/score.json", "/logs/reward.json", "/logs/agent/result.json",
            "/logs/artifacts/audit/audit.jsonl", "/logs/artifacts/audit/report.md", "/logs/artifacts/manifest.json",
            "/logs/artifacts/workspace/report.md", "/audit/audit.jsonl", "/audit/report.md", "/tests/gold.json", "/tests/test.sh",
            "/workspace/reward.json", "/workspace/audit.jsonl",
        ):  # fmt: skip
            done = await environment.exec(
                f'mkdir -p $(dirname {place}) && printf %s "$forged" > {place}',
                env={"forged": json.dumps(agent.facts["forged"])},
                user=user,
            )
            found[f"{user} {place}"] = done.return_code
    agent.tell("written", found)
    await environment.exec('printf %s "$report" > /workspace/report.md', env={"report": agent.facts["wrong"]})


async def _bombs(agent: RootShell, environment: BaseEnvironment) -> None:
    """Use up what there is, then answer as if nothing had been."""
    agent.tell("agent", await inside(environment, "bombs", {}, "agent"))
    await environment.exec("kill -9 -1", user="agent")
    await agent.write_report(environment)


async def _tiny(agent: RootShell, environment: BaseEnvironment) -> None:
    """Answer, then use up the memory in a way that the kernel blames on others."""
    await agent.write_report(environment)
    await inside(environment, "tiny", {}, "agent")


async def _loud(agent: RootShell, environment: BaseEnvironment) -> None:
    """Answer, print a gigabyte, and fail as a provider does."""
    await agent.write_report(environment)
    done = await environment.exec("head -c 1073741824 /dev/zero | tr '\\0' '\\033'; exit 7")
    agent.tell("printed", {"code": done.return_code, "kept": len(done.stdout or "")})
    raise RateLimitError(f"429 rate limit exceeded, overloaded_error: {done.stdout}")


async def _kill(agent: RootShell, environment: BaseEnvironment) -> None:
    """End the container, as its root only can."""
    await agent.write_report(environment)
    await environment.exec("kill -9 $(pgrep -x sleep)", user="root")
    await asyncio.sleep(1)


ATTACKS: dict[str, Attack] = {
    "reach": _reach,
    "neighbour": _neighbour,
    "server": _server,
    "litter": _litter,
    "report-link": _leaving('ln -s "$canary" /workspace/report.md'),
    "report-folder": _leaving(
        'mkdir /workspace/report.md; printf %s "$report" > /workspace/report.md/report.md'
    ),
    "report-pipe": _leaving("mkfifo /workspace/report.md"),
    "report-large": _leaving("truncate -s 1G /workspace/report.md"),
    "report-hard-link": _leaving('printf %s "$report" > /workspace/a; ln /workspace/a /workspace/report.md'),
    "report-gone": _leaving("rm -rf /workspace/* /logs/*"),
    "garbled": _garbled,
    "outlive": _outlive,
    "forge": _forge,
    "bombs": _bombs,
    "tiny": _tiny,
    "loud": _loud,
    "kill": _kill,
}
