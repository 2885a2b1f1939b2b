"""Cursors: opaque to the client, signed, and good for one query of one session only."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Any

from mcp_mimic.contract import canonical_json
from mcp_mimic.errors import ToolError

_DIGEST_BYTES = 16
_OFFSET_BYTES = 6


class CursorSigner:
    """Signs how many rows of a query have been served, under the session's key, or one that dies with the server."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or secrets.token_bytes(32)

    def sign(self, query: Mapping[str, Any], offset: int) -> str:
        """The cursor after `offset` rows of `query`."""
        body = offset.to_bytes(_OFFSET_BYTES, "big")
        return base64.urlsafe_b64encode(body + self._digest(query, body)).decode().rstrip("=")

    def offset(self, query: Mapping[str, Any], cursor: str) -> int:
        """How many rows of `query` the cursor says are served; ToolError if it was not signed for it."""
        try:
            data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        except ValueError:
            data = b""
        body, digest = data[:_OFFSET_BYTES], data[_OFFSET_BYTES:]
        if not hmac.compare_digest(digest, self._digest(query, body)):
            raise ToolError(
                "the cursor does not belong to this query",
                "repeat the call that gave it with the same arguments, or start again without a cursor",
                code="cursor",
            )
        return int.from_bytes(body, "big")

    def _digest(self, query: Mapping[str, Any], body: bytes) -> bytes:
        message = canonical_json(query).encode() + b"\n" + body
        return hmac.new(self._key, message, hashlib.sha256).digest()[:_DIGEST_BYTES]
