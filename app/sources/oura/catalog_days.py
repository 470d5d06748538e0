"""Oura's collections with one record per day: activity, stress, resilience, blood oxygen."""

from typing import Final

from app.sources.base import Collection, DateKind
from app.sources.oura.fields import ID, RESTING, contributors, digits, measured, samples, score, time, word

DAILY_ACTIVITY: Final = Collection(
    source="oura",
    name="daily_activity",
    carries="Each day's movement: steps, calories, time at each intensity, and the activity score.",
    date_kind=DateKind.ACTIVITY_DAY,
    scope="daily",
    fields=(
        ID,
        time("day", "the first date of the activity day"),
        score("score", "activity score; null for an unfinished or unworn day"),
        *contributors(
            (
                ("meet_daily_targets", "how often the daily target was met in a week"),
                ("move_every_hour", "how rarely one sat for an hour in the last 24 h"),
                ("recovery_time", "whether the week had easy days enough"),
                ("stay_active", "how little of the last 24 h was inactive"),
                ("training_frequency", "how often the week had training"),
                ("training_volume", "how much training the week had"),
            )
        ),
        measured("steps", "count", "steps"),
        measured("active_calories", "kcal", "burned by moving"),
        measured("total_calories", "kcal", "burned in all, at rest included"),
        measured("target_calories", "kcal", "the day's target for active_calories"),
        measured(
            "equivalent_walking_distance", "m", "the walk that would have burned as much; not the distance covered"
        ),
        measured("target_meters", "m", "the day's target as a walk"),
        measured("meters_to_target", "m", "still to go; negative: exceeded"),
        measured("high_activity_time", "s", "at high intensity"),
        measured("medium_activity_time", "s", "at medium intensity"),
        measured("low_activity_time", "s", "at low intensity"),
        measured("sedentary_time", "s", "awake and sitting still"),
        measured("resting_time", "s", "asleep or resting"),
        measured("non_wear_time", "s", "ring not worn; a day of 86400 s was not measured at all"),
        measured("average_met_minutes", "MET", "mean intensity over the day"),
        measured("high_activity_met_minutes", "MET min", "sum at high intensity"),
        measured("medium_activity_met_minutes", "MET min", "sum at medium intensity"),
        measured("low_activity_met_minutes", "MET min", "sum at low intensity"),
        measured("sedentary_met_minutes", "MET min", "sum while sedentary"),
        measured("inactivity_alerts", "count", "reminders to move"),
        *samples("met", "MET", "intensity minute by minute"),
        digits("class_5_min", 300, "0 not worn, 1 rest, 2 inactive, 3 low, 4 medium, 5 high activity"),
        time("timestamp", "when the activity day began"),
    ),
    series=("met", "class_5_min"),
    read_with=("non_wear_time",),
    grows=True,
    covered_by=(
        "high_activity_time",
        "medium_activity_time",
        "low_activity_time",
        "sedentary_time",
        "resting_time",
        "non_wear_time",
    ),
    value_field="score",
    day_fields=("day",),
    clock_field="timestamp",
    stamp_fields=("timestamp",),
    window_days=366,  # a year with its minute series is 3 MB in one answer
    margin_days=2,
    notes=(
        "A day runs from 04:00 to 04:00 and is named after its first date.",
        "Contributors are scores from 1 to 100, not minutes or counts; the times are in seconds.",
        "Nothing is counted with the ring off: steps, calories and times are too low where non_wear_time is not 0, "
        "and where it is 86400 (all day) a 0 means not measured.",
        RESTING,
    ),
)

DAILY_STRESS: Final = Collection(
    source="oura",
    name="daily_stress",
    carries="How long each day was spent in high stress and in high recovery.",
    date_kind=DateKind.CALENDAR_DAY,
    scope="daily",  # reported by most; one report names `stress`
    also_scopes=frozenset({"stress"}),
    fields=(
        ID,
        time("day", "the day"),
        measured("stress_high", "s", "in the most stressed quarter of the owner's own range; seconds, not minutes"),
        measured("recovery_high", "s", "in the most recovered quarter of the owner's own range; seconds, not minutes"),
        word("day_summary", "the day in a word; null while it cannot be said", "restored", "normal", "stressful"),
    ),
    grows=True,
    day_fields=("day",),
    margin_days=2,
    notes=(
        "Bodily stress as the ring sees it, exercise left out; not a judgement of mood.",
        "Values are seconds: 5400 is 90 minutes.",
    ),
)

DAILY_RESILIENCE: Final = Collection(
    source="oura",
    name="daily_resilience",
    carries="How well body and recovery have kept up with stress over two weeks, as a level.",
    date_kind=DateKind.CALENDAR_DAY,
    scope="stress",
    takes_fields=False,
    fields=(
        ID,
        time("day", "the day"),
        word("level", "lowest first", "limited", "adequate", "solid", "strong", "exceptional"),
        *contributors(
            (
                ("sleep_recovery", "recovery during sleep, 0 to 100"),
                ("daytime_recovery", "recovery while awake, 0 to 100"),
                ("stress", "0 to 100; higher is better, so not an amount of stress"),
            )
        ),
    ),
    day_fields=("day",),
    margin_days=2,
    notes=(
        "There is no overall number, only `level`; from the lowest: limited, adequate, solid, strong, exceptional.",
        "Higher is better in all contributors: `contributors.stress` is no amount of stress.",
        "Absent until there are nights enough, about two weeks of them.",
    ),
)

DAILY_SPO2: Final = Collection(
    source="oura",
    name="daily_spo2",
    carries="Blood oxygen during the night and how often it dipped.",
    date_kind=DateKind.WAKE_DAY,
    scope="spo2",
    not_on=("gen1", "gen2", "gen2m"),
    value_field="spo2_percentage.average",
    fields=(
        ID,
        time("day", "the wake day of the night it was measured in"),
        measured("spo2_percentage.average", "%", "mean blood oxygen saturation; null: not measured"),
        measured("breathing_disturbance_index", "index 0-100", "how often oxygen dipped; lower is calmer"),
    ),
    day_fields=("day",),
    margin_days=2,
    notes=(
        "Measured during sleep, by Gen3 rings and newer, if switched on in the app; not a diagnosis.",
        "`breathing_disturbance_index` counts dips of oxygen: lower is calmer.",
    ),
)

DAYS: Final = (DAILY_ACTIVITY, DAILY_STRESS, DAILY_RESILIENCE, DAILY_SPO2)
