"""Cutting an answer to size: always after a whole day, never inside one, and always said.

Whoever goes on from the day after `continue_from` gets each record exactly once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from app.sources.base import Record
from app.tools.records.shaping import Shape
from app.tools.rendering import Answer, written

LEAST_CHARS = 10  # no record is shorter, in JSON or CSV: it carries at least its day or its instant
_BUCKET = {  # characters of {"start":"2026-03-10T08:00+00:00","n":12,"min":50,"mean":55.25,"max":61}, or of its row
    ("json", "day"): 83,  # with mean_by_time
    ("csv", "day"): 38,
    ("json", "hour"): 95,
    ("csv", "hour"): 48,
    ("json", "5min"): 74,
    ("csv", "5min"): 42,
}


def row_chars(shape: Shape) -> int:
    """Return what a bucket takes as a rule, and a record at the very least: no more need be fetched than fit."""
    if shape.resolution == "raw":
        return LEAST_CHARS
    return _BUCKET[shape.format, shape.resolution]


@dataclass(frozen=True, slots=True)
class Day:
    """The records of one day, in order."""

    day: date
    last: date  # the latest day any of them counts on
    records: tuple[Record, ...]


class TooLarge(Exception):
    """Not even the first day fits. Internal: whoever asked gets advice that fits their question."""

    def __init__(self, day: date | None, chars: int) -> None:
        self.day = day
        self.chars = chars
        super().__init__(f"{chars} characters")


def by_day(records: Sequence[Record], day: Callable[[Record], date], last: Callable[[Record, date], date]) -> list[Day]:
    """Group records by day, keeping their order inside a day."""
    groups: dict[date, list[Record]] = {}
    for record in records:
        groups.setdefault(day(record), []).append(record)
    return [
        Day(when, max(last(record, when) for record in group), tuple(group)) for when, group in sorted(groups.items())
    ]


def fit(
    days: Sequence[Day],
    make: Callable[[list[Record], date | None], Answer],
    *,
    cap: int,
    rest_after: date | None = None,
    least_chars: int = LEAST_CHARS,
) -> Answer:
    """Make the answer with as many whole days as fit.

    Args:
        days: What there is to deliver.
        make: Builds the answer from records and, if it is cut, the last day delivered.
        cap: Characters at most.
        rest_after: The last day that was asked of the source, if the range goes on after it.
        least_chars: What a record takes at the very least; 0 if several become one.

    Raises:
        TooLarge: The first day alone is over the cap.
    """
    if sum(len(day.records) for day in days) * least_chars <= cap:  # else there is no need to write it to see
        whole = make([record for day in days for record in day.records], rest_after)
        if len(written(whole)) <= cap:
            return whole
    best: Answer | None = None
    fits, over, step = 0, len(days), 1  # `fits` days are known to fit, `over` days not to
    while fits + 1 < over:
        tried = min(fits + step, over - 1)
        made = _made(days, tried, make)
        if len(written(made)) <= cap:
            fits, best, step = tried, made, step * 2
        else:
            over, step = tried, max(1, step // 2)
    if best is None:
        first = days[:1]
        raise TooLarge(
            first[0].day if first else None, len(written(_made(first, 1, make) if first else make([], None)))
        )
    seam = _clean_seam(days, fits)
    if seam == fits:
        return best
    shorter = _made(days, seam, make)
    return shorter if len(written(shorter)) <= cap else best


def _made(days: Sequence[Day], count: int, make: Callable[[list[Record], date | None], Answer]) -> Answer:
    return make([record for day in days[:count] for record in day.records], days[count - 1].day)


def _clean_seam(days: Sequence[Day], most: int) -> int:
    """Return the largest number of days, at most `most`, after which no record runs on; `most` if there is none."""
    reach, clean = date.min, 0
    for count, day in enumerate(days[:most], start=1):
        reach = max(reach, day.last)
        if reach <= day.day:
            clean = count
    return clean or most
