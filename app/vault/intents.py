"""What is known about attempts to spend the present refresh token, written down before each one.

The record outlives a crash: whoever finds an intent in doubt knows that the token may be spent. It holds no secret.
It is never deleted by a refresh, only written over: its fence makes each version unique, so a holder who slept cannot
mistake a later state for the one it read. An intent of an earlier generation is history and binds nobody.
"""

from dataclasses import asdict, dataclass, replace
from typing import Literal

import orjson

from app.store.base import Store

Outcome = Literal["running", "unknown", "not_sent", "misconfigured"]

# Seconds until the next attempt, by attempts made; the last stays. All processes share them, through the record.
# After a first failure that may pass, the very next call may try: it is how the owner learns soon where they stand.
_PAUSES_S: dict[Outcome, tuple[float, ...]] = {
    "unknown": (0, 15, 30, 60, 120, 300),
    "not_sent": (0, 2, 5, 15, 30, 60),
    "misconfigured": (15, 30, 60, 120, 300),  # nothing heals it but the operator
}


@dataclass(frozen=True, slots=True)
class Intent:
    """The last attempt to spend the refresh token of `generation`."""

    generation: int
    fence: int  # of the lease under which it was written
    # A member that another version did not write is read as the cautious thing.
    started_at: float = 0  # unix s
    attempts: int = 1  # for this generation, this one included
    not_before: float = 0  # unix s; no process tries again earlier
    outcome: Outcome = "unknown"
    doubt: bool = True  # this attempt or an earlier one may have spent the token

    def waits_s(self, now: float) -> float:
        """Return how long nobody may try. A clock that was set back does not prolong it."""
        return self.not_before - now if self.started_at <= now < self.not_before else 0

    def settled(self, outcome: Outcome, *, now: float, doubt: bool) -> "Intent":
        """Return it with what came of the attempt."""
        pauses = _PAUSES_S[outcome]
        pause_s = pauses[min(self.attempts, len(pauses)) - 1]
        return replace(self, outcome=outcome, not_before=now + pause_s, doubt=doubt)


@dataclass(frozen=True, slots=True)
class Noted:
    """An intent together with the bytes that are stored, which may hold more than this version knows."""

    intent: Intent
    raw: bytes


class Intents:
    """The records `intent:<source>:<owner>`."""

    def __init__(self, store: Store, source: str) -> None:
        self._store = store
        self._source = source

    async def read(self, owner: str) -> Noted | None:
        """Return the last intent, of whatever generation."""
        raw = await self._store.get(self._key(owner))
        return None if raw is None else Noted(_decode(raw), raw)

    async def replace(self, owner: str, before: Noted | None, after: Intent) -> Noted | None:
        """Write `after` if the record is still `before`; None if it is not."""
        raw = orjson.dumps(asdict(after))
        expected = None if before is None else before.raw
        return Noted(after, raw) if await self._store.compare_and_set(self._key(owner), expected, raw) else None

    def _key(self, owner: str) -> str:
        return f"intent:{self._source}:{owner}"


def _decode(raw: bytes) -> Intent:
    members = orjson.loads(raw)
    return Intent(**{name: members[name] for name in Intent.__dataclass_fields__ if name in members})
