"""The sandbox routes: a generator and not a filter, with every trap that was met there.

Source: `oura/FACTS.md` section 3.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

from app.simulator.filters import Rules, date_range, instant_range
from app.simulator.world import DATED, DENSE, Record

COLLECTIONS = (*DATED, *DENSE, "ring_configuration")
_EPOCH_DAY = "2021-01-01"  # embedded stamps stand still
_EPOCH = "2021-01-01T01:02:03+00:00"
_SCORE = 80
_SERIES: Record = {
    "interval": 60,
    "items": [55.0, None, 56.0, 57.0, 55.0, 54.0, 56.0, 58.0, 55.0, 54.0],
    "timestamp": _EPOCH,
}


def answer(collection: str, params: Mapping[str, str], now_s: float) -> Record:
    """Return n-1 records for n days, two samples for any heart rate, one ring; never a next page.

    Raises:
        BadParameter: 422.
        BadQuery: 400.
    """
    if collection == "ring_configuration":
        return {"data": [_document(collection, date(2021, 1, 1))], "next_token": None}
    if collection in DENSE:
        lower, upper = instant_range(params.get("start_datetime"), params.get("end_datetime"), now_s, Rules())
        if upper.instant_s - lower.instant_s < 86_400:
            return {"data": [], "next_token": None}
        return {"data": [_sample(collection, lower.instant_s + step * 300) for step in (0, 1)], "next_token": None}
    first, last = date_range(params.get("start_date"), params.get("end_date"), now_s)
    days = (last.wall.date() - first.wall.date()).days
    made = [_document(collection, first.wall.date() + timedelta(days=step)) for step in range(days)]
    return {"data": made, "next_token": None}


def own_ident(ident: str) -> bool:
    """Tell whether an id was made here: asking for one of those breaks the real sandbox (500)."""
    return ident.startswith("sandbox-")


def _sample(collection: str, at: float) -> Record:
    stamp = datetime.fromtimestamp(at, UTC).isoformat()
    body: Record = {"timestamp": stamp, "producer_timestamp": None}
    if collection == "heartrate":
        return body | {"bpm": 60, "source": "awake"}
    return body | {"level": _SCORE, "charging": False, "in_charger": False}


def _document(collection: str, day: date) -> Record:
    text = day.isoformat()
    begin, end = f"{text}T08:00:00+00:00", f"{text}T08:30:00+00:00"
    eve = (day - timedelta(days=1)).isoformat()
    bodies: dict[str, Record] = {
        "daily_activity": _activity(text),
        "daily_cardiovascular_age": {"day": _EPOCH_DAY, "pulse_wave_velocity": 7.1, "vascular_age": 42},
        "daily_readiness": {
            "contributors": {"activity_balance": 73, "body_temperature": 73, "hrv_balance": 73},
            "day": text,
            "score": _SCORE,
            "temperature_deviation": 0.1,
            "temperature_trend_deviation": 0.1,
            "timestamp": f"{text}T00:00:00+00:00",
        },
        "daily_resilience": {
            "contributors": {"daytime_recovery": 73.0, "sleep_recovery": 73.0, "stress": 73.0},
            "day": text,
            "level": "solid",
        },
        "daily_sleep": {
            "contributors": {"deep_sleep": 73, "efficiency": 73, "total_sleep": 73},
            "day": text,
            "score": _SCORE,
            "timestamp": f"{text}T00:00:00+00:00",
        },
        "daily_spo2": {"breathing_disturbance_index": 5, "day": text, "spo2_percentage": {"average": 97.0}},
        "daily_stress": {"day": text, "day_summary": "normal", "recovery_high": 3600, "stress_high": 3600},
        "enhanced_tag": {
            "tag_type_code": "tag_generic_nocaffeine", "start_time": begin, "end_time": end, "start_day": text,
            "end_day": text, "comment": "Sandbox", "custom_name": None,
        },
        "rest_mode_period": {
            "end_day": text, "end_time": end, "episodes": [], "start_day": text, "start_time": begin,
        },
        "session": {
            "day": text, "end_datetime": end, "heart_rate": _SERIES, "heart_rate_variability": _SERIES, "mood": "good",
            "motion_count": _SERIES, "start_datetime": begin, "type": "meditation",
        },
        "sleep": {
            "average_breath": 12.6, "average_heart_rate": 55.0, "average_hrv": 42, "awake_time": 1800,
            "bedtime_end": f"{text}T07:00:00+00:00", "bedtime_start": f"{eve}T23:00:00+00:00", "day": text,
            "deep_sleep_duration": 4200, "efficiency": 93, "heart_rate": _SERIES, "hrv": _SERIES, "latency": 540,
            "light_sleep_duration": 15600, "low_battery_alert": False, "lowest_heart_rate": 48, "period": 0,
            "rem_sleep_duration": 7200, "time_in_bed": 28800, "total_sleep_duration": 27000, "type": "long_sleep",
        },
        "sleep_time": {
            "day": text, "optimal_bedtime": {"day_tz": 0, "end_offset": -3600, "start_offset": -7200},
            "recommendation": "follow_optimal_bedtime", "status": "optimal_found",
        },
        "tag": {"day": text, "text": "Sandbox", "timestamp": begin, "tags": ["tag_generic_nocaffeine"]},
        "vO2_max": {"day": _EPOCH_DAY, "timestamp": _EPOCH, "vo2_max": 42},
        "workout": {
            "activity": "cycling", "calories": 300.0, "day": text, "distance": 13500.5, "end_datetime": end,
            "intensity": "moderate", "label": None, "source": "manual", "start_datetime": begin,
        },
        "ring_configuration": {
            "color": "glossy_black", "design": "heritage", "firmware_version": "1.2.3", "hardware_type": "gen3",
            "set_up_at": "2021-01-01T01:02:03+00:00", "size": 9,
        },
    }  # fmt: skip
    return {"id": f"sandbox-{collection}-{text}", "producer_timestamp": None} | bodies[collection]


def _activity(text: str) -> Record:
    whole = (
        "equivalent_walking_distance", "high_activity_met_minutes", "high_activity_time", "inactivity_alerts",
        "low_activity_met_minutes", "low_activity_time", "medium_activity_met_minutes", "medium_activity_time",
        "meters_to_target", "non_wear_time", "resting_time", "sedentary_met_minutes", "sedentary_time",
    )  # fmt: skip
    return dict.fromkeys(whole, 73) | {
        "active_calories": 300,
        "average_met_minutes": 1.5,
        "class_5_min": "1112211111",
        "contributors": {"stay_active": 73, "training_volume": 73},
        "day": text,
        "met": _SERIES,
        "score": _SCORE,
        "steps": 8000,
        "target_calories": 450,
        "target_meters": 7000,
        "timestamp": f"{text}T04:00:00+00:00",
        "total_calories": 2100,
    }
