"""Bearer tokens: signed, expiring, and saying no more than which grant of which store.

A token is a JWT (HS256) of exactly three claims: `sub` the grant's id, `aud` the store's fingerprint, `exp` its end.
What the grant lets its holder do stands in the grant's file, which can be changed or removed after the token left.
"""

import contextlib
import hmac
import os
import secrets
import stat
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from joserfc import jwt
from joserfc.errors import BadSignatureError, JoseError
from joserfc.jwk import OctKey

from mcp_mimic.errors import SettingsError

_ALGORITHM = "HS256"
_CLAIMS = {"sub", "aud", "exp"}
_KEY_BYTES = 32
_MAX_TOKEN = 2_000


class TokenRefused(Exception):  # noqa: N818 a refusal, not an error
    """A token gives no access. `reason` is for the log alone; `grant` is known where the signature holds."""

    def __init__(self, reason: str, grant: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.grant = grant


def issue(key: bytes, grant: str, store: str, expires: int) -> str:
    """A token for a grant of the store with this fingerprint, until `expires` (seconds since 1970)."""
    claims: dict[str, Any] = {"sub": grant, "aud": store, "exp": expires}
    return jwt.encode({"alg": _ALGORITHM}, claims, _jwk(key), algorithms=[_ALGORITHM])


def granted(key: bytes, token: str, store: str, *, now: float | None = None) -> tuple[str, int]:
    """The grant's id and the end of a token for this store; TokenRefused with the reason for any other.

    The token must be, byte for byte, the one that `issue` makes of its claims.
    """
    claims = _claims(key, token)
    grant, expires = claims.get("sub"), claims.get("exp")
    if not isinstance(grant, str):
        raise TokenRefused("no_grant")
    if expires is None:
        raise TokenRefused("no_expiry", grant)
    if not isinstance(expires, int) or isinstance(expires, bool) or set(claims) - _CLAIMS:
        raise TokenRefused("claims", grant)
    if claims.get("aud") != store:
        raise TokenRefused("audience", grant)
    if not hmac.compare_digest(token.encode(), issue(key, grant, store, expires).encode()):
        raise TokenRefused("altered", grant)
    if expires <= (time.time() if now is None else now):
        raise TokenRefused("expired", grant)
    return grant, expires


def _claims(key: bytes, token: str) -> dict[str, Any]:
    if len(token) > _MAX_TOKEN or not token.isascii():
        raise TokenRefused("malformed")
    try:
        return dict(jwt.decode(token, _jwk(key), algorithms=[_ALGORITHM]).claims)
    except BadSignatureError as error:
        raise TokenRefused("signature") from error
    except (JoseError, ValueError, TypeError, RecursionError) as error:
        raise TokenRefused("malformed") from error


def _jwk(key: bytes) -> OctKey:
    return OctKey.import_key(key)


def derived_key(key: bytes, purpose: str) -> bytes:
    """A key for another purpose than signing tokens, from which this one cannot be found."""
    return hmac.digest(key, f"mcp-mimic {purpose}".encode(), "sha256")


def expiry_text(expires: int) -> str:
    """The end of a token as a person reads it, in the machine's own time zone."""
    return datetime.fromtimestamp(expires).astimezone().isoformat(timespec="seconds")


def read_key(path: Path) -> bytes:
    """The signing key in `path`; SettingsError if it is absent, or others than its owner may read it."""
    remedy = "issue a first token, which makes the key: mcp-mimic grant --grants DIR …"
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise SettingsError(f"the token key {path} cannot be read: {error.strerror}", remedy) from error
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise SettingsError(f"the token key {path} is not a regular file", remedy)
        if found.st_mode & 0o077:
            raise SettingsError(
                f"others than its owner may read the token key {path}", f"chmod 600 {path}, or make a new one"
            )
        text = file.read(200)
    try:
        key = bytes.fromhex(text.decode())
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise SettingsError(
            f"{path} holds no token key", "remove it and issue tokens anew; those of the old key end with it"
        )
    return key


def make_key(path: Path) -> bytes:
    """The key in `path`, made first if there is none: readable by its owner only, and never half written."""
    if not os.path.lexists(path):
        partial = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        try:
            fd = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "w") as file:
                file.write(secrets.token_hex(_KEY_BYTES) + "\n")
                file.flush()
                os.fsync(fd)
            with contextlib.suppress(FileExistsError):  # another command was first: its key counts
                os.link(partial, path)
        except OSError as error:
            raise SettingsError(
                f"the token key {path} cannot be made: {error.strerror}",
                "name a file in a folder that this user may write with --token-key",
            ) from error
        finally:
            partial.unlink(missing_ok=True)
    return read_key(path)
