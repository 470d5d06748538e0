"""What the owner went through in a range of days that bears on reading it: journeys, clock changes, another ring.

Offsets come from the records' own stamps. Samples are in UTC and carry none, so for them the nights are asked as well,
and from two days on the rings: one request each (two for the nights of a year), beside the question itself. Of what
grows through the day the newest sample is asked too, where the range holds a day that may not have been synced to its
end. All only help: where the scope is missing or the request fails, nothing is said.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from typing import Final
from zoneinfo import ZoneInfo

import anyio

from app.errors import VitalsError
from app.identity import Caller
from app.sources.base import Collection, DateKind, DateRange, Record, Source
from app.sources.days import instant_in
from app.tools.caveats.absence import newest_stretches, stretches
from app.tools.caveats.evidence import UNWORN_S, off_s, unscored
from app.tools.caveats.partial import touches
from app.tools.dates.clocks import Clocks, stamps
from app.tools.dates.zones import Here, Nights
from app.tools.records.fields import value_at
from app.tools.records.placing import day_of, stamp
from app.tools.rendering import Answer

RING_DAYS: Final = 2  # a single day is never across two rings
_DAY: Final = timedelta(days=1)
SAMPLES: Final = "heartrate"
OFF: Final = (
    "the ring was off for 20 h or more: the steps, calories and times of then, zeros too, say nothing about the owner."
)
_UTC = ZoneInfo("UTC")  # single records need no zone to be filed
_NIGHTS, _RINGS = "sleep", "ring_configuration"
_STAMPED: Final = ("bedtime_start", "bedtime_end", "day", "type")  # with what tells a night from a nap


@dataclass(slots=True)
class Beside:
    """What was asked beside the question; None: it was not, or did not come."""

    nights: tuple[Record, ...] | None = None
    rings: tuple[Record, ...] | None = None
    newest: datetime | None = None  # sample: of the collection itself if it is one of samples, else of the heart rate


async def beside(
    caller: Caller,
    source: Source,
    collection: Collection,
    days: DateRange | None,
    *,
    today: date,
    nights: Nights | None = None,
) -> Beside:
    """Ask what bears on reading these days, as far as the range is worth it."""
    found = Beside()
    if days is None or not await _may_ask(caller, source, collection):
        return found

    async def read_nights() -> None:
        if collection.dense or clockless(collection):
            # The last evening stands in the night after it, and a night that is not there yet is like the one before.
            around = replace(days, start=days.start - _DAY, end=days.end + _DAY)
            found.nights = nights.of(around.start, around.end) if nights else None
            if found.nights is None:
                found.nights = await _ask(caller, source, _NIGHTS, around, _STAMPED)

    async def rings() -> None:
        if (days.end - days.start).days + 1 >= RING_DAYS:
            found.rings = await _ask(caller, source, _RINGS, None, ())

    async def newest() -> None:
        found.newest = await newest_sample(caller, source, collection, days, today=today)

    async with anyio.create_task_group() as group:
        for step in (read_nights, rings, newest):
            group.start_soon(_softly, step)
    return found


def clockless(collection: Collection) -> bool:
    """Whether its records add up a day and do not say by which clock, so that the nights tell how long it was."""
    return collection.grows and not (collection.dense or collection.covered_by or collection.clock_field)


async def _may_ask(caller: Caller, source: Source, collection: Collection) -> bool:
    """Say whether anything bears on these records, and may be asked."""
    if source.synthetic or collection.entered or collection.date_kind is DateKind.UNDATED:
        return False
    try:
        return collection.granted_by(await source.granted(caller)) is not False  # else the question will be refused
    except VitalsError:
        return False


async def newest_sample(
    caller: Caller, source: Source, collection: Collection, days: DateRange, *, today: date
) -> datetime | None:
    """Ask for the sample that tells how far the source knows days of what grows; None: no need, or not to be had."""
    if not collection.grows or collection.covered_by or source.synthetic or not touches(days, today):
        return None
    witness = collection.name if collection.dense else SAMPLES
    try:
        records = await _ask(caller, source, witness, None, (), latest=True)
    except VitalsError:
        return None
    return stamp(records[-1], source.collections[witness]) if records else None


async def rings_of(caller: Caller, source: Source) -> Beside:
    """Ask for the rings alone."""
    found = Beside()

    async def rings() -> None:
        found.rings = await _ask(caller, source, _RINGS, None, ())

    if not source.synthetic:
        await _softly(rings)
    return found


async def _softly(step: Callable[[], Awaitable[None]]) -> None:
    try:
        await step()
    except VitalsError:
        return


async def _ask(
    caller: Caller,
    source: Source,
    name: str,
    days: DateRange | None,
    fields: tuple[str, ...],
    *,
    latest: bool = False,
) -> tuple[Record, ...] | None:
    collection = source.collections.get(name)
    if collection is None or collection.granted_by(await source.granted(caller)) is False:
        return None
    fetched = await source.fetch(caller, collection, days, fields=fields, latest=latest)
    return fetched.records if fetched.complete else None  # a part would tell of nights or rings that are not there


def without_score(
    records: Sequence[Record], collection: Collection, *, today: date, asked: Sequence[str]
) -> dict[str, list[str]]:
    """Return the stretches of days whose record is there without what it is for, by the word for it."""
    found: dict[str, list[date]] = {}
    name = collection.value_field
    if name is None or (asked and not any(name == one or name.startswith(f"{one}.") for one in asked)):
        return {}
    for record in records:
        day = day_of(record, collection, _UTC)
        if day is not None and value_at(record, name) is None:
            found.setdefault(unscored(record, day, today, name), []).append(day)
    return {word: stretches(days) for word, days in found.items()}


def unworn(records: Sequence[Record], collection: Collection) -> str | None:
    """Name the days on which the ring was off for most of the day, as far as their records say so; None: none was."""
    if collection.dense:
        return None
    off = {day_of(record, collection, _UTC) for record in records if off_s(record) >= UNWORN_S}
    days, older = newest_stretches(sorted(day for day in off if day is not None))
    if not days:
        return None
    return f"{', '.join(stretches(days))}{f' and {older} days before' if older else ''}"


def days_there(records: Sequence[Record], collection: Collection, zone: ZoneInfo) -> frozenset[date]:
    """Return the days that have a record or a sample."""
    return frozenset(day for record in records if (day := day_of(record, collection, zone)) is not None)


def told(
    collection: Collection,
    records: Sequence[Record],
    found: Beside,
    days: DateRange,
    *,
    counted_by: ZoneInfo | None = None,
    guessed: bool = False,
) -> tuple[Answer, tuple[str, ...]]:
    """Return `offsets` and `ring_changes`, as far as there is something to say, and notes about them.

    Args:
        collection: What was asked for.
        records: What came of it.
        found: What was asked beside it.
        days: Which, in the zone proper.
        counted_by: To whose days samples are counted, if that is another.
        guessed: Whether nobody said what the zone proper is.
    """
    said: Answer = {}
    notes: list[str] = []
    runs, away = offsets(_dated(collection, records, found, days), days.zone)
    if collection.dense and not runs:  # samples go by the zone then, and a night may end before its clocks change
        runs, away = offsets(_midnights(days), days.zone)
    if runs:
        said["offsets"] = [{"offset": run.offset, "from": str(run.first), "to": str(run.last)} for run in runs]
        notes.append(
            _journey(collection, days.zone, counted_by or days.zone, guessed=guessed)
            if away
            else f"Clocks changed in {days.zone.key}: see offsets."
        )
    if changes := ring_changes(found.rings or (), days):
        said["ring_changes"] = changes
        notes.append("The ring was changed: see ring_changes. Before and after are not the same instrument.")
    return said, tuple(notes)


def _journey(collection: Collection, zone: ZoneInfo, counted_by: ZoneInfo, *, guessed: bool) -> str:
    days = "Each time keeps its own offset; start and end of one record may have different ones."
    if clockless(collection):
        days = "A day on which it changed was shorter or longer than others."
    if collection.dense:
        days = (
            f"Days here run by {zone.key} all the same: for those as lived there, ask with the timezone of that place."
            if counted_by is zone
            else f"All days here run by the owner's clock of now, {counted_by.key}."
        )
    if guessed:
        return f"The owner's time zone is not known, but the clock they lived by is: see offsets. {days}"
    return f"On some days the owner's clock was not that of {zone.key}, as on a journey: see offsets. {days}"


def _midnights(days: DateRange) -> Iterable[tuple[date, datetime]]:
    """Yield the first and the last minute of each day."""
    for count in range((days.end - days.start).days + 1):
        day = days.start + timedelta(days=count)
        for clock in (time(), time(23, 59)):
            yield day, datetime.combine(day, clock, days.zone)


@dataclass(slots=True)
class Run:
    """Days in a row whose records carry one offset."""

    offset: str
    first: date
    last: date


def _dated(
    collection: Collection, records: Sequence[Record], found: Beside, days: DateRange
) -> Iterable[tuple[date, datetime]]:
    """Return the instants that tell the owner's clock, by the day they tell it of."""
    if not collection.dense and not clockless(collection):
        dated = ((day_of(record, collection, days.zone), at) for record, at in stamps(records, collection))
        return [(day, at) for day, at in dated if day]
    known = sorted(at for _, at in stamps(found.nights or (), NIGHT_CLOCK))
    inside = [(at.date(), at) for at in known if days.start <= at.date() <= days.end]
    if inside or not known:
        return inside
    noon = datetime.combine(days.start, time(12), days.zone)
    return [(days.start, noon.astimezone(Clocks(days.zone, known).at(noon)))]


