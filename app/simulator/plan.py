"""What the person does on a day: nights, naps, workouts, sessions, hours without the ring. Only times, no readings.

Every choice is drawn from a generator seeded by (seed, topic, day), so any day can be planned without its neighbours
and is the same each time.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from random import Random

from app.simulator.person import FIRST_DAY, Person, Whereabouts

_ODDITIES = (  # each month gives each of these a day of its own
    "not_worn",
    "part_worn",
    "two_longs",
    "nap",
    "late_nap",
    "rest",
    "deleted",
    "null_score",
    "short_night",
    "null_spo2",
    "null_spo2_average",
    "late_workout",
    "early_workout",
    "midnight_session",
    "long_tag",
    "ugly_tags",
    "no_stress",
)
_LONG_GAP_MONTHS = (2, 5, 8, 11)  # in these the ring lies in a drawer for three days
_MIN_DAY_FOR_A_NIGHT_S = 12 * 3600  # on a shorter day the night was spent in an aeroplane
_SAMPLES_A_DAY = 1_231  # measured; FACTS.md quirk 15
_GRID_S = 300


@dataclass(frozen=True, slots=True)
class Bout:
    """Something with a beginning and an end; unix seconds."""

    kind: str  # a sleep `type`, a workout's activity, a session's type
    start: int
    end: int
    hard: str = "easy"  # a workout's intensity
    source: str = "confirmed"  # a workout's source

    @property
    def seconds(self) -> int:
        """Its length."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Plan:
    """One local day. `sleeps` are those filed under the day, so they mostly began the evening before."""

    day: date
    start: int
    end: int
    worn: bool
    off: tuple[Bout, ...]  # the ring is off the finger
    sleeps: tuple[Bout, ...]
    workouts: tuple[Bout, ...]
    sessions: tuple[Bout, ...]
    bursts: tuple[Bout, ...]  # on the move: dense heart rate outside workouts
    odd: frozenset[str]


