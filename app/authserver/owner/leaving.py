"""How an owner leaves: every app ended, the connection erased here and given back at the source."""

from dataclasses import dataclass
from typing import Protocol

from app.authserver.issued.grants import Grants
from app.vault.connections import Connections


class Revoking(Protocol):
    """The one thing needed of the source's sign-in."""

    async def revoke(self, *, access_token: str, refresh_token: str | None) -> bool:
        """Give tokens back; True if the source confirmed it."""


@dataclass(frozen=True, slots=True)
class Left:
    """What leaving did."""

    apps: int  # grants that ended
    connected: bool  # there was a connection to erase
    revoked: bool  # the source confirmed that it is over; False also when there was none


async def disconnect(owner: str, *, grants: Grants, connections: Connections, oauth: Revoking | None) -> Left:
    """End everything of one owner.

    Our own side goes first: whatever the source answers, no app gets in any more and no credential is left here.

    Raises:
        StoreUnavailable: Not everything is ended; do it again.
    """
    apps = await grants.revoke_all(owner)
    erased = await connections.erase(owner)
    revoked = False
    if oauth is not None and (connection := erased.connection) is not None:
        revoked = await oauth.revoke(access_token=connection.access_token, refresh_token=connection.refresh_token)
    return Left(apps, connected=erased.found, revoked=revoked)
