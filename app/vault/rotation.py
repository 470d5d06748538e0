"""A usable access token, however many ask.

A renewal is a task of its own that its callers wait for: however they end, it goes on, so that nothing comes between
spending a single-use token and storing its successor. What one renewal does is in `renewal`.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import anyio

from app import logs
from app.errors import ReconnectRequired, StoreUnavailable, VitalsError
from app.identity import Caller
from app.store.base import Store
from app.vault.connections import Connection, Connections, Held
from app.vault.intents import Intent
from app.vault.outcomes import RefreshEndpoint, TokenAnswer
from app.vault.renewal import Checkpoint, Renewal, Timing
from app.vault.words import Words

__all__ = ["RefreshEndpoint", "Rotation", "TokenAnswer"]


# From the moment a stop begins. A platform kills after 10 s at the earliest, and the store has to be closed too.
_LAST_ANSWER_S = 4.0  # the source may take so long; whoever waits for it is then answered before requests are cut (6 s)
_STOP_S = 8.0  # what is not stored by then stays as after a kill; must exceed `_LAST_ANSWER_S`
_log = logs.get(__name__)


async def _pass(_step: str) -> None:
    """Do nothing at a checkpoint."""


class Rotation:
    """Hands out access tokens of one source.

    Args:
        connections: The sealed credentials.
        store: Leases and intents.
        endpoint: The source's token endpoint.
        now: Unix seconds.
        reconnect_url: Where an owner signs in again; named in messages.
        source: The source's name in records.
        deadline_s: From spending to having stored; must be well below `lease_ttl_s`.
        lease_ttl_s: After a crash, how long the others keep away.
        wait_s: How long a caller without a usable token waits for its turn; longer than `lease_ttl_s`, so that the call
            after a crash gets its answer and not a request to come back.
        margin_s: How long before its end a token is renewed, at most a quarter of its life. Covers wrong clocks.
        early_wait_s: How long a caller whose token is still good waits for such a renewal.
        checkpoint: Awaited after each step; for tests that stop there.
    """

    def __init__(
        self,
        *,
        connections: Connections,
        store: Store,
        endpoint: RefreshEndpoint,
        now: Callable[[], float],
        reconnect_url: str,
        source: str = "oura",
        deadline_s: float = 20,
        lease_ttl_s: float = 30,
        wait_s: float = 35,
        margin_s: float = 900,
        early_wait_s: float = 2,
        checkpoint: Checkpoint = _pass,
    ) -> None:
        self._connections = connections
        self._now = now
        self._words = Words(source, reconnect_url)
        self._source = source
        self._margin_s = margin_s
        self._early_wait_s = early_wait_s
        self._renewal = Renewal(
            connections=connections,
            store=store,
            endpoint=endpoint,
            now=now,
            words=self._words,
            source=source,
            timing=Timing(deadline_s, lease_ttl_s, wait_s),
            checkpoint=checkpoint,
        )
        self._running: dict[tuple[str, int, bool], asyncio.Task[Connection]] = {}
        self._committed: set[tuple[str, int, bool]] = set()  # those of them that must not be cancelled any more
        self._telling: dict[int, asyncio.Task[bool]] = {}  # by call
        self._draining = False
        self._over_at = 0.0  # on the loop's clock

    async def access_token(self, caller: Caller, *, refused: str | None = None) -> str:
        """Return a token that the source has not refused. Renews at most once.

        Args:
            caller: Whose token.
            refused: A token that the source just answered 401 to; never returned.

        Raises:
            ReconnectRequired: There is no connection, or it has ended; the text says where to sign in.
            RefreshMisconfigured, SourceUnreachable: No usable token now; the connection is kept.
            StoreUnavailable: The store failed, or another renewal did not end in time.
        """
        held = await self._connections.read_along(caller.owner, self._source)
        if held is None:
            raise self._words.absent()
        connection = held.connection
        if connection.state == "ended":
            raise await self._ended(held, caller)
        left_s = connection.expires_at - self._now()
        if connection.access_token == refused or left_s <= 0:
            renewed = await self._renewed(connection, urgent=True)
            if renewed.state == "ended":
                raise await self._ended(await self._connections.read(caller.owner, self._source), caller)
            return renewed.access_token
        if left_s <= min(self._margin_s, (connection.expires_at - connection.obtained_at) / 4):
            # The token at hand is good: nothing that goes wrong with an early renewal is this caller's concern.
            with suppress(VitalsError), anyio.move_on_after(self._early_wait_s):
                renewed = await self._renewed(connection, urgent=False)
                connection = renewed if renewed.state == "live" else connection
        return connection.access_token

    async def failed(self, connection: Connection) -> Intent | None:
        """Return the last attempt to renew this connection, if it came to nothing; None where none did."""
        noted = await self._renewal.intents.read(connection.owner)
        if noted is None or noted.intent.generation != connection.generation:
            return None  # it is of a generation before, and so was mended by the renewal that came after it
        cut_short = noted.intent.outcome == "running" and noted.intent.waits_s(self._now()) <= 0
        return noted.intent if noted.intent.outcome != "running" or cut_short else None

    def stop(self) -> None:
        """Begin no other renewal, stop those that only wait, and wait for the source a little longer but not for long.

        For the moment a shutdown begins, while requests are still being answered; `drain` follows when they are.
        """
        if not self._draining:
            self._draining = True
            loop = asyncio.get_running_loop()
            self._over_at = loop.time() + _STOP_S
            loop.call_later(_LAST_ANSWER_S, self._renewal.give_up)
        for key in self._running.keys() - self._committed:
            self._running[key].cancel()

    async def drain(self) -> None:
        """Let renewals that are spending a token end, but not for ever. For the end of a shutdown.

        One that is cut here leaves its intent in doubt, exactly as if the process had been killed.
        """
        while self._running:
            self.stop()
            left_s = self._over_at - asyncio.get_running_loop().time()
            if left_s <= 0:
                _log.error("renewal_abandoned", source=self._source)
                break
            await asyncio.wait(set(self._running.values()), timeout=left_s)
        self.stop()
        for owner in list(self._renewal.unsaved):
            with suppress(StoreUnavailable):
                await self._renewal.save_late(owner)

    async def _renewed(self, connection: Connection, *, urgent: bool) -> Connection:
        """Join the renewal of this generation, or begin it; return the connection as it is afterwards."""
        key = (connection.owner, connection.generation, urgent)
        task = self._running.get(key)
        if task is None:
            if self._draining:
                raise self._words.stopping()
            # Not a shield around the caller's own task: native cancellation (asyncio.timeout, a server that stops)
            # goes through an anyio shield.
            task = self._running[key] = asyncio.create_task(
                self._renewal.run(
                    connection.owner,
                    connection.generation,
                    urgent=urgent,
                    committed=lambda: self._committed.add(key),
                )
            )

            def forget(done: asyncio.Task[Connection]) -> None:
                del self._running[key]
                self._committed.discard(key)
                if not done.cancelled():
                    done.exception()  # seen, even if every caller has left

            task.add_done_callback(forget)
        await asyncio.wait({task})  # a caller who is cancelled here leaves the task alone
        if task.cancelled():
            raise self._words.stopping()
        return task.result()

    async def _ended(self, held: Held | None, caller: Caller) -> ReconnectRequired:
        if held is None:
            return self._words.absent()
        untold = held.connection.ended_why == "interrupted" and not held.connection.told
        first = untold and await self._tell(held, caller)
        return self._words.ended(held.connection, first=first)

    async def _tell(self, held: Held, caller: Caller) -> bool:
        """Note that the owner is being told; the questions of one call, which has one `Caller`, tell it together."""
        call = id(caller)
        task = self._telling.get(call)
        if task is None:
            task = self._telling[call] = asyncio.create_task(self._connections.tell(held))
            task.add_done_callback(lambda _: self._telling.pop(call, None))
        return await asyncio.shield(task)
