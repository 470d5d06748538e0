"""The few primitives that everything durable is written on. `sqlite` and `redis` implement them."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from app.store.findings import Finding


class Store(Protocol):
    """Small byte records by key, shared by every process that uses the same store.

    A record written with `ttl_s` is gone for every method once that time has passed. Every method raises
    `StoreUnavailable` when the store cannot be reached; none of them returns a guess.
    """

    def now(self) -> float:
        """Return unix seconds, on the clock that every process with this store shares; good after the first `ping`."""

    async def get(self, key: str) -> bytes | None:
        """Return the record, or None."""

    async def get_many(self, *keys: str) -> list[bytes | None]:
        """Return the record of each key, or None, all asked for at once: on Redis it is one request."""

    async def put(self, key: str, value: bytes, *, ttl_s: float | None = None) -> None:
        """Write the record whatever was there; its lifetime is replaced too."""

    async def compare_and_set(
        self, key: str, expected: bytes | None, value: bytes, *, ttl_s: float | None = None
    ) -> bool:
        """Write only if the record still equals `expected` (None: only if there is none). MUST be atomic."""

    async def take(self, key: str) -> bytes | None:
        """Return the record and delete it. MUST be atomic: of any number of callers one gets it."""

    async def delete(self, key: str) -> bool:
        """Delete the record; True if there was one."""

    def scan(self, prefix: str) -> AsyncIterator[tuple[str, bytes]]:
        """Yield each live record whose key starts with `prefix`, unordered. Those changed meanwhile may be missed."""

    def lease(self, name: str, *, ttl_s: float, wait_s: float) -> AbstractAsyncContextManager[int]:
        """Hold `name` alone, for at most `ttl_s`, waiting up to `wait_s` for it.

        Yields:
            The fencing number: larger than every number given before for this name, on any process.

        Raises:
            StoreUnavailable: It was not free in time.
        """

    async def ping(self) -> None:
        """Return if the store answers."""

    async def examine(self, *, thorough: bool) -> list[Finding]:
        """Use what is needed once, and return what whoever runs this should know about where records are kept.

        Args:
            thorough: Also what takes a moment, such as reading a whole file.

        Raises:
            StoreUnavailable: Something that is needed does not work; `outage` says whether it can pass by itself.
        """

    async def aclose(self) -> None:
        """Give back connections."""
