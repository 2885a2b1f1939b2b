"""The agent of a system as Harbor makes it, and what is refused of it before a trial starts."""

import inspect
import logging
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.containers.compose import joining
from harness.errors import UnknownSystemError
from harness.systems import HarborAgent, System

# before Harbor is imported: no telemetry, and no price list fetched from the network
os.environ["HARBOR_TELEMETRY"] = "off"
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

from harbor.agents.agent_auth_resolution import resolve_agent_model_connection
from harbor.agents.factory import AgentFactory
from harbor.models.agent.name import AgentName
from harbor.models.trial.config import AgentConfig

_LOGGER = logging.getLogger("harbor")
_LOGGER.addHandler(logging.NullHandler())  # stderr is the run's: each trial has its log

_UTILITIES = (AgentName.ORACLE.value, AgentName.NOP.value)
"""Agents of Harbor that need no server told: they do what the task says, or nothing."""

_KEYS_OF_THE_HOST = ("CLAUDE_CODE_OAUTH_TOKEN",)
"""Credentials that an agent of Harbor takes from the run's environment, beside those that its connection names."""


def agent_config(system: System) -> AgentConfig:
    """The agent as Harbor is told of it. No key of the run's own environment goes along."""
    harbor = _harbor(system)
    own = ":" in harbor.agent
    config = AgentConfig(
        name=None if own else harbor.agent,
        import_path=harbor.agent if own else None,
        model_name=harbor.model,
        kwargs=dict(harbor.options),
        env=dict(harbor.environment),
    )
    config.env = dict.fromkeys(_keys_of_the_host(config), "") | config.env
    return config


def require_agent(system: System) -> None:
    """UnknownSystemError if Harbor has no such agent, or cannot make it as the system says, or it could not work.

    It could not if it cannot be given the chart server, or calls a model and is told of none in the trial.
    """
    harbor = _harbor(system)
    for file in harbor.compose:
        joining(file)
    kind = _kind(system, harbor)
    if harbor.agent not in _UTILITIES and not kind.capabilities.mcp_servers:
        raise UnknownSystemError(
            f"system {system.tag}: the agent {harbor.agent} takes no MCP servers, and the chart is one",
            "name another; one of your own declares capabilities = AgentCapabilities(mcp_servers=True)",
        )
    try:
        _require_options(kind, harbor)
        config = agent_config(system)
        if harbor.agent not in _UTILITIES:
            _make(config)
    except (Exception, SystemExit) as error:
        options = (
            "named arguments of its class"
            if ":" in harbor.agent
            else f"what `harbor agent schema {harbor.agent}` lists"
        )
        raise UnknownSystemError(
            f"system {system.tag}: the agent {harbor.agent} cannot be made ({' '.join(str(error).split())})",
            f"see to its options and environment; options are {options}",
        ) from error
    if kind.MODEL_CONNECTION is not None:
        _require_model(system, config)


def _harbor(system: System) -> HarborAgent:
    if system.harbor is None:
        raise UnknownSystemError(
            f"system {system.tag} runs in no container", "give it a [system.harbor] table"
        )
    return system.harbor


def _kind(system: System, harbor: HarborAgent) -> Any:
    """The agent's class."""
    try:
        own = ":" in harbor.agent
        return AgentFactory.get_agent_class_from_config(
            AgentConfig(import_path=harbor.agent) if own else AgentConfig(name=harbor.agent)
        )
    except (Exception, SystemExit) as error:
        raise UnknownSystemError(
            f"system {system.tag}: Harbor has no agent to be had as {harbor.agent} ({error})",
            "name one that `harbor run --help` lists, or the module:class of your own",
        ) from error


def _require_options(kind: Any, harbor: HarborAgent) -> None:
    """ValueError for an option that the agent does not take: where it declares none, Harbor lets all pass."""
    if kind.options_model is None:
        for name in harbor.options:
            if name not in _arguments(kind):
                raise ValueError(f"it takes no option {name}")


def _arguments(kind: Any) -> Iterator[str]:
    """The names that an agent's constructors and, in Harbor's older way, its flags give to options."""
    for each in kind.__mro__:
        if "__init__" in vars(each):
            yield from inspect.signature(vars(each)["__init__"]).parameters
    for flag in (*getattr(kind, "CLI_FLAGS", ()), *getattr(kind, "ENV_VARS", ())):
        yield flag.kwarg


def _make(config: AgentConfig) -> None:
    """Make the agent as a trial will; whatever its class raises comes out."""
    with tempfile.TemporaryDirectory() as logs:
        AgentFactory.create_agent_from_config(config, logs_dir=Path(logs), logger=_LOGGER)


def _require_model(system: System, config: AgentConfig) -> None:
    """UnknownSystemError if an agent that calls a model is told neither which, nor where in the trial."""
    connection = resolve_agent_model_connection(config)
    names = connection.base_url_candidate_names
    told = connection.user_supplied_base_url and (
        "base_url" in config.kwargs or connection.base_url_source_name in config.env
    )
    if not config.model_name or not told:
        lacking = "where in the trial its model answers" if config.model_name else "which model to call"
        endpoint = f'{names[0] if names else "the address"} = "http://SERVICE:PORT"'
        raise UnknownSystemError(
            f"system {system.tag}: the agent {config.name or config.import_path} is not told {lacking}",
            f"set model, environment = {{ {endpoint} }} and compose: a trial's network leads nowhere; see docs/containers.md",
        )


def _keys_of_the_host(config: AgentConfig) -> list[str]:
    """Names of credentials in the run's environment that the agent would hand on into its container."""
    try:
        candidates = resolve_agent_model_connection(config).api_key_candidate_names
    except ValueError:  # told when the agent is made
        candidates = []
    if any(name in config.env for name in candidates):  # Harbor asks no further then
        candidates = []
    return [
        name for name in (*candidates, *_KEYS_OF_THE_HOST) if name in os.environ and name not in config.env
    ]
