"""The day's movement: `daily_activity` with its METs, `workout`, `session`, `daily_stress`."""

from datetime import date, timedelta
from itertools import groupby

from app.simulator.world import Dated, Record, World, clamp

_DAY = timedelta(days=1)
_NON_WEAR, _REST, _INACTIVE, _LOW, _MEDIUM, _HIGH = range(6)  # the digits of `class_5_min`
_TENTHS = tuple(value / 10 for value in range(130))  # one float object for each MET, or a year would fill the memory
_MET_TENTHS = {  # lowest, highest
    _NON_WEAR: (1, 1),
    _REST: (8, 10),
    _INACTIVE: (10, 15),
    _LOW: (16, 29),
    _MEDIUM: (30, 58),
    _HIGH: (61, 105),
}
_STEPS_A_MINUTE = {_NON_WEAR: 0, _REST: 0, _INACTIVE: 1, _LOW: 48, _MEDIUM: 96, _HIGH: 155}
_CONTRIBUTORS = (
    "meet_daily_targets",
    "move_every_hour",
    "recovery_time",
    "stay_active",
    "training_frequency",
    "training_volume",
)
_KCAL_A_MINUTE = {"easy": 4.1, "moderate": 7.9, "hard": 11.6}
_M_A_MINUTE = {"walking": 84.0, "running": 171.0, "cycling": 372.0, "hiking": 69.0}
_LEVEL = {"easy": _LOW, "moderate": _MEDIUM, "hard": _HIGH}
_SYNC_AFTER_S = 15 * 60  # activity comes in the background


