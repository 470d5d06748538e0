"""Grants: what an owner allowed which app, one record each under `grant:<id>`.

Every token stands on its grant, so ending the grant ends them all at once; the token records themselves may linger.
"""

import secrets
from collections.abc import AsyncIterator, Callable

from app.authserver.records import Code, Grant, amended, from_json, to_json
from app.store.base import Store

REFRESH_LIFE_S = 30 * 24 * 3600.0  # sliding: an app that comes back within it stays connected
_GRANT_LIFE_S = REFRESH_LIFE_S + 24 * 3600  # must exceed REFRESH_LIFE_S: no refresh token may outlive its grant

CODES = "code:"  # where `codes` keeps its records; each names the grant that it will make

_ENDED = b'{"ended":true}'
_ENDED_LIFE_S = 3600.0
"""How long a grant's end is remembered. Must exceed a code's life: until then a redemption that was on its way when
the grant ended could still try to open it."""


def new_grant_id() -> str:
    """Return a fresh grant id. It is no secret: it opens nothing."""
    return "g" + secrets.token_hex(12)


class Grants:
    """Reads, opens and ends grants. A grant that has ended never comes back."""

    def __init__(self, store: Store, *, now: Callable[[], float]) -> None:
        self._store = store
        self._now = now

    async def find(self, grant_id: str) -> Grant | None:
        """Return a live grant."""
        return _live(await self._store.get(grant_key(grant_id)))

    def read(self, raw: bytes | None) -> Grant | None:
        """Return a live grant from the record under its key."""
        return _live(raw)

    async def list(self, owner: str) -> list[Grant]:
        """Return the owner's live grants, the oldest first."""
        found = [each async for each in self._all() if each.owner == owner]
        return sorted(found, key=lambda each: (each.created_at, each.id))

    async def open(self, grant: Grant) -> bool:
        """Record a new grant; False if it was ended already. Opening one that is live changes nothing."""
        written = await self._store.compare_and_set(grant_key(grant.id), None, to_json(grant), ttl_s=_GRANT_LIFE_S)
        return written or await self.find(grant.id) is not None

    async def mark_refreshed(self, grant_id: str) -> bool:
        """Note that the app came back, which prolongs the grant; False if it has ended."""
        while True:
            raw = await self._store.get(grant_key(grant_id))
            if raw is None or _live(raw) is None:
                return False
            fresh = amended(raw, refreshed_at=self._now())
            # Compared, so that a grant ended meanwhile stays ended; another refresh at this moment repeats the loop.
            if await self._store.compare_and_set(grant_key(grant_id), raw, fresh, ttl_s=_GRANT_LIFE_S):
                return True

    async def revoke(self, grant_id: str, *, owner: str | None = None) -> bool:
        """End one grant, and with it its tokens; True if it was live.

        Args:
            grant_id: Which.
            owner: If given, only a grant of this owner is ended.
        """
        while True:
            raw = await self._store.get(grant_key(grant_id))
            grant = _live(raw)
            if raw == _ENDED or (owner is not None and (grant is None or grant.owner != owner)):
                return False
            if await self._store.compare_and_set(grant_key(grant_id), raw, _ENDED, ttl_s=_ENDED_LIFE_S):
                return grant is not None

    async def revoke_all(self, owner: str | None = None) -> int:
        """End every grant, of one owner or of all; return how many were live.

        Also those that a code has yet to make: an app that holds its code back would come in again after the end.
        """
        ended = 0
        async for _, raw in self._store.scan(CODES):
            code = from_json(Code, raw)
            if owner in {None, code.owner}:
                ended += await self.revoke(code.grant_id)
        while True:
            found = [each.id async for each in self._all() if owner in {None, each.owner}]
            if not found:
                return ended
            for grant_id in found:  # again and again, because a scan may miss records that change meanwhile
                ended += await self.revoke(grant_id)

    async def _all(self) -> AsyncIterator[Grant]:
        async for _, raw in self._store.scan("grant:"):
            grant = _live(raw)
            if grant is not None:
                yield grant


def grant_key(grant_id: str) -> str:
    """Return where the store keeps a grant."""
    return f"grant:{grant_id}"


def _live(raw: bytes | None) -> Grant | None:
    return None if raw is None or raw == _ENDED else from_json(Grant, raw)
