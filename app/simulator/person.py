"""Who the simulated owner is and where they are: zones, journeys, and from these the length of each day.

Does not invent measurements; `plan` and the modules after it do.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

FIRST_DAY = date(2019, 1, 1)  # nothing was recorded before
_DAY = timedelta(days=1)
_SHORTEST_DAY_S = 3_600  # a journey may cost almost the whole day, but not more than the day


def yearly_journeys(home: str, first: int = 2019, last: int = 2034) -> tuple[tuple[date, str], ...]:
    """Return a year's travelling, repeated: west over the DST change, far east, and to both ends of the clock."""
    return tuple(
        (date(year, month, day), home if zone is None else zone)
        for year in range(first, last + 1)
        for month, day, zone in (
            (2, 9, "Pacific/Kiritimati"),  # +14:00
            (2, 16, None),
            (3, 5, "America/New_York"),  # across its DST change, back before the European one
            (3, 15, None),
            (5, 20, "Pacific/Pago_Pago"),  # -11:00
            (5, 26, None),
            (8, 4, "Asia/Kathmandu"),  # +05:45
            (8, 12, None),
            (11, 6, "America/Los_Angeles"),
            (11, 13, None),
        )
    )


@dataclass(frozen=True, slots=True)
class Person:
    """The owner of the simulated ring.

    Attributes:
        zone: IANA name of home.
        moves: `(first local day there, zone)`, ascending; until the first of them the person is at home.
        odd: Whether months carry odd days (naps, gaps, null scores, ...); off gives one plain night a day.
        rest_mode: Closed rest mode periods, first and last day; None for one each November.
        rest_mode_open_days: How long before the simulator's start the still open period began; None for no open one.
    """

    zone: str = "Europe/Berlin"
    moves: tuple[tuple[date, str], ...] = ()
    odd: bool = True
    account_id: str = "8f3a2c1e-5b7d-4e90-a1c2-d3e4f5061728"
    email: str = "owner@example.com"
    age: int = 41
    weight_kg: float = 74.8
    height_m: float = 1.8
    biological_sex: str = "female"
    rest_mode: tuple[tuple[date, date], ...] | None = None
    rest_mode_open_days: int | None = 2

    @classmethod
    def traveller(cls, home: str = "Europe/Berlin") -> "Person":
        """Return the person of the demo, who sees every kind of day within a year."""
        return cls(zone=home, moves=yearly_journeys(home))


STRANGER = Person(
    zone="America/Chicago",
    account_id="0b9d7e64-2f18-4c3a-9e55-6a7b8c9d0e1f",
    email="stranger@example.com",
    age=29,
    weight_kg=81.2,
    height_m=1.84,
    biological_sex="male",
)


class Whereabouts:
    """Local days as stretches of absolute time, and instants as local times.

    A day is in one zone, from its midnight there to the next day's midnight, wherever that is then; a flight makes
    it shorter or longer, as a clock change does.

    Raises:
        ValueError: A move leaves less than an hour of a day (crossing the date line westwards in one jump).
    """

    def __init__(self, person: Person) -> None:
        self._home = ZoneInfo(person.zone)
        self._moves = tuple((day, ZoneInfo(zone)) for day, zone in person.moves)
        for arrival, _ in self._moves:
            start, end = self.span(arrival - _DAY)
            if end - start < _SHORTEST_DAY_S:
                raise ValueError(
                    f"The move on {arrival} swallows the day before it. Put a stop in another zone between."
                )

    def zone(self, day: date) -> ZoneInfo:
        """Return the zone in which the person lives that day."""
        zone = self._home
        for arrival, there in self._moves:
            if arrival > day:
                break
            zone = there
        return zone

    @lru_cache(maxsize=10_000)  # noqa: B019 - one instance per simulator, as long-lived as the cache
    def span(self, day: date) -> tuple[int, int]:
        """Return the day's first instant and the next day's, unix seconds."""
        return self.at(day, 0), self.at(day + _DAY, 0)

    def at(self, day: date, hours: float) -> int:
        """Return the instant at which a clock on that day shows so many hours after 0:00, unix seconds.

        A clock time that DST skips or doubles gives the first instant it can mean.
        """
        seconds = round(hours * 3600)
        shift, rest = divmod(seconds, 86_400)
        wall = datetime.combine(day + shift * _DAY, time(rest // 3600, rest % 3600 // 60, rest % 60))
        return int(wall.replace(tzinfo=self.zone(day)).timestamp())

    def day_of(self, instant_s: float) -> date:
        """Return the local day that holds an instant."""
        guess = datetime.fromtimestamp(instant_s, UTC).date()
        for day in (guess - _DAY, guess, guess + _DAY):
            start, end = self.span(day)
            if start <= instant_s < end:
                return day
        return guess - 2 * _DAY if instant_s < self.span(guess - _DAY)[0] else guess + 2 * _DAY

    def local(self, instant_s: float) -> datetime:
        """Return an instant as the wearer's clock showed it, with that moment's offset."""
        return datetime.fromtimestamp(instant_s, self.zone(self.day_of(instant_s)))
