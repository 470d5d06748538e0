"""Words for days, as people say them: `last week`, `2026-W07`, `march`, `3 days ago`. Pure; the clock is an argument.

Weeks run from Monday to Sunday. A stretch that is still running (`this week`) ends today, since what lies ahead holds
no records. Whoever uses these answers with the dates they became.
"""

import calendar
import re
from collections.abc import Callable
from datetime import date, timedelta

Period = tuple[date, date]  # first and last day, both included

LAST_NIGHT = "last night"  # its day depends on how a collection files its nights, see `query`

_DAY = timedelta(days=1)
_WEEKDAYS = {name.casefold(): number for number, name in enumerate(calendar.day_name)}
_MONTHS = {name.casefold(): number for number, name in enumerate(calendar.month_name) if name}
_MOST = 4000  # days; more than any question may span

_FIXED: dict[str, Callable[[date], Period]] = {
    "today": lambda today: (today, today),
    "yesterday": lambda today: (today - _DAY, today - _DAY),
    "day before yesterday": lambda today: (today - 2 * _DAY, today - 2 * _DAY),
    "tomorrow": lambda today: (today + _DAY, today + _DAY),
    LAST_NIGHT: lambda today: (today, today),
    "this week": lambda today: (_monday(today), today),
    "last week": lambda today: (_monday(today) - 7 * _DAY, _monday(today) - _DAY),
    "this month": lambda today: (today.replace(day=1), today),
    "last month": lambda today: _month((today.replace(day=1) - _DAY).year, (today.replace(day=1) - _DAY).month),
    "this year": lambda today: (date(today.year, 1, 1), today),
    "last year": lambda today: (date(today.year - 1, 1, 1), date(today.year - 1, 12, 31)),
}


def period(text: str, *, today: date) -> Period | None:
    """Return the days that a text means; None if it is no word for days.

    Raises:
        ValueError: It is one, but of no calendar: `2026-W60`, `2026-13`.
    """
    word = " ".join(text.casefold().split())
    spoken = word.replace("_", " ")
    for known in (spoken, spoken.replace("-", " "), spoken.removeprefix("the ")):
        if known in _FIXED:
            return _FIXED[known](today)
    for pattern, read in _PATTERNS:
        if found := pattern.fullmatch(spoken):
            return read(found, today)
    return None


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _month(year: int, month: int) -> Period:
    if not 1 <= month <= 12:
        raise ValueError(f"no month {month}")
    return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])


def _counted(found: re.Match[str], today: date) -> Period:
    """`last 7 days`, `past 2 weeks`: that many, the last of them today."""
    days = int(found["n"]) * (7 if found["unit"].startswith("week") else 1)
    if not 1 <= days <= _MOST:
        raise ValueError("no such number of days")
    return today - timedelta(days=days - 1), today


def _ago(found: re.Match[str], today: date) -> Period:
    days = int(found["n"]) * (7 if found["unit"].startswith("week") else 1)
    if days > _MOST:
        raise ValueError("too long ago")
    return today - timedelta(days=days), today - timedelta(days=days)


def _weekday(found: re.Match[str], today: date) -> Period:
    """`monday`: the newest one, today if it is one; `last monday`: the newest before today."""
    back = (today.weekday() - _WEEKDAYS[found["day"]]) % 7
    day = today - timedelta(days=back or (7 if found["last"] else 0))
    return day, day


def _named_month(found: re.Match[str], today: date) -> Period:
    """`march 2026`; `march` alone is the newest that has begun."""
    month = _MONTHS[found["month"]]
    year = int(found["year"]) if found["year"] else today.year - (month > today.month)
    first, last = _month(year, month)
    return first, last if found["year"] or last <= today else today


_COUNT = r"(?P<n>[0-9]{1,4}) (?P<unit>days?|weeks?|nights?)"
_PATTERNS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], Period]], ...] = (
    (
        re.compile(r"(?P<year>[0-9]{4})-?w(?P<week>[0-9]{2})"),
        lambda found, _: (
            date.fromisocalendar(int(found["year"]), int(found["week"]), 1),
            date.fromisocalendar(int(found["year"]), int(found["week"]), 7),
        ),
    ),
    (
        re.compile(r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})"),
        lambda found, _: _month(int(found["year"]), int(found["month"])),
    ),
    (
        re.compile(r"(?P<year>20[0-9]{2})"),
        lambda found, _: (date(int(found["year"]), 1, 1), date(int(found["year"]), 12, 31)),
    ),
    (re.compile(rf"(?:the )?(?:last|past) {_COUNT}"), _counted),
    (re.compile(rf"{_COUNT} ago"), _ago),
    (re.compile(rf"(?P<last>last )?(?P<day>{'|'.join(_WEEKDAYS)})"), _weekday),
    (re.compile(rf"(?P<month>{'|'.join(_MONTHS)})(?: (?P<year>20[0-9]{{2}}))?"), _named_month),
)
