"""The least that Oura's records carry, for the cases that plant a few."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from app.sources.base import DateKind
from app.sources.oura.catalog import COLLECTIONS

DATED = tuple(n for n, c in COLLECTIONS.items() if not c.dense and c.date_kind is not DateKind.UNDATED)
DENSE = tuple(n for n, c in COLLECTIONS.items() if c.dense)
UNDATED = tuple(n for n, c in COLLECTIONS.items() if c.date_kind is DateKind.UNDATED)
BERLIN = ZoneInfo("Europe/Berlin")
NINE = datetime(2026, 3, 10, 9, tzinfo=BERLIN)


def document(collection: str, day: str, **more: Any) -> dict[str, Any]:
    """The least that a record of a dated collection carries."""
    kind = COLLECTIONS[collection].date_kind
    filed = {"start_day": day, "end_day": None if collection == "enhanced_tag" else day}
    return {"id": f"{collection}-{day}", **(filed if kind is DateKind.SPAN else {"day": day}), **more}


def sample(at: datetime, bpm: int = 60) -> dict[str, Any]:
    return {"timestamp": at.astimezone(UTC).isoformat(), "bpm": bpm, "source": "awake"}


def night(day: str, start: str, end: str, asleep_s: int, kind: str = "long_sleep", **more: Any) -> dict[str, Any]:
    return document(
        "sleep",
        day,
        type=kind,
        bedtime_start=start,
        bedtime_end=end,
        total_sleep_duration=asleep_s,
        **{"id": f"{day}-{kind}-{start}", **more},
    )
