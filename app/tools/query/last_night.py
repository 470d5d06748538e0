"""Which days or hours `last night` means: the wake day for nights, for samples the hours of the main sleep."""

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Final

from app.errors import BadRequest
from app.sources.base import Collection, DateKind, Record
from app.sources.days import day_in, instant_in
from app.tools.dates.spans import Span
from app.tools.dates.words import LAST_NIGHT
from app.tools.dates.zones import Here
from app.tools.records.nights import night

MARGIN: Final = timedelta(minutes=30)  # going to bed and getting up are part of the night
_ONE_NIGHT: Final = timedelta(hours=3)  # up for so long at most, two long sleeps are one night
_DAY: Final = timedelta(days=1)
_EVENING, _NOON = time(18), time(12)


def means_last_night(dates: Sequence[str | None]) -> bool:
    """Say whether one of the dates of a question is `last night`."""
    return any(word and " ".join(word.casefold().replace("_", " ").split()) == LAST_NIGHT for word in dates)


def last_night(collection: Collection, place: Here, dates: Sequence[str | None]) -> tuple[Span, tuple[str, ...]]:
    """Return the days or hours, and how the words were read.

    Raises:
        BadRequest: Other dates stand beside it, or the collection knows no nights.
    """
    if sum(word is not None for word in dates) > 1:
        raise BadRequest("last night stands alone: give day=last night, without start and end.")
    today = place.today
    if collection.date_kind is DateKind.WAKE_DAY:
        return Span(today, today), (f"Last night is filed under the day it ends, {today}.",)
    if not collection.dense:
        raise BadRequest(f"{collection.qualified} is not filed by nights: say today ({today}) or yesterday.")
    if (hours := _asleep(place, today)) is not None:
        gone, got_up = hours
        since, until = gone - MARGIN, got_up + MARGIN
        note = (
            f"Last night was read as the owner's main sleep, {gone.isoformat(timespec='minutes')} to "
            f"{got_up.isoformat(timespec='minutes')}, with {MARGIN.seconds // 60} min on either side."
        )
    else:
        since = datetime.combine(today - _DAY, _EVENING, place.own)
        until = datetime.combine(today, _NOON, place.own)
        note = (
            "Last night was read as 18:00 to 12:00: no main sleep is known for it. What there is of sleep is in sleep."
        )
    return Span(since.astimezone(place.zone).date(), until.astimezone(place.zone).date(), since, until), (note,)


def _asleep(place: Here, day: date) -> tuple[datetime, datetime] | None:
    """Return when the main sleep of a day began and ended, with what belongs to the same night; None if not known."""
    of_day = [one for one in (place.nights.records if place.nights else ()) if day_in(one.get("day")) == day]
    sorted_out = night(of_day)
    found = _hours(sorted_out.main) if sorted_out.main else None
    for other in sorted(filter(None, map(_hours, sorted_out.other_long)), key=lambda one: one[0]):
        if found is not None and max(found[0], other[0]) - min(found[1], other[1]) <= _ONE_NIGHT:
            found = min(found[0], other[0]), max(found[1], other[1])
    return found


def _hours(record: Record) -> tuple[datetime, datetime] | None:
    begun, ended = instant_in(record.get("bedtime_start")), instant_in(record.get("bedtime_end"))
    return (begun, ended) if begun and ended and begun < ended else None