def offsets(dated: Iterable[tuple[date, datetime]], zone: ZoneInfo) -> tuple[list[Run], bool]:
    """Return runs of days by the offset they were recorded with, if that is not one offset and the zone's own.

    Returns:
        The runs, oldest first, and whether one is not what the zone's clocks showed then.
    """
    runs: list[Run] = []
    away = False
    for day, at in dated:
        named = at.isoformat()[-6:]
        away |= at.utcoffset() != at.astimezone(zone).utcoffset()
        if runs and runs[-1].offset == named:
            runs[-1].last = max(runs[-1].last, day)
        else:
            runs.append(Run(named, day, day))
    return (runs, away) if away or len(runs) > 1 else ([], False)


async def clock_of(caller: Caller, source: Source, at: datetime, place: Here) -> tuple[Answer, tuple[str, ...]]:
    """Return the offset the owner lived by at the instant of a sample, where it is not the zone's, and a note."""
    zone = place.home
    day = at.astimezone(zone).date()
    found = place.nights.of(day - _DAY, day + _DAY) if place.nights else None
    try:
        if found is None:
            found = await _ask(caller, source, _NIGHTS, DateRange(day - _DAY, day + _DAY, zone), _STAMPED)
    except VitalsError:
        return {}, ()
    there = at.astimezone(Clocks(zone, (known for _, known in stamps(found or (), NIGHT_CLOCK))).at(at))
    if there.utcoffset() == at.astimezone(zone).utcoffset():
        return {}, ()
    offset = there.isoformat()[-6:]
    note = (
        f"By the owner's own clock, which was not that of {zone.key} in the night next to it, this sample is from "
        f"{there.isoformat(timespec='minutes')}."
    )
    return {"offsets": [{"offset": offset, "from": str(there.date()), "to": str(there.date())}]}, (note,)


def ring_changes(rings: Sequence[Record], days: DateRange) -> list[Answer]:
    """Return the days inside the range on which another ring was set up."""
    known = sorted(
        ((at, ring) for ring in rings if (at := instant_in(ring.get("set_up_at")))), key=lambda pair: pair[0]
    )
    found: list[Answer] = []
    for (_, before), (at, after) in pairwise(known):
        day = at.astimezone(days.zone).date()
        if days.start < day <= days.end:
            found.append({"day": str(day), "from": before.get("hardware_type"), "to": after.get("hardware_type")})
    return found


# The nights of any source are filed by their `day`, and their clocks are those of going to bed and getting up.
NIGHT_CLOCK: Final = Collection(
    source="",
    name=_NIGHTS,
    carries="",
    date_kind=DateKind.WAKE_DAY,
    scope=None,
    fields=(),
    clock_field="bedtime_start",
    clock_end_field="bedtime_end",
)
