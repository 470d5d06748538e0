"""Days that are only partly there: not over, not synced to their end, or made shorter or longer by a journey.

Pure, and from evidence alone: a record that says how it spent its day tells how much of the day there is; of all else
that grows through the day, the newest sample tells how far the source knows it.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from app.sources.base import Collection, DateRange, Record
from app.sources.days import day_in, instant_in
from app.tools.caveats.absence import stretches
from app.tools.records.placing import day_of, stamp

_WHY: Final = "not over, not recorded or synced to the end, or made shorter or longer by a journey"
PARTIAL: Final = (
    f"The days under partial are not whole ({_WHY}): do not compare them with other days, and add nothing up with them."
)
PARTIAL_ON_PAGE: Final = (
    f"What is named here is not whole ({_WHY}): do not compare it with other days, and add nothing up with it."
)
NOT_OVER: Final = "not over yet"
UNKNOWN: Final = "not known to be whole"
SYNCED_WITHIN: Final = timedelta(days=1)  # days before today that are looked at; the app is opened about once a day
_DAY: Final = timedelta(days=1)
_SHORTEST_S, _LONGEST_S = 22.75 * 3600, 25.25 * 3600  # with a clock change, and a few minutes that nobody counted
_LAG: Final = timedelta(minutes=30)  # samples end this long before midnight without anything being wrong
_UTC: Final = ZoneInfo("UTC")


def touches(days: DateRange, today: date) -> bool:
    """Whether a range holds a day that may not have been synced to its end."""
    return days.start <= today and days.end >= today - SYNCED_WITHIN


def partial(
    collection: Collection,
    records: Sequence[Record],
    days: DateRange,
    *,
    today: date,
    newest: datetime | None,
    until: datetime | None = None,
    nights: Sequence[Record] = (),
) -> dict[str, str]:
    """Return the days that are not whole, and how far each is there.

    Args:
        collection: What was asked for.
        records: Those delivered.
        days: Those delivered.
        today: The owner's day.
        newest: The newest sample at the source; None if that is not known.
        until: The instant at which the last day was cut, if it was.
        nights: Around them, for what adds up a day and does not say how long that was.
    """
    if not collection.grows:
        return {}
    if collection.covered_by:
        return _by_their_own_times(collection, records, days, today)
    here = {day for record in records if (day := day_of(record, collection, days.zone)) is not None}
    found: dict[str, str] = {}
    if not collection.dense and not collection.clock_field:
        found = {str(day): f"about {hours:.0f} h long" for day, hours in _odd_lengths(nights).items() if day in here}
    silent: list[date] = []
    first = max(days.start, min(today - SYNCED_WITHIN, newest.astimezone(days.zone).date() if newest else today))
    for back in range((min(days.end, today) - first).days, -1, -1):
        day = min(days.end, today) - back * _DAY
        if day not in here and not collection.occasional:
            continue  # a day without a record has its word elsewhere
        if until is not None and newest is not None and day == days.end and newest >= until:
            continue  # what was asked for of it is there
        said = by_the_newest_sample(day, days.zone, today, newest)
        if said is None and newest is not None and day < today:
            silent.append(day)
        elif said:
            found[str(day)] = said
    return found | dict.fromkeys(stretches(silent), "no sample yet")


def _odd_lengths(nights: Sequence[Record]) -> dict[date, float]:
    """Return the hours of days that a journey made shorter or longer, as far as the nights on both sides tell.

    A day goes from one morning's clock to the next; where its own night is missing, from the clock of its evening.
    """
    morning: dict[date, datetime] = {}
    evening: dict[date, datetime] = {}
    for record in nights:
        day = day_in(record.get("day"))
        if day is None or record.get("type") not in (None, "long_sleep"):
            continue
        for at_end, clocks, of in (("bedtime_end", morning, day), ("bedtime_start", evening, day - _DAY)):
            if (at := instant_in(record.get(at_end))) is not None:
                clocks[of] = min(at, clocks.get(of, at))
    found: dict[date, float] = {}
    for day, at in (evening | morning).items():
        here = at.utcoffset()
        there = morning[day + _DAY].utcoffset() if day + _DAY in morning else None
        if here is not None and there is not None:
            length_s = (_DAY - (there - here)).total_seconds()
            if not _SHORTEST_S <= length_s <= _LONGEST_S:
                found[day] = length_s / 3600
    return found


def by_the_newest_sample(day: date, zone: ZoneInfo, today: date, newest: datetime | None) -> str | None:
    """Return how far a day is there; empty: to its end; None: not at all, and it is over."""
    if newest is None:
        return NOT_OVER if day == today else UNKNOWN
    begins, ends = (datetime.combine(one, time(), zone) for one in (day, day + _DAY))
    if newest < begins:
        return f"{NOT_OVER}, no sample yet" if day == today else None
    if newest >= ends - _LAG and day != today:
        return ""
    sampled = f"newest sample {newest.astimezone(zone):%H:%M}"
    return f"{NOT_OVER}, {sampled}" if day == today else sampled


def _by_their_own_times(
    collection: Collection, records: Sequence[Record], days: DateRange, today: date
) -> dict[str, str]:
    found: dict[str, str] = {}
    for record in records:
        day = day_of(record, collection, days.zone)
        if day is None:
            continue
        covered_s = recorded_s(record, collection)
        said = [NOT_OVER] if day >= today else []
        if covered_s is not None and (said or not _SHORTEST_S <= covered_s <= _LONGEST_S):
            begun = stamp(record, collection)
            until = f", until about {_clocked(begun, covered_s)}" if begun else ""
            said.append(f"{covered_s / 3600:.1f} h recorded{until}")
        if said:
            found[str(day)] = ", ".join(said)
    return found


def _clocked(begun: datetime, covered_s: float) -> str:
    """Write until when a record reaches: an hour of its day, else the whole instant; a long day ends on the next."""
    until = begun + timedelta(seconds=covered_s)
    return f"{until:%H:%M}" if until.date() == begun.date() else until.isoformat(timespec="minutes")


def recorded_s(record: Mapping[str, object], collection: Collection) -> float | None:
    """Return how much of its day a record covers: its times together, else its series; None if it does not say."""
    times = [record.get(name) for name in collection.covered_by]
    known = [float(value) for value in times if isinstance(value, int | float) and not isinstance(value, bool)]
    if known and len(known) == len(times):
        return sum(known)
    return max((_lasting_s(record.get(name)) for name in collection.series), default=0.0) or None


def _lasting_s(series: object) -> float:
    if not isinstance(series, Mapping):
        return 0.0
    interval, items = series.get("interval"), series.get("items")
    return float(interval) * len(items) if isinstance(interval, int | float) and isinstance(items, list) else 0.0
