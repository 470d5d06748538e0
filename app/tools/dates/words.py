"""Words for days, as people say them: `last week`, `2026-W07`, `10 March`, `3 days ago`. Pure; the clock is given.

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
_SHORT = {**{name[:3]: number for name, number in _MONTHS.items()}, "sept": 9} | _MONTHS  # beside a number only
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
    "this morning": lambda today: (today, today),
    "past week": lambda today: (today - 6 * _DAY, today),
    "this quarter": lambda today: (_quarter(today.year, (today.month + 2) // 3)[0], today),
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


def _quarter(year: int, number: int) -> Period:
    return date(year, 3 * number - 2, 1), _month(year, 3 * number)[1]


def _quarter_before(today: date) -> Period:
    before = _quarter(today.year, (today.month + 2) // 3)[0] - _DAY
    return _quarter(before.year, before.month // 3)


def _weekend(today: date) -> Period:
    """Return Saturday and Sunday of the newest weekend that is over."""
    sunday = today - timedelta(days=today.weekday() + 1)
    return sunday - _DAY, sunday


def named_day(found: re.Match[str], today: date) -> Period:
    """`10 March 2026`; without a year the newest such day up to today."""
    month, number = _SHORT[found["month"]], int(found["day"])
    if found["year"]:
        day = date(int(found["year"]), month, number)
        return day, day
    for year in range(today.year, today.year - 9, -1):  # the 29th of February can be eight years away
        if number <= calendar.monthrange(year, month)[1] and (day := date(year, month, number)) <= today:
            return day, day
    raise ValueError(f"no day {number} in month {month}")


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


MONTH_NAME = rf"(?P<month>{'|'.join(sorted(_SHORT, key=len, reverse=True))})\.?"
DAY_NUMBER = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?\.?"
_YEAR_AFTER = r"(?:,? (?P<year>20[0-9]{2}))?"
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
    (
        re.compile(r"(?P<year>20[0-9]{2})[ -]?q(?P<quarter>[1-4])|q(?P<number>[1-4]) (?P<of>20[0-9]{2})"),
        lambda found, _: _quarter(int(found["year"] or found["of"]), int(found["quarter"] or found["number"])),
    ),
    (re.compile(r"(?:the )?(?:last|past) weekend"), lambda _, today: _weekend(today)),
    (re.compile(r"(?:the )?last quarter"), lambda _, today: _quarter_before(today)),
    (re.compile(rf"(?:the )?{DAY_NUMBER} (?:of )?{MONTH_NAME}{_YEAR_AFTER}"), named_day),
    (re.compile(rf"{MONTH_NAME} {DAY_NUMBER}{_YEAR_AFTER}"), named_day),
    (re.compile(rf"(?:the )?(?:last|past) {_COUNT}"), _counted),
    (re.compile(rf"{_COUNT} ago"), _ago),
    (re.compile(rf"(?P<last>last )?(?P<day>{'|'.join(_WEEKDAYS)})"), _weekday),
    (re.compile(rf"(?P<month>{'|'.join(_MONTHS)})(?: (?P<year>20[0-9]{{2}}))?"), _named_month),
)
