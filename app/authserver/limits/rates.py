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
from collections.abc import Callable
from typing import Final

import anyio
import orjson
from limits import RateLimitItem, RateLimitItemPerSecond
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
        """Nothing here is ever reset as a whole."""
        raise NotImplementedError

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

        Raises:
            TooManyRequests: The allowance is used up.
        """
        crowd = _Level(allowance.crowd, WINDOW_S, allowance.name)
        total = _Level(allowance.total or allowance.crowd, WINDOW_S, allowance.name)
        if allowance.total is not None and not await self._named.test(total):
            raise await self._refusal(self._named, total)
        if asker.kind == "shared":
            await self._take(self._named, (_Level(allowance.shared, WINDOW_S, allowance.name), asker.tag))
        elif asker.kind == "one":
            most = allowance.each if await self._named.test(crowd) else allowance.crowded
            own = (_Level(most, WINDOW_S, allowance.name), asker.tag)
            around = (_Level(SITE * most, WINDOW_S, allowance.name), asker.site)
            await self._take(self._addresses, own, *((around,) if asker.site else ()))
        if not await self._named.hit(total) and allowance.total is not None:
            raise await self._refusal(self._named, total)

    async def spend(self, budget: Budget) -> bool:
        """Take one out of a budget; False if it is used up."""
        level = _Level(budget.amount, budget.per_s, budget.name)
        return await self._named.test(level) and await self._named.hit(level)

    async def _take(self, counting: FixedWindowRateLimiter, *counts: tuple[RateLimitItem, str]) -> None:
        # Looked at first, all of them, so that a flood that is refused only reads; what counts is the second, exact.
        for step in (counting.test, counting.hit):
            for level, tag in counts:
                if not await step(level, tag):
                    raise await self._refusal(counting, level, tag)

    async def _refusal(self, counting: FixedWindowRateLimiter, level: RateLimitItem, *tag: str) -> TooManyRequests:
        ends_at = (await counting.get_window_stats(level, *tag)).reset_time
        return TooManyRequests(retry_after_s=max(math.ceil(ends_at - self._now()), 1))


class _Level(RateLimitItemPerSecond):
    """So many within a time. Levels of one name are counted as one, however high they are."""

    def __init__(self, amount: int, per_s: int, name: str) -> None:
        super().__init__(amount, per_s, namespace=name)

    def key_for(self, *tag: bytes | str | float) -> str:
        """Return the key of the count; the library's own differs with the amount."""
        return "/".join((self.namespace, *map(str, tag)))
