"""One renewal: lease → read again → decide → note the intent → spend → store → release.

`rotation` runs it as a task that no caller can cancel. It ends in one of three ways: the successor of the refresh token
is stored, the token is known to be unspent, or the intent says that it may be spent.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

import anyio

from app import logs
from app.errors import StoreUnavailable
from app.store.base import Store
from app.vault.connections import Connection, Connections, Held, renewal_lease
from app.vault.intents import Intent, Intents, Noted
from app.vault.outcomes import (
    NotSent,
    OutcomeUnknown,
    RefreshEndpoint,
    RefreshMisconfigured,
    RefreshRefused,
    TokenAnswer,
)
from app.vault.words import Words

Change = Callable[[Connection], Connection]
Checkpoint = Callable[[str], Awaitable[None]]
_SAVE_PAUSE_S = 0.1
_GIVE_BACK_S = 5.0
_log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class Timing:
    """How long the steps may take."""

    deadline_s: float  # from spending to having stored
    lease_ttl_s: float  # after a crash, how long the others keep away
    wait_s: float  # for the lease

    def __post_init__(self) -> None:
        if self.lease_ttl_s < 1.5 * self.deadline_s:
            raise ValueError("lease_ttl_s must be 1.5 deadline_s or more, or a lease can end while its token is spent.")

    @property
    def latest_start_s(self) -> float:
        """How long after taking the lease a token may still be sent, so that all of it happens under the lease."""
        return self.lease_ttl_s - self.deadline_s

    @property
    def spend_s(self) -> float:
        """The part of the deadline that belongs to the source."""
        return 0.75 * self.deadline_s

    @property
    def save_s(self) -> float:
        """The part that is kept for storing, however slow the source was."""
        return 0.25 * self.deadline_s


@dataclass(frozen=True, slots=True)
class _Turn:
    """A lease that is held."""

    fence: int
    taken_at: float  # unix s


class Renewal:
    """Renews connections of one source."""

    def __init__(
        self,
        *,
        connections: Connections,
        store: Store,
        endpoint: RefreshEndpoint,
        now: Callable[[], float],
        words: Words,
        source: str,
        timing: Timing,
        checkpoint: Checkpoint,
    ) -> None:
        self._connections = connections
        self.intents = Intents(store, source)
        self._store = store
        self._endpoint = endpoint
        self._now = now
        self._words = words
        self._source = source
        self._timing = timing
        self._checkpoint = checkpoint
        self.unsaved: dict[str, tuple[Held, Change]] = {}  # renewed while the store was away, by owner
        self._newest: dict[str, tuple[Held, Change]] = {}  # stored, and remembered in case the store forgets it
        self._spending: set[anyio.CancelScope] = set()
        self._in_a_hurry = False

    async def run(self, owner: str, generation: int, *, urgent: bool, committed: Callable[[], None]) -> Connection:
        """Renew, unless somebody else has by the time it is our turn; return the connection as it is then.

        Args:
            owner: Whose connection.
            generation: The one that the caller found wanting.
            urgent: There is no usable token, so it is worth waiting and worth a risk.
            committed: Called at the point from which this must not be cancelled any more.
        """
        lease = self._store.lease(
            renewal_lease(self._source, owner),
            ttl_s=self._timing.lease_ttl_s,
            wait_s=self._timing.wait_s if urgent else 0,
        )
        async with lease as fence:
            turn = _Turn(fence, self._now())
            await self._checkpoint("leased")
            await self.save_late(owner)
            await self._save_again(owner)
            held = await self._connections.read(owner, self._source)  # somebody may have renewed while we waited
            if held is None:
                raise self._words.absent()
            if held.connection.generation != generation or held.connection.state == "ended":
                return held.connection
            found = await self.intents.read(owner)
            before = None if found is None else found.intent
            intent = self._decide(held.connection, before, turn, urgent=urgent)
            await self._checkpoint("decided")
            committed()
            noted = await self.intents.replace(owner, found, intent)
            if noted is None:
                raise self._words.turn_lost()
            await self._checkpoint("noted")
            renewed = await self._spend(held, before, noted, turn)
            await self._checkpoint("stored")
        await self._checkpoint("released")
        return renewed

    def give_up(self) -> None:
        """Wait no longer for the source; what it was sent counts as unknown. For a process that has to end."""
        self._in_a_hurry = True
        for scope in self._spending:
            scope.cancel()

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
            # If this process dies or stalls, nobody sends while it still might.
            not_before=now + self._timing.deadline_s,
            outcome="running",
            doubt=True,
        )

    async def _spend(self, held: Held, before: Intent | None, noted: Noted, turn: _Turn) -> Connection:
        old = held.connection
        doubt_before = before is not None and before.generation == old.generation and before.doubt
        sent_at = self._now()
        if sent_at - turn.taken_at > self._timing.latest_start_s:
            await self._settle(old.owner, noted, noted.intent.settled("not_sent", now=sent_at, doubt=doubt_before))
            raise self._words.turn_lost()
        if self._in_a_hurry:
            await self._settle(old.owner, noted, noted.intent.settled("not_sent", now=sent_at, doubt=doubt_before))
            raise self._words.stopping()
        try:
            answer = await self._send(old)
        except RefreshRefused:
            return await self._refused(held, turn, interrupted=doubt_before)
        except NotSent:
            await self._settle(old.owner, noted, noted.intent.settled("not_sent", now=self._now(), doubt=doubt_before))
            raise
        except RefreshMisconfigured:
            await self._settle(
                old.owner, noted, noted.intent.settled("misconfigured", now=self._now(), doubt=doubt_before)
            )
            raise
        except Exception as exc:
            # Whatever it was, it came after sending: the outcome is unknown.
            await self._settle(old.owner, noted, noted.intent.settled("unknown", now=self._now(), doubt=True))
            if isinstance(exc, OutcomeUnknown):
                raise
            raise self._words.unknown() from exc
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

    async def _send(self, old: Connection) -> TokenAnswer:
        with anyio.CancelScope(deadline=anyio.current_time() + self._timing.spend_s) as scope:
            self._spending.add(scope)
            try:
                return await self._endpoint.refresh(old.refresh_token, token_url=old.token_url)
            finally:
                self._spending.discard(scope)
        raise self._words.unknown()

    async def _save(self, held: Held, change: Change) -> Connection:
        """Store the successor, through short failures of the store; what cannot be stored now is kept in memory."""
        ours = change(held.connection)
        with anyio.move_on_after(self._timing.save_s):
            while True:
                with suppress(StoreUnavailable):
                    saved = await self._connections.update(held, change)
                    if saved is None:  # an earlier write of ours whose answer was lost, a new sign-in, or an erasure
                        saved = await self._connections.load(ours.owner, self._source)
                        if saved is None:
                            await self._give_back(ours)
                            raise self._words.absent()
                    _log.info("connection_renewed", source=self._source, generation=saved.generation)
                    self._newest[ours.owner] = (held, change)
                    return saved
                await anyio.sleep(_SAVE_PAUSE_S)
        self.unsaved[ours.owner] = (held, change)
        _log.error("connection_renewed_but_not_stored", source=self._source, generation=ours.generation)
        raise self._words.unsaved()

    async def save_late(self, owner: str) -> None:
        """Store a successor that the store refused when it was fresh."""
        if owner in self.unsaved:
            held, change = self.unsaved[owner]
            saved = await self._connections.update(held, change)
            if saved is None and await self._connections.load(owner, self._source) is None:
                await self._give_back(change(held.connection))
            del self.unsaved[owner]

    async def _give_back(self, ours: Connection) -> None:
        """Revoke what was renewed for an owner who has left meanwhile: nobody else knows these tokens.

        Only then. After a new sign-in they stay: it is not known whether Oura would end that one with them.
        """
        with anyio.move_on_after(_GIVE_BACK_S, shield=True):
            await self._endpoint.revoke(access_token=ours.access_token, refresh_token=ours.refresh_token)

    async def _save_again(self, owner: str) -> None:
        """Store once more what the store had acknowledged and does not know any more.

        A replica that is promoted may lack the last writes of its primary (Redis replicates afterwards), and then it
        holds a refresh token that is spent. If the connection stands exactly where this process found it before its
        last renewal, the successor is put back; in every other case nothing changes.
        """
        if owner in self._newest:
            held, change = self._newest[owner]
            if await self._connections.update(held, change) is not None:
                _log.warning("connection_restored", source=self._source, generation=held.connection.generation + 1)

    async def _refused(self, held: Held, turn: _Turn, *, interrupted: bool) -> Connection:
        """End the connection, but only the generation that was refused; a newer one is returned as it is."""

        def end(now_stored: Connection) -> Connection:
            why: Literal["refused", "interrupted"] = "interrupted" if interrupted else "refused"
            return replace(now_stored, state="ended", ended_why=why, fence=turn.fence)

        ended = await self._connections.update(held, end)
        if ended is not None:
            _log.warning("connection_ended", source=self._source, generation=ended.generation, reason=ended.ended_why)
            return ended
        current = await self._connections.load(held.connection.owner, self._source)
        if current is None:
            raise self._words.absent()
        return current

    async def _settle(self, owner: str, noted: Noted, outcome: Intent) -> None:
        _log.warning(
            "renewal_failed",
            source=self._source,
            generation=outcome.generation,
            attempt=outcome.attempts,
            outcome=outcome.outcome,
        )
        # If it cannot be written the intent stays in doubt: the cautious reading.
        with suppress(StoreUnavailable):
            await self.intents.replace(owner, noted, outcome)
