"""Samples over absolute time: heart rate (5 s on the move, 300 s at rest) and the ring's battery. All in UTC.

A day's samples are kept as arrays, a tenth of what rows would take; rows are written when they are asked for.
"""

from array import array
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import count
from random import Random

from app.simulator.nights import Nights
from app.simulator.plan import Bout, Plan
from app.simulator.world import Record, World

SOURCES = ("awake", "workout", "rest", "sleep", "live", "session")
_AWAKE, _WORKOUT, _REST, _SLEEP, _LIVE, _SESSION = range(6)
_DENSE_S = 5
_GRID_S = 300  # waking samples stand on whole multiples, so one falls on midnight itself in most zones
_BATTERY_S = 1800
_CHARGE_DAYS = 4
_EFFORT_BPM = {"easy": 96, "moderate": 124, "hard": 149}
_Found = dict[int, tuple[int, int]]  # when -> bpm and source


@dataclass(frozen=True, slots=True)
class Samples:
    """One local day's samples, ascending: unix seconds, value, and what else a row carries, coded."""

    times: "array[int]"  # subscripts only from Python 3.12 on
    values: "array[int]"  # subscripts only from Python 3.12 on
    marks: "array[int]"  # subscripts only from Python 3.12 on


NOTHING = Samples(array("q"), array("q"), array("q"))


class Heart:
    """Makes heart rate and battery samples for a local day, whether it is over or not."""

    def __init__(self, world: World, nights: Nights) -> None:
        self._world = world
        self._nights = nights

    def heartrate(self, day: date) -> Samples:
        """Return the day's heart rate in bpm; `marks` index `SOURCES`."""
        plan, after = self._world.plan(day), self._world.plan(_shift(day, 1))
        rng = self._world.rng("heart", day)
        busy = (*plan.sleeps, *after.sleeps, *plan.off, *(after.off if after.worn else ()))
        found: _Found = {}
        if plan.worn:
            self._waking(plan, busy, rng, found)
            self._moving(plan, busy, rng, found)
        self._sleeping(plan, found)
        times = sorted(found)
        values = array("q", (found[at][0] for at in times))
        canary = self._world.canary
        if canary is not None and canary.number is not None and times:
            values[0] = canary.number
        return Samples(array("q", times), values, array("q", (found[at][1] for at in times)))

    def _waking(self, plan: Plan, busy: tuple[Bout, ...], rng: Random, found: _Found) -> None:
        """Fill the grid, with gaps, and sometimes add a spot measurement."""
        draw = rng.random
        level = 68 + 5 * draw()
        for at in range(plan.start + -plan.start % _GRID_S, plan.end, _GRID_S):
            level += (70 - level) * 0.15 + 6 * (draw() - 0.5)
            if draw() > 0.03 and not _within(at, busy):
                found[at] = (round(level), _REST if draw() < 0.2 else _AWAKE)
        spot = self._world.where.at(plan.day, 15.1)
        if draw() < 0.3 and plan.start <= spot < plan.end - 60 and not _within(spot, busy):
            found |= {spot + shift: (66 + shift // 5, _LIVE) for shift in (1, 6, 11)}

    def _moving(self, plan: Plan, busy: tuple[Bout, ...], rng: Random, found: _Found) -> None:
        """Add what is dense: workouts, also one begun before midnight, sessions, and other movement."""
        draw = rng.random
        dense = [(bout, _AWAKE, 92) for bout in plan.bursts if not _overlaps(bout, busy)]
        for one in (self._world.plan(_shift(plan.day, -1)), plan):
            dense += [(bout, _WORKOUT, _EFFORT_BPM[bout.hard]) for bout in one.workouts]
            dense += [(bout, _SESSION, 58) for bout in one.sessions]
        for bout, source, target in dense:
            beat = 80.0
            for at in range(bout.start, bout.end, 60 if source == _SESSION else _DENSE_S):
                beat += (target - beat) * 0.03 + 3 * (draw() - 0.5)
                if plan.start <= at < plan.end and draw() > 0.02:
                    found[at] = (round(beat), source)

    def _sleeping(self, plan: Plan, found: _Found) -> None:
        """Repeat what the nights' own series hold."""
        for near in (plan.day, _shift(plan.day, 1)):
            for night in (one.record for one in self._nights.filed(near)):
                begin = int(datetime.fromisoformat(night["bedtime_start"]).timestamp())
                found |= {
                    at: (bpm, _SLEEP)
                    for at, bpm in zip(count(begin, _GRID_S), night["heart_rate"]["items"], strict=False)
                    if bpm is not None and plan.start <= at < plan.end
                }

    def ring_battery_level(self, day: date) -> Samples:
        """Return the day's battery in %; marks: bit 0 charging, bit 1 in the charger, bit 2 unknown."""
        start, end = self._world.plan(day).start, self._world.plan(day).end
        phase = (day.toordinal() + self._world.seed) % _CHARGE_DAYS
        times = array("q", range(start + -start % _BATTERY_S, end, _BATTERY_S))
        values, marks = array("q"), array("q")
        for at in times:
            passed = (at - start) / 86_400
            charging = phase == 0 and 8 <= passed * 24 < 9.5
            level = 100 - 21 * (phase + passed - 9.5 / 24) if phase or passed * 24 >= 9.5 else 16 - 8 * passed
            if charging:
                level = 14 + 86 * min(1.0, (passed * 24 - 8) / 1.2)
            values.append(max(1, min(100, round(level))))
            marks.append(3 if charging else 4 if at % 86_400 == 0 else 0)
        return Samples(times, values, marks)


def heartrate_rows(samples: Samples, first: int, last: int) -> list[Record]:
    """Write rows `first` to before `last`. Live rows lack `timestamp_unix`, as measured (FACTS.md quirk 17)."""
    rows: list[Record] = []
    for at, bpm, mark in zip(
        samples.times[first:last], samples.values[first:last], samples.marks[first:last], strict=True
    ):
        stamp = datetime.fromtimestamp(at, UTC).isoformat()
        if mark == _LIVE:
            rows.append({"timestamp": stamp, "producer_timestamp": None, "bpm": bpm, "source": "live"})
        else:
            rows.append({"timestamp": stamp, "timestamp_unix": at * 1000, "bpm": bpm, "source": SOURCES[mark]})
    return rows


def battery_rows(samples: Samples, first: int, last: int) -> list[Record]:
    """Write rows `first` to before `last`."""
    return [
        {
            "timestamp": datetime.fromtimestamp(at, UTC).isoformat(),
            "timestamp_unix": at * 1000,
            "charging": None if mark == 4 else bool(mark & 1),
            "in_charger": None if mark == 4 else bool(mark & 2),
            "level": level,
        }
        for at, level, mark in zip(
            samples.times[first:last], samples.values[first:last], samples.marks[first:last], strict=True
        )
    ]


def _within(at: int, bouts: tuple[Bout, ...]) -> bool:
    return any(bout.start <= at < bout.end for bout in bouts)


def _overlaps(bout: Bout, others: tuple[Bout, ...]) -> bool:
    return any(bout.start < other.end and other.start < bout.end for other in others)


def _shift(day: date, by: int) -> date:
    return date.fromordinal(day.toordinal() + by)
