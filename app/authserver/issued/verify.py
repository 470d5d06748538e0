"""From a bearer token to a `Caller`, on every request to the resource.

Source: RFC 6750, RFC 8707 section 2 (audience), MCP authorization 2026-07-28 ("access token usage").
"""

from collections.abc import Callable
from typing import Literal

from app.authserver.issued.tokens import Tokens
from app.errors import VitalsError
from app.identity import Caller

Reason = Literal["unknown", "expired", "audience", "ended", "owner"]


class TokenInvalid(VitalsError):
    """A bearer token that opens nothing. `reason` is a fixed word for the log; the app hears only `invalid_token`."""

    def __init__(self, reason: Reason) -> None:
        self.reason: Reason = reason
        super().__init__(f"The access token is not valid ({reason}).")


class Verifier:
    """Checks a token against its record, its grant, and who may use the connector now."""

    def __init__(self, tokens: Tokens, *, resource: str, owners: frozenset[str], now: Callable[[], float]) -> None:
        self._tokens = tokens
        self._resource = resource
        self._owners = owners
        self._now = now

    async def verify(self, token: str) -> Caller:
        """Return who asks and what they may.

        Raises:
            TokenInvalid: Unknown, expired, for another resource, its grant has ended, or its owner is no longer one.
            StoreUnavailable: The store did not answer: nobody gets in.
        """
        record, grant = await self._tokens.find_access_and_grant(token)
        if record is None:
            raise TokenInvalid("unknown")
        if record.expires_at <= self._now():
            raise TokenInvalid("expired")
        if record.resource != self._resource:
            raise TokenInvalid("audience")
        if grant is None:
            raise TokenInvalid("ended")
        if grant.owner not in self._owners:
            raise TokenInvalid("owner")
        ticked = None if grant.ticked is None else frozenset(grant.ticked)
        return Caller(grant.owner, grant.id, grant.client_id, frozenset(record.scopes), ticked)
