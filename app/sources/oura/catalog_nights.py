"""Oura's collections about nights and the mornings after them."""

from typing import Final

from app.sources.base import Collection, DateKind
from app.sources.oura.fields import (
    ID,
    READINESS_CONTRIBUTORS,
    RESTING,
    code,
    contributors,
    digits,
    measured,
    samples,
    score,
    time,
    word,
    yes_no,
)

_WAKE = "`day` is the day of waking up: the night from Monday to Tuesday is Tuesday's, so last night is today's record."
_LATE = (
    "Records come only once the owner has opened the Oura app. No record says nothing about whether the owner slept."
)
_PARTS = (
    "Contributors are scores from 1 to 100, never minutes, ms or bpm; durations are in `sleep`. `timestamp` only marks "
    "the day."
)
_REVISED = "Scores may still change for a day or two."
_PHASES = "1 deep, 2 light, 3 REM, 4 awake"

SLEEP: Final = Collection(
    source="oura",
    name="sleep",
    carries="Each stretch of sleep or rest, naps too: bedtimes, durations of stages, heart rate, HRV and breathing.",
    date_kind=DateKind.WAKE_DAY,
    scope="daily",
    fields=(
        ID,
        time("day", "the wake day it belongs to"),
        word(
            "type",
            "long_sleep: over 3 h; sleep and late_nap: naps that count; rest and deleted: not sleep",
            "long_sleep",
            "sleep",
            "late_nap",
            "rest",
            "deleted",
        ),
        time("bedtime_start", "went to bed, with the offset of that night"),
        time("bedtime_end", "got up, with the offset of that morning; null while the night is in progress"),
        measured("total_sleep_duration", "s", "time asleep, all stages"),
        measured("time_in_bed", "s", "from bedtime_start to bedtime_end"),
        measured("awake_time", "s", "awake in bed"),
        measured("deep_sleep_duration", "s", "deep sleep"),
        measured("light_sleep_duration", "s", "light sleep"),
        measured("rem_sleep_duration", "s", "REM sleep"),
        measured("latency", "s", "from going to bed to falling asleep"),
        measured("efficiency", "%", "share of the time in bed spent asleep; unlike contributors.efficiency, a score"),
        measured("restless_periods", "count", "restless stretches"),
        measured("average_breath", "breaths/min", "mean breathing rate"),
        measured("average_heart_rate", "bpm", "mean of 30 s samples; the app averages 5 min ones and may differ"),
        measured(
            "lowest_heart_rate",
            "bpm",
            "resting heart rate of the night: lowest of 30 s samples; the app uses 5 min ones and shows another number",
        ),
        measured("average_hrv", "ms (RMSSD)", "mean heart rate variability as RMSSD; not SDNN"),
        yes_no("low_battery_alert", "the battery ran low, so data may be missing"),
        code("period", "number of the stretch within its day"),
        measured("readiness_score_delta", "score points", "how much this stretch moved the readiness score"),
        measured("sleep_score_delta", "score points", "how much this stretch moved the sleep score"),
        word("sleep_algorithm_version", "version of Oura's method", "v1", "v2"),
        word(
            "sleep_analysis_reason",
            "why this version of the record was made",
            "foreground_sleep_analysis",
            "bedtime_edit",
            "background_sleep_analysis",
            "background_created_foreground_updated",
        ),
        code("ring_id", "ring that measured it; no longer filled in"),
        score("readiness.score", "readiness as computed with this stretch"),
        measured("readiness.temperature_deviation", "°C deviation", "skin temperature against the usual one"),
        measured("readiness.temperature_trend_deviation", "°C deviation", "the same over several days"),
        *contributors(READINESS_CONTRIBUTORS, under="readiness.contributors"),
        *samples("heart_rate", "bpm", "heart rate through the night"),
        *samples("hrv", "ms (RMSSD)", "heart rate variability through the night"),
        digits("movement_30_sec", 30, "1 still, 2 restless, 3 tossing and turning, 4 active"),
        digits("sleep_phase_5_min", 300, _PHASES),
        digits("sleep_phase_30_sec", 30, _PHASES),
        digits("app_sleep_phase_5_min", 300, f"as the app shows it: {_PHASES}; Oura will drop this field"),
    ),
    series=("heart_rate", "hrv", "movement_30_sec", "sleep_phase_5_min", "sleep_phase_30_sec", "app_sleep_phase_5_min"),
    day_fields=("day", "bedtime_end"),
    clock_field="bedtime_start",
    clock_end_field="bedtime_end",
    read_with=("type",),
    stamp_fields=("bedtime_start",),
    window_days=366,
    margin_days=2,
    notes=(
        _WAKE,
        "A day can have several records: how long one slept that day is long_sleep, sleep and late_nap added up. The "
        "night is the longest long_sleep; sleep and late_nap are naps, never averaged in.",
        "`rest` and `deleted` are not sleep.",
        "A nap that ended after 18:00 belongs to the next day.",
    ),
    recent_notes=(_LATE,),
)

