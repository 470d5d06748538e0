"""Asks the source why days have no record.

Only when something is missing: the newest sample, the wear of the days, the nights around them, the rings; each is one
request, four at most, side by side, and one that fails leaves the others.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Final

import anyio

from app.errors import VitalsError
from app.identity import Caller
from app.sources.base import Collection, DateKind, DateRange, Record, Source
from app.sources.days import day_in
from app.tools.caveats.evidence import Evidence, first_set_up, read_wear, slept, worn_by_day
from app.tools.dates.clocks import Clocks, stamps
from app.tools.dates.zones import Here
from app.tools.records.placing import by_day, stamp

LOOK_DAYS: Final = 364  # with a day on each side, what one request for nights or wear may span
_DAY: Final = timedelta(days=1)
_WEAR, _SAMPLES, _SLEEP, _RINGS = "daily_activity", "heartrate", "sleep", "ring_configuration"


@dataclass(slots=True)
class Known:
    """What was read already and need not be asked again; None: not read."""

    nights: Mapping[date, Sequence[Record]] | None = None  # by wake day, with their types
    stamps: Sequence[datetime] | None = None  # with the offsets they were recorded with
    rings: Sequence[Record] | None = None
    newest: datetime | None = None  # heart rate sample


async def gather(
    caller: Caller,
    source: Source,
    collection: Collection,
    days: Sequence[date],
    *,
    here: Here,
    now: datetime,
    known: Known | None = None,
) -> Evidence:
    """Find out about days on which something is missing.

    Args:
        caller: Who asks.
        source: Where.
        collection: What is missing.
        days: When; those ahead need no evidence, and only the newest `LOOK_DAYS` are looked into.
        here: The owner's zone and day.
        now: This moment.
        known: What was read already.
    """
    known = known or Known()
    found = Evidence(here, now)
    if known.nights is not None:
        found.slept = slept(known.nights)
    if known.stamps is not None:
        found.clocks = Clocks(here.zone, known.stamps)
    wanted = sorted(day for day in days if day <= here.today)
    if not wanted or collection.entered or collection.date_kind is DateKind.UNDATED or source.synthetic:
        return found
    found.since = wanted[-1] - (LOOK_DAYS - 1) * _DAY
    wanted = [day for day in wanted if day >= found.since]
    inquiry = _Inquiry(caller, source, wanted, found)
    found.newest = known.newest
    if known.rings is not None:
        inquiry.read_rings(known.rings)
    steps = _steps(inquiry, collection, known)
    async with anyio.create_task_group() as group:
        for name, step in steps:
            group.start_soon(inquiry.softly, name, step)
    if not known.stamps:
        await inquiry.softly(_RINGS, inquiry.rings_if_nothing_came)
    found.unread = [name for name, _ in steps if name in inquiry.unread]
    return found


def _steps(
    inquiry: "_Inquiry", collection: Collection, known: Known
) -> list[tuple[str, Callable[[], Awaitable[None]]]]:
    """Return what is to be asked: what nobody has read yet."""
    steps: list[tuple[str, Callable[[], Awaitable[None]]]] = []
    if known.newest is None:
        steps.append((_SAMPLES, inquiry.sync))
    if collection.name != _WEAR:  # what is missing cannot be its own witness
        steps.append((_WEAR, inquiry.wear))
    if known.nights is None and known.stamps is None:
        steps.append((_SLEEP, inquiry.sleep))
    if known.rings is None and collection.not_on:
        steps.append((_RINGS, inquiry.rings))
    return steps


@dataclass(frozen=True, slots=True)
class _Inquiry:
    """The requests, each on its own."""

    caller: Caller
    source: Source
    days: Sequence[date]
    found: Evidence
    unread: set[str] = field(default_factory=set)
    came: set[str] = field(default_factory=set)  # collections that had records of these days

    async def wear(self) -> None:
        """Read when the ring was off."""
        days = DateRange(self.days[0] - _DAY, self.days[-1], self.found.here.zone)
        records = await self._ask(_WEAR, days, ("day", "non_wear_time", "class_5_min", "timestamp"))
        read_wear({day: record for record in records if (day := day_in(record.get("day")))}, self.days, self.found)

    async def sync(self) -> None:
        """Find the newest sample."""
        records = await self._ask(_SAMPLES, None, (), latest=True)
        self.found.newest = stamp(records[-1], self.source.collections[_SAMPLES]) if records else None

    async def sleep(self) -> None:
        """Find the days with a night, and by which clock the owner lived."""
        zone = self.found.here.zone
        days = DateRange(self.days[0] - _DAY, self.days[-1] + _DAY, zone)
        records = await self._ask(_SLEEP, days, ("day", "type", "bedtime_start", "bedtime_end"))
        if records:
            sleep = self.source.collections[_SLEEP]
            self.found.slept = slept(by_day(records, sleep, zone))
            self.found.clocks = Clocks(zone, (at for _, at in stamps(records, sleep)))

    async def rings(self) -> None:
        """Find which ring was worn."""
        self.read_rings(await self._ask(_RINGS, None, ()))

    async def rings_if_nothing_came(self) -> None:
        """Where nothing at all is there it may be before there was a ring, unless that is known already."""
        if not self.came and not self.found.rings_read and _RINGS not in self.unread:
            await self.rings()

    def read_rings(self, rings: Sequence[Record]) -> None:
        """Find which ring was worn, and since when there was one."""
        self.found.rings_read = True
        self.found.ring = worn_by_day(rings, self.days, self.found.here)
        self.found.first_ring = first_set_up(rings, self.found.here)

    async def softly(self, name: str, step: Callable[[], Awaitable[None]]) -> None:
        """Take a step that may fail: evidence is a help, the answer stands without it."""
        try:
            await step()
        except VitalsError:
            self.unread.add(name)

    async def _ask(
        self, name: str, days: DateRange | None, fields: tuple[str, ...], *, latest: bool = False
    ) -> tuple[Record, ...]:
        collection = self.source.collections.get(name)
        if collection is None or collection.granted_by(await self.source.granted(self.caller)) is False:
            self.unread.add(name)
            return ()
        self.found.requests += 1
        fetched = await self.source.fetch(self.caller, collection, days, fields=fields, latest=latest)
        if not fetched.complete:
            self.unread.add(name)
        if fetched.records and name in (_WEAR, _SLEEP):
            self.came.add(name)
        return fetched.records
