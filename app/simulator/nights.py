"""Nights and naps: `sleep` with its series, and the durations that follow from its phases."""

from datetime import date
from functools import lru_cache
from math import sin
from random import Random

from app.simulator.plan import Bout
from app.simulator.scores import readiness
from app.simulator.world import Dated, Record, World

_EPOCH_S = 30
_SERIES_S = 300
_READY_AFTER_S = 20 * 60  # the owner opens the app, the ring syncs
_REASONS = ("foreground_sleep_analysis", "background_sleep_analysis", "background_created_foreground_updated")


class Nights:
    """Makes the `sleep` records filed under a day."""

    def __init__(self, world: World) -> None:
        self._world = world

    @lru_cache(maxsize=800)  # noqa: B019 - one instance per simulator, as long-lived as the cache
    def filed(self, day: date) -> tuple[Dated, ...]:
        """Return the day's records, by bedtime, whether they have ended or not."""
        plan = self._world.plan(day)
        bouts = sorted(plan.sleeps, key=lambda bout: bout.start)
        return tuple(
            Dated(bout.end + _READY_AFTER_S, self._record(day, index, bout)) for index, bout in enumerate(bouts)
        )

    def main(self, day: date) -> Record | None:
        """Return the longest long sleep of a day."""
        longs = [one.record for one in self.filed(day) if one.record["type"] == "long_sleep"]
        return max(longs, key=lambda record: record["time_in_bed"], default=None)

    def _record(self, day: date, index: int, bout: Bout) -> Record:
        world = self._world
        rng = world.rng(f"night/{index}", day)
        phases = _phases(bout, rng)
        in_bed = bout.seconds
        seconds = {digit: phases.count(digit) * _EPOCH_S for digit in "1234"}
        asleep = in_bed - seconds["4"]
        beats = _beats(day, bout, rng, male=world.person.biological_sex == "male")
        hrv = [None if beat is None else max(8, round(96 - beat + rng.uniform(-9, 9))) for beat in beats]
        known = [beat for beat in beats if beat is not None]
        known_hrv = [value for value in hrv if value is not None]
        long = bout.kind == "long_sleep"
        five = _five_minutes(phases)
        record: Record = {
            "id": world.ident("sleep", day, index),
            "average_breath": round(14.2 + rng.uniform(-0.8, 0.8), 3),
            "average_heart_rate": round(sum(known) / len(known), 2) if known else None,
            "average_hrv": round(sum(known_hrv) / len(known_hrv)) if known_hrv else None,
            "awake_time": seconds["4"],
            "bedtime_end": world.stamp(bout.end),
            "bedtime_start": world.stamp(bout.start),
            "day": day.isoformat(),
            "deep_sleep_duration": seconds["1"],
            "efficiency": round(100 * asleep / in_bed),
            "heart_rate": {"interval": _SERIES_S, "items": beats, "timestamp": world.stamp(bout.start)},
            "hrv": {"interval": _SERIES_S, "items": hrv, "timestamp": world.stamp(bout.start)},
            "latency": (len(phases) - len(phases.lstrip("4"))) * _EPOCH_S,
            "light_sleep_duration": seconds["2"],
            "low_battery_alert": rng.random() < 0.03,
            "lowest_heart_rate": min(known, default=None),
            "movement_30_sec": "".join(rng.choices("1234", weights=(80, 13, 5, 2), k=len(phases))),
            "period": index,
            "readiness": None,
            "readiness_score_delta": None,
            "rem_sleep_duration": seconds["3"],
            "restless_periods": round(in_bed / 200 * rng.uniform(0.6, 1.4)),
            "sleep_algorithm_version": "v2",
            "sleep_analysis_reason": rng.choice(_REASONS),
            "sleep_phase_30_sec": phases,
            "sleep_phase_5_min": five,
            "sleep_score_delta": 0 if long else rng.randrange(1, 6),
            "time_in_bed": in_bed,
            "total_sleep_duration": asleep,
            "type": bout.kind,
            "ring_id": None,  # deprecated; null since the 1.41 document
            "app_sleep_phase_5_min": five[:3] + "2" + five[4:] if len(five) > 4 else five,
        }
        if long:
            record["readiness"] = readiness(world, day)
            record["readiness_score_delta"] = 0
        if bout.kind in {"rest", "deleted"}:  # never analysed to the end
            record |= dict.fromkeys(
                ("average_breath", "average_hrv", "hrv", "sleep_score_delta", "sleep_phase_30_sec", "restless_periods")
            )
        return record


def _phases(bout: Bout, rng: Random) -> str:
    """Draw one digit for each 30 s: falling asleep, then cycles with less deep sleep and more REM as the night goes."""
    length = bout.seconds // _EPOCH_S
    parts = ["4" * rng.randrange(4, 50)] if bout.seconds > 3600 else ["4" * 4]
    done, cycle = len(parts[0]), 0
    while done < length:
        stretch = (
            "2" * rng.randrange(20, 50)
            + "1" * max(0, rng.randrange(50, 75) - 16 * cycle)
            + "2" * rng.randrange(30, 70)
            + "3" * (rng.randrange(6, 20) + 9 * min(cycle, 4))
            + "4" * rng.randrange(1, 14)
        )
        parts.append(stretch)
        done, cycle = done + len(stretch), cycle + 1
    tail = "4" * min(length // 10, rng.randrange(3, 12))
    return "".join(parts)[: length - len(tail)] + tail


def _five_minutes(phases: str) -> str:
    """Keep the most frequent phase of each ten."""
    tens = (phases[at : at + 10] for at in range(0, len(phases), 10))
    return "".join(max("2314", key=ten.count) for ten in tens)


def _beats(day: date, bout: Bout, rng: Random, *, male: bool) -> list[int | None]:
    """Draw a heart rate for each 5 minutes: sinking, flat, rising before waking; some missing."""
    count = -(-bout.seconds // _SERIES_S)
    base = (50 if male else 53) + 2.5 * sin(day.toordinal() / 58) + rng.uniform(-2, 2)
    lost = 0.04 if bout.kind == "long_sleep" else 0.1
    beats: list[int | None] = []
    for at in range(count):
        curve = 9 * (1 - at / max(1, count)) ** 3 + 4 * (at / max(1, count)) ** 6
        beats.append(None if at == 0 or rng.random() < lost else round(base + curve + rng.uniform(-2.5, 2.5)))
    return beats
