"""Whose clock: the offsets of the owner's own nights beside samples that carry none."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from app.errors import NotPermitted, SourceUnreachable
from app.sources.base import Record
from app.tools.dates.clocks import NEAR, Clocks
from tests.tools.fakes import ALL_SCOPES, Connector, FakeSource, heart, sleep

pytestmark = pytest.mark.anyio

BERLIN = ZoneInfo("Europe/Berlin")
MORNING = datetime(2026, 3, 10, 13, tzinfo=UTC)  # 14:00 in Berlin, 09:00 in New York
AWAY: list[Record] = [
    sleep(day, bedtime_start=f"{day}T00:10:00-04:00", end=f"{day}T07:05:00-04:00")
    for day in ("2026-03-09", "2026-03-10")
]
HOME: list[Record] = [sleep("2026-03-10", bedtime_start="2026-03-09T23:10:00+01:00", end="2026-03-10T07:05:00+01:00")]
FLOWN: list[Record] = [
    sleep("2026-03-10", bedtime_start="2026-03-10T00:10:00+01:00", end="2026-03-10T07:05:00+01:00"),
    sleep("2026-03-11", bedtime_start="2026-03-10T22:10:00-04:00", end="2026-03-11T07:05:00-04:00"),
]


def connector(nights: list[Record], **more: object) -> Connector:
    source = FakeSource({"heartrate": heart(MORNING - timedelta(hours=2), 20), "sleep": nights}, zone=BERLIN)
    for name, value in more.items():
        setattr(source, name, value)
    return Connector(source, now=MORNING + timedelta(hours=1))


@pytest.mark.parametrize("question", [{"day": "2026-03-10"}, {"day": "today", "resolution": "hour"}])
async def test_a_single_day_of_samples_on_a_journey_tells_its_offset(question: dict[str, str]) -> None:
    answer = await connector(AWAY).ask("health_query", collection="heartrate", **question)
    home = await connector(HOME).ask("health_query", collection="heartrate", **question)

    assert answer["offsets"] == [{"offset": "-04:00", "from": "2026-03-10", "to": "2026-03-10"}]
    assert any("as on a journey" in note for note in answer["notes"])
    assert "offsets" not in home


async def test_the_day_of_the_flight_tells_both_offsets() -> None:
    answer = await connector(FLOWN).ask("health_query", collection="heartrate", day="2026-03-10")

    assert [run["offset"] for run in answer["offsets"]] == ["+01:00", "-04:00"]


async def test_before_the_morning_sync_the_night_before_tells_the_offset() -> None:
    answer = await connector(AWAY[:1]).ask("health_query", collection="heartrate", day="2026-03-10")

    assert [run["offset"] for run in answer["offsets"]] == ["-04:00"]


async def test_the_newest_sample_tells_the_offset_and_its_time_by_the_owners_clock() -> None:
    away = connector(AWAY)
    answer = await away.ask("health_query", collection="heartrate", latest=True)
    home = await connector(HOME).ask("health_query", collection="heartrate", latest=True)

    assert answer["data"][0]["timestamp"] == "2026-03-10T12:35:00.000Z"
    assert answer["offsets"] == [{"offset": "-04:00", "from": "2026-03-10", "to": "2026-03-10"}]
    assert any(note.endswith("this sample is from 2026-03-10T08:35-04:00.") for note in answer["notes"])
    assert [name for name, *_ in away.source.asked] == ["heartrate", "sleep"]
    assert "offsets" not in home


async def test_the_newest_night_of_a_journey_names_its_offset() -> None:
    answer = await connector(AWAY).ask("health_query", collection="sleep", latest=True)

    assert [run["offset"] for run in answer["offsets"]] == ["-04:00"]


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"failing": {"sleep": SourceUnreachable("no answer")}}, id="unreachable"),
        pytest.param({"failing": {"sleep": NotPermitted("not granted", scope="daily")}}, id="refused"),
        pytest.param({"scopes": ALL_SCOPES - {"daily"}}, id="not granted"),
    ],
)
@pytest.mark.parametrize("question", [{"day": "2026-03-10"}, {"latest": True}])
async def test_without_the_nights_the_samples_are_given_all_the_same(
    question: dict[str, object], more: dict[str, object]
) -> None:
    asked = connector(AWAY, **more)
    answer = await asked.ask("health_query", collection="heartrate", **question)

    assert (answer["n"] > 0, answer["complete"]) == (True, True)
    assert "offsets" not in answer
    assert ("sleep" in [name for name, *_ in asked.source.asked]) == ("failing" in more)


def test_a_clock_is_that_of_the_nearest_record_and_the_zones_where_there_is_none_near() -> None:
    known = [datetime.fromisoformat(text) for text in ("2026-03-09T07:00:00-04:00", "2026-03-28T07:00:00+01:00")]
    clocks = Clocks(BERLIN, known)

    before = datetime(2026, 3, 8, tzinfo=UTC)
    after = datetime(2026, 3, 10, tzinfo=UTC)
    far = known[0] + NEAR + timedelta(hours=1)
    summer = datetime(2026, 3, 30, tzinfo=UTC)
    assert [at.astimezone(clocks.at(at)).strftime("%z") for at in (before, after, far, summer)] == [
        "-0400", "-0400", "+0100", "+0200"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "question",
    [
        {"collection": "heartrate", "day": "today", "resolution": "day"},
        {"collection": "heartrate", "latest": True},
        {"collection": "sleep", "day": "last night"},
        {"collection": "sleep", "latest": True},
    ],
)
async def test_where_no_zone_is_known_days_go_by_the_newest_night_and_that_is_no_journey(
    question: dict[str, object],
) -> None:
    answer = await connector(AWAY, zone=None).ask("health_query", **question)

    assert answer["timezone"] == "-04:00"
    assert (answer["start"], answer["n"]) == ("2026-03-10", 1)
    (said,) = [note for note in answer["notes"] if "time zone is not known" in note]
    assert "go by the offset of their newest night, -04:00" in said
    assert not any("as on a journey" in note or "off by one" in note for note in answer["notes"])
    assert "offsets" not in answer


async def test_where_no_zone_is_known_the_page_and_last_night_go_by_the_newest_night_too() -> None:
    asked = connector(AWAY, zone=None)
    asked.chatgpt = True

    today = await asked.ask("health_today", days=1)
    page = await asked.ask("fetch", id="day:2026-03-10")

    assert (today["today"], today["now"], today["timezone"]) == ("2026-03-10", "2026-03-10T10:00-04:00", "-04:00")
    assert today["last_night"]["wake_day"] == "2026-03-10"
    assert not any("as on a journey" in note or "off by one" in note for note in today["notes"])
    assert "time zone is not known" in page["text"]
    assert "as on a journey" not in page["text"]


async def test_where_no_zone_is_known_days_of_long_ago_run_by_utc_and_say_which_clock_the_owner_had() -> None:
    answer = await connector(AWAY, zone=None).ask("health_query", collection="heartrate", day="2026-02-10")
    near = await connector([sleep("2026-02-10", bedtime_start="2026-02-10T00:10:00-04:00")], zone=None).ask(
        "health_query", collection="heartrate", day="2026-02-10"
    )

    assert answer["timezone"] == "UTC"
    assert any("time zone is not known" in note for note in answer["notes"])
    assert near["offsets"]
    assert not any("as on a journey" in note for note in near["notes"])
