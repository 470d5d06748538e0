"""Waiting for a lease, the same for every store: in line inside this process, then by asking the store repeatedly.

The line keeps fifty callers of one process from asking the store fifty times over, and hands a lease on at once.
"""

import random
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import anyio

from app.errors import StoreUnavailable

_FIRST_PAUSE_S = 0.005
_LONGEST_PAUSE_S = 0.1  # a holder's work takes a round trip to the source, several hundred milliseconds
_RELEASE_S = 2.0  # bounded: a store that hangs must not hold up whoever was cancelled

Attempt = Callable[[str, str, float], Awaitable[int | None]]  # name, holder, ttl_s → fencing number, None: not free
GiveBack = Callable[[str, str], Awaitable[None]]  # name, holder; does nothing unless that holder still has it


class Leases:
    """The leases of one store handle."""

    def __init__(self, attempt: Attempt, give_back: GiveBack) -> None:
        self._attempt = attempt
        self._give_back = give_back
        self._lines: dict[str, _Line] = {}

    @asynccontextmanager
    async def hold(self, name: str, *, ttl_s: float, wait_s: float) -> AsyncGenerator[int]:
        """Hold `name` alone; see `Store.lease`."""
        give_up_at = anyio.current_time() + wait_s
        line = self._lines.setdefault(name, _Line())
        line.people += 1
        try:
            await line.wait(name, wait_s)
            holder = secrets.token_hex(16)
            try:
                yield await self._acquire(name, holder, ttl_s, give_up_at)
            finally:
                # Also when acquiring failed or was cancelled: the store may have granted what we never heard of.
                # Shielded, or a cancelled holder would keep everyone out for ttl_s. If it fails, ttl_s frees it.
                with anyio.move_on_after(_RELEASE_S, shield=True), suppress(StoreUnavailable):
                    await self._give_back(name, holder)
                line.turn.release()
        finally:
            line.people -= 1
            if not line.people:
                del self._lines[name]

    async def _acquire(self, name: str, holder: str, ttl_s: float, give_up_at: float) -> int:
        pause_s = _FIRST_PAUSE_S
        while True:
            fence = await self._attempt(name, holder, ttl_s)
            if fence is not None:
                return fence
            left_s = give_up_at - anyio.current_time()
            if left_s <= 0:
                raise _busy(name)
            jitter = random.uniform(0.5, 1)  # noqa: S311 - spreads waiters out, guards nothing
            await anyio.sleep(min(pause_s * jitter, left_s))
            pause_s = min(pause_s * 1.6, _LONGEST_PAUSE_S)


class _Line:
    """Those of this process who want one name. A semaphore, since a lease may be given back by another task."""

    def __init__(self) -> None:
        self.people = 0
        self.turn = anyio.Semaphore(1)

    async def wait(self, name: str, wait_s: float) -> None:
        with suppress(anyio.WouldBlock):
            return self.turn.acquire_nowait()
        with anyio.move_on_after(wait_s):
            return await self.turn.acquire()
        raise _busy(name)


def _busy(name: str) -> StoreUnavailable:
    kind = name.partition(":")[0]  # the rest of a name may tell whose it is
    return StoreUnavailable(f"Another request holds the {kind} lease. Try again in a minute.")
