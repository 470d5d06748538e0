"""Readiness, which a night carries and `daily_readiness` repeats."""

from datetime import date

from app.simulator.world import Record, World, clamp

_CONTRIBUTORS = (
    "activity_balance",
    "body_temperature",
    "hrv_balance",
    "previous_day_activity",
    "previous_night",
    "recovery_index",
    "resting_heart_rate",
    "sleep_balance",
    "sleep_regularity",
)


def readiness(world: World, day: date) -> Record:
    """Return contributors and score (all null on the day that was not analysed) and the temperatures, in °C."""
    rng = world.rng("readiness", day)
    parts: dict[str, int | None] = {name: clamp(rng.gauss(80, 11)) for name in _CONTRIBUTORS}
    if "null_score" in world.planner.odd(day):
        return {
            "contributors": dict.fromkeys(_CONTRIBUTORS),
            "score": None,
            "temperature_deviation": None,
            "temperature_trend_deviation": None,
        }
    if rng.random() < 0.1:
        parts["hrv_balance"] = None  # too few nights lately
    known = [value for value in parts.values() if value is not None]
    return {
        "contributors": parts,
        "score": clamp(sum(known) / len(known) + rng.uniform(-3, 3)),
        "temperature_deviation": round(rng.gauss(0, 0.25), 2),
        "temperature_trend_deviation": None if rng.random() < 0.1 else round(rng.gauss(0, 0.15), 2),
    }
