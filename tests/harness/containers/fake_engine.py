"""A `docker` command that keeps containers, networks and volumes as files, as far as clearing up asks for them.

The things of each kind are empty files in a folder of that name beside the command. A file `gone` beside it
makes every call fail as it does without an engine, and `stubborn` holds how many removals fail first. It is a shell's
script, since a run asks the engine many times and a shell is there ten times as fast as Python.
"""

from pathlib import Path

KINDS = ("container", "network", "volume")

_COMMAND = r"""#!/bin/sh
folder=${0%/*} kind=$1 verb=$2
if [ -e "$folder/gone" ]; then
    echo "Cannot connect to the Docker daemon at unix:///var/run/docker.sock." >&2
    exit 1
fi
case $verb in
ls)
    for word; do case $word in name=*) pattern=${word#name=} ;; esac; done
    before=; [ "$kind" = container ] && before=/
    for path in "$folder/$kind"/*; do
        [ -e "$path" ] && echo "$before${path##*/}"
    done | grep -E -- "${pattern:?}" | sed 's,^/,,'
    ;;
rm)
    left=0; [ -e "$folder/stubborn" ] && read -r left < "$folder/stubborn"
    if [ "$left" -gt 0 ]; then
        echo $((left - 1)) > "$folder/stubborn"
        echo "Error: No such $kind" >&2
        exit 1
    fi
    shift 2
    for name; do case $name in --*) ;; *) rm "$folder/$kind/$name" || exit 1 ;; esac; done
    ;;
esac
"""


class FakeEngine:
    """An engine that has nothing yet, behind the command in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for kind in KINDS:
            (folder / kind).mkdir(parents=True)
        command = folder / "docker"
        command.write_text(_COMMAND)
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
        (self.folder / "stubborn").write_text(f"{number}\n")
