"""By which clock the owner lives now, and so what day it is for them: on a journey not that of their zone.

It is the offset of the newest instant that the source holds with one, if it is near; else the zone's. A question that
names a zone has decided. Costs one small request, for the nights around today, unless these are known already; days
that were over yesterday wherever the owner may be do not need it.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Final

from app.errors import VitalsError
from app.sources.base import Collection, DateRange, Source
from app.tools.calling import Call
from app.tools.dates.clocks import NEAR, Clocks, stamps
from app.tools.dates.zones import Here, Nights

SLEEP: Final = "sleep"
_DAY: Final = timedelta(days=1)
# With what tells the main sleep of a day from the others.
_FIELDS: Final = ("day", "type", "bedtime_start", "bedtime_end", "total_sleep_duration", "time_in_bed")


def may_be_near(day: date, place: Here) -> bool:
    """Whether a day may be yesterday, today or ahead by the owner's own clock, which is then to be asked for."""
    return day >= place.earliest - _DAY


async def owners(call: Call, source: Source, collection: Collection, place: Here, *, nameable: bool = True) -> Here:
    """Return the place with the owner's own clock and day, and the nights around it, as far as they can be read.

    Nothing is asked where the collection in question is not granted, since the question will be refused.

    Args:
        call: Who asks.
        source: Where.
        collection: What is in question.
        place: By the zone.
        nameable: Whether the question could have named a zone.
    """
    known = replace(place, nights=await _nights(call, source, collection, place))
    if known.nights is None:
        return known
    own = (at for _, at in stamps(known.nights.records, source.collections[SLEEP]))
    return by_clock(known, call.service.now(), own, nameable=nameable)


def by_clock(place: Here, now_s: float, known: Iterable[datetime], *, nameable: bool = True) -> Here:
    """Return the place with the owner's own clock and day.

    Args:
        place: By the zone.
        now_s: Unix seconds.
        known: Instants with the offset that they were recorded with.
        nameable: Whether the question could have named a zone.
    """
    if place.named:
        return place
    now = datetime.fromtimestamp(now_s, UTC)
    clock = Clocks(place.zone, known).at(now)
    if clock is place.zone:
        return place
    there, here = now.astimezone(clock), now.astimezone(place.zone)
    if place.guessed:
        note = (
            f"The owner's time zone is not known, so days, today and last night go by the offset of their newest "
            f"night, {clock.key}, where it is {there:%Y-%m-%d %H:%M}."
            f"{' timezone would name a zone; so does TIMEZONE on the server.' if nameable else ''}"
        )
        return replace(place, zone=clock, today=there.date(), clock=clock, notes=(note,))
    note = (
        f"The owner's newest night carries {clock.key}, not the offset of {place.zone.key}, as on a journey: today, "
        f"now and last night are by that clock, where it is {there:%Y-%m-%d %H:%M} (in {place.zone.key} "
        f"{here:%Y-%m-%d %H:%M}).{' timezone would name another.' if nameable else ''}"
    )
    return replace(place, today=there.date(), clock=clock, notes=(note, *place.notes))


def counted_by_clock(place: Here) -> Here:
    """Return the place with samples counted to the days of the owner's clock."""
    return replace(place, zone=place.clock, away_from=place.zone) if place.clock else place


async def _nights(call: Call, source: Source, asked: Collection, place: Here) -> Nights | None:
    """Ask for the nights that are near enough to tell the clock; None where they cannot be read."""
    collection = source.collections.get(SLEEP)
    if collection is None or source.synthetic:
        return None
    days = DateRange(place.earliest - NEAR, place.latest + _DAY, place.zone)  # a nap of the evening is the next day's
    try:
        granted = await source.granted(call.caller)
        if asked.granted_by(granted) is False or collection.granted_by(granted) is False:
            return None
        fetched = await source.fetch(call.caller, collection, days, fields=_FIELDS)
    except VitalsError:
        return None
    return Nights(fetched.records, days.start, days.end) if fetched.complete else None
