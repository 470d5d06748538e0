"""Both stores, on a clock that tests move."""

import secrets
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from redis.asyncio import Redis

from app.store.base import Store
from app.store.redis import RedisStore
from app.store.sqlite import SqliteStore


@dataclass
class Clock:
    """Unix seconds that stand still until a test moves them."""

    at: float = 1_790_000_000.0

    def __call__(self) -> float:
        return self.at


@dataclass(frozen=True)
class Place:
    """Where a store is; `open` gives another handle on the same one, as another process would have."""

    clock: Clock
    sqlite: Path | None = None
    redis: str | None = None
    prefix: str = "vitals:"

    def open(self) -> Store:
        if self.redis is not None:
            return RedisStore(self.redis, now=self.clock, prefix=self.prefix)
        assert self.sqlite is not None
        return SqliteStore(self.sqlite, now=self.clock)

    async def end_leases(self) -> None:
        """Let every lease run out: they run in real time, whatever the clock of a test says."""
        if self.redis is not None:
            await end_leases(redis=self.redis, prefix=self.prefix)
        else:
            await end_leases(sqlite=self.sqlite)

    @property
    def arguments(self) -> list[str]:
        """How a worker process is told where the store is."""
        return ["redis", self.redis, self.prefix] if self.redis else ["sqlite", str(self.sqlite), ""]


async def end_leases(*, sqlite: Path | None = None, redis: str | None = None, prefix: str = "vitals:") -> None:
    """End the leases in a store, as their time would."""
    if redis is not None:
        async with Redis.from_url(redis) as raw:
            if leases := await raw.keys(f"{prefix}lease:*"):
                await raw.delete(*leases)
    if sqlite is not None:
        with closing(sqlite3.connect(sqlite)) as file, file:
            file.execute("DELETE FROM leases")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "redis"])
def place(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Place:
    if request.param == "sqlite":
        return Place(clock, sqlite=tmp_path / "data" / "vitals.sqlite3")
    return Place(clock, redis=request.getfixturevalue("redis_url"), prefix=f"t{secrets.token_hex(4)}:")


@pytest.fixture
async def store(place: Place) -> AsyncGenerator[Store]:
    store = place.open()
    yield store
    await store.aclose()
