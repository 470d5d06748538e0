"""Samples put together while they arrive, so that a year of them is never held at once. A `sources.base.Digest`.

Asked for raw if it fits, samples are kept until they cannot fit any more, then put together per five minutes, and so on
up the resolutions; asked for one resolution, they are put together in it from the start.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from app.sources.base import Collection, Record
from app.sources.days import instant_in
from app.tools.records.buckets import MINUTES, Part, Sum


@dataclass(frozen=True, slots=True, eq=False)
class Gather:
    """How samples of one question are put together.

    Args:
        collection: A dense one.
        field: The field whose values count.
        zone: Whose clock decides the buckets.
        resolutions: Those in question, the finest first; a coarser one is taken when there are more than `most`.
        most: Records or buckets that an answer could hold at the very most.
        since: Samples before it are left out.
        until: Samples after it are left out.
    """

    collection: Collection
    field: str
    zone: ZoneInfo
    resolutions: tuple[str, ...]
    most: int
    since: datetime | None = None
    until: datetime | None = None

    def begin(self) -> "Gathered":
        """Begin one question."""
        return Gathered(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Gather) and self._what() == other._what()

    def __hash__(self) -> int:
        return hash(self._what())

    def _what(self) -> tuple[object, ...]:
        name, zone = self.collection.qualified, self.zone.key
        return name, self.field, zone, self.resolutions, self.most, self.since, self.until


class Gathered:
    """What one question brought so far; a `sources.base.Gathering`."""

    def __init__(self, how: Gather) -> None:
        self._how = how
        self._names = how.collection.stamp_fields or how.collection.day_fields
        self._resolutions = list(how.resolutions)
        self._raw: list[tuple[float, Record]] = []
        self._loose: list[Record] = []  # without an instant
        self._buckets: dict[int, tuple[float, Sum]] = {}  # by where it begins; with its first instant

    def add(self, records: Sequence[Record]) -> None:
        """See `sources.base.Gathering`."""
        for record in records:
            at = next((found for name in self._names if (found := instant_in(record.get(name)))), None)
            if at is None:
                self._loose.append(record)
            elif (self._how.since is None or at >= self._how.since) and (
                self._how.until is None or at <= self._how.until
            ):
                self._take(at.timestamp(), record)
        while len(self._raw) + len(self._buckets) > self._how.most and len(self._resolutions) > 1:
            self._coarsen()

    def records(self) -> tuple[Record, ...]:
        """See `sources.base.Gathering`."""
        if self._resolutions[0] == "raw":
            kept = [record for _, record in sorted(self._raw, key=lambda pair: pair[0])]
            return (*kept, *self._loose)
        name, resolution = self._names[0], self._resolutions[0]
        parts = sorted(self._buckets.values(), key=lambda pair: pair[0])
        return (
            *(Part({name: datetime.fromtimestamp(at_s, UTC).isoformat()}, held, resolution) for at_s, held in parts),
            *self._loose,
        )

    def _take(self, at_s: float, record: Record) -> None:
        if self._resolutions[0] == "raw":
            self._raw.append((at_s, record))
        else:
            self._bucket(at_s).add(record.get(self._how.field), at_s)

    def _coarsen(self) -> None:
        """Go on in the next resolution."""
        del self._resolutions[0]
        raw, buckets = self._raw, self._buckets
        self._raw, self._buckets = [], {}
        for at_s, record in raw:
            self._take(at_s, record)
        for at_s, held in buckets.values():
            self._bucket(at_s).merge(held, at_s)

    def _bucket(self, at_s: float) -> Sum:
        """Return the bucket of an instant. Its key names where it begins on the owner's clock, so DST hours differ."""
        local = datetime.fromtimestamp(at_s, self._how.zone)
        width = MINUTES.get(self._resolutions[0])
        key = local.toordinal() if width is None else int(at_s) - local.minute % width * 60 - local.second
        at, held = self._buckets.get(key, (at_s, None))
        if held is None:
            held = Sum(slots=self._resolutions[0] != "5min")
        if at_s <= at:
            self._buckets[key] = (at_s, held)
        return held
