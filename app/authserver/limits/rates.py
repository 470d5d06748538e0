"""Counting with `limits`, on our store: the same in every process, and bounded in records however many ask.

Loaded when the first stranger asks (`gate`), since the library brings in what a start has no use for.

The count of one address lives in one of `SLOTS` records, chosen by a hash that nobody can foresee. Another address that
meets the same slot takes it over, and the former one is forgotten, in its favour. Who has few addresses cannot make
use of that, and who has thousands gains nothing by it.

When the store is down, whoever asks is refused as everywhere else (503): what is counted here is about to be written
there anyway.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import anyio
import orjson
from limits import RateLimitItemPerSecond
from limits.aio.storage import Storage
from limits.aio.strategies import FixedWindowRateLimiter

from app.authserver.limits.allowances import SITE, WINDOW_S, Allowance, Budget
from app.authserver.limits.askers import Asker
from app.errors import StoreUnavailable, TooManyRequests
from app.store.base import Store

SLOTS: Final = 4096


class Counters(Storage):
    """What `limits` counts in.

    Args:
        store: Where.
        now: Unix seconds.
        slots: At most so many records, and forgetting; None: a record for each key, for keys that are few.
    """

    STORAGE_SCHEME = None

    def __init__(self, store: Store, *, now: Callable[[], float], slots: int | None = None) -> None:
        super().__init__()
        self._store = store
        self._now = now
        self._slots = slots
        # One at a time: many who count the same would lose to each other again and again, and a flood of strangers
        # would stand in front of a connected app's own writes instead of behind them.
        self._turn = anyio.Lock()

    @property
    def base_exceptions(self) -> type[Exception]:
        """What the store raises; it is passed on as it is."""
        return StoreUnavailable

    async def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Add to a count, which begins anew `expiry` seconds after its first."""
        record = self._record(key)
        async with self._turn:
            while True:
                now = self._now()
                raw = await self._store.get(record)
                count, until = self._read(raw, key) or (0, now + expiry)
                count += amount
                fresh = orjson.dumps([key, count, until])
                if await self._store.compare_and_set(record, raw, fresh, ttl_s=until - now):
                    return count

    async def get(self, key: str) -> int:
        """Return a count."""
        held = self._read(await self._store.get(self._record(key)), key)
        return 0 if held is None else held[0]

    async def get_expiry(self, key: str) -> float:
        """Return when a count begins anew, in unix seconds."""
        held = self._read(await self._store.get(self._record(key)), key)
        return self._now() if held is None else held[1]

    async def check(self) -> bool:
        """Say whether the store answers."""
        await self._store.ping()
        return True

    async def reset(self) -> int | None:
        """Refuse: `limits` wants the method for callers of its own, and there is none here.

        Its strategies never reset a storage as a whole, and each count here begins anew by itself. Saying that it was
        done would be worse than this.
        """
        raise NotImplementedError("Counts are not reset as a whole: each begins anew when its window ends.")

    async def clear(self, key: str) -> None:
        """Forget a count."""
        await self._store.delete(self._record(key))

    def _record(self, key: str) -> str:
        if self._slots is None:
            return f"rate:{key}"
        return f"rate:slot/{int.from_bytes(hashlib.sha256(key.encode()).digest()[:8]) % self._slots}"

    def _read(self, raw: bytes | None, key: str) -> tuple[int, float] | None:
        if raw is None:
            return None
        whose, count, until = orjson.loads(raw)
        return (count, until) if whose == key else None  # the record ends with its window


class Rates:
    """Holds askers to allowances, and all together to budgets."""

    def __init__(self, store: Store, *, now: Callable[[], float]) -> None:
        self._now = now
        self._addresses = FixedWindowRateLimiter(Counters(store, now=now, slots=SLOTS))
        self._named = FixedWindowRateLimiter(Counters(store, now=now))

    async def admit(self, allowance: Allowance, asker: Asker) -> None:
        """Count one more of this asker.

        All that it counts in is looked at before any of it is written. So whoever is refused, for whatever reason, only
        reads: a flood leaves nothing, takes nothing from those around it, and who is refused for them keeps their own.
        Those who ask at the very same moment may pass the look together; then the writing decides, exactly, and whoever
        it refuses has been counted once all the same.

        Raises:
            TooManyRequests: The allowance is used up. It says when the last of what is used up begins anew.
        """
        total = _Count(self._named, _Level(allowance.total or allowance.crowd, WINDOW_S, allowance.name))
        counts = await self._own(allowance, asker)
        bounded = [*counts, total] if allowance.total is not None else counts
        if full := [each for each in bounded if not await each.has_room()]:
            raise await self._refusal(full)
        for each in counts:
            if not await each.take():
                raise await self._refusal([each])
        if not await total.take() and allowance.total is not None:
            raise await self._refusal([total])

    async def spend(self, budget: Budget) -> bool:
        """Take one out of a budget; False if it is used up."""
        count = self._count(budget)
        return await count.has_room() and await count.take()

    async def renewed_in_s(self, budget: Budget) -> int:
        """Return how long it takes until a budget begins anew, in whole seconds, at least one."""
        return max(math.ceil(await self._count(budget).ends_at() - self._now()), 1)

    def _count(self, budget: Budget) -> "_Count":
        return _Count(self._named, _Level(budget.amount, budget.per_s, budget.name))

    async def _own(self, allowance: Allowance, asker: Asker) -> list["_Count"]:
        """Return what counts this asker apart from all together."""
        if asker.kind == "shared":
            return [_Count(self._named, _Level(allowance.shared, WINDOW_S, allowance.name), asker.tag)]
        if asker.kind == "anyone":
            return []
        calm = await _Count(self._named, _Level(allowance.crowd, WINDOW_S, allowance.name)).has_room()
        most = allowance.each if calm else allowance.crowded
        own = _Count(self._addresses, _Level(most, WINDOW_S, allowance.name), asker.tag)
        if asker.site is None:
            return [own]
        return [own, _Count(self._addresses, _Level(SITE * most, WINDOW_S, allowance.name), asker.site)]

    async def _refusal(self, full: Sequence["_Count"]) -> TooManyRequests:
        ends_at = max([await each.ends_at() for each in full])
        return TooManyRequests(retry_after_s=max(math.ceil(ends_at - self._now()), 1))


@dataclass(frozen=True, slots=True)
class _Count:
    """One count, and how far it may go."""

    counting: FixedWindowRateLimiter
    level: "_Level"
    tag: str | None = None  # None: all together

    @property
    def _whose(self) -> tuple[str, ...]:
        return () if self.tag is None else (self.tag,)

    async def has_room(self) -> bool:
        """Say whether one more would be let in; writes nothing."""
        return await self.counting.test(self.level, *self._whose)

    async def take(self) -> bool:
        """Count one; False if that was one too many."""
        return await self.counting.hit(self.level, *self._whose)

    async def ends_at(self) -> float:
        """Return when it begins anew, in unix seconds."""
        return (await self.counting.get_window_stats(self.level, *self._whose)).reset_time


class _Level(RateLimitItemPerSecond):
    """So many within a time. Levels of one name are counted as one, however high they are."""

    def __init__(self, amount: int, per_s: int, name: str) -> None:
        super().__init__(amount, per_s, namespace=name)

    def key_for(self, *tag: bytes | str | float) -> str:
        """Return the key of the count; the library's own differs with the amount."""
        return "/".join((self.namespace, *map(str, tag)))
