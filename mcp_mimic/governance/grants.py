"""A folder of grants, a JSON file each, named by the grant's id."""

import json
import os
import re
import secrets
from pathlib import Path

from mcp_mimic.contract import Grant
from mcp_mimic.errors import GrantError, SettingsError
from mcp_mimic.governance.grant import read_grant

GRANT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class GrantFolder:
    """The grants of one store. Files are read anew each time, so that a removed one grants nothing more."""

    def __init__(self, folder: Path, store: str) -> None:
        self._folder = folder
        self._store = store

    def read(self, grant_id: str) -> Grant:
        """The grant of that id; GrantError if there is none that can be used with this store."""
        path = self.path(grant_id)
        if path.is_symlink() or not os.path.lexists(path):
            raise GrantError(
                f"there is no grant {grant_id}", "issue it: mcp-mimic grant", code="unknown_grant"
            )
        grant = read_grant(path)
        if grant.grant != grant_id or grant.store != self._store:
            raise GrantError(
                f"{path} is not the grant {grant_id} of this store",
                "issue grants with mcp-mimic grant, and do not rename their files",
                code="store_mismatch",
            )
        return grant

    def write(self, grant: Grant) -> Path:
        """Write a new grant, readable by its owner only; GrantError if its id is taken or cannot name a file."""
        path = self.path(grant.grant)
        if grant.store != self._store:
            raise GrantError(f"grant {grant.grant} is bound to another store", "issue it for this store")
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except FileExistsError as error:
            raise GrantError(
                f"there is a grant {grant.grant} already",
                f"give another --id, or a new token for it: --renew {grant.grant}",
            ) from error
        except OSError as error:
            raise SettingsError(
                f"the grant {path} cannot be written: {error.strerror}", "name another folder with --grants"
            ) from error
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(json.dumps(grant.to_json(), indent=2) + "\n")
        return path

    def path(self, grant_id: str) -> Path:
        """The file of the grant of that id; GrantError if it cannot name one."""
        if GRANT_ID.fullmatch(grant_id) is None:
            raise GrantError(
                "a grant's id is 1 to 64 letters, digits, - and _, and begins with a letter or digit",
                "give such an id",
                code="unknown_grant",
            )
        return self._folder / f"{grant_id}.json"


def new_grant_id() -> str:
    """An id that says nothing of the patient."""
    return f"g-{secrets.token_hex(6)}"


def make_folder(path: Path) -> None:
    """Make a folder for grants that only its owner may enter, if there is none."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(
            f"the folder of grants {path} cannot be made: {error.strerror}", "name another with --grants"
        ) from error
