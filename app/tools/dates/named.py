"""Which days a question in plain words names: `2026-03-10`, `10 March`, `march 3rd 2026`, `last night`, `past week`."""

import re
from collections.abc import Iterator
from datetime import date, timedelta

from app.tools.dates.words import period

_YEARS = range(2000, 2100)
_LONGEST_WORDS = 4  # of words for days: `the last 7 days`
_AMBIGUOUS = frozenset({"may"})  # "how may I": a month only with a number beside it

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]*\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\.?"
_YEAR = r"(?P<year>\d{4})"
_WRITTEN = (
    re.compile(rf"(?<!\d){_YEAR}-(?P<month>\d{{2}})-(?P<day>\d{{2}})(?!\d)", re.ASCII),
    re.compile(rf"(?<!\d){_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?(?!\w)", re.ASCII),
    re.compile(rf"\b{_MONTH} {_DAY}(?:,? {_YEAR})?(?!\w)", re.ASCII),
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
    name, day = found["month"], int(found["day"])
    month = int(name) if name.isdecimal() else _MONTHS.index(name) + 1
    for year in (int(found["year"]),) if found["year"] else (today.year, today.year - 1):
        try:
            real = date(year, month, day)
        except ValueError:
            continue
        if found["year"] or real <= today:
            yield real
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
