"""Scopes as pure rules: one that can be granted, and one that is accepted and means nothing here.

Source: RFC 6749 section 3.3; MCP authorization 2026-07-28 (`offline_access`).
"""

from app.errors import BadRequest
from app.identity import READ_SCOPE

OFFLINE_SCOPE = "offline_access"
"""Offered in the server metadata because some apps ask for a refresh token that way; every grant here has one."""

GRANTABLE = (READ_SCOPE,)


class UnknownScope(BadRequest):
    """Nothing in the requested scope can be granted."""


def resolve(asked: str | None) -> tuple[str, ...]:
    """Return the scopes that a request for authorization asks for: all of them if it names none.

    Unknown scopes beside a known one are left out, and the token response says which were granted.

    Raises:
        UnknownScope: It names only scopes that do not exist here.
    """
    names = set((asked or "").split())
    if names <= {OFFLINE_SCOPE}:
        return GRANTABLE
    found = tuple(each for each in GRANTABLE if each in names)
    if not found:
        raise UnknownScope(f"The scope is not known here. Ask for {' '.join(GRANTABLE)}, or for none.")
    return found


def narrow(asked: str | None, granted: tuple[str, ...]) -> tuple[str, ...]:
    """Return the scopes for a refreshed access token: those asked for, which must all have been granted.

    Raises:
        UnknownScope: It asks for more than the owner granted.
    """
    names = set((asked or "").split()) - {OFFLINE_SCOPE}
    if not names:
        return granted
    if not names <= set(granted):
        raise UnknownScope("The scope goes beyond what the owner granted. Start a new authorization to ask for more.")
    return tuple(each for each in granted if each in names)
