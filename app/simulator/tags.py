"""What the owner wrote: `enhanced_tag`, the older `tag`, rest mode periods. Free text, some of it hostile to CSV."""

from datetime import date, timedelta

from app.simulator.world import Dated, Record, World

_UGLY = (
    'He said "two, or three"; then: more',
    "first line\rsecond line, after a bare return",
    '=HYPERLINK("http://198.51.100.7/","click")',
    "two\r\nlines, ünïcödé \U0001f9c2, tab\there",
    "-1+1, @SUM(A1)",
)
_CODES = ("tag_generic_alcohol", "tag_generic_caffeine", "tag_sleep_late_meal", "tag_generic_travel")
_DAY = timedelta(days=1)
LONGEST_TAG_DAYS = 3


class Tags:
    """Makes the records of what the owner entered."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._periods = self._rest_mode()

    def enhanced_tag(self, day: date) -> list[Dated]:
        """Make the tags that begin that day: coded, custom, text alone, and one that lasts for days."""
        found: list[Dated] = []
        for clock, code, name, comment, days in self._notes(day):
            begin = self._world.where.at(day, clock)
            ended = None if days is None else self._world.where.at(day + days * _DAY, 20)
            body: Record = {
                "id": self._world.ident("enhanced_tag", day, len(found)),
                "tag_type_code": code,
                "start_time": self._world.stamp(begin),
                "end_time": None if ended is None else self._world.stamp(ended),
                "start_day": day.isoformat(),
                "end_day": None if days is None else (day + days * _DAY).isoformat(),
                "comment": comment,
                "custom_name": name,
            }
            found.append(Dated(begin, body))
        return found

    def tag(self, day: date) -> list[Dated]:
        """Make the same day's notes in the deprecated form, which has no duration."""
        found: list[Dated] = []
        for clock, code, _, comment, _ in self._notes(day):
            begin = self._world.where.at(day, clock)
            body: Record = {
                "id": self._world.ident("tag", day, len(found)),
                "day": day.isoformat(),
                "text": comment,
                "timestamp": self._world.stamp(begin),
                "tags": [] if code in {None, "custom"} else [str(code)],
            }
            found.append(Dated(begin, body))
        return found

    def rest_mode_period(self, day: date) -> list[Dated]:
        """Make the rest mode period that began that day; an open one has no end."""
        found: list[Dated] = []
        for first, last in self._periods:
            if first != day:
                continue
            begin = self._world.where.at(first, 10)
            ended = None if last is None else self._world.where.at(last, 9)
            episodes = [{"tags": ["tag_generic_sick"], "timestamp": self._world.stamp(begin)}]
            body: Record = {
                "id": self._world.ident("rest_mode_period", day, len(found)),
                "end_day": None if last is None else last.isoformat(),
                "end_time": None if ended is None else self._world.stamp(ended),
                "episodes": episodes,
                "start_day": first.isoformat(),
                "start_time": self._world.stamp(begin),
            }
            found.append(Dated(begin, body))
        return found

    def rest_mode_days(self) -> list[date]:
        """Return the first day of every period."""
        return [first for first, _ in self._periods]

    def _rest_mode(self) -> list[tuple[date, date | None]]:
        person = self._world.person
        closed = person.rest_mode
        if closed is None:
            closed = tuple((date(year, 10, 17), date(year, 10, 21)) for year in range(2019, 2035))
        periods: list[tuple[date, date | None]] = [*closed]
        if person.rest_mode_open_days is not None:
            today = self._world.where.day_of(self._world.horizon())
            periods.append((today - person.rest_mode_open_days * _DAY, None))
        return sorted(periods, key=lambda period: period[0])

    def _notes(self, day: date) -> list[tuple[float, str | None, str | None, str | None, int | None]]:
        """Return clock time, code, custom name, comment and how many days later it ends, by time."""
        rng, odd = self._world.rng("tags", day), self._world.planner.odd(day)
        notes: list[tuple[float, str | None, str | None, str | None, int | None]] = []
        if self._world.canary is not None:
            notes.append((9.0, None, None, self._world.canary.text, None))
        if day.weekday() == 4:
            notes.append((20.5, _CODES[0], None, rng.choice((None, "two glasses")), None))
        if rng.random() < 0.25:
            notes.append((16.0, rng.choice(_CODES[1:]), None, None, None))
        if rng.random() < 0.1:
            notes.append((22.9, "custom", "Cold plunge", "3 min", None))
        if "long_tag" in odd:
            notes.append((12.0, "tag_generic_sick", None, "a cold", LONGEST_TAG_DAYS))
        if "ugly_tags" in odd:
            notes += [(17 + at / 2, None, None, text, None) for at, text in enumerate(_UGLY)]
            notes.append((23.5, "custom", 'Name with "quotes", comma', None, 0))
        return sorted(notes, key=lambda note: note[0])
