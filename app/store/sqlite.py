"""The embedded store: one SQLite file, safe for several threads and processes on one machine.

Every primitive is a single SQL statement, so SQLite itself makes it atomic between processes. Calls run in worker
threads: one connection reads and one writes, so a reader never waits for a disk flush or for another process's write.
Looking up one record is the exception: every request does it, it takes microseconds, and a thread would take most of
the request's time. It happens on the event loop, over a connection that never waits; if it would have to, in a thread.
Lifetimes of records are measured with the injected clock. Leases run on the machine's uptime, which all its processes
share and nobody sets: were the clock put forward in the middle of a renewal, another process could begin one beside it.
"""

import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path

from app.errors import StoreUnavailable
from app.store.findings import Finding
from app.store.leasing import Leases
from app.store.outages import Outages
from app.store.sqlite_file import SqliteFile

_SWEEP_S = 300.0
_SCAN_ROWS = 200
_EXAMINED_S = 5.0
_LONGEST_LEASE_S = 3600.0  # far more than is asked for: one that ends later is from before the machine was started
_ALIVE = "(expires_at IS NULL OR expires_at > :now)"


class SqliteStore:
    """A `Store` in one file. Belongs to one event loop; another thread or process opens the path for itself."""

    def __init__(self, path: Path, *, now: Callable[[], float]) -> None:
        self.now = now  # processes on one machine share its clock
        self._swept_at = now()
        outages = Outages()
        self._writer = SqliteFile(path, outages=outages)
        self._reader = SqliteFile(path, outages=outages, readonly=True)
        self._lookup = SqliteFile(path, outages=outages, readonly=True, patient=False)
        self._leases = Leases(self._lease_attempt, self._lease_give_back)

    async def get(self, key: str) -> bytes | None:
        """See `Store.get`."""
        return (await self.get_many(key))[0]

    async def get_many(self, *keys: str) -> list[bytes | None]:
        """See `Store.get_many`."""
        names = {f"key{number}": key for number, key in enumerate(keys)}
        wanted = ", ".join(f":{name}" for name in names)
        sql = f"SELECT key, value FROM records WHERE key IN ({wanted}) AND {_ALIVE}"  # noqa: S608 - numbered names
        parameters = {**names, "now": self.now()}
        rows = self._lookup.at_once(sql, parameters)
        if rows is None:
            rows, _ = await self._reader.run(sql, parameters)
            with suppress(StoreUnavailable):  # the answer is there; the next lookup tries again
                await self._lookup.mend()
        found: dict[str, bytes] = dict(rows)
        return [found.get(key) for key in keys]

    async def put(self, key: str, value: bytes, *, ttl_s: float | None = None) -> None:
        """See `Store.put`."""
        await self._writer.run(
            "INSERT INTO records VALUES (:key, :value, :until)"
            " ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at",
            {"key": key, "value": value, "until": self._until(ttl_s)},
        )
        await self._sweep()

    async def compare_and_set(
        self, key: str, expected: bytes | None, value: bytes, *, ttl_s: float | None = None
    ) -> bool:
        """See `Store.compare_and_set`."""
        parameters = {"key": key, "value": value, "until": self._until(ttl_s), "now": self.now()}
        if expected is None:  # an expired row is no record, so it may be written over
            _, changed = await self._writer.run(
                "INSERT INTO records VALUES (:key, :value, :until)"
                " ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at"
                " WHERE records.expires_at <= :now",
                parameters,
            )
        else:
            _, changed = await self._writer.run(
                "UPDATE records SET value = :value, expires_at = :until"  # noqa: S608 - a constant
                f" WHERE key = :key AND value = :expected AND {_ALIVE}",
                {**parameters, "expected": expected},
            )
        await self._sweep()
        return changed == 1

    async def take(self, key: str) -> bytes | None:
        """See `Store.take`."""
        rows, _ = await self._writer.run(
            f"DELETE FROM records WHERE key = :key AND {_ALIVE} RETURNING value",  # noqa: S608 - a constant
            {"key": key, "now": self.now()},
        )
        return rows[0][0] if rows else None

    async def delete(self, key: str) -> bool:
        """See `Store.delete`."""
        return await self.take(key) is not None

    async def scan(self, prefix: str) -> AsyncIterator[tuple[str, bytes]]:
        """See `Store.scan`. Reads in batches by key order, so no pattern character means anything."""
        after, compare = prefix, ">="
        while True:
            rows, _ = await self._reader.run(
                f"SELECT key, value FROM records WHERE key {compare} :after AND {_ALIVE}"  # noqa: S608 - constants
                f" ORDER BY key LIMIT {_SCAN_ROWS}",
                {"after": after, "now": self.now()},
            )
            for key, value in rows:
                if not key.startswith(prefix):
                    return
                yield key, value
            if len(rows) < _SCAN_ROWS:
                return
            after, compare = rows[-1][0], ">"

    def lease(self, name: str, *, ttl_s: float, wait_s: float) -> AbstractAsyncContextManager[int]:
        """See `Store.lease`."""
        return self._leases.hold(name, ttl_s=ttl_s, wait_s=wait_s)

    async def ping(self) -> None:
        """See `Store.ping`."""
        await self._reader.run("SELECT 1 FROM records LIMIT 1", {})

    async def examine(self, *, thorough: bool) -> list[Finding]:
        """See `Store.examine`."""
        key = f"examined:{secrets.token_hex(8)}"
        await self.put(key, b"1", ttl_s=_EXAMINED_S)
        await self.take(key)
        if thorough:
            said, _ = await self._reader.run("PRAGMA quick_check(1)", {})
            if said != [("ok",)]:
                return [Finding("bad", "The file in DATA_DIR is damaged inside. Restore it from a copy.")]
        return [Finding("good", "The file in DATA_DIR is private and can be written.")]

    async def aclose(self) -> None:
        """See `Store.aclose`."""
        await self._lookup.aclose()
        await self._reader.aclose()
        await self._writer.aclose()

    def _until(self, ttl_s: float | None) -> float | None:
        return None if ttl_s is None else self.now() + ttl_s

    async def _sweep(self) -> None:
        """Delete what has expired, now and then. Nobody sees such rows anyway; this only gives the space back."""
        now = self.now()
        if now - self._swept_at >= _SWEEP_S:
            self._swept_at = now
            with suppress(StoreUnavailable):  # what it follows is written, and must not be reported as failed
                await self._writer.run("DELETE FROM records WHERE expires_at <= :now", {"now": now})

    async def _lease_attempt(self, name: str, holder: str, ttl_s: float) -> int | None:
        # One counter for all names: it only grows, so a lease's row can go when it is given back. Both statements are
        # one transaction, or a number could be drawn before and used after another holder's.
        up_s = _uptime_s()
        rows, _ = await self._writer.run(
            "INSERT INTO leases SELECT :name, :holder, last + 1, :until FROM fences WHERE true"
            " ON CONFLICT (name) DO UPDATE"
            " SET holder = excluded.holder, fence = excluded.fence, expires_at = excluded.expires_at"
            " WHERE leases.expires_at <= :now OR leases.expires_at > :never RETURNING fence",
            {"name": name, "holder": holder, "until": up_s + ttl_s, "now": up_s, "never": up_s + _LONGEST_LEASE_S},
            then="UPDATE fences SET last = last + 1",
        )
        return rows[0][0] if rows else None

    async def _lease_give_back(self, name: str, holder: str) -> None:
        await self._writer.run(
            "DELETE FROM leases WHERE name = :name AND holder = :holder", {"name": name, "holder": holder}
        )


def _uptime_s() -> float:
    # Linux: also counts while the machine is suspended, as a lease must.
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
