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

from app.authserver.allowances import WINDOW_S, Allowance, Budget
from app.authserver.askers import Asker
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
                if await self._store.compare_and_set(record, raw, fresh, ttl_s=max(until - now, 1.0)):
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
        return (count, until) if whose == key and until > self._now() else None


class Rates:
    """Holds askers to allowances, and all together to budgets."""

    def __init__(self, store: Store, *, now: Callable[[], float]) -> None:
        self._now = now
        self._addresses = FixedWindowRateLimiter(Counters(store, now=now, slots=SLOTS))
        self._named = FixedWindowRateLimiter(Counters(store, now=now))

    async def admit(self, allowance: Allowance, asker: Asker) -> None:
        """Count one more of this asker.

        Raises:
            TooManyRequests: The allowance is used up. Then nothing is written, so a flood that is refused only reads.
        """
        everyone = _item(allowance.name, allowance.total or allowance.crowd, WINDOW_S)
        crowded = not await _below(self._named, everyone, allowance.crowd)
        if allowance.total is not None and not await self._named.test(everyone):
            raise await self._refusal(self._named, everyone)
        if asker.kind == "shared":
            await self._spend_own(self._named, _item(allowance.name, allowance.shared, WINDOW_S), asker)
        elif asker.kind == "one":
            most = allowance.crowded if crowded else allowance.each
            await self._spend_own(self._addresses, _item(allowance.name, allowance.each, WINDOW_S), asker, most)
        await self._named.hit(everyone)

    async def spend(self, budget: Budget) -> bool:
        """Take one out of a budget; False if it is used up."""
        item = _item(budget.name, budget.amount, budget.per_s)
        return await self._named.test(item) and await self._named.hit(item)

    async def _spend_own(
        self, counting: FixedWindowRateLimiter, item: RateLimitItem, asker: Asker, most: int | None = None
    ) -> None:
        below = await _below(counting, item, most or item.amount, asker.tag)
        if not below or not await counting.hit(item, asker.tag):
            raise await self._refusal(counting, item, asker.tag)

    async def _refusal(self, counting: FixedWindowRateLimiter, item: RateLimitItem, *tag: str) -> TooManyRequests:
        ends_at = (await counting.get_window_stats(item, *tag)).reset_time
        return TooManyRequests(retry_after_s=max(math.ceil(ends_at - self._now()), 1))


def _item(name: str, amount: int, per_s: int) -> RateLimitItem:
    return RateLimitItemPerSecond(amount, per_s, namespace=name)


async def _below(counting: FixedWindowRateLimiter, item: RateLimitItem, level: int, *tag: str) -> bool:
    """Say whether a count is below a level that may be lower than the item's own."""
    return await counting.test(item, *tag, cost=item.amount - level + 1)
