"""Oura's collections about heart and fitness."""

from typing import Final

from app.sources.base import Collection, DateKind
from app.sources.oura.fields import ID, IN_UTC, SAMPLED, measured, time, word

HEARTRATE: Final = Collection(
    source="oura",
    name="heartrate",
    carries="Heart rate through day and night, about 1,200 samples a day.",
    date_kind=DateKind.INSTANT,
    scope="heartrate",
    fields=(
        *SAMPLED,
        measured("bpm", "bpm", "heart rate"),
        word("source", "what the wearer was doing", "awake", "workout", "rest", "sleep", "live", "session"),
    ),
    dense=True,
    grows=True,
    day_fields=("timestamp",),
    stamp_fields=("timestamp",),
    window_days=30,  # Oura refuses more
    stride_days=4,  # 4,900 samples fill five pages of 1,000 nearly to the brim, so cutting here costs no request
    notes=(
        "Samples are uneven: every 5 s in workouts, about every 5 min otherwise, with gaps. So the mean of an hour or "
        "day is pulled towards workouts: mean_by_time, in which each 5 min count once, is the one to read and compare.",
        "Not the resting heart rate of the night; that is in `sleep`.",
        IN_UTC,
    ),
)

CARDIOVASCULAR_AGE: Final = Collection(
    source="oura",
    name="daily_cardiovascular_age",
    carries="How old the arteries look, from the pulse wave.",
    date_kind=DateKind.CALENDAR_DAY,
    scope="heart_health",
    value_field="vascular_age",
    fields=(
        ID,
        time("day", "the day"),
        measured("vascular_age", "years", "estimated age of the arteries, 18 to 100; null: no estimate"),
        measured("pulse_wave_velocity", "m/s", "speed of the pulse wave, derived from vascular_age; null: no estimate"),
    ),
    day_fields=("day",),
    margin_days=2,
    notes=("An estimate that moves slowly; a change within days means little.",),
)

VO2_MAX: Final = Collection(
    source="oura",
    name="vO2_max",  # so spelled in the address; lower case is answered with 404
    carries="Estimates of aerobic capacity.",
    date_kind=DateKind.CALENDAR_DAY,
    scope="heart_health",
    fields=(
        ID,
        time("day", "the day of the estimate"),
        measured("vo2_max", "ml/kg/min", "estimated maximal oxygen uptake"),
        time("timestamp", "when it was estimated"),
    ),
    day_fields=("day", "timestamp"),
    clock_field="timestamp",
    stamp_fields=("timestamp",),
    margin_days=2,
    occasional=True,
    notes=("Often empty: it needs the walking test in the app, or workouts with a position.",),
)

HEART: Final = (HEARTRATE, CARDIOVASCULAR_AGE, VO2_MAX)
