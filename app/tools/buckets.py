"""Samples put together: per five minutes, hour or day of the owner's clock, with n, min, mean and max.

An empty bucket is absent, and a missing value counts nowhere: nothing here turns "not measured" into 0.
"""

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from app.errors import BadRequest
from app.sources.base import Collection, Field, Kind, Record
from app.tools.records import stamp

RESOLUTIONS = ("raw", "5min", "hour", "day")
_MINUTES = {"5min": 5, "hour": 60}


def measured(collection: Collection, fields: Sequence[str]) -> Field:
    """Return the field whose values are put together: the first measurement, or the first one asked for.

    Raises:
        BadRequest: None of the fields asked for is a measurement.
    """
    candidates = [field for field in collection.fields if field.kind in (Kind.MEASUREMENT, Kind.SCORE)]
    asked = [field for field in candidates if field.name in fields] if fields else candidates
    if not asked:
        names = ", ".join(field.name for field in candidates)
        raise BadRequest(f"with resolution, fields must name a measurement of {collection.qualified}: {names}.")
    return asked[0]


def bucketed(
    records: Sequence[Record], collection: Collection, *, field: Field, resolution: str, zone: ZoneInfo
) -> list[Record]:
    """Return one record for each bucket that holds a value, oldest first.

    `start` is local with its offset, so the hour that a clock change repeats is two buckets; a bucket of a day has
    `day` instead.
    """
    found: dict[str, list[float]] = {}
    for record in records:
        at, value = stamp(record, collection), record.get(field.name)
        if at is None or not isinstance(value, int | float) or isinstance(value, bool):
            continue
        found.setdefault(_bucket(at.astimezone(zone), resolution), []).append(value)
    label = "day" if resolution == "day" else "start"
    return [
        {
            label: start,
            "n": len(values),
            "min": min(values),
            "mean": round(sum(values) / len(values), 2),
            "max": max(values),
        }
        for start, values in found.items()
    ]


def _bucket(at: datetime, resolution: str) -> str:
    if resolution == "day":
        return at.date().isoformat()
    width = _MINUTES[resolution]
    return at.replace(minute=at.minute - at.minute % width, second=0, microsecond=0).isoformat(timespec="minutes")
