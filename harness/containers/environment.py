"""The containers of one trial: Harbor's Docker environment, with nothing of the host in the agent's reach.

Harbor can mount a trial's folder into the agent's container, or copy links out of it and follow them later.
Here nothing is mounted, the agent's container is frozen the moment its time is over, and what is collected
goes through `harness.containers.archive`.
"""

import asyncio
import subprocess
import tarfile
from collections.abc import Callable, Coroutine
from pathlib import Path, PurePosixPath
from typing import IO, Any, override

from harbor.constants import MAIN_SERVICE_NAME
from harbor.environments.base import ExecResult
from harbor.environments.docker.docker import (
    DockerEnvironment,
    DockerOptions,
    _sanitize_docker_compose_project_name,
)

from harness.containers.archive import Allowance, Taken, take_file, take_folder
from harness.scoring.files import MAX_AUDIT, MAX_REPORT

_LOGS = Allowance(file=64 << 20, total=256 << 20, entries=20_000)
_REPORT = "report.md"
_MAX_OUTPUT = 16 << 20
_CHART = "mimic"
_HEALTH = f"http://{_CHART}:8000/health"
_CHUNK = 1 << 16
_END_LOOKS = 50
_PAUSE_SECONDS = 120.0
_COMPOSE_SECONDS = 600


class EnvironmentLostError(RuntimeError):
    """A container of the trial ended before its time, by no doing of the agent's."""


class ContainerOutOfMemoryError(RuntimeError):
    """The agent used up its container's memory, and the kernel ended the container over it: the agent's doing."""


class TrialOptions(DockerOptions):  # type: ignore[misc]  # Harbor has no types of its own
    """What the compose files of a task are told.

    The folders of the store and of the policy documents, the user that may read them (uid:gid), and who reads a
    credentialed store, as JSON.
    """

    store: str
    store_user: str
    corpus: str
    readers: str


