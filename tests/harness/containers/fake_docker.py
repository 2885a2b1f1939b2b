"""A `docker` command in front of an engine that is a folder: one file an image, named by its reference."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BASES = ("python:3.12-slim-bookworm", "debian:bookworm-slim")

_COMMAND = r"""#!/bin/sh
here=$(dirname "$0")
echo "$*" >>"$here/calls.txt"
case $1 in
  image)
    cat "$here/images/$3" 2>/dev/null && exit
    echo "Error response from daemon: no such image: $3" >&2
    exit 1 ;;
  pull)
    mkdir -p "$(dirname "$here/images/$3")"
    cp "$here/registry/$3" "$here/images/$3" 2>/dev/null && exit
    echo 'Error response from daemon: manifest unknown' >&2
    exit 1 ;;
  build)
    cat >"$here/context.tar"
    [ -e "$here/fail.txt" ] && cat "$here/fail.txt" && exit 1
    id=$({ echo "$*"; cat "$here/context.tar"; } | sha256sum | cut -c 1-64)
    labels=
    for word; do
      case $word in
        --tag=*) tag=${word#--tag=} ;;
        --label=*) pair=${word#--label=}; labels="$labels${labels:+,}\"${pair%%=*}\":\"${pair#*=}\"" ;;
      esac
    done
    mkdir -p "$(dirname "$here/images/$tag")"
    printf '[{"Id":"sha256:%s","RepoDigests":[],"Size":1000,"Config":{"Labels":{%s}}}]' \
      "$id" "$labels" >"$here/images/$tag" ;;
esac
"""


class FakeDocker:
    """An engine with the base images and nothing else, behind the command in `folder`."""

    def __init__(self, folder: Path, pullable: tuple[str, ...] = ()) -> None:
        self.folder = folder
        for base in BASES:
            self._write("images", base)
        for reference in pullable:
            self._write("registry", reference)
        (folder / "docker").write_text(_COMMAND)
        (folder / "docker").chmod(0o755)

    def image(self, reference: str) -> dict[str, Any]:
        [found] = json.loads((self.folder / "images" / reference).read_text())
        return dict(found)

    def labels(self, reference: str) -> dict[str, str]:
        return dict(self.image(reference)["Config"]["Labels"])

    def change(self, reference: str, changes: Mapping[str, Any]) -> None:
        """Replace entries of what the engine knows of an image."""
        path = self.folder / "images" / reference
        path.write_text(json.dumps([self.image(reference) | changes]))

    def remove(self, reference: str) -> None:
        (self.folder / "images" / reference).unlink()

    def calls(self, command: str) -> list[str]:
        log = self.folder / "calls.txt"
        calls = log.read_text().splitlines() if log.exists() else []
        return [call for call in calls if call.split()[0] == command]

    def fail_builds(self, output: str) -> None:
        (self.folder / "fail.txt").write_text(output)

    def _write(self, place: str, reference: str) -> None:
        path = self.folder / place / reference
        path.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256(reference.encode()).hexdigest()
        image = {"Id": f"sha256:{digest}", "RepoDigests": [], "Size": 1, "Config": {"Labels": None}}
        path.write_text(json.dumps([image]))
