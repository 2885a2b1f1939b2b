"""A `docker` command that keeps containers, networks and volumes as files, as far as clearing up asks for them.

The things of each kind are empty files in a folder of that name beside the command. A file `gone` beside it
makes every call fail as it does without an engine, and `stubborn` holds how many removals fail first.
"""

import re
import sys
from pathlib import Path

KINDS = ("container", "network", "volume")


class FakeEngine:
    """An engine that has nothing yet, behind the command in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for kind in KINDS:
            (folder / kind).mkdir(parents=True)
        command = folder / "docker"
        command.write_text(f"#!{sys.executable} -IS\n{Path(__file__).read_text()}\nmain()\n")
        command.chmod(0o755)

    def add(self, *names: str) -> None:
        """A container, a network and a volume of each name."""
        for name in names:
            for kind in KINDS:
                (self.folder / kind / name).touch()

    def names(self) -> dict[str, set[str]]:
        """Of all that is there, by kind."""
        return {kind: {path.name for path in (self.folder / kind).iterdir()} for kind in KINDS}

    def go_away(self) -> None:
        """From now on nothing answers."""
        (self.folder / "gone").touch()

    def come_back(self) -> None:
        """It answers again, and has what it had."""
        (self.folder / "gone").unlink()

    def refuse_removals(self, number: int) -> None:
        """The next so many removals fail, as they do while another command removes the same thing."""
        (self.folder / "stubborn").write_text(str(number))


def main() -> None:
    """Do what the command line asks."""
    folder, (kind, verb, *rest) = Path(sys.argv[0]).parent, sys.argv[1:]
    if (folder / "gone").exists():
        sys.exit("Cannot connect to the Docker daemon at unix:///var/run/docker.sock.")
    if verb == "ls":
        (pattern,) = (word.removeprefix("name=") for word in rest if word.startswith("name="))
        for path in (folder / kind).iterdir():
            if re.search(pattern, f"/{path.name}" if kind == "container" else path.name):
                print(path.name)
    elif verb == "rm":
        stubborn = folder / "stubborn"
        left = int(stubborn.read_text()) if stubborn.exists() else 0
        stubborn.write_text(str(max(left - 1, 0)))
        if left:
            sys.exit(f"Error: No such {kind}")
        for name in rest:
            if not name.startswith("--"):
                (folder / kind / name).unlink()
