"""Sealing a live server's audit from outside: a Unix socket in the audit folder, which no agent can reach."""

import contextlib
import fcntl
import json
import logging
import os
import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from mcp_mimic.contract import read_audit
from mcp_mimic.errors import ChartServerError, SealError, SettingsError
from mcp_mimic.governance.audit import AUDIT_FILE
from mcp_mimic.governance.grants import GRANT_ID
from mcp_mimic.logs import event

SEAL_SOCKET = ".seal.sock"
_MAX_SOCKET_PATH = 100
_TIMEOUT_SECONDS = 30
_MAX_REQUEST = 100
"""Bytes of a grant's id and the end of its line."""


class SealListener:
    """Waits on the socket and seals when somebody asks; a context around the server's life."""

    _ends = True
    """Whether a seal is the last thing to be asked for."""

    def __init__(self, folder: Path, seal: Callable[[], Mapping[str, Any]]) -> None:
        self._path = _socket_path(folder)
        self._seal = seal
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def __enter__(self) -> "SealListener":
        try:
            self._path.unlink(missing_ok=True)
            self._socket.bind(str(self._path))
            self._path.chmod(0o600)
            self._socket.listen(1)
        except OSError as error:
            self._socket.close()
            raise SettingsError(
                f"{self._path} cannot be opened: {error.strerror}",
                "name a local folder that this user may write with --audit",
            ) from error
        threading.Thread(target=self._wait, name="seal", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def _wait(self) -> None:
        sealed = False
        while not sealed:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                connection.settimeout(_TIMEOUT_SECONDS)
                sealed = self._answer(connection) and self._ends

    def _answer(self, connection: socket.socket) -> bool:
        """Seal and say so; a seal that could not be written, on a full disk say, may be asked for again.

        The request is read to its end first: a socket that is closed before would break the asker's pipe,
        who would then take this server for dead.
        """
        with connection.makefile("rb") as stream:
            asked = stream.readline(_MAX_REQUEST)
        if not asked.endswith(b"\n"):
            return False
        try:
            answer = self._sealed(asked.decode("ascii", "replace").strip())
        except ChartServerError as error:
            event("seal_failed", level=logging.ERROR, reason=error.code)
            connection.sendall(json.dumps({"error": error.message}).encode() + b"\n")
            return False
        if self._ends:
            self._path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            connection.sendall(json.dumps(answer).encode() + b"\n")
        return True

    def _sealed(self, _: str) -> Mapping[str, Any]:
        return self._seal()


class GrantSealListener(SealListener):
    """The same for a server of many sessions: who asks names the grant, and others may ask after."""

    _ends = False

    def __init__(self, folder: Path, seal: Callable[[str], Mapping[str, Any]]) -> None:
        super().__init__(folder, dict)
        self._folder = folder
        self._lock = -1
        self._seal_grant = seal

    def __enter__(self) -> "GrantSealListener":
        """Only one server may have the folder; SettingsError for a second one."""
        self._lock = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            super().__enter__()
        except OSError as error:
            os.close(self._lock)
            self._socket.close()
            raise SettingsError(
                f"another live server keeps its audits in {self._folder}", "give each server its own --audit"
            ) from error
        except SettingsError:
            os.close(self._lock)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        os.close(self._lock)

    def _sealed(self, grant: str) -> Mapping[str, Any]:
        if not grant:
            return {"unnamed": True}
        return self._seal_grant(grant)


def request_seal(folder: Path, grant: str | None = None) -> dict[str, Any]:
    """Ask the live server of `folder` to seal, and return the number of calls and the last hash.

    `grant` names one session of a server of many. An audit that is sealed already gives the same again.
    SealError if no live server answers.
    """
    if grant is not None and GRANT_ID.fullmatch(grant) is None:
        raise SealError("that is no grant's id", "name the id that mcp-mimic grant gave")
    sealed = seal_in(folder if grant is None else folder / grant)
    if sealed is not None:
        return sealed
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_TIMEOUT_SECONDS)
            connection.connect(str(_socket_path(folder)))
            connection.sendall(f"{grant or ''}\n".encode())
            with connection.makefile("rb") as stream:
                answer = json.loads(stream.readline() or b"null")
    except (OSError, ValueError) as error:
        raise SealError(
            f"no live server answers in {folder}",
            "start it again on that audit and seal while it runs",
        ) from error
    if isinstance(answer, dict) and "unnamed" in answer:
        raise SealError(
            f"the server in {folder} has many sessions, so that one must be named",
            "give --grant ID, the id that mcp-mimic grant told",
        )
    if not isinstance(answer, dict) or "error" in answer:
        said = f": {answer['error']}" if isinstance(answer, dict) else ""
        remedy = (
            "look at its log" if grant is None else "see that ID is a session of that server; look at its log"
        )
        raise SealError(f"the server in {folder} could not seal{said}", remedy)
    return answer


def seal_in(folder: Path) -> dict[str, Any] | None:
    """The number of calls and the last hash of the sealed audit in `folder`; None if there is none."""
    try:
        fd = os.open(folder / AUDIT_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(fd, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    if not read_audit(lines).sealed:
        return None
    last = json.loads(lines[-1])
    return {"calls": last["calls"], "hash": last["hash"]}


def _socket_path(folder: Path) -> Path:
    path = folder / SEAL_SOCKET
    if len(os.fsencode(path)) > _MAX_SOCKET_PATH:
        raise SettingsError(
            f"the path of the audit folder is too long for a socket: {folder}",
            "name a shorter path with --audit",
        )
    return path
