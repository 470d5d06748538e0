"""Which day a record belongs to, and until when it counts."""

from collections.abc import Iterable
from datetime import date, datetime
from zoneinfo import ZoneInfo

from app.sources.base import Collection, DateKind, Record
from app.sources.days import instant_in, span


def stamp(record: Record, collection: Collection) -> datetime | None:
    """Return the record's own instant."""
    fields = collection.stamp_fields or collection.day_fields
    return next((at for name in fields if (at := instant_in(record.get(name)))), None)


def day_of(record: Record, collection: Collection, zone: ZoneInfo) -> date | None:
    """Return the local day a record is filed under: its own `day`, never one computed from UTC, but for samples."""
    if collection.date_kind is DateKind.INSTANT:
        at = stamp(record, collection)
        return at.astimezone(zone).date() if at else None
    days = span(collection, record)
    return days[0] if days else None


def end_day_of(record: Record, collection: Collection, start: date) -> date:
    """Return the last day a record counts on; `date.max` while it is still going on."""
    days = span(collection, record)
    return max(start, days[1]) if days and collection.date_kind is DateKind.SPAN else start


def by_day(records: Iterable[Record], collection: Collection, zone: ZoneInfo) -> dict[date, list[Record]]:
    """Return records by the day they are filed under; without those that have none."""
    filed: dict[date, list[Record]] = {}
    for record in records:
        if day := day_of(record, collection, zone):
            filed.setdefault(day, []).append(record)
    return filed
