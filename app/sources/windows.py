"""How a range of local days becomes windows that a source accepts. Pure; the days' own rules are in `days`."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from app.sources.base import Collection, DateRange

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Window:
    """One request's worth of days: those it answers for, and what is asked to be sure of them."""

    first: date  # the days it answers for, both included
    last: date
    asked_first: date  # with margin and lookback
    asked_last: date
    start: datetime | None = None  # dense collections: the local midnights, end excluded
    end: datetime | None = None


def windows(collection: Collection, days: DateRange) -> Iterator[Window]:
    """Cut a range into windows that together cover it, oldest first, none longer than the collection allows."""
    return _by_instants(collection, days) if collection.dense else _by_dates(collection, days)


def midnight(day: date, zone: ZoneInfo) -> datetime:
    """Return the first instant of a local day, in UTC.

    Where clocks jump over midnight the day begins at the jump, and where midnight comes twice at the first one: both
    is what `fold=0` means.
    """
    return datetime.combine(day, time.min, tzinfo=zone).astimezone(UTC)


def shifted(day: date, days: int) -> date:
    """Move a day."""
    return day + timedelta(days=days)


def _by_dates(collection: Collection, days: DateRange) -> Iterator[Window]:
    first = days.start
    while first <= days.end:
        last = days.end if collection.window_days is None else min(days.end, shifted(first, collection.window_days - 1))
        back = collection.margin_days + (collection.lookback_days if first == days.start else 0)
        yield Window(first, last, shifted(first, -back), shifted(last, collection.margin_days))
        if last >= days.end:
            return
        first = last + _DAY


def _by_instants(collection: Collection, days: DateRange) -> Iterator[Window]:
    longest = None if collection.window_days is None else timedelta(days=collection.window_days)
    stride = collection.stride_days or collection.window_days
    first = days.start
    while first <= days.end:
        last = days.end if stride is None else min(days.end, shifted(first, stride - 1))
        start, end = midnight(first, days.zone), midnight(last + _DAY, days.zone)
        if longest is not None and last > first and end - start > longest:  # clocks went back inside: an hour too long
            last -= _DAY
            end = midnight(last + _DAY, days.zone)
        if end > start:  # a day that a zone skipped altogether has no instants
            yield Window(first, last, first, last, start.astimezone(days.zone), end.astimezone(days.zone))
        if last >= days.end:
            return
        first = last + _DAY
