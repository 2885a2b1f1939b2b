"""A trial's containers are paused only when no command is being started in them, and not waited for for ever."""

import asyncio
import os
from pathlib import Path

import pytest

from harness.containers import environment
from harness.containers.environment import EnvironmentLostError, TrialEnvironment

COMMAND = """#!/bin/sh
echo "$*" >>{calls}
case "$*" in *wait-for-ever*) exec sleep 600 ;; {hangs}*) exec sleep 600 ;; esac
"""


class Containers(TrialEnvironment):
    """Known by their names only."""

    def __init__(self) -> None:
        self.session_id = "trial"

    async def command(self, text: str) -> None:
        await self._compose_exec(text, service="mimic", cwd=None, env=None, timeout_sec=None, user=None)


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the `docker` command on the PATH was called with."""
    _write_command(tmp_path, hangs="nothing")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return tmp_path / "calls"


def _write_command(folder: Path, hangs: str) -> None:
    command = folder / "docker"
    command.write_text(COMMAND.format(calls=folder / "calls", hangs=hangs))
    command.chmod(0o755)


async def _cut_short(containers: Containers, calls: Path) -> None:
    """Begin a command that takes long, and go away."""
    running = asyncio.create_task(containers.command("wait-for-ever"))
    while not calls.exists():
        await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.wait({running})


def test_a_container_is_paused_after_what_may_still_be_starting_in_it(calls: Path) -> None:
    async def trial() -> None:
        containers = Containers()
        await _cut_short(containers, calls)
        await containers.freeze()

    asyncio.run(trial())
    assert calls.read_text().splitlines() == [
        "exec trial-mimic-1 sh -c wait-for-ever",
        "exec --user root trial-main-1 true",
        "pause trial-main-1",
    ]


def test_a_container_whose_commands_have_ended_is_paused_at_once(calls: Path) -> None:
    async def trial() -> None:
        containers = Containers()
        await containers.command("ends")
        await containers.freeze()

    asyncio.run(trial())
    assert calls.read_text().splitlines()[1:] == ["pause trial-main-1"]


def test_a_container_that_the_engine_does_not_pause_is_lost(
    calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_command(calls.parent, hangs="pause")
    monkeypatch.setattr(environment, "_PAUSE_SECONDS", 0.2)
    with pytest.raises(EnvironmentLostError, match="does not pause the agent's container"):
        asyncio.run(Containers().freeze())


def test_a_command_of_compose_that_does_not_end_is_ended(
    calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "_COMPOSE_SECONDS", 0.2)

    async def compose() -> int | None:
        process = await asyncio.create_subprocess_exec(
            "docker", "wait-for-ever", stdout=asyncio.subprocess.PIPE
        )
        with pytest.raises(RuntimeError, match="timed out"):
            await Containers._collect_buffered_output(process, timeout_sec=None)
        return process.returncode

    assert asyncio.run(compose()) is not None
