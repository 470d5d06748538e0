"""The owner's credential at a source: one sealed record each, and the account it is pinned to.

Records are written by compare-and-set on their exact bytes. Sealing makes these unique, so "unchanged" means that
nobody wrote in between, not that somebody wrote the same.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import orjson

from app.errors import CallerError, SealBroken, StoreUnavailable
from app.store.base import Store
from app.store.crypto import Keys

_RACES = 20  # compare-and-set attempts; each lost one means that somebody else won
_LAST_RENEWAL_S = (
    25.0  # must exceed the deadline of a renewal (`Rotation.deadline_s`), whose tokens are then erased too
)
GLANCE_S = 1.0  # how long a connection that was read may be taken for the present one
_ERASING_S = 30.0  # must exceed what four calls to a slow store take


class AccountMismatch(CallerError):
    """Another account of the source was signed in than the one this owner began with."""


@dataclass(frozen=True, slots=True)
class Connection:
    """What is needed to ask a source in the owner's name."""

    source: str  # "oura"
    owner: str  # owner key
    account_id: str  # the source's own id, pinned
    access_token: str
    refresh_token: str
    expires_at: float  # unix s
    obtained_at: float  # unix s, before the token was asked for
    scopes: frozenset[str] | None  # bare names ("daily"); None: the source did not say
    token_url: str  # which endpoint worked; first choice next time
    timezone: str | None  # IANA, from the owner's browser at sign-in
    generation: int = 0  # one more with each sign-in and each refresh; the first is random, see `connect`
    fence: int = 0  # the lease under which it was last written
    state: Literal["live", "ended"] = "live"
    ended_why: Literal["refused", "interrupted"] | None = None
    told: bool = False  # the owner has been told why it ended

    def __repr__(self) -> str:  # a token must not reach a log by way of a traceback
        return f"Connection(source={self.source!r}, owner={self.owner!r}, generation={self.generation}, {self.state})"


@dataclass(frozen=True, slots=True)
class Held:
    """A connection together with the bytes it was read from."""

    connection: Connection
    raw: bytes
    others: Mapping[str, object] = field(default_factory=dict, repr=False)  # what only a newer version knows; kept

    @property
    def version(self) -> tuple[int, int]:
        """What a later writer must find unchanged."""
        return self.connection.generation, self.connection.fence


@dataclass(frozen=True, slots=True)
class Erased:
    """What an owner left behind."""

    found: bool  # there was a connection
    connection: Connection | None  # to be revoked at the source; None also if it did not open any more


