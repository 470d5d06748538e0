"""Answers of tools as a few lines for a person at a terminal."""

from collections.abc import Iterator, Mapping
from typing import Any


def today(answer: Mapping[str, Any]) -> Iterator[str]:
    """Tell `health_today`."""
    yield f"health_today, {answer['today']} ({answer['timezone']}):"
    main = answer.get("last_night", {}).get("main")
    if main:
        asleep, pulse, hrv = main.get("total_sleep_duration"), main.get("lowest_heart_rate"), main.get("average_hrv")
        yield f"  last night: asleep {_hours(asleep)}, lowest heart rate {_or_none(pulse)} bpm, HRV {_or_none(hrv)} ms"
    for name, title in (("readiness", "readiness"), ("sleep_score", "sleep score")):
        if name in answer:
            yield f"  {title}: {_or_none(answer[name].get('score'))}"
    for name, why in answer.get("missing", {}).items():
        yield f"  {name}: not there ({why})"


def scores(answer: Mapping[str, Any]) -> Iterator[str]:
    """Tell a `health_query` over daily scores."""
    whole = "complete" if answer["complete"] else "not complete"
    yield f"health_query, {answer['collection']} {answer['start']} to {answer['end']}, {answer['n']} records, {whole}:"
    for record in answer["data"]:
        yield f"  {record['day']}  {_or_none(record.get('score')):>4}"


def _hours(seconds: float | None) -> str:
    return "not recorded" if seconds is None else f"{int(seconds) // 3600} h {int(seconds) % 3600 // 60:02} min"


def _or_none(value: object) -> str:
    return "-" if value is None else str(value)