class Planner:
    """Plans days, and remembers the plans."""

    def __init__(self, person: Person, seed: int, where: Whereabouts) -> None:
        self._person = person
        self._seed = seed
        self._where = where
        self._plans: dict[date, Plan] = {}
        self._months: dict[tuple[int, int], dict[date, frozenset[str]]] = {}

    def rng(self, topic: str, day: date) -> Random:
        """Return the generator of one topic on one day."""
        return Random(f"{self._seed}/{topic}/{day.toordinal()}")

    def odd(self, day: date) -> frozenset[str]:
        """Return what is unusual that day."""
        if not self._person.odd or day < FIRST_DAY:
            return frozenset()
        key = (day.year, day.month)
        if key not in self._months:
            picked = Random(f"{self._seed}/odd/{key}").sample(range(1, 29), len(_ODDITIES))
            days: dict[date, frozenset[str]] = {
                date(*key, number): frozenset({name}) for name, number in zip(_ODDITIES, picked, strict=True)
            }
            if day.month in _LONG_GAP_MONTHS:
                first = date(*key, min(picked[0], 26))
                days.update({first + timedelta(days=step): frozenset({"not_worn"}) for step in range(3)})
            self._months[key] = days
        return self._months[key].get(day, frozenset())

    def plan(self, day: date) -> Plan:
        """Return the day's plan."""
        plan = self._plans.get(day)
        if plan is None:
            plan = self._plans[day] = self._make(day)
        return plan

    def _make(self, day: date) -> Plan:
        start, end = self._where.span(day)
        odd = self.odd(day)
        worn = day >= FIRST_DAY and "not_worn" not in odd
        if day < FIRST_DAY:
            return Plan(day, start, end, False, (), (), (), (), (), odd)
        workouts = tuple(b for b in self._workouts(day, odd) if worn and start <= b.start < end - 1800)
        off = (Bout("off", self._where.at(day, 14), self._where.at(day, 17)),) if "part_worn" in odd else ()
        return Plan(
            day=day,
            start=start,
            end=end,
            worn=worn,
            off=off if worn else (Bout("off", start, end),),
            sleeps=tuple(self._sleeps(day, odd, worn=worn, seconds=end - start)),
            workouts=workouts,
            sessions=tuple(b for b in self._sessions(day, odd) if worn and start <= b.start < end),
            bursts=self._bursts(day, workouts, end - start) if worn and end - start >= _MIN_DAY_FOR_A_NIGHT_S else (),
            odd=odd,
        )

    def _sleeps(self, day: date, odd: frozenset[str], *, worn: bool, seconds: int) -> list[Bout]:
        where, rng = self._where, self.rng("sleep", day)
        yesterday = day - timedelta(days=1)
        eve = self.odd(yesterday)
        found: list[Bout] = []
        if "late_nap" in eve:
            nap = where.at(yesterday, 18.25)  # ends after 18:00, so it counts for the next day
            found.append(Bout("late_nap", nap, nap + 30 * 60))
        if not worn:
            return found
        if seconds >= _MIN_DAY_FOR_A_NIGHT_S and day > FIRST_DAY:
            found += self._night(day, odd, eve, rng)
        for name, kind, clock, minutes in (
            ("nap", "sleep", 13.5, rng.randrange(20, 90, 5)),
            ("rest", "rest", 15.0, 40),
            ("deleted", "deleted", 13.0, 35),
        ):
            if name in odd and seconds >= _MIN_DAY_FOR_A_NIGHT_S:
                found.append(Bout(kind, where.at(day, clock), where.at(day, clock) + minutes * 60))
        return found

    def _night(self, day: date, odd: frozenset[str], eve: frozenset[str], rng: Random) -> list[Bout]:
        free = day.weekday() >= 5
        if "two_longs" in odd:
            first, second = self._where.at(day, 0.25), self._where.at(day, 5)
            return [
                Bout("long_sleep", first, first + 4 * 3600 + 600),
                Bout("long_sleep", second, second + 3 * 3600 + 2400),
            ]
        wake = _grid(self._where.at(day, (8.3 if free else 6.75) + rng.uniform(-0.5, 0.5)))
        in_bed = _grid(round((8.3 if free else 7.7) * 3600 + rng.uniform(-2400, 2400)))
        if "short_night" in odd:
            in_bed = 3 * 3600 + 1800
        earliest = wake - in_bed
        if "late_workout" in eve:
            earliest = max(earliest, _grid(self._where.at(day, 1)))
        if "early_workout" in odd or "midnight_session" in eve:
            earliest = max(earliest, _grid(self._where.at(day, 1.5)))
        return [Bout("long_sleep", earliest, wake)]

    def _workouts(self, day: date, odd: frozenset[str]) -> list[Bout]:
        rng, at = self.rng("workout", day), self._where.at
        found: list[Bout] = []
        if "early_workout" in odd:
            found.append(Bout("walking", at(day, 0.25), at(day, 0.75), "easy", "autodetected"))
        match day.weekday():
            case 1:
                found.append(Bout("running", at(day, 18.6), at(day, 18.6) + rng.randrange(35, 56) * 60, "hard"))
            case 3:
                ride = at(day, 9)
                found.append(Bout("cycling", ride, ride + 55 * 60, "moderate", "workout_heart_rate"))
            case 5:
                found.append(Bout("hiking", at(day, 10), at(day, 10) + rng.randrange(50, 75) * 60, "moderate"))
            case 6 if rng.random() < 0.5:
                found.append(Bout("yoga", at(day, 19), at(day, 19) + 40 * 60, "easy", "manual"))
        if rng.random() < 0.5:
            found.append(Bout("walking", at(day, 12.9), at(day, 12.9) + 25 * 60, "easy", "autodetected"))
        if "late_workout" in odd:
            found.append(Bout("dancing", at(day, 23.4), at(day, 23.4) + 70 * 60, "moderate", "autodetected"))
        return sorted(found, key=lambda bout: bout.start)

    def _sessions(self, day: date, odd: frozenset[str]) -> list[Bout]:
        rng, at = self.rng("session", day), self._where.at
        found = []
        if day.weekday() in {0, 2, 6}:
            kind = rng.choice(("meditation", "breathing", "relaxation", "body_status"))
            found.append(Bout(kind, at(day, 21.2), at(day, 21.2) + rng.randrange(5, 16) * 60))
        if "midnight_session" in odd:
            found.append(Bout("meditation", at(day, 23.9), at(day, 23.9) + 15 * 60))
        return found

    def _bursts(self, day: date, workouts: tuple[Bout, ...], seconds: int) -> tuple[Bout, ...]:
        dense_s = sum(bout.seconds for bout in workouts)
        wanted = _SAMPLES_A_DAY * min(1.0, seconds / 86_400) - seconds / _GRID_S
        missing_s = (wanted * 5) - dense_s + self.rng("burst", day).randrange(200, 1100)
        if missing_s < 300:
            return ()
        half = _grid(round(missing_s / 2))
        noon, evening = self._where.at(day, 11.6), self._where.at(day, 17.1)
        return (Bout("moving", noon, noon + min(half, 4500)), Bout("moving", evening, evening + min(half, 4800)))


def _grid(seconds: int) -> int:
    return seconds - seconds % _GRID_S
