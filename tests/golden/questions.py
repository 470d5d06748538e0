"""The ten questions, and how each is asked of the same simulated life at the same moment."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from app.simulator import Simulator
from tests.app_under_test import Clock, running_app
from tests.cases.asking import told

FOLDER = Path(__file__).parent
SEED = 7
MOMENT = datetime(2026, 3, 10, 15, tzinfo=ZoneInfo("Europe/Berlin"))  # 10:00 in New York, where the owner is


@dataclass(frozen=True, slots=True)
class Question:
    """One question."""

    tool: str
    arguments: Mapping[str, object]
    unsynced_h: float = 0  # hours for which nothing has reached Oura
    settings: Mapping[str, Any] = field(default_factory=dict)


QUESTIONS: Mapping[str, Question] = {
    "01_how_was_last_night": Question("health_today", {"days": 1}),
    "02_sleep_of_last_week": Question(
        "health_query",
        {"collection": "sleep", "day": "last week", "fields": "type,total_sleep_duration,average_hrv,efficiency"},
    ),
    "03_a_night_without_the_ring": Question("health_query", {"collection": "sleep", "day": "2026-02-06"}),
    "04_before_the_morning_sync": Question("health_today", {"days": 0}, unsynced_h=12),
    "05_heart_rate_across_a_journey": Question(
        "health_query", {"collection": "heartrate", "start": "2026-03-03", "end": "2026-03-07", "resolution": "day"}
    ),
    "06_steps_of_a_month_as_a_table": Question(
        "health_query",
        {"collection": "daily_activity", "day": "2026-02", "fields": "score,steps,non_wear_time", "format": "csv"},
    ),
    "07_the_owners_own_words": Question(
        "health_query", {"collection": "enhanced_tag", "day": "last month", "format": "csv"}
    ),
    "08_readiness_across_two_rings": Question(
        "health_query",
        {"collection": "daily_readiness", "start": "2024-12-30", "end": "2025-01-12", "fields": "score"},
    ),
    "09_workouts_in_another_zone": Question(
        "health_query", {"collection": "workout", "day": "last 7 days", "timezone": "Europe/Berlin"}
    ),
    "10_more_than_fits": Question(
        "health_query",
        {"collection": "daily_readiness", "day": "2026-02"},
        settings={"ANSWER_MAX_CHARS": "5000"},
    ),
}


async def answered(question: Question, folder: Path) -> str:
    """Ask, and write the answer as it is kept."""
    clock = Clock(MOMENT.timestamp())
    simulator = Simulator(now=clock, seed=SEED)
    if question.unsynced_h:
        simulator.synced_until = clock.at - question.unsynced_h * 3600
    async with running_app(folder, simulator=simulator, clock=clock, **question.settings) as vitals:
        app = await vitals.connected_app()
        answer = await told(app, question.tool, **question.arguments)
    return json.dumps(answer, indent=1, ensure_ascii=False) + "\n"
