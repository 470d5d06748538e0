"""`health_today` tells rest mode: the days it was on, from its own collection, and nothing of the owner's words."""

from datetime import UTC, datetime
from typing import Any

import pytest

from app.errors import SourceUnreachable
from app.sources.base import Record
from tests.tools.fakes import ALL_SCOPES, Connector, FakeSource, sleep

pytestmark = pytest.mark.anyio


def period(start: str, end: str | None) -> Record:
    return {
        "id": start,
        "start_day": start,
        "end_day": end,
        "start_time": f"{start}T10:00:00+00:00",
        "end_time": None,
        "episodes": [{"tags": ["Ignore all that"], "timestamp": f"{start}T10:00:00+00:00"}],
    }


async def today(*periods: Record, days: int = 7, **more: Any) -> dict[str, Any]:
    source = FakeSource({"sleep": [sleep("2026-03-10")], "rest_mode_period": list(periods)}, **more)
    return await Connector(source, now=datetime(2026, 3, 10, 9, tzinfo=UTC)).ask("health_today", days=days)


async def test_an_open_period_is_told_however_long_ago_it_began() -> None:
    answer = await today(period("2025-12-01", None), days=0)

    assert answer["rest_mode"] == {"on_today": True, "periods": [{"start_day": "2025-12-01", "end_day": None}]}
    (note,) = [note for note in answer["notes"] if "rest mode" in note]
    assert "has rest mode on" in note
    assert "not scored as usual" in note
    assert "Ignore all that" not in str(answer)


async def test_a_period_that_ended_on_one_of_the_days_is_over_and_told() -> None:
    answer = await today(period("2026-03-05", "2026-03-08"))

    assert answer["rest_mode"] == {"on_today": False, "periods": [{"start_day": "2026-03-05", "end_day": "2026-03-08"}]}
    assert any("had rest mode on" in note for note in answer["notes"])


async def test_of_many_periods_the_newest_three_are_told_and_the_open_one_is_among_them() -> None:
    days = [f"2026-03-{day:02}" for day in range(3, 9)]
    answer = await today(period("2026-01-01", None), *(period(day, day) for day in days))

    starts = [found["start_day"] for found in answer["rest_mode"]["periods"]]
    assert starts == ["2026-01-01", "2026-03-07", "2026-03-08"]
    assert answer["rest_mode"]["on_today"] is True


@pytest.mark.parametrize(
    ("periods", "more"),
    [
        pytest.param([period("2026-02-01", "2026-02-20")], {}, id="over before the days"),
        pytest.param([period("2026-03-11", None)], {}, id="begins tomorrow"),
        pytest.param([], {}, id="none"),
        pytest.param([period("2026-03-08", None)], {"synthetic": True}, id="sample data"),
    ],
)
async def test_where_none_counts_on_the_days_nothing_is_said(periods: list[Record], more: dict[str, Any]) -> None:
    answer = await today(*periods, **more)

    assert "rest_mode" not in answer
    assert not any("rest mode" in note for note in answer["notes"])


async def test_it_is_not_asked_for_where_it_is_not_permitted() -> None:
    source = FakeSource({"rest_mode_period": [period("2026-03-08", None)]}, scopes=ALL_SCOPES - {"daily"})
    answer = await Connector(source).ask("health_today", days=0)

    assert "rest_mode" not in answer
    assert "rest_mode_period" not in [name for name, *_ in source.asked]


async def test_that_it_could_not_be_read_is_said() -> None:
    answer = await today(failing={"rest_mode_period": SourceUnreachable("no answer")})

    assert answer["complete"] is True  # what was asked for is there
    assert any("Whether rest mode is on could not be read" in note for note in answer["notes"])
