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
from app.zones import find_zone, known_zones

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}.*")
_WORDS = {"today": 0, "yesterday": -1}
_YEARS = range(2000, 2100)  # margins and zones are added to days, and must not run off the calendar


@dataclass(frozen=True, slots=True)
class Moment:
    """A day, and the instant in it if one was meant."""

    day: date
    instant: datetime | None = None


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


def moment(name: str, text: str, *, today: date, zone: ZoneInfo) -> Moment:
    """Read one date argument.

    Raises:
        BadRequest: Not a day of the calendar and not an instant with an offset.
    """
    word = text.strip()
    if word.casefold() in _WORDS:
        return Moment(today + timedelta(days=_WORDS[word.casefold()]))
    try:
        if _DAY.fullmatch(word):
            return Moment(_within(name, word, date.fromisoformat(word)))
        if _INSTANT.fullmatch(word):
            return _instant(name, word, zone)
    except ValueError as exc:
        raise BadRequest(f"{name}={quoted(word)} is not in the calendar. Write a day such as {today}.") from exc
    raise BadRequest(f"{name}={quoted(word)} is not a date. Write a day such as {today}, or today or yesterday.")


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
        only = moment("day", day, today=today, zone=zone).day
        return Span(only, only, notes=_ahead(only, today))
    first = moment("start", start, today=today, zone=zone) if start is not None else None
    last = moment("end", end, today=today, zone=zone) if end is not None else None
    if last is None:
        last = Moment(max(today, first.day) if first else today)
    if first is None:
        first = Moment(last.day - timedelta(days=usual_days - 1))
    if first.day > last.day or (first.instant and last.instant and first.instant > last.instant):
        raise BadRequest(f"start ({start or first.day}) lies after end ({end or last.day}). Swap them.")
    days = (last.day - first.day).days + 1
    if days > most_days:
        raise BadRequest(
            f"{first.day} to {last.day} is {days} days; at most {most_days} can be asked for at once. Ask in parts."
        )
    return Span(first.day, last.day, first.instant, last.instant, notes=_ahead(last.day, today))


def zone_named(name: str) -> ZoneInfo:
    """Return the zone of an IANA name.

    Raises:
        BadRequest: No such zone.
    """
    found = find_zone(name)
    if found is None:
        close = near(name, known_zones())
        hint = f" Did you mean {close[0]}?" if close else ""
        raise BadRequest(f"timezone={quoted(name)} is not an IANA zone.{hint} Write one such as Europe/Lisbon.")
    return ZoneInfo(found)


def _instant(name: str, word: str, zone: ZoneInfo) -> Moment:
    at = datetime.fromisoformat(word.upper())
    if at.tzinfo is None:
        raise BadRequest(
            f"{name}={quoted(word)} has no UTC offset. Add it ({word}+01:00), or give the day alone ({word[:10]})."
        )
    _within(name, word, at.date())
    return Moment(at.astimezone(zone).date(), at)


def _within(name: str, word: str, day: date) -> date:
    if day.year not in _YEARS:
        raise BadRequest(f"{name}={quoted(word)} lies outside {_YEARS.start} to {_YEARS.stop - 1}.")
    return day


def _ahead(last: date, today: date) -> tuple[str, ...]:
    return (f"Days after {today} lie ahead and have no records yet.",) if last > today else ()
