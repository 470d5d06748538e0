"""Who is signed in to the owner's pages: a cookie, and a record that ends after a quarter of an hour.

Only a completed sign-in at the source starts one. It is good in the browser that signed in and nowhere else.
"""

import secrets
from collections.abc import Callable, Container
from dataclasses import dataclass

import orjson
from starlette.requests import Request
from starlette.responses import Response

from app.authserver.owner.browser import BrowserCookie, fingerprint, remembers
from app.errors import SealBroken
from app.store.base import Store
from app.store.crypto import Keys

SESSION_LIFE_S = 900


@dataclass(frozen=True, slots=True)
class OwnerSession:
    """An owner at their own pages."""

    owner: str
    secret: str  # the cookie's value; what form tokens are tied to


class OwnerSessions:
    """Starts, recognises and ends sessions."""

    def __init__(
        self,
        store: Store,
        keys: Keys,
        *,
        browser: BrowserCookie,
        owners: Container[str],
        public_url: str,
        now: Callable[[], float],
    ) -> None:
        self._store = store
        self._sealer = keys.sealer("owner session")
        self._browser = browser
        self._cookie = BrowserCookie("vitals-owner", public_url=public_url)
        self._owners = owners
        self._now = now

    async def start(self, response: Response, *, owner: str, browser: str) -> None:
        """Sign an owner in.

        Args:
            response: Carries the cookie.
            owner: Who proved at the source that they are this owner.
            browser: Fingerprint of the cookie of the browser in which they did.
        """
        value = secrets.token_urlsafe(32)
        key = _key(value)
        record = {"owner": owner, "browser": browser, "ends_at": self._now() + SESSION_LIFE_S}
        await self._store.put(key, self._sealer.seal(orjson.dumps(record), bound_to=key), ttl_s=SESSION_LIFE_S)
        self._cookie.set(response, value, max_age_s=SESSION_LIFE_S)

    async def current(self, request: Request) -> OwnerSession | None:
        """Return the session of this request, if it has a live one and its owner may still sign in."""
        value, browser = self._cookie.read(request), self._browser.read(request)
        if value is None or browser is None:
            return None
        key = _key(value)
        raw = await self._store.get(key)
        if raw is None:
            return None
        try:
            record = orjson.loads(self._sealer.open(raw, bound_to=key))
        except SealBroken:  # begun under a SECRET_KEY that is gone
            return None
        mine = remembers(record["browser"], browser) and record["ends_at"] > self._now()
        return OwnerSession(record["owner"], value) if mine and record["owner"] in self._owners else None

    async def end_all(self, owner: str) -> None:
        """Sign an owner out everywhere."""
        async for key, raw in self._store.scan("owner:"):
            try:
                record = orjson.loads(self._sealer.open(raw, bound_to=key))
            except SealBroken:  # opens nothing any more
                continue
            if record["owner"] == owner:
                await self._store.delete(key)

    async def end(self, response: Response, session: OwnerSession) -> None:
        """Sign the owner out."""
        await self._store.delete(_key(session.secret))
        self._cookie.clear(response)


def _key(value: str) -> str:
    return f"owner:{fingerprint(value)}"
