"""Samples put together: per five minutes, hour or day of the owner's clock, with n, min, mean and max.

An empty bucket is absent, and a missing value counts nowhere: nothing here turns "not measured" into 0. What is put
together already while it arrives (`gathering`) is put together further here.

Samples do not come evenly: a workout brings sixty in the time of one. So buckets longer than five minutes also have
`mean_by_time`, for which each five minutes with a value count once.
"""

import math
from array import array
from collections.abc import Sequence
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from app.errors import BadRequest
from app.sources.base import Collection, Field, Kind, Record
from app.tools.records.placing import stamp

RESOLUTIONS = ("raw", "5min", "hour", "day")
MINUTES = {"5min": 5, "hour": 60}
BY_TIME: Final = "mean_by_time"
_SLOT_S: Final = 300  # zones differ from UTC by quarters of an hour, so these five minutes are those of any clock
_SLOTS: Final = 12  # of an hour
_NO_SLOTS: Final = array("d", bytes(8 * 2 * _SLOTS))  # total and n of each five minutes of an hour


class Sum:
    """Values put together.

    Args:
        slots: Whether its five minutes are kept apart; for a single five minutes they need not be.
    """

    __slots__ = ("hours", "least", "most", "n", "samples", "total")

    def __init__(self, *, slots: bool) -> None:
        self.hours: dict[int, array[float]] | None = {} if slots else None  # by unix hour: a year takes 3 MB
        self.n = 0  # values
        self.samples = 0  # with those that carry no value
        self.total = 0.0
        self.least = float("inf")
        self.most = float("-inf")

    @property
    def mean_by_time(self) -> float | None:
        """The mean of the means of each five minutes; None where they are not kept apart, or hold no value."""
        if not self.hours:
            return None
        pairs = ((hour[at], hour[at + 1]) for hour in self.hours.values() for at in range(0, 2 * _SLOTS, 2))
        means = [total / n for total, n in pairs if n]
        return math.fsum(means) / len(means)

    def add(self, value: object, at_s: float) -> None:
        """Take one sample's value, whatever the source sent for it, at its unix second."""
        self.samples += 1
        if isinstance(value, int | float) and not isinstance(value, bool):
            self.n += 1
            self.total += value
            self.least = min(value, self.least)
            self.most = max(value, self.most)
            if self.hours is not None:
                self._slot(at_s, value, 1)

    def _slot(self, at_s: float, total: float, n: int) -> None:
        hours = self.hours
        if hours is None:
            return
        hour, second = divmod(int(at_s), 3600)
        if (slots := hours.get(hour)) is None:
            slots = hours[hour] = _NO_SLOTS[:]
        at = second // _SLOT_S * 2
        slots[at] += total
        slots[at + 1] += n

    def merge(self, other: "Sum", at_s: float) -> None:
        """Take what another holds, whose first sample is from that unix second."""
        if other.hours is None:
            if other.n:
                self._slot(at_s, other.total, other.n)
        elif self.hours is not None:
            for hour, theirs in other.hours.items():
                ours = self.hours.get(hour)
                self.hours[hour] = theirs[:] if ours is None else array("d", map(float.__add__, ours, theirs))
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
    slots = resolution != "5min"
    for record in records:
        at = stamp(record, collection)
        if at is None:
            continue
        named = _bucket(at.astimezone(zone), resolution)
        if (bucket := found.get(named)) is None:
            bucket = found[named] = Sum(slots=slots)
        if isinstance(record, Part):
            bucket.merge(record.sum, at.timestamp())
        else:
            bucket.add(record.get(field.name), at.timestamp())
    label = "day" if resolution == "day" else "start"
    return [_written(label, start, bucket) for start, bucket in found.items() if bucket.n]


def _written(label: str, start: str, bucket: Sum) -> Record:
    said: Record = {label: start, "n": bucket.n, "min": bucket.least, "mean": round(bucket.total / bucket.n, 2)}
    if (by_time := bucket.mean_by_time) is not None:
        said[BY_TIME] = round(by_time, 2)
    return {**said, "max": bucket.most}


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
