"""Samples put together: per five minutes, hour or day of the owner's clock, with n, min, mean and max.

An empty bucket is absent, and a missing value counts nowhere: nothing here turns "not measured" into 0. What is put
together already while it arrives (`gathering`) is put together further here.
"""

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from app.errors import BadRequest
from app.sources.base import Collection, Field, Kind, Record
from app.tools.records.placing import stamp

RESOLUTIONS = ("raw", "5min", "hour", "day")
MINUTES = {"5min": 5, "hour": 60}


class Sum:
    """Values put together."""

    __slots__ = ("least", "most", "n", "samples", "total")

    def __init__(self) -> None:
        self.n = 0  # values
        self.samples = 0  # with those that carry no value
        self.total = 0.0
        self.least = float("inf")
        self.most = float("-inf")

    def add(self, value: object) -> None:
        """Take one sample's value, whatever the source sent for it."""
        self.samples += 1
        if isinstance(value, int | float) and not isinstance(value, bool):
            self.n += 1
            self.total += value
            self.least = min(value, self.least)
            self.most = max(value, self.most)

    def merge(self, other: "Sum") -> None:
        """Take what another holds."""
        self.n += other.n
        self.samples += other.samples
        self.total += other.total
        self.least = min(other.least, self.least)
        self.most = max(other.most, self.most)


class Part(dict[str, object]):
    """Samples of one bucket as a record: it stands at the instant of the first of them."""

    def __init__(self, stamped: dict[str, object], together: Sum, resolution: str) -> None:
        super().__init__(stamped)
        self.sum = together
        self.resolution = resolution


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
    found: dict[str, Sum] = {}
    for record in records:
        at = stamp(record, collection)
        if at is None:
            continue
        bucket = found.setdefault(_bucket(at.astimezone(zone), resolution), Sum())
        if isinstance(record, Part):
            bucket.merge(record.sum)
        else:
            bucket.add(record.get(field.name))
    label = "day" if resolution == "day" else "start"
    return [
        {
            label: start,
            "n": bucket.n,
            "min": bucket.least,
            "mean": round(bucket.total / bucket.n, 2),
            "max": bucket.most,
        }
        for start, bucket in found.items()
        if bucket.n
    ]


def samples_in(records: Sequence[Record]) -> int:
    """Count the samples that records stand for."""
    return sum(record.sum.samples if isinstance(record, Part) else 1 for record in records)


def finest(records: Sequence[Record]) -> str:
    """Return the finest resolution in which records can be delivered."""
    return next((record.resolution for record in records if isinstance(record, Part)), "raw")


def _bucket(at: datetime, resolution: str) -> str:
    if resolution == "day":
        return at.date().isoformat()
    width = MINUTES[resolution]
    return at.replace(minute=at.minute - at.minute % width, second=0, microsecond=0).isoformat(timespec="minutes")
