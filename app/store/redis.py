"""The shared store, for more than one machine: Redis 6.2 or newer, or Valkey.

A record is kept with the moment it expires in front of it, and readers compare that with `now`: lifetimes then follow
one rule in both stores. Redis's own expiry is set a minute later and only gives the memory back. The clocks of several
machines differ, so all of it runs on the one that they share, Redis's own: leases in Redis itself, the rest by `now`.
"""

import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import replace
from typing import Final

from redis.asyncio import Redis
from redis.asyncio.lock import Lock
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import LockNotOwnedError, RedisError
from redis.maint_notifications import MaintNotificationsConfig

from app.errors import SettingsError
from app.store import redis_address
from app.store.findings import Finding
from app.store.leasing import Leases
from app.store.outages import Outages
from app.store.redis_facts import findings
from app.store.redis_faults import unavailable
from app.store.server_clock import ServerClock

_CONNECT_S = 3.0
_ANSWER_S = 5.0
_CONNECTIONS = 32
# How much longer Redis keeps a record than it lives. It need not grow with how far machines' clocks are apart: Redis
# counts real seconds, and after those of its lifetime nobody is owed the record. It is small on purpose: it is all by
# which a record can outlive its time that was written by a machine whose clock is ahead.
_SLACK_MS = 60_000
_STAMP = 16  # digits in front of each record: unix milliseconds when it expires; all zeros: never
_NEVER: Final = b"0" * _STAMP
_SCAN_KEYS = 200
_EXAMINED_S = 5.0

# KEYS[1] record; ARGV: now in ms, "1" if a record is expected, the expected value, the new record, its lifetime in ms.
# Expiry counts as absence, exactly as in `_open`.
_COMPARE_AND_SET = f"""
local held = redis.call('GET', KEYS[1])
if held then
  local stamp = tonumber(string.sub(held, 1, {_STAMP}))
  if stamp ~= 0 and stamp <= tonumber(ARGV[1]) then held = false end
end
if ARGV[2] == '1' then
  if not held or string.sub(held, {_STAMP + 1}) ~= ARGV[3] then return 0 end
elseif held then
  return 0
end
if ARGV[5] == '' then redis.call('SET', KEYS[1], ARGV[4])
else redis.call('SET', KEYS[1], ARGV[4], 'PX', ARGV[5]) end
return 1
"""