DAILY_SLEEP: Final = Collection(
    source="oura",
    name="daily_sleep",
    carries="The sleep score of each night and the scores it is made of.",
    date_kind=DateKind.WAKE_DAY,
    scope="daily",
    fields=(
        ID,
        time("day", "the wake day"),
        score("score", "sleep score; null for a short or unfinished night"),
        *contributors(
            (
                ("deep_sleep", "how the amount of deep sleep rates"),
                ("efficiency", "how sleep efficiency rates; the percentage itself is sleep.efficiency"),
                ("latency", "how falling asleep rates; the seconds are in sleep.latency"),
                ("rem_sleep", "how the amount of REM sleep rates"),
                ("restfulness", "how undisturbed it was"),
                ("timing", "how well placed in the night it was"),
                ("total_sleep", "how the amount of sleep rates"),
            )
        ),
        time("timestamp", "stamp of the record; says nothing about when one slept"),
    ),
    day_fields=("day",),
    stamp_fields=("timestamp",),
    margin_days=2,
    value_field="score",
    notes=(_WAKE, _PARTS),
    recent_notes=(_REVISED, _LATE),
)

DAILY_READINESS: Final = Collection(
    source="oura",
    name="daily_readiness",
    carries="The readiness score of each morning, the scores it is made of, and skin temperature against the usual.",
    date_kind=DateKind.WAKE_DAY,
    scope="daily",
    fields=(
        ID,
        time("day", "the morning it is for, after the night that ended then"),
        score("score", "readiness score; null when it could not be computed"),
        *contributors(READINESS_CONTRIBUTORS),
        measured(
            "temperature_deviation", "°C deviation", "skin temperature against the owner's usual; not a fever reading"
        ),
        measured("temperature_trend_deviation", "°C deviation", "the same over several days"),
        time("timestamp", "stamp of the record"),
    ),
    day_fields=("day",),
    stamp_fields=("timestamp",),
    margin_days=2,
    value_field="score",
    notes=(_WAKE, _PARTS, RESTING),
    recent_notes=(_REVISED, _LATE),
)

SLEEP_TIME: Final = Collection(
    source="oura",
    name="sleep_time",
    carries="Oura's suggested bedtime for each day, and what it suggests to change.",
    date_kind=DateKind.CALENDAR_DAY,
    scope="daily",
    fields=(
        ID,
        time("day", "the day of the suggestion"),
        measured(
            "optimal_bedtime.start_offset", "s", "earliest good bedtime, from midnight of the day; may be negative"
        ),
        measured("optimal_bedtime.end_offset", "s", "latest good bedtime, from midnight of the day; may be negative"),
        measured("optimal_bedtime.day_tz", "s", "offset of the day's zone from UTC"),
        word(
            "recommendation",
            "what to change",
            "improve_efficiency",
            "earlier_bedtime",
            "later_bedtime",
            "earlier_wake_up_time",
            "later_wake_up_time",
            "follow_optimal_bedtime",
        ),
        word(
            "status",
            "whether there were nights enough to say",
            "not_enough_nights",
            "not_enough_recent_nights",
            "bad_sleep_quality",
            "only_recommended_found",
            "optimal_found",
        ),
    ),
    day_fields=("day",),
    margin_days=2,
    notes=(
        "A suggestion, not when one slept; that is in `sleep`.",
        "start_offset and end_offset are seconds from midnight: -5400 is 22:30 in the evening.",
    ),
    recent_notes=(_LATE,),
)

NIGHTS: Final = (SLEEP, DAILY_SLEEP, DAILY_READINESS, SLEEP_TIME)
