"""A usable access token, however many ask, and the single-use refresh token spent at most once.

lease → read again → decide → note the intent → spend → store → release. A renewal is a task of its own that its callers
wait for: however they end, it goes on, so that nothing comes between spending a token and storing its successor.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

import anyio

from app.errors import ReconnectRequired, StoreUnavailable, VitalsError
from app.identity import Caller
from app.store.base import Store
from app.vault.connections import Connection, Connections, Held
from app.vault.intents import Intent, Intents
from app.vault.outcomes import (
    NotSent,
    OutcomeUnknown,
    RefreshEndpoint,
    RefreshMisconfigured,
    RefreshRefused,
    TokenAnswer,
)
from app.vault.words import Words

__all__ = ["RefreshEndpoint", "Rotation", "TokenAnswer"]

Change = Callable[[Connection], Connection]
Checkpoint = Callable[[str], Awaitable[None]]
_SAVE_PAUSE_S = 0.1


async def _pass(_step: str) -> None:
    """Do nothing at a checkpoint."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """A lease that is held."""

    fence: int
    taken_at: float  # unix s


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
        if lease_ttl_s < 1.5 * deadline_s:
            raise ValueError("lease_ttl_s must be 1.5 deadline_s or more, or a lease can end while its token is spent.")
        self._connections = connections
        self._intents = Intents(store, source)
        self._store = store
        self._endpoint = endpoint
        self._now = now
        self._words = Words(source, reconnect_url)
        self._source = source
        self._lease_ttl_s = lease_ttl_s
        self._latest_start_s = lease_ttl_s - deadline_s
        self._deadline_s = deadline_s
        self._spend_s, self._save_s = 0.75 * deadline_s, 0.25 * deadline_s
        self._wait_s = wait_s
        self._margin_s = margin_s
        self._early_wait_s = early_wait_s
        self._checkpoint = checkpoint
        self._running: dict[tuple[str, int, bool], asyncio.Task[Connection]] = {}
        self._spending: set[asyncio.Task[Connection]] = set()
        self._unsaved: dict[str, tuple[Held, Change]] = {}
        self._draining = False

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
        held = await self._connections.read(caller.owner, self._source)
        if held is None:
            raise self._words.absent()
        connection = held.connection
        if connection.state == "ended":
            raise await self._ended(held)
        left_s = connection.expires_at - self._now()
        if connection.access_token == refused or left_s <= 0:
            renewed = await self._renewed(connection, urgent=True)
            if renewed.state == "ended":
                raise await self._ended(await self._connections.read(caller.owner, self._source))
            return renewed.access_token
        if left_s <= min(self._margin_s, (connection.expires_at - connection.obtained_at) / 4):
            # The token at hand is good: nothing that goes wrong with an early renewal is this caller's concern.
            with suppress(VitalsError), anyio.move_on_after(self._early_wait_s):
                renewed = await self._renewed(connection, urgent=False)
                connection = renewed if renewed.state == "live" else connection
        return connection.access_token

    async def drain(self) -> None:
        """Let renewals that are spending a token end, stop those that only wait, begin no other. For shutdown."""
        self._draining = True
        while self._running:
            for task in set(self._running.values()) - self._spending:
                task.cancel()
            await asyncio.wait(set(self._running.values()))
        for owner in list(self._unsaved):
            with suppress(StoreUnavailable):
                await self._save_late(owner)

    async def _renewed(self, connection: Connection, *, urgent: bool) -> Connection:
        """Join the renewal of this generation, or begin it; return the connection as it is afterwards."""
        key = (connection.owner, connection.generation, urgent)
        task = self._running.get(key)
        if task is None:
            if self._draining:
                raise self._words.stopping()
            # Not a shield around the caller's own task: native cancellation (asyncio.timeout, a server that stops)
            # goes through an anyio shield.
            task = self._running[key] = asyncio.create_task(self._renew(*key))

            def forget(done: asyncio.Task[Connection]) -> None:
                del self._running[key]
                self._spending.discard(done)
                if not done.cancelled():
                    done.exception()  # seen, even if every caller has left

            task.add_done_callback(forget)
        await asyncio.wait({task})  # a caller who is cancelled here leaves the task alone
        if task.cancelled():
            raise self._words.stopping()
        return task.result()

    async def _renew(self, owner: str, generation: int, urgent: bool) -> Connection:
        lease = self._store.lease(
            f"refresh:{self._source}:{owner}", ttl_s=self._lease_ttl_s, wait_s=self._wait_s if urgent else 0
        )
        async with lease as fence:
            turn = _Turn(fence, self._now())
            await self._checkpoint("leased")
            await self._save_late(owner)
            held = await self._connections.read(owner, self._source)  # somebody may have renewed while we waited
            if held is None:
                raise self._words.absent()
            if held.connection.generation != generation or held.connection.state == "ended":
                return held.connection
            before = await self._intents.read(owner)
            noted = self._decide(held.connection, before, turn, urgent=urgent)
            await self._checkpoint("decided")
            task = asyncio.current_task()
            if task is not None:
                self._spending.add(task)
            if not await self._intents.replace(owner, before, noted):
                raise self._words.turn_lost()
            await self._checkpoint("noted")
            with anyio.CancelScope(shield=True):
                renewed = await self._spend(held, before, noted, turn)
            await self._checkpoint("stored")
        await self._checkpoint("released")
        return renewed

    def _decide(self, connection: Connection, before: Intent | None, turn: _Turn, *, urgent: bool) -> Intent:
        """Return the intent to note, or raise why this refresh token must not be sent now."""
        now = self._now()
        if before is not None and before.fence >= turn.fence:
            raise self._words.turn_lost()  # a later holder has been here; this one slept through its lease
        last = before if before is not None and before.generation == connection.generation else None
        if last is not None:
            if last.doubt and not urgent:
                # Sending a spent token can end the whole family, and with it an access token that still works.
                raise self._words.unknown()
            if last.waits_s(now) > 0:
                raise self._words.waiting(last, now)
        return Intent(
            generation=connection.generation,
            fence=turn.fence,
            started_at=now,
            attempts=last.attempts + 1 if last else 1,
            not_before=now + self._deadline_s,  # if this process dies or stalls, nobody sends while it still might
            outcome="running",
            doubt=True,
        )

    async def _spend(self, held: Held, before: Intent | None, noted: Intent, turn: _Turn) -> Connection:
        old = held.connection
        doubt_before = before is not None and before.generation == old.generation and before.doubt
        sent_at = self._now()
        if sent_at - turn.taken_at > self._latest_start_s:
            await self._settle(old.owner, noted, noted.settled("not_sent", now=sent_at, doubt=doubt_before))
            raise self._words.turn_lost()
        try:
            with anyio.fail_after(self._spend_s):
                answer = await self._endpoint.refresh(old.refresh_token, token_url=old.token_url)
        except RefreshRefused:
            return await self._refused(held, turn, interrupted=doubt_before)
        except (NotSent, RefreshMisconfigured) as exc:
            outcome = "not_sent" if isinstance(exc, NotSent) else "misconfigured"
            await self._settle(old.owner, noted, noted.settled(outcome, now=self._now(), doubt=doubt_before))
            raise
        except Exception as exc:
            await self._settle(old.owner, noted, noted.settled("unknown", now=self._now(), doubt=True))
            raise (exc if isinstance(exc, OutcomeUnknown) else self._words.unknown()) from exc
        await self._checkpoint("spent")

        def succeed(now_stored: Connection) -> Connection:
            return replace(
                now_stored,
                access_token=answer.access_token,
                refresh_token=answer.refresh_token or old.refresh_token,  # RFC 6749, section 6: none means keep it
                expires_at=sent_at + answer.expires_in_s,
                obtained_at=sent_at,
                scopes=old.scopes if answer.scopes is None else answer.scopes,
                token_url=answer.token_url,
                generation=old.generation + 1,
                fence=turn.fence,
            )

        return await self._save(held, succeed)

    async def _save(self, held: Held, change: Change) -> Connection:
        """Store the successor, through short failures of the store; what cannot be stored now is kept in memory."""
        ours = change(held.connection)
        with anyio.move_on_after(self._save_s):
            while True:
                with suppress(StoreUnavailable):
                    saved = await self._connections.update(held, change)
                    if saved is None:  # an earlier write of ours whose answer was lost, a new sign-in, or an erasure
                        saved = await self._connections.load(ours.owner, self._source)
                        if saved is None:
                            raise self._words.absent()
                    return saved
                await anyio.sleep(_SAVE_PAUSE_S)
        self._unsaved[ours.owner] = (held, change)
        raise self._words.unsaved()

    async def _save_late(self, owner: str) -> None:
        if owner in self._unsaved:
            held, change = self._unsaved[owner]
            await self._connections.update(held, change)
            del self._unsaved[owner]

    async def _refused(self, held: Held, turn: _Turn, *, interrupted: bool) -> Connection:
        """End the connection, but only the generation that was refused; a newer one is returned as it is."""

        def end(now_stored: Connection) -> Connection:
            why: Literal["refused", "interrupted"] = "interrupted" if interrupted else "refused"
            return replace(now_stored, state="ended", ended_why=why, fence=turn.fence)

        ended = await self._connections.update(held, end)
        if ended is not None:
            return ended
        current = await self._connections.load(held.connection.owner, self._source)
        if current is None:
            raise self._words.absent()
        return current

    async def _settle(self, owner: str, noted: Intent, outcome: Intent) -> None:
        # If it cannot be written the intent stays in doubt: the cautious reading.
        with suppress(StoreUnavailable):
            await self._intents.replace(owner, noted, outcome)

    async def _ended(self, held: Held | None) -> ReconnectRequired:
        if held is None:
            return self._words.absent()
        first = held.connection.ended_why == "interrupted" and await self._connections.tell(held)
        return self._words.ended(held.connection, first=first)
