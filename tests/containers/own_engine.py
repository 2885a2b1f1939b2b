"""A second Docker engine, which a test may kill: its own folder, socket, and network and mount namespaces.

Without a network namespace of its own it would delete the first one's default bridge when it starts, and the
first one's filter rules would keep its containers from each other. What it mounts ends with its processes.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

_SECONDS = 60.0


def can_run_here() -> bool:
    """Whether this process may start one."""
    return os.geteuid() == 0 and all(shutil.which(command) for command in ("dockerd", "unshare"))


class OwnEngine:
    """An engine in `folder`, whose path has to be short enough for that of a socket."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host = f"unix://{folder / 'socket'}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = {
            "--data-root": self.folder / "data",
            "--exec-root": self.folder / "exec",
            "--pidfile": self.folder / "pid",
            "--host": self.host,
        }
        words = [f"{name}={value}" for name, value in options.items()]
        words += ["--bridge=none", "--iptables=false", "--ip-forward=false", "--ip-masq=false"]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["unshare", "--net", "--mount", "dockerd", *words],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + _SECONDS
        while self._docker("version").returncode != 0:
            assert self._process.poll() is None, (self.folder / "log").read_text()[-2000:]
            assert time.monotonic() < deadline, "the engine does not answer"
            time.sleep(0.1)

    def kill(self) -> None:
        """End it and its containerd as a power cut would; both are gone when this returns."""
        assert self._process is not None
        record = self.folder / "exec" / "containerd" / "containerd.pid"
        child = int(record.read_text())
        self._process.kill()
        self._process.wait()
        if Path(f"/proc/{child}").exists():
            os.kill(child, signal.SIGKILL)
        deadline = time.monotonic() + _SECONDS
        while Path(f"/proc/{child}/exe").exists():
            assert time.monotonic() < deadline, "containerd does not end"
            time.sleep(0.02)
        record.unlink()
        (self.folder / "pid").unlink()
        # engines of this age may not start over what a killed one noted of its networks
        shutil.rmtree(self.folder / "data" / "network", ignore_errors=True)

    def stop(self) -> None:
        """End it and its containers, and remove what it had."""
        if self._process is None:
            return
        containers = self._docker("ps", "--all", "--quiet").stdout.split()
        if containers:
            self._docker("rm", "--force", *containers)
        self._process.terminate()
        self._process.wait(_SECONDS)
        shutil.rmtree(self.folder)

    def load(self, images: Iterable[str]) -> None:
        """Take images over from the engine that `docker` reaches."""
        with subprocess.Popen(["docker", "save", *images], stdout=subprocess.PIPE) as saved:
            subprocess.run(
                ["docker", "--host", self.host, "load", "--quiet"],
                stdin=saved.stdout,
                stdout=subprocess.DEVNULL,
                check=True,
            )

    def names(self, kind: str) -> list[str]:
        """Of its containers, networks or volumes."""
        words = ["--all"] if kind == "container" else []
        lines = self._docker(kind, "ls", *words, "--format", "{{json .}}").stdout.splitlines()
        return [entry["Names" if kind == "container" else "Name"] for entry in map(json.loads, lines)]

    def _docker(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["docker", "--host", self.host, *arguments], capture_output=True, text=True, check=False
        )
