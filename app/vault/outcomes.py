"""What can come of sending a single-use refresh token, as types. A source raises them, `rotation` acts on them.

The line that matters runs between *known not to be spent* (`NotSent`, `RefreshMisconfigured`), *known to be dead*
(`RefreshRefused`) and *not known* (`OutcomeUnknown`).
"""

from dataclasses import dataclass
from typing import Protocol

from app.errors import SourceError, SourceUnreachable


@dataclass(frozen=True, slots=True)
class TokenAnswer:
    """What a token endpoint gave, at sign-in or at a refresh."""

    access_token: str
    refresh_token: str | None  # None: the endpoint sent none
    expires_in_s: float
    scopes: frozenset[str] | None  # bare names; None: the endpoint did not say
    token_url: str  # which endpoint answered; first choice next time


class RefreshEndpoint(Protocol):
    """The source's token endpoint, as the vault sees it."""

    async def refresh(self, refresh_token: str, *, token_url: str) -> TokenAnswer:
        """Spend `refresh_token`. Never sends it again after a timeout, a cut connection or a 5xx.

        Args:
            refresh_token: Single-use.
            token_url: The endpoint that worked last time; tried first.

        Raises:
            RefreshRefused, RefreshMisconfigured, NotSent, OutcomeUnknown: See each. Anything else counts as unknown.
        """

    async def revoke(self, *, access_token: str, refresh_token: str | None) -> bool:
        """Give tokens back that nobody will use; True if the source confirmed it. Raises nothing."""


class RefreshRefused(SourceError):
    """The source said explicitly that the refresh token is spent, revoked or expired."""


class RefreshMisconfigured(SourceError):
    """The source refused for a reason that lies with us (client id, secret, another 4xx): the token is as it was."""


class NotSent(SourceUnreachable):
    """The token was certainly not looked at (no connection, or turned away by a rate limit): it is as it was."""


class OutcomeUnknown(SourceUnreachable):
    """Sent, and then a timeout, a cut connection, a 5xx or an unreadable answer: spent or not, nobody here knows."""
