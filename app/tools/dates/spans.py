"""The dates of a question: text in, local days out, with the zone they are meant in.

Everything below this module works with `date` and `datetime`, never with the text. "Today" is the owner's, from the
injected clock in the owner's zone; the server's own zone is never asked.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from app.errors import BadRequest
from app.tools.arguments import near, quoted
from app.tools.dates.clocks import fixed
from app.tools.dates.words import period
from app.zones import find_zone, known_zones

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}.*")
_OFFSET = re.compile(r"(?P<sign>[+\u2212-])(?P<hours>[0-9]{2}):(?P<minutes>[0-5][0-9])")
_FARTHEST_WEST, _FARTHEST_EAST = timedelta(hours=-12), timedelta(hours=14)  # of all offsets from UTC
_YEARS = range(2000, 2100)  # margins and zones are added to days, and must not run off the calendar


@dataclass(frozen=True, slots=True)
class Moment:
    """A day or a stretch of days, or an instant in a day."""

    first: date
    last: date
    instant: datetime | None = None
    said: str | None = None  # the words that became these days

    @property
    def notes(self) -> tuple[str, ...]:
        """Say how the words were read."""
        if self.said is None or self.said.casefold() in ("today", "yesterday"):  # nothing to read wrongly
            return ()
        days = f"{self.first}" if self.first == self.last else f"{self.first} to {self.last}"
        return (f"{quoted(self.said)} was read as {days}.",)

    def notes_as(self, name: str, then: str = "") -> tuple[str, ...]:
        """Say how the words were read where only the `start` or the `end` of what they mean was taken."""
        if self.said is None or self.first == self.last:
            return self.notes
        edge = f"{self.first}, its first day" if name == "start" else f"{self.last}, its last day"
        return (f"{name}={quoted(self.said)} was read as {edge}{then}.",)


@dataclass(frozen=True, slots=True)
class Span:
    """A range as asked for: local days, both included; instants where they cut into the first or last day."""

    start: date
    end: date
    since: datetime | None = None
    until: datetime | None = None
    notes: tuple[str, ...] = ()


def today(now_s: float, zone: ZoneInfo) -> date:
    """Return the day it is in `zone` at `now_s`, unix seconds."""
    return datetime.fromtimestamp(now_s, tz=UTC).astimezone(zone).date()


def days_anywhere(now_s: float) -> tuple[date, date]:
    """Return the earliest and the latest day that it is anywhere on earth at `now_s`, unix seconds."""
    now = datetime.fromtimestamp(now_s, tz=UTC)
    return (now + _FARTHEST_WEST).date(), (now + _FARTHEST_EAST).date()


def moment(name: str, text: str, *, today: date, zone: ZoneInfo) -> Moment:
    """Read one date argument: a day, an instant, or words for days such as `last week` or `2026-03`.

    Raises:
        BadRequest: Not a day of the calendar and not an instant with an offset.
    """
    word = text.strip()
    try:
        if _DAY.fullmatch(word):
            day = _within(name, word, date.fromisoformat(word))
            return Moment(day, day)
        if _INSTANT.fullmatch(word):
            return _instant(name, word, zone)
        found = period(word, today=today)
    except (ValueError, OverflowError) as exc:
        raise BadRequest(f"{name}={quoted(word)} is not in the calendar. Write a day such as {today}.") from exc
    if found is None:
        raise BadRequest(
            f"{name}={quoted(word)} is not a date. Write a day such as {today}, or words such as yesterday, last week, "
            "last 30 days, 2026-W07 or 2026-03."
        )
    return Moment(_within(name, word, found[0]), _within(name, word, found[1]), said=word)


def span(
    start: str | None, end: str | None, day: str | None, *, today: date, zone: ZoneInfo, usual_days: int, most_days: int
) -> Span:
    """Read the dates of a question.

    Args:
        start: First day; absent: `usual_days` up to the end.
        end: Last day; absent: today, or the start if that lies ahead.
        day: One day, instead of both.
        today: The owner's.
        zone: The owner's.
        usual_days: How many days when the question does not say.
        most_days: How many at most.

    Raises:
        BadRequest: Contradictory, reversed, too long or malformed dates.
    """
    if day is not None:
        if start is not None or end is not None:
            raise BadRequest("day stands alone: give either day, or start and end.")
        only = moment("day", day, today=today, zone=zone)
        _not_too_many(only.first, only.last, most_days)
        return Span(only.first, only.last, notes=(*only.notes, *_ahead(only.last, today)))
    first = moment("start", start, today=today, zone=zone) if start is not None else None
    last = moment("end", end, today=today, zone=zone) if end is not None else None
    if last is None:
        until = max(today, first.last) if first else today
        notes = first.notes_as("start", f"; the range runs to {until}") if first else ()
        last = Moment(until, until)
    elif first is None or start == end:
        notes = last.notes
    else:
        notes = (*first.notes_as("start"), *last.notes_as("end"))
    if first is None:
        since = last.last - timedelta(days=usual_days - 1) if last.first == last.last else last.first
        first = Moment(since, since)
    if first.first > last.last or (first.instant and last.instant and first.instant > last.instant):
        raise BadRequest(f"start ({start or first.first}) lies after end ({end or last.last}). Swap them.")
    _not_too_many(first.first, last.last, most_days)
    return Span(first.first, last.last, first.instant, last.instant, notes=(*notes, *_ahead(last.last, today)))


def zone_named(name: str) -> ZoneInfo:
    """Return the zone of an IANA name, or of an offset such as answers themselves name: `-04:00`.

    Raises:
        BadRequest: No such zone.
    """
    if offset := _OFFSET.fullmatch(name.strip()):
        away = timedelta(hours=int(offset["hours"]), minutes=int(offset["minutes"]))
        away = away if offset["sign"] == "+" else -away
        if _FARTHEST_WEST <= away <= _FARTHEST_EAST:
            return fixed(away)
    found = find_zone(name)
    if found is None:
        close = near(name, known_zones())
        hint = f" Did you mean {close[0]}?" if close else ""
        raise BadRequest(
            f"timezone={quoted(name)} is not an IANA zone.{hint} Write one such as Europe/Lisbon, or an offset such as "
            "-04:00."
        )
    return ZoneInfo(found)


def _instant(name: str, word: str, zone: ZoneInfo) -> Moment:
    at = datetime.fromisoformat(word.upper())
    if at.tzinfo is None:
        raise BadRequest(
            f"{name}={quoted(word)} has no UTC offset. Add it ({word}+01:00), or give the day alone ({word[:10]})."
        )
    _within(name, word, at.date())
    day = at.astimezone(zone).date()
    return Moment(day, day, at)


def _within(name: str, word: str, day: date) -> date:
    if day.year not in _YEARS:
        raise BadRequest(f"{name}={quoted(word)} lies outside {_YEARS.start} to {_YEARS.stop - 1}.")
    return day


def _not_too_many(first: date, last: date, most: int) -> None:
    if (days := (last - first).days + 1) > most:
        raise BadRequest(f"{first} to {last} is {days} days; at most {most} can be asked for at once. Ask in parts.")


def lies_ahead(today: date) -> str:
    """Say from when on a range lies ahead."""
    return f"Days after {today} lie ahead and have no records yet."


def _ahead(last: date, today: date) -> tuple[str, ...]:
    return (lies_ahead(today),) if last > today else ()
