"""Why a day has no record: one word for each missing thing, from what the source itself holds.

Asked for only when something is missing: the wear of the days, the newest sample, the nights, the rings; each is one
request, four at most, side by side, and one that fails leaves the others. Without evidence the word is `no_record`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Final

import anyio

from app.errors import VitalsError
from app.identity import Caller
from app.sources.base import Collection, DateKind, DateRange, Record, Source
from app.sources.days import day_in, instant_in
from app.tools.nights import night
from app.tools.records import day_of, stamp
from app.tools.zones import Here

NOT_WORN, NOT_SYNCED, NOT_COMPUTED = "not_worn", "not_synced_yet", "not_computed_yet"
LACKS_IT, IN_FUTURE, NO_RECORD = "ring_lacks_it", "in_future", "no_record"
NO_SCORE = "no_score"

COMPUTED_BY: Final = timedelta(days=1)  # what is not computed by then has hardly been waiting for the owner to sync
MOST_DAYS: Final = 31  # looked into, the newest of those asked for
_DAY: Final = timedelta(days=1)
UNWORN_S: Final = 20 * 3600  # of a day: four hours are left at most
_WHOLE_DAY_S: Final = 23 * 3600  # as long as the shortest day
_UNWORN_SHARE: Final = 0.75  # of the small hours
_NIGHT_OVER: Final = time(6)  # a night whose samples end before was not seen to its end
_LAG_S: Final = 1800  # samples are this late without anything being wrong
_SILENT_S: Final = 3 * 3600  # longer than a ring lies in its charger
_SLOTS_AN_HOUR: Final = 12  # of `class_5_min`, which begins at 04:00
_OFF_FINGER: Final = "0"

_WEAR, _SAMPLES, _SLEEP, _RINGS = "daily_activity", "heartrate", "sleep", "ring_configuration"


@dataclass(slots=True)
class Evidence:
    """What could be found out about some days."""

    here: Here
    now: datetime
    unworn: dict[date, str] = field(default_factory=dict)  # day: in words, for the day itself
    unworn_nights: dict[date, str] = field(default_factory=dict)  # the same, by wake day
    newest: datetime | None = None  # sample
    slept: frozenset[date] = frozenset()  # wake days with a complete main sleep
    ring: Mapping[date, str] = field(default_factory=dict)  # hardware worn that day
    requests: int = 0

    def why(self, collection: Collection, day: date) -> tuple[str, str | None]:
        """Return the word for a day without a record, and the evidence in words."""
        if day > self.here.today:
            return IN_FUTURE, f"{day} lies ahead: today is {self.here.today}."
        if (ring := self.ring.get(day)) in collection.not_on:
            return LACKS_IT, f"The ring set up then is a {ring}, which does not measure this."
        nightly = collection.date_kind is DateKind.WAKE_DAY
        if day in self.slept and collection.name != _SLEEP:
            word = NOT_COMPUTED if day >= self.here.today - COMPUTED_BY else NO_RECORD
            return word, f"The sleep of {day} is there; what is computed from it is not."
        if worn := (self.unworn_nights if nightly else self.unworn).get(day):
            return NOT_WORN, worn
        if (silence := self._silence(day, nightly=nightly)) is not None:
            return NOT_SYNCED, silence
        if nightly and day == self.here.today and self.now < datetime.combine(day, _NIGHT_OVER, self.here.zone):
            return NO_RECORD, f"It is {self.now.astimezone(self.here.zone):%H:%M}: this night may not be over yet."
        return NO_RECORD, None

    def _silence(self, day: date, *, nightly: bool) -> str | None:
        """Say that the newest sample is older than the day, or than the night; None if it is not."""
        if self.newest is None:
            return None
        zone = self.here.zone
        if nightly:
            needed = datetime.combine(day, _NIGHT_OVER, zone)
        else:
            needed = datetime.combine(day if day == self.here.today else day + _DAY, time(), zone)
        age_s = (self.now - self.newest).total_seconds()
        older = self.newest < needed <= self.now and age_s >= _LAG_S
        if not older and not (day == self.here.today and age_s >= _SILENT_S):
            return None
        at = self.newest.astimezone(zone).isoformat(timespec="minutes")
        return f"The newest heart rate at the source is from {at}, {age_s / 3600:.0f} h ago: nothing later was synced."


async def gather(
    caller: Caller,
    source: Source,
    collection: Collection,
    days: Sequence[date],
    *,
    here: Here,
    now: datetime,
    nights: Mapping[date, Sequence[Record]] | None = None,
) -> Evidence:
    """Find out about days on which something is missing.

    Args:
        caller: Who asks.
        source: Where.
        collection: What is missing.
        days: When; those ahead need no evidence.
        here: The owner's zone and day.
        now: This moment.
        nights: Sleep by wake day, where it was read already.
    """
    found = Evidence(here, now)
    wanted = sorted(day for day in days if day <= here.today)[-MOST_DAYS:]
    if nights is not None:
        found.slept = _slept(nights)
    if not wanted or collection.entered or collection.date_kind is DateKind.UNDATED or source.synthetic:
        return found
    inquiry = _Inquiry(caller, source, wanted, found)
    steps = [inquiry.sync]
    if collection.name != _WEAR:  # what is missing cannot be its own witness
        steps.append(inquiry.wear)
    if collection.date_kind is DateKind.WAKE_DAY and collection.name != _SLEEP and nights is None:
        steps.append(inquiry.sleep)
    if collection.not_on:
        steps.append(inquiry.rings)
    async with anyio.create_task_group() as group:
        for step in steps:
            group.start_soon(_softly, step)
    return found


@dataclass(frozen=True, slots=True)
class _Inquiry:
    """The requests, each on its own."""

    caller: Caller
    source: Source
    days: Sequence[date]
    found: Evidence

    async def wear(self) -> None:
        """Read when the ring was off."""
        days = DateRange(self.days[0] - _DAY, self.days[-1], self.found.here.zone)
        records = await self._ask(_WEAR, days, ("day", "non_wear_time", "class_5_min"))
        _wear({day: record for record in records if (day := day_in(record.get("day")))}, self.days, self.found)

    async def sync(self) -> None:
        """Find the newest sample."""
        records = await self._ask(_SAMPLES, None, (), latest=True)
        self.found.newest = stamp(records[-1], self.source.collections[_SAMPLES]) if records else None

    async def sleep(self) -> None:
        """Find the days with a night."""
        zone = self.found.here.zone
        fields = ("day", "type", "bedtime_start", "bedtime_end", "total_sleep_duration", "time_in_bed")
        by_day: dict[date, list[Record]] = {}
        for record in await self._ask(_SLEEP, DateRange(self.days[0], self.days[-1], zone), fields):
            if day := day_of(record, self.source.collections[_SLEEP], zone):
                by_day.setdefault(day, []).append(record)
        self.found.slept = _slept(by_day)

    async def rings(self) -> None:
        """Find which ring was worn."""
        self.found.ring = worn_by_day(await self._ask(_RINGS, None, ()), self.days, self.found.here)

    async def _ask(
        self, name: str, days: DateRange | None, fields: tuple[str, ...], *, latest: bool = False
    ) -> tuple[Record, ...]:
        collection = self.source.collections.get(name)
        if collection is None or collection.granted_by(await self.source.granted(self.caller)) is False:
            return ()
        self.found.requests += 1
        fetched = await self.source.fetch(self.caller, collection, days, fields=fields, latest=latest)
        return fetched.records


async def _softly(step: Callable[[], Awaitable[None]]) -> None:
    try:
        await step()
    except VitalsError:
        return  # evidence is a help; the answer stands without it


def worn_by_day(rings: Sequence[Record], days: Sequence[date], here: Here) -> dict[date, str]:
    """Return the hardware that was the newest set up by the end of each day, where it is known."""
    set_up = sorted(
        (at.astimezone(here.zone).date(), str(ring["hardware_type"]))
        for ring in rings
        if (at := instant_in(ring.get("set_up_at"))) and ring.get("hardware_type")
    )
    worn: dict[date, str] = {}
    for day in days:
        before = [hardware for when, hardware in set_up if when <= day]
        if before:
            worn[day] = before[-1]
    return worn


def _slept(nights: Mapping[date, Sequence[Record]]) -> frozenset[date]:
    return frozenset(day for day, records in nights.items() if night(records).main is not None)


def _wear(by_day: Mapping[date, Record], days: Sequence[date], found: Evidence) -> None:
    """Read when the ring was off: of days from their sum, of nights from the small hours."""
    for day in days:
        eve, record = by_day.get(day - _DAY), by_day.get(day)
        unworn_s = off_s(record)
        words = f"On {day} the ring was not worn for {unworn_s / 3600:.0f} h."
        if unworn_s >= UNWORN_S:
            found.unworn[day] = words
        small_hours = _small_hours(eve, record)
        if small_hours.count(_OFF_FINGER) >= max(1, _UNWORN_SHARE * len(small_hours)):
            found.unworn_nights[day] = f"Between midnight and 06:00 on {day} the ring was not worn."
        elif unworn_s >= (_WHOLE_DAY_S if small_hours else UNWORN_S):
            found.unworn_nights[day] = words


def off_s(record: Record | None) -> float:
    """Return for how long of a day the ring was off, as far as its record says so."""
    value = record.get("non_wear_time") if record else None
    return float(value) if isinstance(value, int | float) else 0.0


def _small_hours(eve: Record | None, day: Record | None) -> str:
    """Return how active each five minutes from midnight to 06:00 were; empty where that is not said."""
    before, after = (record.get("class_5_min") if record else None for record in (eve, day))
    late = before[20 * _SLOTS_AN_HOUR :] if isinstance(before, str) else ""
    early = after[: 2 * _SLOTS_AN_HOUR] if isinstance(after, str) else ""
    return late + early
