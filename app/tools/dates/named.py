"""Which days a question in plain words names: `2026-03-10`, `10 March`, `march 3rd 2026`, `last night`, `past week`."""

import re
from collections.abc import Iterator
from datetime import date, timedelta

from app.tools.dates.words import DAY_NUMBER, MONTH_NAME, named_day, period

_YEARS = range(2000, 2100)
_LONGEST_WORDS = 4  # of words for days: `the last 7 days`
_AMBIGUOUS = frozenset({"may"})  # "how may I": a month only with a number beside it

_YEAR = r"(?:,? (?P<year>[0-9]{4}))?(?!\w)"  # any, so that none of ours takes the day of another
_WRITTEN = (
    re.compile(r"(?<![0-9])(?P<iso>[0-9]{4}-[0-9]{2}-[0-9]{2})(?![0-9])"),
    re.compile(rf"(?<![\w.]){DAY_NUMBER} (?:of )?{MONTH_NAME}{_YEAR}"),
    re.compile(rf"(?<!\w){MONTH_NAME} {DAY_NUMBER}{_YEAR}"),
)
_BETWEEN = re.compile(r"\b(?:to|until|till|through|between|from)\b|\.\.|\u2013")


def named_days(query: str, *, today: date, most: int) -> list[date]:
    """Return the days that a query names, newest first.

    Args:
        query: Lower case, single spaces between words.
        today: The owner's day; a day without a year is the last such day up to it.
        most: No more days than that; the newest are kept.
    """
    days: set[date] = set()
    for pattern in _WRITTEN:
        for found in pattern.finditer(query):
            days.update(_real(found, today))
        query = pattern.sub(" ; ", query)
    if len(days) == 2 and _BETWEEN.search(query):
        days.update(_newest(min(days), max(days), most))
    for first, last in _spoken(query.split(), today):
        days.update(_newest(first, last, most))
    return sorted((day for day in days if day.year in _YEARS), reverse=True)[:most]


def _real(found: re.Match[str], today: date) -> Iterator[date]:
    try:
        iso = found.groupdict().get("iso")
        yield date.fromisoformat(iso) if iso else named_day(found, today)[0]
    except ValueError:
        return


def _spoken(words: list[str], today: date) -> Iterator[tuple[date, date]]:
    """Yield what stretches of words mean, the longest first at each place: `last week`, not `week`."""
    place = 0
    while place < len(words):
        for length in range(_LONGEST_WORDS, 0, -1):
            piece = " ".join(words[place : place + length]).strip("?!.,;:'\"()")
            if piece in _AMBIGUOUS:
                continue
            try:
                found = period(piece, today=today)
            except (ValueError, OverflowError):
                found = None
            if found is not None:
                yield found
                place += length - 1
                break
        place += 1


def _newest(first: date, last: date, most: int) -> list[date]:
    return [last - timedelta(days=back) for back in range(min((last - first).days + 1, most))]
