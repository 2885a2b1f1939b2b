"""What of a system's Harbor table is refused before a trial, and what Harbor is told of the rest."""

from pathlib import Path
from typing import Any

import pytest
from harbor.agents.agent_auth_resolution import resolve_agent_model_connection
from harbor.agents.base import BaseAgent
from harbor.agents.capabilities import AgentCapabilities
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

from harness.containers.agent import agent_config, require_agent
from harness.errors import UnknownSystemError
from harness.systems import HarborAgent, System, load_systems
from tests.examples import write_boxed_example

MODEL: dict[str, Any] = {
    "model": "anthropic/some",
    "environment": {"ANTHROPIC_BASE_URL": "http://model:9000", "ANTHROPIC_API_KEY": "placeholder"},
}


class Hearing(BaseAgent):
    """One of a user's own."""

    capabilities = AgentCapabilities(mcp_servers=True)

    def __init__(self, patience: int = 1, **options: Any) -> None:
        super().__init__(**options)
        self.patience = patience + 0

    @staticmethod
    def name() -> str:
        return "hearing"

    def version(self) -> str:
        return "1"

    async def setup(self, environment: BaseEnvironment) -> None: ...

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None: ...


class Deaf(Hearing):
    capabilities = AgentCapabilities()


class Unfinished(BaseAgent):
    """Lacks methods that Harbor calls."""

    capabilities = AgentCapabilities(mcp_servers=True)


def _system(agent: str, **more: Any) -> System:
    return System(tag="mine", about="mine", harbor=HarborAgent(agent=agent, **more))


@pytest.mark.parametrize(
    "system",
    [
        _system("oracle"),
        _system("nop"),
        _system("claude-code", options={"disable_web_search": True}, **MODEL),
        _system("claude-code", model="anthropic/some", options={"base_url": "http://model:9000"}),
        _system(f"{__name__}:Hearing", options={"patience": 3}),
    ],
)
def test_what_can_run_is_let_pass(system: System) -> None:
    require_agent(system)


@pytest.mark.parametrize("agent", ["no-such-agent", "tests.no_such_module:Agent", "json:NoSuchAgent"])
def test_an_agent_that_harbor_does_not_have_is_told_before_anything_runs(agent: str) -> None:
    with pytest.raises(UnknownSystemError, match="Harbor has no agent to be had as"):
        require_agent(_system(agent))


@pytest.mark.parametrize(
    ("system", "said"),
    [
        (_system(f"{__name__}:Deaf"), "takes no MCP servers"),
        (_system(f"{__name__}:Unfinished"), "cannot be made (Can't instantiate abstract class"),
        (_system("claude-code", options={"disable_web_serch": True}, **MODEL), "Unknown option 'disable_web_serch'"),
        (_system("claude-code", options={"max_turns": "many"}, **MODEL), "max_turns: Input should be"),
        (_system(f"{__name__}:Hearing", options={"patiense": 3}), "it takes no option patiense"),
        (_system(f"{__name__}:Hearing", options={"patience": "x"}), "cannot be made (can only concatenate str"),
        (_system("oracle", options={"speed": 3}), "it takes no option speed"),
        (_system(f"{__name__}:Hearing", environment={"A": "${NO_SUCH_NAME_ANYWHERE}"}), "'NO_SUCH_NAME_ANYWHERE' not found"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_harbor_table_is_one_line_that_names_it(system: System, said: str) -> None:
    with pytest.raises(UnknownSystemError) as caught:
        require_agent(system)
    assert caught.value.message.startswith("system mine: the agent ")
    assert said in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("more", "lacking"),
    [
        ({}, "which model to call"),
        ({"environment": MODEL["environment"]}, "which model to call"),
        ({"model": "anthropic/some"}, "where in the trial its model answers"),
        (
            {"model": "anthropic/some", "environment": {"ANTHROPIC_BASE_URL": ""}},
            "where in the trial its model answers",
        ),
    ],
)
def test_an_agent_that_calls_a_model_is_told_which_and_where(
    more: dict[str, Any], lacking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://of-this-machine")  # which a trial does not reach
    with pytest.raises(UnknownSystemError, match=f"claude-code is not told {lacking}") as caught:
        require_agent(_system("claude-code", **more))
    assert 'set model, environment = { ANTHROPIC_BASE_URL = "http://SERVICE:PORT" }' in caught.value.remedy


def test_no_key_of_the_runs_own_environment_goes_into_a_container(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
    for name in names:
        monkeypatch.setenv(name, "a-key-that-opens-something")
    assert agent_config(_system("claude-code", model="anthropic/some")).env == dict.fromkeys(names, "")
    told = agent_config(_system("claude-code", **MODEL)).env
    assert told["ANTHROPIC_API_KEY"] == "placeholder"
    assert "a-key-that-opens-something" not in told.values()
    token = {"ANTHROPIC_BASE_URL": "http://model:9000", "ANTHROPIC_AUTH_TOKEN": "placeholder"}
    config = agent_config(_system("claude-code", model="anthropic/some", environment=token))
    connection = resolve_agent_model_connection(config)
    assert (connection.api_key, connection.env["ANTHROPIC_API_KEY"]) == ("placeholder", "")


def test_a_compose_file_that_opens_the_trial_is_refused_with_the_agent(tmp_path: Path) -> None:
    file = tmp_path / "model.yaml"
    file.write_text("services: {model: {image: x}}")
    with pytest.raises(UnknownSystemError, match="service model names no networks"):
        require_agent(_system("nop", compose=(file,)))


def test_the_system_in_containers_of_the_page_can_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_boxed_example(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    require_agent(load_systems(tmp_path / "my-systems.toml")["boxed"])
