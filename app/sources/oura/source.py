"""Oura as a source: its catalogue, the owner's credential, and the engine that asks."""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import anyio
import httpx2

from app.errors import BadRequest, MembershipRequired
from app.identity import Caller
from app.sources.base import Collection, DateRange, Digest, Fetched, Progress
from app.sources.ending import Ending
from app.sources.engine import Engine
from app.sources.oura.catalog import COLLECTIONS, SCOPES
from app.sources.oura.catalog_profile import PERSONAL_INFO, profile_for
from app.sources.oura.client import OuraClient, Tokens
from app.sources.oura.wire import not_permitted, not_ticked
from app.sources.question import Terms
from app.vault.connections import Connection
from app.vault.intents import Intent

_NAME = "oura"


class Connections(Protocol):
    """The one thing this module needs of `app.vault.connections`."""

    async def glance(self, owner: str, source: str = ...) -> Connection | None:
        """Return the owner's connection as it was a moment ago."""


class Renewals(Protocol):
    """What `app.vault.rotation` knows of attempts that came to nothing."""

    async def failed(self, connection: Connection) -> Intent | None:
        """Return the last attempt to renew this connection, if it came to nothing."""


class OuraSource:
    """A `base.Source`."""

    def __init__(
        self,
        *,
        http: httpx2.AsyncClient,
        api_url: str,
        tokens: Tokens | None,
        connections: Connections | None,
        renewals: Renewals | None = None,
        sandbox: bool,
        now: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wire it.

        Args:
            http: Shared client.
            api_url: `https://api.ouraring.com`.
            tokens: The vault's rotation; not used in sandbox mode.
            connections: The vault's connections; not used in sandbox mode.
            renewals: What is known of renewals that failed; None: nothing.
            sandbox: Oura's official sample data, without a sign-in.
            now: Unix seconds.
            sleep: Waits between retries and until a question's time is up, in seconds.
            clock: Seconds that only rise.
        """
        if not sandbox and (tokens is None or connections is None):
            raise ValueError("Outside sandbox mode Oura needs tokens and connections.")
        self._connections = None if sandbox else connections
        self._sandbox = sandbox
        self._now = now
        self._renewals = renewals
        self._unpaid: dict[tuple[str, str], float] = {}  # by owner and collection, when Oura refused with 403
        self._client = client = OuraClient(
            http=http, api_url=api_url, tokens=None if sandbox else tokens, sandbox=sandbox, sleep=sleep, clock=clock
        )
        self._ending = Ending(sleep=sleep, clock=clock)
        self._engine = Engine(Terms(client, synthetic=sandbox, sleep=sleep, clock=clock, ending=self._ending))

    @property
    def name(self) -> str:
        """`oura`."""
        return _NAME

    @property
    def synthetic(self) -> bool:
        """True in sandbox mode."""
        return self._sandbox

    @property
    def collections(self) -> Mapping[str, Collection]:
        """All of Oura's collections by bare name."""
        return COLLECTIONS

    def end(self) -> None:
        """See `base.Source`."""
        self._ending.begin()

    async def granted(self, caller: Caller) -> frozenset[str] | None:
        """Return the scopes the owner gave to this app, as far as they still hold; the sandbox gives everything."""
        if self._sandbox:
            return SCOPES
        connection = await self._connection(caller)
        return _for(caller, connection.scopes) if connection is not None else None

    async def timezone(self, caller: Caller) -> ZoneInfo | None:
        """Return the owner's zone as their browser named it at the sign-in."""
        connection = await self._connection(caller)
        if connection is None or connection.timezone is None:
            return None
        try:
            return ZoneInfo(connection.timezone)
        except (ZoneInfoNotFoundError, ValueError):
            return None

    async def health(self, caller: Caller) -> Mapping[str, object]:
        """Return facts about the credential; see `base.Source.health`."""
        if self._sandbox:
            return {"credential": "sandbox", "state": "live"}
        connection = await self._connection(caller)
        if connection is None:
            return {"credential": "oauth", "state": "none"}
        scopes = _for(caller, connection.scopes)
        missing = None if connection.scopes is None else list(_missing(connection.scopes))
        kept_back = (connection.scopes or frozenset()) - (scopes or frozenset())
        return {
            "credential": "oauth",
            "state": connection.state,
            "ended_why": connection.ended_why,
            "scopes_granted": None if scopes is None else sorted(scopes),
            "scopes_missing": missing,
            **({"scopes_not_for_this_app": sorted(kept_back)} if kept_back else {}),
            **(self._token(connection) if connection.state == "live" else {}),
            "last_renewed": _written(connection.obtained_at),
            "timezone": connection.timezone,
            **await self._troubles(caller, connection),
        }

    def _token(self, connection: Connection) -> dict[str, object]:
        return {
            "access_token_age_s": round(self._now() - connection.obtained_at),
            "access_token_expires_in_s": round(connection.expires_at - self._now()),
            "access_token_length": len(connection.access_token),
        }

    async def _troubles(self, caller: Caller, connection: Connection) -> dict[str, object]:
        """Return what went wrong last: with renewals as stored, with questions as this process met it."""
        found = self._client.troubles(caller)
        failed = await self._renewals.failed(connection) if self._renewals is not None else None
        if failed is not None:
            found |= {"renewal_failed": failed.outcome, "renewal_failed_at": _written(failed.started_at)}
        unpaid = {name: at for (owner, name), at in self._unpaid.items() if owner == caller.owner}
        if unpaid:
            found |= {"refused_403": sorted(unpaid), "refused_403_at": _written(max(unpaid.values()))}
        return found

    async def fetch(
        self,
        caller: Caller,
        collection: Collection,
        days: DateRange | None,
        *,
        fields: tuple[str, ...] = (),
        latest: bool = False,
        progress: Progress | None = None,
        digest: Digest | None = None,
        within_s: float | None = None,
    ) -> Fetched:
        """Bring every record of the range; see `base.Source.fetch`."""
        if self._sandbox and collection.name == "personal_info":
            raise BadRequest("Oura's sample data has no personal_info. Ask for another collection.")
        granted = await self.granted(caller)
        if collection.scope is not None and collection.granted_by(granted) is False:
            ticked = collection.granted_by(caller.ticked) is not False
            raise not_permitted(collection.scope) if ticked else not_ticked(collection.scope)  # nothing is sent
        place = caller.owner, collection.name
        try:
            fetched = await self._engine.fetch(
                caller,
                collection,
                days,
                fields=fields,
                latest=latest,
                progress=progress,
                digest=digest,
                within_s=within_s,
            )
        except MembershipRequired as refused:
            self._unpaid[place] = self._now()
            if granted is not None:
                raise
            raise MembershipRequired(str(refused), scope=collection.scope) from None  # the other thing it can mean
        if fetched.pages:
            self._unpaid.pop(place, None)
        if collection is PERSONAL_INFO and granted is not None:
            fetched = replace(fetched, records=tuple(profile_for(record, granted) for record in fetched.records))
        return fetched

    async def _connection(self, caller: Caller) -> Connection | None:
        if self._connections is None:
            return None
        return await self._connections.glance(caller.owner, _NAME)


def _for(caller: Caller, scopes: frozenset[str] | None) -> frozenset[str] | None:
    """Return what of the sign-in's scopes is for this app: never more than was ticked when the owner approved it."""
    if caller.ticked is None or scopes is None:
        return caller.ticked if scopes is None else scopes
    return scopes & caller.ticked


def _written(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="seconds")


@lru_cache(maxsize=16)  # owners give a handful of sets, and each call asks
def _missing(scopes: frozenset[str]) -> tuple[str, ...]:
    wanted = {collection.scope for collection in COLLECTIONS.values() if collection.granted_by(scopes) is False}
    return tuple(sorted({scope for scope in wanted if scope is not None} | (SCOPES & {"email", "personal"}) - scopes))
