"""What appears after waking: `daily_sleep`, `daily_readiness`, `daily_spo2`, `sleep_time`, and slow estimates.

Contributors are scores from 1 to 100; they agree only loosely with the night's measurements, as Oura's do.
"""

from datetime import date, timedelta
from math import sin

from app.simulator.nights import Nights
from app.simulator.person import FIRST_DAY
from app.simulator.scores import readiness
from app.simulator.world import Dated, Record, World, clamp

_READY_AFTER_S = 20 * 60  # as for the night itself
_TWO_WEEKS = timedelta(days=14)
_SLEEP = ("deep_sleep", "efficiency", "latency", "rem_sleep", "restfulness", "timing", "total_sleep")
_RECOMMENDATIONS = ("follow_optimal_bedtime", "earlier_bedtime", "improve_efficiency")
_LEVELS = ("limited", "adequate", "solid", "strong", "exceptional")


class Mornings:
    """Makes the records of a day that stand on its night; none without one."""

    def __init__(self, world: World, nights: Nights) -> None:
        self._world = world
        self._nights = nights

    def daily_sleep(self, day: date) -> list[Dated]:
        """Make the sleep score."""
        night = self._nights.main(day)
        if night is None:
            return []
        rng = self._world.rng("daily_sleep", day)
        unknown = "null_score" in self._world.planner.odd(day)
        parts = {
            "deep_sleep": clamp(night["deep_sleep_duration"] / 60),
            "efficiency": clamp(night["efficiency"] + rng.randrange(3, 12)),  # a score: not the efficiency in %
            "latency": clamp(100 - abs(night["latency"] - 900) / 30),
            "rem_sleep": clamp(night["rem_sleep_duration"] / 65),
            "restfulness": clamp(rng.gauss(74, 9)),
            "timing": clamp(rng.gauss(85, 10)),
            "total_sleep": clamp(night["total_sleep_duration"] / 290),
        }
        body: Record = {
            "contributors": dict.fromkeys(_SLEEP) if unknown else parts,
            "day": day.isoformat(),
            "score": None if unknown else clamp(sum(parts.values()) / len(parts) + rng.uniform(-2, 2)),
            "timestamp": f"{day}T00:00:00+00:00",
        }
        return self._one("daily_sleep", day, body)

    def daily_readiness(self, day: date) -> list[Dated]:
        """Make the readiness score."""
        body = readiness(self._world, day) | {"day": day.isoformat(), "timestamp": f"{day}T00:00:00+00:00"}
        return self._one("daily_readiness", day, body)

    def daily_spo2(self, day: date) -> list[Dated]:
        """Make the oxygen saturation, in %; sometimes null outside, sometimes inside."""
        rng = self._world.rng("spo2", day)
        percentage: Record | None = {"average": round(rng.gauss(96.8, 0.6), 3)}
        odd = self._world.planner.odd(day)
        if "null_spo2" in odd:
            percentage = None
        elif "null_spo2_average" in odd:
            percentage = {"average": None}
        bdi = None if percentage is None else clamp(rng.gauss(6, 3), 0)
        return self._one(
            "daily_spo2",
            day,
            {"breathing_disturbance_index": bdi, "day": day.isoformat(), "spo2_percentage": percentage},
        )

    def sleep_time(self, day: date) -> list[Dated]:
        """Make the bedtime advice; offsets are seconds from midnight and mostly negative."""
        rng = self._world.rng("sleep_time", day)
        found = rng.random() < 0.8
        begin = -5400 + rng.randrange(-4, 5) * 900
        tz = self._world.where.local(self._world.plan(day).start).utcoffset()
        window = {"day_tz": int(tz.total_seconds()) if tz else 0, "end_offset": begin + 2700, "start_offset": begin}
        body: Record = {
            "day": day.isoformat(),
            "optimal_bedtime": window if found else None,
            "recommendation": rng.choice(_RECOMMENDATIONS) if found else None,
            "status": "optimal_found" if found else "not_enough_recent_nights",
        }
        return self._one("sleep_time", day, body)

    def daily_cardiovascular_age(self, day: date) -> list[Dated]:
        """Make the vascular age, in years; null now and then."""
        rng = self._world.rng("cva", day)
        age = None if rng.random() < 0.07 else clamp(self._world.person.age - 3 + 2 * sin(day.toordinal() / 90), 18)
        velocity = None if age is None else round(5.2 + age / 22 + rng.uniform(-0.1, 0.1), 2)
        body: Record = {"day": day.isoformat(), "pulse_wave_velocity": velocity, "vascular_age": age}
        return self._one("daily_cardiovascular_age", day, body)

    def daily_resilience(self, day: date) -> list[Dated]:
        """Make the resilience; it has no score, and its contributors are decimals from 0 to 100."""
        if day < FIRST_DAY + _TWO_WEEKS:
            return []  # too few nights yet
        rng = self._world.rng("resilience", day)
        trend = 2.5 + 1.6 * sin(day.toordinal() / 41)
        body: Record = {
            "contributors": {
                "daytime_recovery": round(rng.uniform(25, 95), 1),
                "sleep_recovery": round(rng.uniform(35, 98), 1),
                "stress": round(rng.uniform(20, 95), 1),
            },
            "day": day.isoformat(),
            "level": _LEVELS[min(4, max(0, round(trend)))],
        }
        return self._one("daily_resilience", day, body)

    def vo2_max(self, day: date) -> list[Dated]:
        """Make the oxygen uptake, in ml/kg/min, as a whole number; on Sundays only."""
        if day.weekday() != 6:
            return []
        waking = self._waking(day)
        if waking is None:
            return []
        value = clamp(39 + 3 * sin(day.toordinal() / 120), 10, 90)
        body: Record = {"day": day.isoformat(), "timestamp": self._world.stamp(waking + 3600), "vo2_max": value}
        return [Dated(waking + 3600, {"id": self._world.ident("vO2_max", day)} | body)]

    def _waking(self, day: date) -> int | None:
        return max((bout.end for bout in self._world.plan(day).sleeps if bout.kind == "long_sleep"), default=None)

    def _one(self, collection: str, day: date, body: Record) -> list[Dated]:
        waking = self._waking(day)
        if waking is None:
            return []
        return [Dated(waking + _READY_AFTER_S, {"id": self._world.ident(collection, day)} | body)]
