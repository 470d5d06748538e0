"""What the windows of one question bring: kept whole, or put together page by page and let go."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import anyio
import anyio.to_thread

from app.sources.base import DateRange, Digest, Record
from app.sources.days import Kept, Sieve
from app.sources.windows import Window, midnight, shifted

MANY = 200  # records; more are looked through in a thread, so that the event loop never stands still for a page


@dataclass(slots=True)
class Haul:
    """What one window brought."""

    window: Window | None
    kept: list[Kept] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)  # what was handed on, while more of it may come
    came: int = 0  # handed on
    newest_s: float | None = None  # its newest sample, unix seconds
    failure: str | None = None
    over: bool = False  # nothing more of it will come

    def arrived(self) -> str:
        """Say how much came before it failed."""
        came = self.came or len({kept.identity for kept in self.kept})
        return f"{came} of its records came before that and are included." if came else "None of it came."


class Basket(Protocol):
    """Where the records of all windows go."""

    async def take(self, records: Sequence[Record], haul: Haul) -> int:
        """Take a page; return how many of its records were only margin."""

    def done(self, haul: Haul) -> None:
        """Know that no more of this window will come."""

    def records(self, hauls: Sequence[Haul]) -> list[Kept]:
        """Return what came, each record once, by window."""


class Whole:
    """Keeps every record until the answer is there."""

    def __init__(self, sieve: Sieve, fields: frozenset[str]) -> None:
        self._sieve = sieve
        self._fields = fields  # to keep of each record; empty: all

    async def take(self, records: Sequence[Record], haul: Haul) -> int:
        """See `Basket`."""
        if len(records) <= MANY:
            return self._sort_in(records, haul)
        return await anyio.to_thread.run_sync(self._sort_in, records, haul)

    def done(self, haul: Haul) -> None:
        """See `Basket`."""

    def records(self, hauls: Sequence[Haul]) -> list[Kept]:
        """See `Basket`."""
        once: dict[str, Kept] = {}
        for haul in hauls:
            for kept in haul.kept:
                once.setdefault(kept.identity, kept)
        return list(once.values())

    def _sort_in(self, records: Sequence[Record], haul: Haul) -> int:
        trimmed = 0
        for record in records:
            kept = self._sieve.sift(record, haul.window)
            if kept is None:
                trimmed += 1
                continue
            if self._fields:
                left = {name: value for name, value in record.items() if name in self._fields}
                kept = kept._replace(record=left)
            haul.kept.append(kept)
            haul.newest_s = max(kept.order[1], haul.newest_s or kept.order[1])
        return trimmed


class Digested:
    """Hands samples on as they come and keeps none.

    Each window answers for its own instants alone, so that a sample at a seam, which two windows may bring, counts once
    without anyone remembering the windows before.
    """

    def __init__(self, sieve: Sieve, days: DateRange, digest: Digest) -> None:
        self._sieve = sieve
        self._first_s = midnight(days.start, days.zone).timestamp()
        self._end_s = midnight(shifted(days.end, 1), days.zone).timestamp()
        self._gathering = digest.begin()
        self._loose: set[str] = set()  # of no window: without an instant, or sample data of another day
        self._one = anyio.CapacityLimiter(1)  # one page at a time: they are all added to the same

    async def take(self, records: Sequence[Record], haul: Haul) -> int:
        """See `Basket`."""
        return await anyio.to_thread.run_sync(self._add, records, haul, limiter=self._one)

    def done(self, haul: Haul) -> None:
        """See `Basket`."""
        haul.seen.clear()

    def records(self, hauls: Sequence[Haul]) -> list[Kept]:  # noqa: ARG002  # nothing of them was kept
        """See `Basket`."""
        return [Kept((0, number), "", record) for number, record in enumerate(self._gathering.records())]

    def _add(self, records: Sequence[Record], haul: Haul) -> int:
        window = haul.window
        if window is None or window.start is None or window.end is None:
            raise ValueError("samples of a range are asked for by instants")
        own_s = window.start.timestamp(), window.end.timestamp()
        fresh: list[Record] = []
        trimmed = 0
        for record in records:
            kept = self._sieve.sift(record, window)
            if kept is None:
                trimmed += 1
            elif self._counts(kept, haul, own_s):
                fresh.append(record)
        self._gathering.add(fresh)
        return trimmed

    def _counts(self, kept: Kept, haul: Haul, own_s: tuple[float, float]) -> bool:
        """Say whether this sample is this window's to bring, and has not come before."""
        dated, at_s, seen = kept.order[0] == 0, kept.order[1], haul.seen
        if dated and own_s[0] <= at_s < own_s[1]:
            haul.newest_s = max(at_s, haul.newest_s or at_s)
        elif dated and self._first_s <= at_s < self._end_s:
            return False  # another window brings it
        else:
            seen = self._loose
        if kept.identity in seen:
            return False
        seen.add(kept.identity)
        haul.came += 1
        return True