class RedisStore:
    """A `Store` in Redis. Belongs to one event loop.

    Args:
        url: Where it is.
        now: Unix seconds on this machine.
        prefix: In front of every key.
        by_server_clock: Correct `now` by Redis's clock, as machines that share it must; else it is taken as it is.

    Raises:
        SettingsError: The URL is not one that redis-py understands.
    """

    def __init__(
        self, url: str, *, now: Callable[[], float], prefix: str = "vitals:", by_server_clock: bool = False
    ) -> None:
        self._clock = ServerClock(now, self._time) if by_server_clock else None
        self.now: Callable[[], float] = self._clock or now
        self._prefix = prefix
        self._outages = Outages()
        options = {
            "max_connections": _CONNECTIONS,
            "timeout": _ANSWER_S,
            "socket_connect_timeout": _CONNECT_S,
            "socket_timeout": _ANSWER_S,
            # A command that may have arrived is never sent twice by the library: a compare-and-set that won would
            # come back as lost. Connections that died while idle are noticed and replaced before sending.
            "retry": Retry(NoBackoff(), 0),
            "maint_notifications_config": MaintNotificationsConfig(enabled=False),
        }
        try:
            self._pool = redis_address.pool(url, options)
        except ValueError:
            raise SettingsError(
                "REDIS_URL is not a Redis address. Set one like redis://:password@redis:6379/0 (rediss:// for TLS)."
            ) from None  # the cause quotes the address, and that holds the password
        self._asked = redis_address.asked(self._pool)
        self._redis: Redis = Redis.from_pool(self._pool)
        self._compare_and_set = self._redis.register_script(_COMPARE_AND_SET)
        self._leases = Leases(self._lease_attempt, self._lease_give_back)

    async def get(self, key: str) -> bytes | None:
        """See `Store.get`."""
        await self._set_clock()
        async with self._answered():
            return self._open(await self._redis.get(self._record(key)))

    async def get_many(self, *keys: str) -> list[bytes | None]:
        """See `Store.get_many`."""
        await self._set_clock()
        async with self._answered():
            return [self._open(raw) for raw in await self._redis.mget([self._record(key) for key in keys])]

    async def put(self, key: str, value: bytes, *, ttl_s: float | None = None) -> None:
        """See `Store.put`."""
        await self._set_clock()
        async with self._answered(wrote=True):
            await self._redis.set(self._record(key), self._close(value, ttl_s), px=_lifetime_ms(ttl_s))

    async def compare_and_set(
        self, key: str, expected: bytes | None, value: bytes, *, ttl_s: float | None = None
    ) -> bool:
        """See `Store.compare_and_set`."""
        await self._set_clock()
        arguments = [
            _milliseconds(self.now()),
            "0" if expected is None else "1",
            expected or b"",
            self._close(value, ttl_s),
            _lifetime_ms(ttl_s) or "",
        ]
        async with self._answered(wrote=True):
            return bool(await self._compare_and_set(keys=[self._record(key)], args=arguments))

    async def take(self, key: str) -> bytes | None:
        """See `Store.take`."""
        await self._set_clock()
        async with self._answered():
            return self._open(await self._redis.getdel(self._record(key)))

    async def delete(self, key: str) -> bool:
        """See `Store.delete`."""
        return await self.take(key) is not None

    async def scan(self, prefix: str) -> AsyncIterator[tuple[str, bytes]]:
        """See `Store.scan`."""
        await self._set_clock()
        start = self._record(prefix)
        pattern = "".join(f"\\{c}" if c in r"\*?[]^-" else c for c in start) + "*"
        seen: set[bytes | str] = set()  # SCAN may name a key more than once
        cursor = 0
        while True:
            async with self._answered():
                cursor, keys = await self._redis.scan(cursor, match=pattern, count=_SCAN_KEYS)
                fresh = [key for key in keys if key not in seen]
                values = await self._redis.mget(fresh) if fresh else []
            seen.update(fresh)
            for key, raw in zip(fresh, values, strict=True):
                value = self._open(raw)
                if value is not None and isinstance(key, bytes):
                    yield key.decode().removeprefix(self._record("")), value
            if cursor == 0:
                return

    def lease(self, name: str, *, ttl_s: float, wait_s: float) -> AbstractAsyncContextManager[int]:
        """See `Store.lease`."""
        return self._leases.hold(name, ttl_s=ttl_s, wait_s=wait_s)

    async def ping(self) -> None:
        """See `Store.ping`."""
        await self._set_clock()
        async with self._answered():
            await self._redis.ping()

    async def examine(self, *, thorough: bool) -> list[Finding]:  # noqa: ARG002 - there is no less thorough way
        """See `Store.examine`."""
        key = f"examined:{secrets.token_hex(8)}"  # every command that this store uses, once
        await self.put(key, b"1", ttl_s=_EXAMINED_S)
        await self.compare_and_set(key, b"1", b"2", ttl_s=_EXAMINED_S)
        await self.get(key)
        await self.take(key)
        async with self._answered():
            await self._redis.scan(0, match=self._record(key), count=1)
            await self._redis.mget([self._record(key)])
        async with self.lease(key, ttl_s=_EXAMINED_S, wait_s=0):
            pass
        return findings(await self._config(), await self._info())

    async def _config(self) -> dict[str, str] | None:
        wanted = ("save", "appendonly", "appendfsync", "maxmemory-policy")
        try:
            said = await self._redis.config_get(*wanted)
        except (RedisError, OSError, TimeoutError):  # managed servers forbid it, or know one name at a time
            return None
        return {_text(name): _text(value) for name, value in said.items()} or None

    async def _info(self) -> dict[str, object] | None:
        info: dict[str, object] = {}
        for section in ("persistence", "memory", "replication"):
            with suppress(RedisError, OSError, TimeoutError):
                info |= await self._redis.info(section)
        return info or None

    async def aclose(self) -> None:
        """See `Store.aclose`."""
        with suppress(RedisError, OSError):  # going away; there is nobody to tell
            await self._redis.aclose()
            await self._pool.aclose()

    async def _set_clock(self) -> None:
        if self._clock is not None and self._clock.is_due():
            await self._clock.measure()

    async def _time(self) -> float:
        async with self._answered():
            seconds, microseconds = await self._redis.time()
        return seconds + microseconds / 1e6

    @asynccontextmanager
    async def _answered(self, *, wrote: bool = False) -> AsyncGenerator[None]:
        """Turn redis-py's failures into ours, which name neither the address nor the password."""
        try:
            yield
        except (RedisError, OSError, TimeoutError) as exc:
            failure = unavailable(exc, self._asked)
            self._outages.failed(failure, wrote=wrote)
            if failure.outage in {"unreachable", "read_only"}:
                # The other connections lead to the same server, and it may not be the primary any more: the next call
                # looks its name up again.
                with suppress(RedisError, OSError, TimeoutError):
                    await self._pool.disconnect(inuse_connections=False)
            raise failure from None
        if not self._asked.before:
            self._asked = replace(self._asked, before=True)
        self._outages.worked(wrote=wrote)

    def _record(self, key: str) -> str:
        return f"{self._prefix}record:{key}"  # apart from leases, so that no scan meets one

    def _close(self, value: bytes, ttl_s: float | None) -> bytes:
        stamp = _NEVER if ttl_s is None else b"%0*d" % (_STAMP, _milliseconds(self.now() + ttl_s))
        return stamp + value

    def _open(self, raw: bytes | str | None) -> bytes | None:
        if not isinstance(raw, bytes):  # None: no record; text: never, the client does not decode
            return None
        stamp = int(raw[:_STAMP])
        return None if stamp and stamp <= _milliseconds(self.now()) else raw[_STAMP:]

    def _lock(self, name: str, ttl_s: float) -> Lock:
        return self._redis.lock(f"{self._prefix}lease:{name}", timeout=ttl_s, thread_local=False)

    async def _lease_attempt(self, name: str, holder: str, ttl_s: float) -> int | None:
        lock = self._lock(name, ttl_s)
        async with self._answered(wrote=True):
            if not await lock.acquire(blocking=False, token=holder):
                return None
            fence = int(await self._redis.incr(f"{self._prefix}fence"))
            # A process that stood still between the two lines could have lost the lock and still draw the higher
            # number. If the lock is ours after the drawing, whoever comes next draws after us.
            return fence if await lock.owned() else None

    async def _lease_give_back(self, name: str, holder: str) -> None:
        lock = self._lock(name, 1)
        lock.local.token = holder.encode()
        async with self._answered():
            with suppress(LockNotOwnedError):  # it expired; its next holder keeps it
                await lock.release()


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _lifetime_ms(ttl_s: float | None) -> int | None:
    return None if ttl_s is None else max(_milliseconds(ttl_s), 0) + _SLACK_MS