class Connections:
    """The sealed records `conn:<source>:<owner>` and `pin:<source>:<owner>`.

    Args:
        store: Where they are.
        keys: What seals them.
        clock: Seconds that only rise.
    """

    def __init__(self, store: Store, keys: Keys, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._connections = keys.sealer("connection")
        self._pins = keys.sealer("pin")
        self._clock = clock
        self._glances: dict[str, tuple[Connection, float]] = {}  # by key, and when it was read
        self._reading: dict[str, asyncio.Task[Held | None]] = {}  # by key
        self._writes = 0  # by this process

    async def glance(self, owner: str, source: str = "oura") -> Connection | None:
        """Like `load`, but what was read up to `GLANCE_S` ago will do, unless this process has written since.

        For whoever asks for the zone or the scopes beside the token, which is always read anew.
        """
        known = self._glances.get(_key("conn", source, owner))
        if known is not None and self._clock() - known[1] < GLANCE_S:
            return known[0]
        return await self.load(owner, source)

    async def read_along(self, owner: str, source: str = "oura") -> Held | None:
        """Like `read`, but shares one that is under way, unless this process has written since it began.

        For the questions of a call, which go side by side and each need the token.
        """
        key = _key("conn", source, owner)
        task = self._reading.get(key)
        if task is None:
            task = self._reading[key] = asyncio.create_task(self.read(owner, source))
            task.add_done_callback(lambda done: self._landed(key, done))
        await asyncio.wait({task})  # whoever is cancelled here leaves it to the others
        return task.result()

    async def load(self, owner: str, source: str = "oura") -> Connection | None:
        """Return the connection, live or ended; None if the owner never signed in or has left.

        Raises:
            SealBroken: It does not open under any key in `SECRET_KEY`.
        """
        held = await self.read(owner, source)
        return held.connection if held else None

    async def read(self, owner: str, source: str = "oura") -> Held | None:
        """Like `load`, with what a compare-and-set needs."""
        key = _key("conn", source, owner)
        at, writes = self._clock(), self._writes
        raw = await self._store.get(key)
        if raw is None:
            self._glances.pop(key, None)
            return None
        connection, others = _decode(self._connections.open(raw, bound_to=key))
        if writes == self._writes:
            self._glances[key] = connection, at
        return Held(connection, raw, others)

    async def connect(self, connection: Connection) -> Connection:
        """Store what a sign-in brought, as the next generation, over whatever was there.

        A refresh that is under way for the generation before finds its own generation gone and is dropped.

        Raises:
            AccountMismatch: The owner is pinned to another account of this source.
        """
        await self._pin(connection)
        for _ in range(_RACES):
            held = await self.read(connection.owner, connection.source)
            # A first generation is one that never was: a renewal from before the owner left and came back must not
            # take this connection for the one it began with.
            generation, fence = held.version if held else (secrets.randbelow(2**32), 0)
            new = replace(connection, generation=generation + 1, fence=fence, state="live", ended_why=None, told=False)
            if await self._swap(held, new):
                return new
        raise _contended()

    async def update(self, held: Held, change: Callable[[Connection], Connection]) -> Connection | None:
        """Store `change(connection)` if generation and fence are still those of `held`; else None, and nothing changes.

        A writer who touched neither (a new time zone) is no reason to lose a refresh: the change is made on top.
        """
        current: Held | None = held
        for _ in range(_RACES):
            if current is None or current.version != held.version:
                return None
            new = change(current.connection)
            if await self._swap(current, new):
                return new
            current = await self.read(held.connection.owner, held.connection.source)
        raise _contended()

    async def tell(self, held: Held) -> bool:
        """Note that the owner is being told why the connection ended; True for exactly one of all who ask."""
        return not held.connection.told and await self._swap(held, replace(held.connection, told=True))

    async def pinned_account(self, owner: str, source: str = "oura") -> str | None:
        """Return the source's id of the account that this owner signed in with first.

        The pin is sealed at sign-in and so may be older than every key in `SECRET_KEY`; the connection, which each
        renewal seals anew, says the same.
        """
        key = _key("pin", source, owner)
        raw = await self._store.get(key)
        if raw is None:
            return None
        try:
            return self._pins.open(raw, bound_to=key).decode()
        except SealBroken:
            connection = await self.load(owner, source)
            if connection is None:
                raise
            return connection.account_id

    async def erase(self, owner: str, source: str = "oura") -> Erased:
        """Delete connection, pin and intent; return the connection so that it can be revoked at the source.

        Works also when the records no longer open; then there is nothing to revoke with. A renewal that is under way
        is waited for, or the tokens it brings would be left alive at the source with nobody knowing them.
        """
        key = _key("conn", source, owner)
        async with AsyncExitStack() as turn:
            # Not free in time: its holder died or stands still, and will find nothing to renew.
            with suppress(StoreUnavailable):
                lease = self._store.lease(renewal_lease(source, owner), ttl_s=_ERASING_S, wait_s=_LAST_RENEWAL_S)
                await turn.enter_async_context(lease)
            raw = await self._store.take(key)
            self._forget(key)
            for kind in ("pin", "intent"):
                await self._store.delete(_key(kind, source, owner))
        if raw is None:
            return Erased(found=False, connection=None)
        try:
            return Erased(found=True, connection=_decode(self._connections.open(raw, bound_to=key))[0])
        except SealBroken:
            return Erased(found=True, connection=None)

    async def owners(self) -> list[str]:
        """Return every owner key with a connection, live or ended, at any source."""
        return sorted({key.rpartition(":")[2] async for key, _ in self._store.scan("conn:")})

    async def _swap(self, held: Held | None, new: Connection) -> bool:
        key = _key("conn", new.source, new.owner)
        plain = _encode(new, held.others if held else {})
        sealed = self._connections.seal(plain, bound_to=key)
        try:
            return await self._store.compare_and_set(key, held.raw if held else None, sealed)
        finally:  # also when nobody knows whether it was written
            self._forget(key)

    def _landed(self, key: str, done: asyncio.Task[Held | None]) -> None:
        if self._reading.get(key) is done:
            del self._reading[key]
        if not done.cancelled():
            done.exception()  # seen, even if everyone has left

    def _forget(self, key: str) -> None:
        self._writes += 1
        self._glances.pop(key, None)
        self._reading.pop(key, None)

    async def _pin(self, connection: Connection) -> None:
        key = _key("pin", connection.source, connection.owner)
        sealed = self._pins.seal(connection.account_id.encode(), bound_to=key)
        if await self._store.compare_and_set(key, None, sealed):
            return
        raw = await self._store.get(key)
        if await self.pinned_account(connection.owner, connection.source) != connection.account_id:
            raise AccountMismatch(
                "This is another account than the one linked first. Sign in with that one, "
                "or disconnect on the owner's page and begin again."
            )
        await self._store.compare_and_set(key, raw, sealed)  # sealed anew, under the first key


def renewal_lease(source: str, owner: str) -> str:
    """Name the lease under which a connection is renewed, and erased."""
    return _key("refresh", source, owner)


def _key(kind: str, source: str, owner: str) -> str:
    return f"{kind}:{source}:{owner}"


def _encode(connection: Connection, others: Mapping[str, object]) -> bytes:
    members = asdict(connection)
    if connection.scopes is not None:
        members["scopes"] = sorted(connection.scopes)
    return orjson.dumps({**others, **members})


def _decode(plain: bytes) -> tuple[Connection, dict[str, object]]:
    """Return the connection, and the members that only a newer version knows."""
    others: dict[str, Any] = orjson.loads(plain)
    known = {name: others.pop(name) for name in Connection.__dataclass_fields__ if name in others}
    if known.get("scopes") is not None:
        known["scopes"] = frozenset(known["scopes"])
    return Connection(**known), others


def _contended() -> StoreUnavailable:
    return StoreUnavailable("The connection is being changed by others at this moment. Try again.")