class Movement:
    """Makes what the person did while awake."""

    def __init__(self, world: World) -> None:
        self._world = world

    def daily_activity(self, day: date) -> list[Dated]:
        """Make the day's activity, from 4:00 to 4:00 and so far as it is over."""
        world, where = self._world, self._world.where
        begin, end = where.at(day, 4), where.at(day + _DAY, 4)
        minutes = int(min(end, world.horizon() - _SYNC_AFTER_S) - begin) // 60
        if minutes < 1:
            return []
        finished = begin + minutes * 60 >= end
        rng = world.rng("activity", day)
        classes = self._classes(day, begin, (end - begin) // 60)[:minutes]
        met: list[float] = []
        draws = world.rng("met", day)
        for level, run in groupby(classes):
            low, high = _MET_TENTHS[level]
            met += [_TENTHS[low + int(draws.random() * (high - low + 1))] for _ in run]
        spent = [0.0] * 6
        for level, value in zip(classes, met, strict=True):
            spent[level] += value
        time_s = [classes.count(level) * 60 for level in range(6)]
        worn = world.plan(day).worn
        steps = round(sum(time_s[level] / 60 * pace for level, pace in _STEPS_A_MINUTE.items()) * rng.uniform(0.9, 1.1))
        if world.canary is not None and world.canary.number is not None:
            steps = world.canary.number
        active_kcal = round(sum(spent[_LOW:]) * world.person.weight_kg / 60 * 0.8)
        walked_m = round(steps * 0.74)
        scored = finished and worn
        body: Record = {
            "id": world.ident("daily_activity", day),
            "active_calories": active_kcal,
            "average_met_minutes": round(sum(met) / minutes, 4),
            "class_5_min": "".join(
                str(max(five := classes[at : at + 5], key=five.count)) for at in range(0, minutes, 5)
            ),
            "contributors": {name: clamp(rng.gauss(80, 14)) if worn else None for name in _CONTRIBUTORS},
            "day": day.isoformat(),
            "equivalent_walking_distance": walked_m,
            "high_activity_met_minutes": round(spent[_HIGH]),
            "high_activity_time": time_s[_HIGH],
            "inactivity_alerts": rng.randrange(0, 5) if worn else 0,
            "low_activity_met_minutes": round(spent[_LOW]),
            "low_activity_time": time_s[_LOW],
            "medium_activity_met_minutes": round(spent[_MEDIUM]),
            "medium_activity_time": time_s[_MEDIUM],
            "met": {"interval": 60, "items": met, "timestamp": world.stamp(begin)},
            "meters_to_target": max(0, 9000 - walked_m),
            "non_wear_time": time_s[_NON_WEAR],
            "resting_time": time_s[_REST],
            "score": clamp(rng.gauss(82, 9)) if scored else None,
            "sedentary_met_minutes": round(spent[_INACTIVE]),
            "sedentary_time": time_s[_INACTIVE],
            "steps": steps,
            "target_calories": 500,
            "target_meters": 9000,
            "timestamp": world.stamp(begin),
            "total_calories": active_kcal + round(1640 * minutes / 1440),
        }
        return [Dated(begin + 60 + _SYNC_AFTER_S, body)]

    def workout(self, day: date) -> list[Dated]:
        """Make the workouts that began that local day; energy in kcal, distance in m."""
        world, rng = self._world, self._world.rng("workouts", day)
        found = []
        for index, bout in enumerate(world.plan(day).workouts):
            pace = _M_A_MINUTE.get(bout.kind)
            minutes = bout.seconds / 60
            label = rng.choice((None, None, "with the neighbours"))
            body: Record = {
                "id": world.ident("workout", day, index),
                "activity": bout.kind,
                "calories": round(_KCAL_A_MINUTE[bout.hard] * minutes * rng.uniform(0.9, 1.1), 3),
                "day": day.isoformat(),
                "distance": None if pace is None else round(pace * minutes * rng.uniform(0.92, 1.08), 1),
                "end_datetime": world.stamp(bout.end),
                "intensity": bout.hard,
                "label": world.canary.text if world.canary else label,
                "source": bout.source,
                "start_datetime": world.stamp(bout.start),
            }
            found.append(Dated(bout.end + _SYNC_AFTER_S, body))
        return found

    def session(self, day: date) -> list[Dated]:
        """Make the moments that began that local day; series carry nulls, or are missing."""
        world = self._world
        found = []
        for index, bout in enumerate(world.plan(day).sessions):
            rng = world.rng(f"session/{index}", day)
            count = bout.seconds // 5
            beats = [None if rng.random() < 0.06 else float(rng.randrange(52, 66)) for _ in range(count)]
            hrv = [None if beat is None else float(rng.randrange(28, 80)) for beat in beats]
            motion = [float(rng.randrange(0, 4)) for _ in range(bout.seconds // 60)]
            begin = world.stamp(bout.start)
            sensed = rng.random() > 0.15
            body: Record = {
                "id": world.ident("session", day, index),
                "day": day.isoformat(),
                "end_datetime": world.stamp(bout.end),
                "heart_rate": {"interval": 5, "items": beats, "timestamp": begin} if sensed else None,
                "heart_rate_variability": {"interval": 5, "items": hrv, "timestamp": begin} if sensed else None,
                "mood": rng.choice((None, "same", "good", "great", "worse")),
                "motion_count": {"interval": 60, "items": motion, "timestamp": begin},
                "start_datetime": begin,
                "type": bout.kind,
            }
            found.append(Dated(bout.end + _SYNC_AFTER_S, body))
        return found

    def daily_stress(self, day: date) -> list[Dated]:
        """Make the day's stress, in seconds; no summary before the day is over."""
        world, plan = self._world, self._world.plan(day)
        if not plan.worn or "no_stress" in plan.odd:
            return []
        rng = world.rng("stress", day)
        finished = world.horizon() >= plan.end
        high = max(0, round(rng.gauss(7 if day.weekday() < 4 else 3, 2.5))) * 900
        recovery = max(0, round(rng.gauss(5, 2))) * 900
        summary = "stressful" if high > 7200 else "restored" if recovery > 6300 else "normal"
        body: Record = {
            "id": world.ident("daily_stress", day),
            "day": day.isoformat(),
            "day_summary": summary if finished else None,
            "recovery_high": recovery if finished else None,
            "stress_high": high if finished else 0,
        }
        return [Dated(plan.start + 9 * 3600, body)]

    def _classes(self, day: date, begin: int, minutes: int) -> bytearray:
        """Return each minute's level from what was planned for it."""
        world = self._world
        levels = bytearray([_INACTIVE]) * minutes

        def paint(start: int, end: int, level: int) -> None:
            first, last = max(0, (start - begin) // 60), min(minutes, (end - begin) // 60)
            if last > first:
                levels[first:last] = bytes([level]) * (last - first)

        rng = world.rng("pottering", day)
        for _ in range(16):
            start = begin + rng.randrange(0, 86_400)
            paint(start, start + rng.randrange(240, 1200), _LOW)
        for near in (day, day + _DAY):
            plan = world.plan(near)
            for bout in plan.bursts:
                paint(bout.start, bout.end, _LOW)
            for bout in plan.workouts:
                paint(bout.start, bout.end, _LEVEL[bout.hard])
            for bout in plan.sleeps:
                paint(bout.start, bout.end, _REST)
            for bout in plan.off:
                paint(bout.start, bout.end, _NON_WEAR)
        return levels