class TrialEnvironment(DockerEnvironment):  # type: ignore[misc]
    """One compose project of a trial: agent and chart server, or the verifier alone."""

    options_model = TrialOptions
    options: TrialOptions
    _frozen = False
    _lost: str | None = None
    _commands = 0
    """How many were begun in a container and have not come to their end, as far as is known here."""

    async def require_chart(self) -> None:
        """EnvironmentLostError unless the chart server answers in the agent's container.

        An agent that never reached it would be scored as one that had nothing to say.
        """
        asked = await self.exec(f"curl -fsS -m 20 {_HEALTH}", user="root")
        if asked.return_code != 0:
            raise EnvironmentLostError(
                f"the agent's container does not reach the chart server ({asked.stdout})"
            )

    async def follow_chart(self) -> None:
        """End the agent's container once the chart server has ended: nothing that it still does could be scored."""
        ended = await self._docker("wait", self._container(_CHART))
        if ended.return_code == 0:
            self._lost = "the chart server ended before the agent did"
            await _to_its_end(self._docker("kill", self._container(MAIN_SERVICE_NAME)))

    async def freeze(self) -> None:
        """Stop every process in the agent's container where it is.

        From then on it can be copied from and stopped, and can write nothing more. If the container is gone,
        ContainerOutOfMemoryError when its memory ran out, else EnvironmentLostError.

        An engine that pauses a container while it starts a command in it may hold on to both for good, so a
        command that was cut short is waited for.
        """
        self.require_whole()
        main = self._container(MAIN_SERVICE_NAME)
        try:
            if self._commands:  # the engine may still be starting one: they start in turn, and this one last
                await self._docker("exec", "--user", "root", main, "true", seconds=_PAUSE_SECONDS)
            paused = await _to_its_end(self._docker("pause", main, seconds=_PAUSE_SECONDS))
        except RuntimeError as error:
            raise EnvironmentLostError(f"the engine does not pause the agent's container: {error}") from error
        if paused.return_code != 0:
            if await self._ran_out_of_memory(main):
                raise ContainerOutOfMemoryError(
                    "the agent used up the memory of its container, which ended over it"
                )
            raise EnvironmentLostError(f"the agent's container ended before the agent did ({paused.stdout})")
        self._frozen = True

    def require_whole(self) -> None:
        """EnvironmentLostError if a container was lost, or what was collected need not be all that the agent left."""
        if self._lost is not None:
            raise EnvironmentLostError(self._lost)

    async def _ran_out_of_memory(self, container: str) -> bool:
        """Whether a container ended over its memory, which the engine knows once it has seen the end."""
        for _ in range(_END_LOOKS):
            state = await self._docker(
                "inspect", "--format", "{{.State.Running}} {{.State.OOMKilled}}", container
            )
            if state.stdout != "true false\n":
                return bool(state.stdout == "false true\n")
            await asyncio.sleep(0.1)
        return False

    @override
    def _compose_env_vars(self, include_os_env: bool = True) -> dict[str, str]:
        chart = {
            "CLINICARE_STORE": self.options.store,
            "CLINICARE_USER": self.options.store_user,
            "CLINICARE_CORPUS": self.options.corpus,
            "CLINICARE_READERS": self.options.readers,
        }
        return {**super()._compose_env_vars(include_os_env), **chart}

    @override
    def _validate_daemon_mode(self) -> None:
        """Checked once a run, with the images."""

    @override
    async def _validate_image_os(self, image_name: str) -> None:
        """Checked once a run, with the images."""

    @override
    async def _compose_exec(
        self,
        command: str,
        *,
        service: str,
        cwd: str | None,
        env: dict[str, str] | None,
        timeout_sec: int | None,
        user: str | int | None,
    ) -> ExecResult:
        """As Harbor does it, without having Compose read five files for each command."""
        options = ["--workdir", cwd] if cwd else []
        options += [word for name, value in (env or {}).items() for word in ("--env", f"{name}={value}")]
        options += ["--user", str(user)] if user is not None else []
        shell = (
            self._platform.exec_shell_args(command) if service == MAIN_SERVICE_NAME else ["sh", "-c", command]
        )
        self._commands += 1
        done = await self._docker("exec", *options, self._container(service), *shell, seconds=timeout_sec)
        self._commands -= 1
        return done

    @override
    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        await self._upload(str(Path(source_path).absolute()), target_path)

    @override
    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        await self._upload(f"{Path(source_dir).absolute()}/.", target_dir)

    @override
    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        await self.service_download_file(source_path, target_path)

    @override
    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        await self.service_download_dir(source_dir, target_dir)

    @override
    async def service_download_file(
        self, source_path: str, target_path: Path | str, *, service: str | None = None
    ) -> None:
        name = PurePosixPath(source_path).name
        most = MAX_REPORT + 1 if name == _REPORT else MAX_AUDIT
        await self._take(service, source_path, lambda stream: take_file(stream, Path(target_path), most))

    @override
    async def service_download_dir(
        self, source_dir: str, target_dir: Path | str, *, service: str | None = None
    ) -> None:
        await self._take(service, source_dir, lambda stream: take_folder(stream, Path(target_dir), _LOGS))

    @override
    async def service_is_dir(
        self, path: str, *, service: str | None = None, user: str | int | None = None
    ) -> bool:
        """Whether the task means a folder; what the agent has made of the place is no matter."""
        return not PurePosixPath(path).suffix

    @override
    async def stop_service(self, service: str) -> None:
        killed = await self._docker("kill", self._container(service))
        if self._frozen and killed.return_code != 0:  # whoever ended it took its files away
            self._lost = f"the agent's container ended before it was copied from ({killed.stdout})"

    @staticmethod
    @override
    async def _collect_buffered_output(
        process: asyncio.subprocess.Process, *, timeout_sec: int | None, stdin_data: bytes | None = None
    ) -> ExecResult:
        """As Harbor does it, but a command of Compose does not outlive the trial that is interrupted."""
        try:
            return await DockerEnvironment._collect_buffered_output(
                process, timeout_sec=timeout_sec or _COMPOSE_SECONDS, stdin_data=stdin_data
            )
        finally:
            await DockerEnvironment._terminate_process(process)

    def _container(self, service: str | None) -> str:
        """The name that Compose gives the one container of a service."""
        return f"{_sanitize_docker_compose_project_name(self.session_id)}-{service or MAIN_SERVICE_NAME}-1"

    async def _upload(self, source: str, target: str) -> None:
        done = await self._docker("cp", source, f"{self._container(MAIN_SERVICE_NAME)}:{target}")
        if done.return_code != 0:
            raise RuntimeError(f"{target} could not be copied into the container: {done.stdout}")

    async def _take(self, service: str | None, path: str, write: Callable[[IO[bytes]], Taken]) -> None:
        """Copy out of a container what `write` takes of the stream."""
        source = f"{self._container(service)}:{path}"
        try:
            taken = await asyncio.to_thread(_copy_out, source, write)
        except OSError as error:
            self._lost = f"{path} could not be written here: {error.strerror}"
            raise
        if taken.cut or taken.refused:
            self.logger.warning(f"{source}: {taken.cut} cut short, {taken.refused} refused")

    async def _docker(self, *arguments: str, seconds: float | None = None) -> ExecResult:
        """Run a docker command; of its output the first part is kept, however much an agent lets it print."""
        process = await asyncio.create_subprocess_exec(
            *self._engine_cmd(*arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            output = await asyncio.wait_for(_read(process.stdout), timeout=seconds or None)
            code = await process.wait()
        except TimeoutError as error:
            raise RuntimeError(f"Command timed out after {seconds} seconds") from error
        finally:
            await self._terminate_process(process)
        return ExecResult(stdout=output.decode("utf-8", errors="replace"), stderr=None, return_code=code)


async def _to_its_end(command: Coroutine[Any, Any, ExecResult]) -> ExecResult:
    """Run a command that must have ended before another one meets the same container.

    An engine that is told to end a container while it pauses it may hold on to that container for good.
    """
    running = asyncio.ensure_future(command)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        raise


async def _read(stream: asyncio.StreamReader | None) -> bytes:
    kept = bytearray()
    while stream is not None and (chunk := await stream.read(_CHUNK)):
        kept += chunk[: _MAX_OUTPUT - len(kept)]
    return bytes(kept)


def _copy_out(source: str, write: Callable[[IO[bytes]], Taken]) -> Taken:
    """Hand `write` the tar stream of a path in a container; RuntimeError if there is no such path."""
    command = ["docker", "cp", source, "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603
        assert process.stdout is not None  # noqa: S101
        assert process.stderr is not None  # noqa: S101
        try:
            taken = write(process.stdout)
        except tarfile.ReadError as error:
            raise RuntimeError(f"{source} cannot be copied: {process.stderr.read().decode()}") from error
        finally:
            process.kill()
    return taken
