"""`latest`: the newest record that is there, never an old or unfinished one for it, nor one record for its day."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.tools.fakes import NOW, Connector, FakeSource, heart, sleep

pytestmark = pytest.mark.anyio

BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = sleep("2026-03-10", bedtime_start="2026-03-09T23:40:00+01:00", end="2026-03-10T07:05:00+01:00")
RUNNING = {**sleep("2026-03-11", asleep_s=5400), "bedtime_start": "2026-03-10T22:00:00+01:00", "bedtime_end": None}
LATE = datetime(2026, 3, 10, 23, 50, tzinfo=BERLIN)


def tag(identifier: str, start: str, end: str | None) -> dict[str, Any]:
    return {"id": identifier, "tag_type_code": "tag_generic_sick", "start_day": start, "end_day": end}


async def test_the_newest_night_is_one_that_is_over_and_the_one_going_on_is_named() -> None:
    connector = Connector(FakeSource({"sleep": [NIGHT, RUNNING]}, zone=BERLIN), now=LATE)

    answer = await connector.ask("health_query", collection="sleep", latest=True, fields="type,total_sleep_duration")

    assert [record["day"] for record in answer["data"]] == ["2026-03-10"]
    assert (answer["start"], answer["age_days"], answer["in_progress"]) == ("2026-03-10", 0, ["2026-03-11"])
    assert any("in progress" in note for note in answer["notes"])


async def test_where_no_night_was_ever_over_the_one_going_on_says_so() -> None:
    answer = await Connector(FakeSource({"sleep": [RUNNING]}, zone=BERLIN), now=LATE).ask(
        "health_query", collection="sleep", latest=True
    )

    assert (answer["n"], answer["in_progress"]) == (1, ["2026-03-11"])
    assert any("in progress" in note for note in answer["notes"])


async def test_what_else_there_is_of_its_day_is_said_beside_the_newest_record() -> None:
    nap = sleep("2026-03-10", "sleep", bedtime_start="2026-03-10T14:40:00+01:00", end="2026-03-10T15:05:00+01:00")
    rest = sleep("2026-03-10", "rest", bedtime_start="2026-03-10T15:40:00+01:00", end="2026-03-10T16:05:00+01:00")
    connector = Connector(FakeSource({"sleep": [NIGHT, nap, rest]}, zone=BERLIN))

    several = await connector.ask("health_query", collection="sleep", latest=True)
    alone = await Connector(FakeSource({"sleep": [NIGHT]})).ask("health_query", collection="sleep", latest=True)

    assert (several["n"], several["newest_only"]) == (1, True)
    assert several["also_that_day"] == {"long_sleep": 1, "rest": 1}
    assert any("ask with day=2026-03-10" in note for note in several["notes"])
    assert "also_that_day" not in alone
    assert not any("ask with day=" in note for note in alone["notes"])


async def test_the_newest_sample_is_not_taken_for_its_day() -> None:
    source = FakeSource({"heartrate": heart(NOW.replace(hour=9), 30)})

    answer = await Connector(source).ask("health_query", collection="heartrate", latest=True)

    assert (answer["n"], answer["newest_only"]) == (1, True)
    assert any("ask with day=2026-03-10" in note for note in answer["notes"])


async def test_the_newest_tag_is_the_one_that_began_last_though_an_older_one_lasts_until_now() -> None:
    long, short = tag("long", "2026-01-05", "2026-03-20"), tag("short", "2026-03-01", None)

    both = await Connector(FakeSource({"enhanced_tag": [long, short]})).ask(
        "health_query", collection="enhanced_tag", latest=True
    )
    old = await Connector(FakeSource({"enhanced_tag": [tag("old", "2024-01-05", "2026-03-20")]})).ask(
        "health_query", collection="enhanced_tag", latest=True
    )

    assert (both["data"][0]["id"], both["start"], both["age_days"]) == ("short", "2026-03-01", 9)
    assert both["also_that_day"] == 1
    assert (old["data"][0]["id"], old["start"]) == ("old", "2024-01-05")


async def test_rest_is_not_the_newest_sleep() -> None:
    rest = {**sleep("2026-03-10", "rest"), "id": "rest", "bedtime_start": "2026-03-10T07:30:00+01:00"}
    rest |= {"bedtime_end": "2026-03-10T08:30:00+01:00"}
    both = await Connector(FakeSource({"sleep": [NIGHT, rest]}, zone=BERLIN), now=LATE).ask(
        "health_query", collection="sleep", latest=True
    )
    alone = await Connector(FakeSource({"sleep": [rest]}, zone=BERLIN), now=LATE).ask(
        "health_query", collection="sleep", latest=True
    )

    assert [one["type"] for one in both["data"]] == ["long_sleep"]
    assert both["also_that_day"] == {"rest": 1}
    assert [one["type"] for one in alone["data"]] == ["rest"]  # there is nothing else, and it says what it is
