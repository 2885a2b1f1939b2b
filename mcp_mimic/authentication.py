"""Who may come in over HTTP: holders of a token for a grant of this store, and everybody else is told the same."""

import logging
from collections.abc import Callable
from typing import Any

from fastmcp.server.auth import AccessToken, TokenVerifier
from fastmcp.server.dependencies import get_access_token
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_mimic.contract import Grant
from mcp_mimic.errors import GrantError
from mcp_mimic.governance.bearer import TokenRefused, granted
from mcp_mimic.governance.grants import GrantFolder
from mcp_mimic.logs import Flood, event

_REFUSAL = b'{"error":"invalid_token"}'
_REFUSAL_HEADERS = [
    (b"content-type", b"application/json"),
    (b"content-length", str(len(_REFUSAL)).encode()),
    (b"www-authenticate", b'Bearer error="invalid_token"'),
]


class BearerAuth(TokenVerifier):
    """Takes tokens that `mcp-mimic grant` issued for this store, as long as their grant is there.

    The reason of a refusal is logged, and shows nowhere outside.
    """

    def __init__(self, key: bytes, store: str, grants: GrantFolder) -> None:
        super().__init__()
        self._key = key
        self._store = store
        self._grants = grants
        self._flood = Flood()

    async def verify_token(self, token: str) -> AccessToken | None:
        """The access that a token gives, or None; the grant travels with it, as its file is now."""
        try:
            grant_id, expires = granted(self._key, token, self._store)
            grant = self._grants.read(grant_id)
        except TokenRefused as refused:
            self._refused(refused.reason, refused.grant)
            return None
        except GrantError as error:
            self._refused(error.code, grant_id)
            return None
        return AccessToken(
            token=token,
            client_id=grant_id,
            scopes=[],
            expires_at=expires,
            subject=grant_id,
            claims={"grant": grant},
        )

    def get_middleware(self) -> list[Any]:
        """What stands before the protocol: the check of the token, and one refusal for all."""
        return [Middleware(_SameRefusal, self._refused), *super().get_middleware()]

    def _refused(self, reason: str, grant: str | None) -> None:
        if self._flood.tells():
            event("token_refused", level=logging.WARNING, reason=reason, grant=grant)


def current_grant() -> Grant:
    """The grant of the request that is being answered."""
    access = get_access_token()
    grant = None if access is None else access.claims.get("grant")
    if not isinstance(grant, Grant):
        raise TypeError("a request without a token came through")
    return grant


class _SameRefusal:
    """Answers every request that was not let in with the same bytes, whatever was wrong with it."""

    def __init__(self, app: ASGIApp, told: Callable[[str, str | None], None]) -> None:
        self._app = app
        self._told = told

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = False

        async def alike(message: Message) -> None:
            nonlocal refused
            if message["type"] == "http.response.start" and message["status"] in (401, 403):
                refused = True
                if not _has_bearer(scope):
                    self._told("missing", None)
                await send({"type": "http.response.start", "status": 401, "headers": _REFUSAL_HEADERS})
                await send({"type": "http.response.body", "body": _REFUSAL})
            elif not refused:
                await send(message)

        await self._app(scope, receive, alike)


def _has_bearer(scope: Scope) -> bool:
    return any(
        name == b"authorization" and value[:7].lower() == b"bearer " for name, value in scope["headers"]
    )
