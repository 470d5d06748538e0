"""Which day a record belongs to, by the rule of its collection: never by the UTC date of an instant.

Pure. A record whose day cannot be read is kept and sorted last, since dropping it would be silent.
"""

import json
from datetime import UTC, date, datetime
from typing import Final, NamedTuple

from app.sources.base import Collection, DateKind, DateRange, Record
from app.sources.windows import Window, midnight, shifted

_NEVER: Final = date.max.toordinal() + 1


def day_in(value: object) -> date | None:
    """Read the calendar day that a date, or an instant with its own offset, names as it is written."""
    if not isinstance(value, str):
        return None
    try:
        return date.fromisoformat(value[:10])
    except ValueError:
        return None


def instant_in(value: object) -> datetime | None:
    """Read an instant; one written without an offset is taken as UTC, the way sources document their samples."""
    if not isinstance(value, str):
        return None
    try:
        stamp = datetime.fromisoformat(value)
    except ValueError:
        return None
    return stamp if stamp.tzinfo is not None else stamp.replace(tzinfo=UTC)


def span(collection: Collection, record: Record) -> tuple[date, date] | None:
    """Return the first and last day a record counts on; None if it names no day."""
    first = next((day for name in collection.day_fields if (day := day_in(record.get(name)))), None)
    if first is None:
        return None
    if collection.date_kind is not DateKind.SPAN or collection.end_day_field is None:
        return first, first
    last = day_in(record.get(collection.end_day_field))
    if last is None:
        return first, date.max if collection.open_ended else first
    return first, max(first, last)


class Kept(NamedTuple):
    """A record of the range, with what orders it and what makes it the same as another."""

    order: tuple[int, float]  # day, then instant; undated ones last
    identity: str
    record: Record


class Sieve:
    """Keeps the records of a range."""

    def __init__(self, collection: Collection, days: DateRange | None, *, synthetic: bool = False) -> None:
        """Set the rule.

        Args:
            collection: Whose day rule holds.
            days: The range asked for; None keeps everything.
            synthetic: The source makes its sample data up and stamps some of it with a fixed day far away. A record
                outside even what was asked cannot be margin; from such a source it is kept, or the answer would be
                empty without a reason.
        """
        self._collection = collection
        self._days = days
        self._synthetic = synthetic
        if days is not None:
            self._start = midnight(days.start, days.zone)
            self._end = midnight(shifted(days.end, 1), days.zone)

    def sift(self, record: Record, window: Window | None) -> Kept | None:
        """Return the record if it counts on a day of the range, else None."""
        return self._sample(record, window) if self._collection.dense else self._document(record, window)

    def _sample(self, record: Record, window: Window | None) -> Kept | None:
        stamp = _first_instant(self._collection.day_fields, record)
        if stamp is None:
            return Kept((_NEVER, 0.0), _content(record), record)
        if self._days is not None and window is not None and not self._start <= stamp < self._end:
            near = shifted(window.asked_first, -1) <= stamp.date() <= shifted(window.asked_last, 1)
            if near or not self._synthetic:
                return None
        seconds = stamp.timestamp()
        # Samples may share an instant (in a workout and at rest); only one that is the same in all has come twice.
        return Kept((0, seconds), f"at {seconds} {[*record.values()]}", record)

    def _document(self, record: Record, window: Window | None) -> Kept | None:
        lasts = span(self._collection, record)
        if lasts is not None and self._days is not None and window is not None:
            first, last = lasts
            outside = first > self._days.end or last < self._days.start
            asked = first <= window.asked_last and last >= window.asked_first
            if outside and (asked or not self._synthetic):
                return None
        stamp = _first_instant(self._collection.stamp_fields, record)
        given = record.get("id")
        day = lasts[0] if lasts else ""  # an id that stands on two days is no reason to drop one of them
        return Kept(
            (lasts[0].toordinal() if lasts else _NEVER, stamp.timestamp() if stamp else 0.0),
            f"id {given} {day}" if isinstance(given, str) and given else _content(record),
            record,
        )


def _first_instant(names: tuple[str, ...], record: Record) -> datetime | None:
    for name in names:
        stamp = instant_in(record.get(name))
        if stamp is not None:
            return stamp
    return None


def _content(record: Record) -> str:
    return "as " + json.dumps(record, sort_keys=True, default=str)
