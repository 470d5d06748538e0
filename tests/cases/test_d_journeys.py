"""D5 on journeys: today and last night follow the owner's own clock, not that of TIMEZONE or the sign-in."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import anyio
import anyio.lowlevel
import pytest

from app.demo.walk import App
from app.simulator import Simulator
from app.simulator.person import Person
from tests.app_under_test import Clock, running_app
from tests.cases.asking import told

pytestmark = pytest.mark.anyio

LA, BERLIN, TOKYO, NEW_YORK = "America/Los_Angeles", "Europe/Berlin", "Asia/Tokyo", "America/New_York"
KIRITIMATI, PAGO_PAGO = "Pacific/Kiritimati", "Pacific/Pago_Pago"
_DAY: Final = timedelta(days=1)
EVERYWHERE: Final = (
    pytest.param(LA, TOKYO, "2026-05-10", "10:00", id="east: the zone's day is the one before"),
    pytest.param(LA, BERLIN, "2026-05-10", "08:30", id="east, in the morning"),
    pytest.param(BERLIN, KIRITIMATI, "2026-05-10", "09:00", id="far east"),
    pytest.param(BERLIN, NEW_YORK, "2026-03-20", "20:30", id="west: the zone's day is the next one"),
    pytest.param(BERLIN, PAGO_PAGO, "2026-05-24", "18:00", id="far west"),
    pytest.param(KIRITIMATI, PAGO_PAGO, "2026-05-24", "23:45", id="two days apart"),
    pytest.param(BERLIN, BERLIN, "2026-05-10", "10:00", id="at home"),
)


@asynccontextmanager
async def away(
    folder: Path, home: str, there: str, day: str, clock: str
) -> AsyncIterator[tuple[App, Simulator, datetime]]:
    """Someone who lives at `home`, as TIMEZONE says, and has been `there` for eight days, at a time of day there."""
    now = datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=ZoneInfo(there))
    arrived = now.date() - 8 * _DAY
    stopover = ((arrived - 3 * _DAY, "UTC"),)  # or a leap over the date line swallows a day
    moves = (*stopover, (arrived, there)) if there != home else ()
    ticking = Clock(now.timestamp())
    simulator = Simulator(now=ticking, person=Person(zone=home, moves=moves, odd=False, rest_mode_open_days=None))
    running = running_app(folder, simulator=simulator, clock=ticking, TIMEZONE=home, CHATGPT_TOOLS="1")
    async with running as vitals:
        yield await vitals.connected_app(), simulator, now


def main_of(simulator: Simulator, day: str) -> dict[str, Any]:
    (night,) = [one for one in simulator.truth("sleep", day, day) if one["type"] == "long_sleep"]
    return night


@pytest.mark.parametrize(("home", "there", "day", "clock"), EVERYWHERE)
async def test_d5_on_a_journey_today_and_last_night_are_those_of_the_owners_clock(
    tmp_path: Path, home: str, there: str, day: str, clock: str
) -> None:
    async with away(tmp_path, home, there, day, clock) as (app, simulator, now):
        today = await told(app, "health_today", days=1)
        score = await told(app, "health_query", collection="daily_sleep", day="last night")
        steps = await told(app, "health_query", collection="daily_activity", day="today", fields="steps")
        week = await told(app, "health_query", collection="daily_sleep", day="last 7 days", fields="score")
        newest = await told(app, "health_query", collection="daily_sleep", latest=True)
        named = await told(app, "health_query", collection="daily_sleep", day=day)
        heart = await told(app, "health_query", collection="heartrate", day="today", resolution="day")
        truth = main_of(simulator, day)
        beats = simulator.truth("heartrate", day, day, there)

    offset = f"{now:%z}"[:3] + ":" + f"{now:%z}"[3:]
    assert (today["today"], today["now"]) == (day, now.isoformat(timespec="minutes"))
    assert today["last_night"]["wake_day"] == day
    assert today["last_night"]["main"]["bedtime_end"] == truth["bedtime_end"]
    assert today["newest_record_age"]["sleep"] == {"day": day, "days_ago": 0}
    assert [row["day"] for row in today["days"]] == [str(date.fromisoformat(day) - _DAY)]
    assert (score["start"], score["n"]) == (day, 1)
    assert [record["day"] for record in steps["data"]] == [day]
    assert (week["end"], week["data"][-1]["day"], week["n"]) == (day, day, 7)
    assert (newest["start"], newest["age_days"]) == (day, 0)
    assert named["n"] == 1
    assert not any("lie ahead" in note for note in named["notes"])
    assert (heart["samples"], [bucket["day"] for bucket in heart["data"]]) == (len(beats), [day])
    assert heart["timezone"] == (home if there == home else offset)
    for answer in (today, score, steps, week, newest, named, heart):
        said = [note for note in answer["notes"] if note.startswith("The owner's newest night carries")]
        assert [f"carries {offset}" in note for note in said] == ([True] if there != home else [])


@pytest.mark.parametrize(
    ("home", "there", "day", "clock"),
    [
        pytest.param(LA, TOKYO, "2026-05-10", "10:00", id="east"),
        pytest.param(BERLIN, PAGO_PAGO, "2026-05-24", "10:00", id="west"),
        pytest.param(BERLIN, BERLIN, "2026-05-10", "10:00", id="at home"),
    ],
)
async def test_d5_the_samples_of_last_night_are_those_of_the_main_sleep(
    tmp_path: Path, home: str, there: str, day: str, clock: str
) -> None:
    async with away(tmp_path, home, there, day, clock) as (app, simulator, _now):
        answer = await told(app, "health_query", collection="heartrate", day="last night", format="csv")
        night = main_of(simulator, day)

    since, until = (datetime.fromisoformat(night[name]) for name in ("bedtime_start", "bedtime_end"))
    margin = timedelta(minutes=30)
    assert answer["start"] == (since - margin).isoformat()
    assert answer["end"] == (until + margin).isoformat()
    assert any("30 min on either side" in note for note in answer["notes"])
    assert answer["complete"] is True
    rows = answer["data"].split("\r\n")[1:-1]
    first, last = (datetime.fromisoformat(row.split(",")[0]) for row in (rows[0], rows[-1]))
    assert first - (since - margin) < timedelta(minutes=6)
    assert (until + margin) - last < timedelta(minutes=6)


@pytest.mark.parametrize(("home", "there", "day", "clock"), EVERYWHERE)
async def test_d5_the_page_of_a_day_goes_by_the_owners_clock_as_every_other_answer(
    tmp_path: Path, home: str, there: str, day: str, clock: str
) -> None:
    by_zone = str(
        datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=ZoneInfo(there)).astimezone(ZoneInfo(home)).date()
    )
    async with away(tmp_path, home, there, day, clock) as (app, simulator, now):
        found = await told(app, "search", query="how was last night?")
        page = await told(app, "fetch", id=f"day:{day}")
        zones = await told(app, "fetch", id=f"day:{by_zone}")
        heart = await told(app, "health_query", collection="heartrate", day=day, resolution="day")
        beats = simulator.truth("heartrate", day, day, there)
        truth = main_of(simulator, day)

    offset = f"{now:%z}"[:3] + ":" + f"{now:%z}"[3:]
    assert page["title"].startswith(f"{day} ({now:%A}, today and last night): ")
    assert "This day is today and not over" in page["text"]
    assert f"- bedtime_end: {truth['bedtime_end']}\n" in page["text"]
    assert f"over {len(beats)} samples" in page["text"]
    assert heart["samples"] == len(beats)
    assert page["metadata"]["timezone"] == heart["timezone"] == (home if there == home else offset)
    assert "in_future" not in page["text"]
    assert (f"The owner's newest night carries {offset}" in page["text"]) == (there != home)
    assert (f"last night are on the page day:{day}." in zones["text"]) == (by_zone != day)
    assert ("today and last night):" in zones["title"]) == (by_zone == day)
    days = {result["id"]: result["title"] for result in found["results"] if result["id"].startswith("day:")}
    assert next(iter(days)) == f"day:{by_zone}"
    assert f"today and last night in {home}" in days[f"day:{by_zone}"]
    assert f"day:{day}" in days
    assert sum(f"today and last night in {home}" in title for title in days.values()) == 1


async def test_d5_the_doctor_says_by_which_zone_it_is_today(tmp_path: Path) -> None:
    async with away(tmp_path, LA, TOKYO, "2026-05-10", "10:00") as (app, _simulator, _now):
        checked = await told(app, "health_check")

    assert (checked["today"], checked["timezone"]) == ("2026-05-09", LA)
    assert any(note.startswith(f"today is by {LA}") and "health_today" in note for note in checked["notes"])


@pytest.mark.parametrize("clock", ["00:30", "03:00"])
async def test_d22_a_night_that_is_not_over_has_a_word_of_its_own(tmp_path: Path, clock: str) -> None:
    async with away(tmp_path, BERLIN, BERLIN, "2026-05-10", clock) as (app, _simulator, _now):
        today = await told(app, "health_today", days=1)
        asked = {
            name: await told(app, "health_query", collection=name, day="last night")
            for name in ("sleep", "daily_sleep")
        }
        heart = await told(app, "health_query", collection="heartrate", day="last night", resolution="hour")

    assert today["missing"] == dict.fromkeys(("last_night", "readiness", "sleep_score"), "not_over_yet")
    assert today["days"][0]["sleep"]["main"]["bedtime_end"].startswith("2026-05-09")
    assert all(answer["empty"]["reasons"] == ["not_over_yet"] for answer in asked.values())
    assert not any("opens the source's app" in note for note in today["notes"])
    assert any("18:00 to 12:00" in note for note in heart["notes"])


async def test_d5_a_zone_named_in_the_question_decides(tmp_path: Path) -> None:
    async with away(tmp_path, LA, TOKYO, "2026-05-10", "10:00") as (app, _simulator, _now):
        today = await told(app, "health_today", days=0, timezone=LA)
        query = await told(app, "health_query", collection="daily_sleep", day="last night", timezone=LA)
        ahead = await told(app, "health_query", collection="daily_sleep", day="2026-05-10", timezone=LA)

    assert (today["today"], today["last_night"]["wake_day"]) == ("2026-05-09", "2026-05-09")
    assert any("A newer night is there, of 2026-05-10" in note for note in today["notes"])
    assert query["start"] == "2026-05-09"
    assert ahead["n"] == 1
    assert not any("lie ahead" in note for note in ahead["notes"])


async def test_d5_the_clock_costs_one_request_and_none_where_nothing_depends_on_it(tmp_path: Path) -> None:
    async with away(tmp_path, BERLIN, BERLIN, "2026-05-13", "10:00") as (app, simulator, _now):

        async def cost(**question: Any) -> list[str]:
            before = len(simulator.log)
            await told(app, "health_query", **question)
            return sorted(seen.path.rpartition("/")[2] for seen in simulator.log[before:])

        near = await cost(collection="daily_sleep", day="last 7 days")
        past = await cost(collection="daily_sleep", start="2026-05-01", end="2026-05-07")
        month = await cost(collection="daily_sleep", day="last month")
        named = await cost(collection="daily_sleep", day="today", timezone=BERLIN)

    assert near.count("sleep") == 1
    assert "sleep" not in past + month + named


async def test_d5_the_records_do_not_wait_for_the_clock(tmp_path: Path) -> None:
    async with away(tmp_path, BERLIN, BERLIN, "2026-05-13", "10:00") as (app, simulator, _now):
        for name in ("sleep", "daily_sleep"):
            simulator.faults.add("hold", f"/v2/usercollection/{name}")
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(partial(told, app, "health_query", collection="daily_sleep", day="today"))
                while simulator.faults.held < 2:  # fail_after ends it where the second waits for the first
                    await anyio.lowlevel.checkpoint()
                at_once = simulator.faults.held
                simulator.faults.release()

    assert at_once == 2


async def test_d5_without_the_nights_the_zone_decides(tmp_path: Path) -> None:
    async with away(tmp_path, LA, TOKYO, "2026-05-10", "10:00") as (app, simulator, now):
        simulator.faults.add("status", "/v2/usercollection/sleep", times=None, status=400)
        answer = await told(app, "health_query", collection="daily_sleep", day="last night")

    assert answer["start"] == str(now.astimezone(ZoneInfo(LA)).date())
