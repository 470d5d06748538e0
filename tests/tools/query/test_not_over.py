"""What is not over or not whole, asked for with `health_query`: said of the right day, by the owner's clock."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from app.identity import Caller
from app.sources.base import Collection, DateRange, Fetched
from tests.tools.fakes import Connector, FakeSource, heart, sleep

pytestmark = pytest.mark.anyio

BERLIN, NEW_YORK, TOKYO = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York"), ZoneInfo("Asia/Tokyo")
GOING_ON = "A night is in progress; it counts nowhere until it is over."
OVER = sleep("2026-03-10", bedtime_start="2026-03-09T23:40:00+01:00", end="2026-03-10T07:05:00+01:00")
RUNNING = {**sleep("2026-03-11", asleep_s=5400), "bedtime_start": "2026-03-10T22:00:00+01:00", "bedtime_end": None}
STRESS: dict[str, Any] = {"id": "s", "day": "2026-03-09", "stress_high": 5400, "recovery_high": 0, "day_summary": None}


def nights(offset: str, *days: int) -> list[dict[str, Any]]:
    return [
        sleep(
            f"2026-03-{n:02}", bedtime_start=f"2026-03-{n:02}T00:10:00{offset}", end=f"2026-03-{n:02}T07:05:00{offset}"
        )
        for n in days
    ]


@pytest.mark.parametrize("fields", [None, "type,total_sleep_duration"])
async def test_a_night_in_progress_is_said_to_be(fields: str | None) -> None:
    connector = Connector(
        FakeSource({"sleep": [OVER, RUNNING]}, zone=BERLIN), now=datetime(2026, 3, 11, 1, 50, tzinfo=BERLIN)
    )

    running = await connector.ask("health_query", collection="sleep", day="last night", fields=fields)
    both = await connector.ask("health_query", collection="sleep", start="2026-03-10", fields=fields)
    before = await connector.ask("health_query", collection="sleep", day="2026-03-10", fields=fields)

    assert (running["n"], running["in_progress"]) == (1, ["2026-03-11"])
    assert (both["n"], both["in_progress"]) == (2, ["2026-03-11"])
    assert GOING_ON in running["notes"]
    assert GOING_ON in both["notes"]
    assert "in_progress" not in before
    assert GOING_ON not in before["notes"]


@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK])
async def test_on_a_journey_a_day_not_synced_to_its_end_there_is_partial(zone: ZoneInfo) -> None:
    reached = heart(datetime(2026, 3, 9, 22, tzinfo=UTC), 7, every_s=900)  # to 19:30 in New York, 00:30 in Berlin
    source = FakeSource({"sleep": nights("-04:00", 8, 9), "heartrate": reached, "daily_stress": [STRESS]}, zone=zone)

    answer = await Connector(source, now=datetime(2026, 3, 10, 12, tzinfo=UTC)).ask(
        "health_query", collection="daily_stress", day="yesterday"
    )

    assert answer["partial"] == {"2026-03-09": "newest sample 19:30"}


@pytest.mark.parametrize("zone", [BERLIN, TOKYO])
async def test_on_a_journey_a_day_synced_to_its_end_there_is_whole(zone: ZoneInfo) -> None:
    reached = heart(datetime(2026, 3, 9, 16, tzinfo=UTC) - timedelta(hours=4), 49)  # to 01:00 of the 10th in Tokyo
    source = FakeSource({"sleep": nights("+09:00", 9, 10), "heartrate": reached, "daily_stress": [STRESS]}, zone=zone)

    answer = await Connector(source, now=datetime(2026, 3, 10, 1, tzinfo=UTC)).ask(
        "health_query", collection="daily_stress", day="yesterday"
    )

    assert answer["n"] == 1
    assert "partial" not in answer


async def test_a_day_that_a_journey_made_shorter_or_longer_is_said_to_be_where_only_its_sum_is_told() -> None:
    there = range(10, 15)
    days = range(7, 18)
    slept = [one for n in days for one in nights("+14:00" if n in there else "+01:00", n)]
    stress = [{**STRESS, "id": str(n), "day": f"2026-03-{n:02}"} for n in days]
    source = FakeSource({"sleep": slept, "daily_stress": stress}, zone=BERLIN)
    connector = Connector(source, now=datetime(2026, 4, 10, 12, tzinfo=UTC))

    answer = await connector.ask("health_query", collection="daily_stress", start="2026-03-08", end="2026-03-16")
    home = await connector.ask("health_query", collection="daily_stress", start="2026-03-15", end="2026-03-16")

    assert answer["partial"] == {"2026-03-09": "about 11 h long", "2026-03-14": "about 37 h long"}
    assert [run["offset"] for run in answer["offsets"]] == ["+01:00", "+14:00", "+01:00"]
    assert any("shorter or longer than others" in note for note in answer["notes"])
    assert "partial" not in home
    assert "offsets" not in home


async def test_the_page_of_a_day_whose_night_is_going_on_names_it_as_missing() -> None:
    source = FakeSource({"sleep": [OVER, RUNNING]}, zone=BERLIN)
    connector = Connector(source, now=datetime(2026, 3, 11, 1, 50, tzinfo=BERLIN), chatgpt=True)

    page = await connector.ask("fetch", id="day:2026-03-11")

    assert "oura.sleep.main_sleep: in_progress" in page["metadata"]["missing"]
    assert "still going on, so not yet a night" in page["text"]


async def test_what_time_it_is_by_the_owners_clock_is_told_with_its_date_where_that_is_another() -> None:
    connector = Connector(
        FakeSource({"sleep": nights("-04:00", 8, 9, 10)}, zone=BERLIN), now=datetime(2026, 3, 10, 18, tzinfo=UTC)
    )

    answer = await connector.ask("health_query", collection="daily_activity", day="today", timezone="Asia/Tokyo")

    assert answer["empty"]["evidence"] == [
        "It is 14:00 on 2026-03-10 by the owner's clock: the activity day 2026-03-11 begins at 04:00."
    ]


async def test_last_night_is_not_said_to_have_ended_while_it_goes_on() -> None:
    connector = Connector(
        FakeSource({"sleep": [OVER, RUNNING]}, zone=BERLIN), now=datetime(2026, 3, 11, 1, 50, tzinfo=BERLIN)
    )

    answer = await connector.ask("health_query", collection="sleep", day="last night")

    assert answer["in_progress"] == ["2026-03-11"]
    assert "Last night is filed under the day it ends, 2026-03-11." in answer["notes"]


async def test_where_there_are_naps_alone_no_night_is_said_to_be_in_sleep() -> None:
    nap = sleep("2026-03-10", "late_nap", bedtime_start="2026-03-10T13:00:00+01:00", end="2026-03-10T13:40:00+01:00")
    source = FakeSource({"sleep": [nap], "heartrate": heart(datetime(2026, 3, 9, 22, tzinfo=UTC), 7)}, zone=BERLIN)
    connector = Connector(source, now=datetime(2026, 3, 10, 16, tzinfo=BERLIN))

    answer = await connector.ask("health_query", collection="heartrate", day="last night")

    assert any(note.startswith("Last night was read as 18:00 to 12:00: no main sleep is") for note in answer["notes"])
    assert not any("when the owner slept" in note for note in answer["notes"])


@pytest.mark.parametrize("zone", [BERLIN, TOKYO], ids=lambda zone: zone.key)
async def test_the_page_of_tomorrow_has_what_this_evening_filed_there_and_calls_the_rest_ahead(zone: ZoneInfo) -> None:
    def at(hour: int, minute: int) -> str:
        return datetime(2026, 3, 10, hour, minute, tzinfo=zone).isoformat()

    nap = sleep("2026-03-11", "late_nap", bedtime_start=at(18, 10), end=at(18, 50), asleep_s=2_000)
    now = datetime(2026, 3, 10, 18, 55, tzinfo=zone)  # in Tokyo it is tomorrow nowhere yet

    page = await Connector(FakeSource({"sleep": [nap]}, zone=zone), now=now, chatgpt=True).ask(
        "fetch", id="day:2026-03-11"
    )
    none = await Connector(FakeSource(zone=zone), now=now, chatgpt=True).ask("fetch", id="day:2026-03-11")

    assert "### nap" in page["text"]
    assert "oura.sleep: in_future" not in page["metadata"]["missing"]
    assert "oura.daily_sleep: in_future" in page["metadata"]["missing"]
    assert "oura.sleep: in_future" in none["metadata"]["missing"]


class HalfOfTheNights(FakeSource):
    """Of sleep only a part arrives, whoever asks."""

    async def fetch(self, caller: Caller, collection: Collection, days: DateRange | None, **more: Any) -> Fetched:
        came = await super().fetch(caller, collection, days, **more)
        return replace(came, records=(), complete=False) if collection.name == "sleep" else came


async def test_nights_that_came_in_part_are_no_sign_that_there_was_none() -> None:
    source = HalfOfTheNights({"sleep": nights("+01:00", 4, 5, 6)}, zone=BERLIN)

    await Connector(source).ask("health_query", collection="daily_stress", day="2026-03-05")

    assert [name for name, _, _ in source.asked].count("sleep") == 2  # once more, by whoever looks for reasons
