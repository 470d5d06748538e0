"""What a request's bounds mean to Oura: which stamp of a record they are held against, and which side is open.

Source: `oura/FACTS.md` section 5, quirks 1, 2, 4, 5; section 2 for the defaults.
"""

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from app.simulator.archive import Archive
from app.simulator.world import Record

MEASURED_EXCLUSIVE = frozenset({"daily_activity", "sleep", "workout", "session"})
UNMEASURED = frozenset(
    {"vO2_max", "enhanced_tag", "tag", "rest_mode_period"}
)  # the harder reading, until someone measures
_ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?)?")
_REACH = timedelta(days=4)  # farther than any record's stamp lies from its day, and than a tag lasts
_STAMP = {  # where the filtered instant stands; the day's midnight where the record has none
    "daily_activity": ("timestamp",),
    "enhanced_tag": ("start_time", "end_time"),
    "rest_mode_period": ("start_time", "end_time"),
    "session": ("start_datetime",),
    "sleep": ("bedtime_end",),
    "tag": ("timestamp",),
    "vO2_max": ("timestamp",),
    "workout": ("start_datetime",),
}


@dataclass(frozen=True, slots=True)
class Rules:
    """The behaviours that were not measured everywhere, or may change.

    Attributes:
        exclusive_end: Collections that lose the day of a bare `end_date`.
        dense_end_inclusive: Whether a sample exactly at `end_datetime` is returned (unmeasured).
        page_size: Documents on a page.
        dense_page_size: Samples on a page (measured).
        dense_window: The longest range of samples.
    """

    exclusive_end: frozenset[str] = MEASURED_EXCLUSIVE | UNMEASURED
    dense_end_inclusive: bool = False
    page_size: int = 2_000
    dense_page_size: int = 1_000
    dense_window: timedelta = field(default=timedelta(days=30))


class BadParameter(Exception):
    """A query parameter does not parse: 422."""

    def __init__(self, name: str, value: str, kind: str, message: str) -> None:
        super().__init__(message)
        self.detail = [{"type": kind, "loc": ["query", name], "msg": message, "input": value}]


class BadQuery(Exception):
    """Parameters that parse and make no sense together: 400."""


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of a range as it was written."""

    text: str
    wall: datetime  # what the clock shows, without offset
    offset_given: bool
    bare: bool  # a date alone

    @property
    def instant_s(self) -> float:
        """The instant; a bound without offset is taken for UTC."""
        return (datetime.fromisoformat(self.text) if self.offset_given else self.wall.replace(tzinfo=UTC)).timestamp()


def bound(name: str, text: str) -> Bound:
    """Read a date or a date-time.

    Raises:
        BadParameter: It is neither; a `+` that was sent unencoded arrives as a space and ends here too.
    """
    problem = BadParameter(name, text, "datetime_from_date_parsing", "Input should be a valid datetime or date")
    if not _ISO.fullmatch(text):
        raise problem
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise problem from None
    return Bound(text, moment.replace(tzinfo=None), moment.tzinfo is not None, len(text) == 10)


def date_range(start: str | None, end: str | None, now_s: float) -> tuple[Bound, Bound]:
    """Read `start_date` and `end_date`; left out, the end is today in UTC and the start a day earlier."""
    upper = bound("end_date", end) if end else bound("end_date", datetime.fromtimestamp(now_s, UTC).date().isoformat())
    day_before = (upper.wall.date() - timedelta(days=1)).isoformat()
    lower = bound("start_date", start) if start else bound("start_date", day_before)
    if lower.wall > upper.wall:
        raise BadQuery(f"Start date is greater than end date: [start_date: {lower.text}; end_date: {upper.text}]")
    return lower, upper


def instant_range(start: str | None, end: str | None, now_s: float, rules: Rules) -> tuple[Bound, Bound]:
    """Read `start_datetime` and `end_datetime`; left out, the end is now and the start a day earlier."""
    upper = bound("end_datetime", end or datetime.fromtimestamp(int(now_s), UTC).isoformat())
    day_before = datetime.fromtimestamp(upper.instant_s - 86_400, UTC).isoformat()
    lower = bound("start_datetime", start or day_before)
    if lower.instant_s > upper.instant_s:
        raise BadQuery(
            f"Start time is greater than end time: [start_datetime: {lower.text}; end_datetime: {upper.text}]"
        )
    if upper.instant_s - lower.instant_s > rules.dense_window.total_seconds():
        raise BadQuery(f"The date range must not exceed {rules.dense_window.days} days.")
    return lower, upper


def select(archive: Archive, collection: str, lower: Bound, upper: Bound, rules: Rules) -> list[Record]:
    """Return the documents that a request for these bounds gets, oldest first."""
    exclusive = collection in rules.exclusive_end
    first, last = _shift(lower.wall.date(), -1), _shift(upper.wall.date(), 1)
    if collection == "rest_mode_period":
        first = date.min  # one that began long ago may still be open
    found = []
    for record in archive.between(collection, first, last):
        begin, end = _stamps(collection, record)
        if not _ends_before(end, lower) and _begins_within(begin, upper, exclusive=exclusive):
            found.append(record)
    return found


def _ends_before(end: datetime | None, lower: Bound) -> bool:
    if end is None:
        return False
    if lower.offset_given:
        return end.timestamp() < lower.instant_s
    return end.replace(tzinfo=None) < lower.wall


def _begins_within(begin: datetime, upper: Bound, *, exclusive: bool) -> bool:
    if upper.offset_given:
        return begin.timestamp() <= upper.instant_s
    wall = begin.replace(tzinfo=None)
    if upper.bare:
        return wall < upper.wall if exclusive else wall.date() <= upper.wall.date()
    return wall <= upper.wall


def _stamps(collection: str, record: Record) -> tuple[datetime, datetime | None]:
    """Return from when to when a record lasts for the filter; None: it has not ended."""
    midnight = f"{record.get('day') or record.get('start_day')}T00:00:00+00:00"
    names = _STAMP.get(collection, ())
    begin = datetime.fromisoformat((record.get(names[0]) if names else None) or midnight)
    if collection == "workout":
        begin = begin.astimezone(UTC)  # filtered by UTC date, while `day` is local (quirk 2)
    if len(names) < 2:
        return begin, begin
    ended = record.get(names[1])
    if ended:
        return begin, datetime.fromisoformat(ended)
    return begin, None if collection == "rest_mode_period" else begin


def _shift(day: date, direction: int) -> date:
    try:
        return day + direction * _REACH
    except OverflowError:
        return day
