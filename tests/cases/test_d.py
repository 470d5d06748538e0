"""CASES.md, section D, through the whole connector: the right records for the right days."""

from datetime import UTC, date, datetime, timedelta
from itertools import permutations
from pathlib import Path

import pytest

from app.sources.oura.catalog import COLLECTIONS
from tests.cases.asking import asking, refused, told
from tests.cases.oura_records import BERLIN, DATED, DENSE, NINE, UNDATED, document, night, sample

pytestmark = pytest.mark.anyio


async def test_d1_a_day_brings_its_record_and_not_its_neighbours_in_all_collections(tmp_path: Path) -> None:
    async with asking(tmp_path, at=NINE) as (app, held):
        for name in DATED:
            held.records[name] = [document(name, f"2026-03-{day:02}") for day in (8, 9, 10, 11, 12)]
        for name in DENSE:
            held.records[name] = [sample(datetime(2026, 3, day, 12, tzinfo=BERLIN)) for day in (9, 10, 11)]
        for name in UNDATED:
            held.records[name] = [{"id": "one"}]

        for name in COLLECTIONS:
            dates = {} if name in UNDATED else {"start": "2026-03-10", "end": "2026-03-10"}
            answer = await told(app, "health_query", collection=name, **dates)

            assert answer["n"] == 1, name
            assert answer["complete"] is True
            assert answer["filed_by"] == COLLECTIONS[name].date_kind
            if name in DATED:
                assert answer["data"][0]["id"] == f"{name}-2026-03-10"
            elif name in DENSE:
                assert answer["data"][0]["timestamp"] == "2026-03-10T11:00:00+00:00"


async def test_d3_what_exists_for_today_is_found_today_in_all_collections(tmp_path: Path) -> None:
    async with asking(tmp_path, at=NINE) as (app, held):
        for name in DATED:
            held.records[name] = [document(name, "2026-03-10", score=77)]
        for name in DENSE:
            held.records[name] = [sample(NINE - timedelta(hours=1))]
        held.records["sleep"] = [night("2026-03-10", "2026-03-09T23:40:00+01:00", "2026-03-10T07:05:00+01:00", 25_000)]

        today = await told(app, "health_today")
        found = {n: (await told(app, "health_query", collection=n, day="today"))["n"] for n in (*DATED, *DENSE)}

    assert (today["sleep_score"]["score"], today["readiness"]["score"]) == (77, 77)
    assert today["last_night"]["main"]["bedtime_end"] == "2026-03-10T07:05:00+01:00"
    assert "missing" not in today
    assert found == dict.fromkeys((*DATED, *DENSE), 1)


async def test_d4_a_night_is_the_wake_days_and_every_answer_about_it_says_wake_day(tmp_path: Path) -> None:
    async with asking(tmp_path, at=NINE) as (app, held):
        held.records["sleep"] = [night("2026-03-10", "2026-03-09T23:40:00+01:00", "2026-03-10T07:05:00+01:00", 25_000)]
        today = await told(app, "health_today")
        asked = await told(app, "health_query", collection="sleep", day="2026-03-10")
        before = await told(app, "health_query", collection="sleep", day="2026-03-09")

    assert today["last_night"]["wake_day"] == "2026-03-10"
    assert (asked["n"], before["n"]) == (1, 0)
    assert asked["filed_by"] == before["filed_by"] == "wake day"
    assert "wake day" in " ".join(today["notes"])


async def test_d5_today_is_the_owners_day_for_every_tool_that_knows_one(tmp_path: Path) -> None:
    half_past_five = datetime(2026, 3, 10, 5, 30, tzinfo=UTC)
    async with asking(tmp_path, at=half_past_five, zone="America/Los_Angeles") as (app, held):
        held.records["daily_sleep"] = [document("daily_sleep", "2026-03-09", score=71)]
        held.records["sleep"] = []  # nothing tells of another clock

        assert (await told(app, "health_today"))["today"] == "2026-03-09"
        assert (await told(app, "health_check"))["today"] == "2026-03-09"
        for name in (*DATED, *DENSE):
            assert (await told(app, "health_query", collection=name))["end"] == "2026-03-09", name
        named = await told(app, "health_query", collection="daily_sleep", day="today")
        abroad = await told(app, "health_query", collection="daily_sleep", day="today", timezone="Asia/Tokyo")

    assert (named["start"], named["n"]) == ("2026-03-09", 1)
    assert abroad["start"] == "2026-03-10"


async def test_d6_1231_samples_on_two_pages_are_1231_and_the_newest_is_the_last(tmp_path: Path) -> None:
    midnight = datetime(2026, 3, 9, tzinfo=BERLIN)
    samples = [sample(midnight + timedelta(seconds=70 * n), 50 + n % 40) for n in range(1231)]
    for name in DENSE:
        async with asking(tmp_path / name, at=NINE, cap="400000") as (app, held):
            held.records |= {name: samples, "sleep": []}
            answer = await told(app, "health_query", collection=name, day="2026-03-09", resolution="raw")
            held.cycle, held.pages = True, 500
            cycle = await told(app, "health_query", collection=name, day="2026-03-09", resolution="raw")

        assert (answer["n"], answer["pages"], answer["complete"]) == (1231, 2, True)
        assert answer["data"][-1]["timestamp"] == samples[-1]["timestamp"]
        assert (cycle["pagination_cycle"], cycle["complete"]) == (True, False)
        assert cycle["n"] == 1000


async def test_d7_a_day_of_samples_is_asked_from_midnight_to_midnight_with_the_offset(tmp_path: Path) -> None:
    day = datetime(2026, 6, 10, tzinfo=BERLIN)
    inside, outside = day.replace(hour=23, minute=59), day + timedelta(days=1)
    for name in DENSE:
        async with asking(tmp_path / name, at=datetime(2026, 6, 20, tzinfo=UTC)) as (app, held):
            held.records[name] = [sample(inside), sample(outside)]
            answer = await told(app, "health_query", collection=name, day="2026-06-10", resolution="raw")

        assert held.asked[0][1]["start_datetime"] == "2026-06-10T00:00:00+02:00"
        assert held.asked[0][1]["end_datetime"] == "2026-06-11T00:00:00+02:00"
        assert "%2B02%3A00" in held.raw[0]  # a bare + would reach Oura as a blank
        assert [r["timestamp"] for r in answer["data"]] == ["2026-06-10T21:59:00+00:00"]


async def test_d9_no_tool_throws_an_offset_away(tmp_path: Path) -> None:
    start, end = "2026-03-09T23:40:00-07:00", "2026-03-10T07:05:00-07:00"
    async with asking(tmp_path, at=NINE + timedelta(hours=8)) as (app, held):
        held.records["sleep"] = [night("2026-03-10", start, end, 25_000)]
        for name in ("workout", "session"):
            held.records[name] = [document(name, "2026-03-10", start_datetime=start, end_datetime=end)]
        held.records["enhanced_tag"] = [document("enhanced_tag", "2026-03-10", start_time=start)]
        today = await told(app, "health_today")
        asked = {
            name: (await told(app, "health_query", collection=name, day="2026-03-10"))["data"][0]
            for name in ("sleep", "workout", "session", "enhanced_tag")
        }
        table = await told(app, "health_query", collection="sleep", day="2026-03-10", format="csv")

    assert today["last_night"]["main"]["bedtime_start"] == start
    assert asked["sleep"]["bedtime_start"] == asked["workout"]["start_datetime"] == start
    assert asked["session"]["start_datetime"] == asked["enhanced_tag"]["start_time"] == start
    assert start in table["data"]


@pytest.mark.parametrize(
    ("lengths", "all_sleep", "naps"),
    [
        pytest.param([("long_sleep", 18_120), ("late_nap", 1_800)], 5 * 3600 + 32 * 60, ["late_nap"], id="a nap"),
        pytest.param([("long_sleep", 14_280), ("long_sleep", 12_600)], 26_880, ["long_sleep"], id="two long sleeps"),
        pytest.param(
            [("long_sleep", 1000), ("sleep", 1000), ("late_nap", 1000), ("rest", 1000), ("deleted", 1000)],
            3000,
            ["late_nap", "sleep"],
            id="every type",
        ),
    ],
)
async def test_d10_d12_main_sleep_and_naps_stand_apart_and_add_up_in_any_order(
    tmp_path: Path, lengths: list[tuple[str, int]], all_sleep: int, naps: list[str]
) -> None:
    records = [
        night("2026-03-10", f"2026-03-10T0{n}:00:00+01:00", f"2026-03-10T0{n}:59:00+01:00", asleep_s, kind)
        for n, (kind, asleep_s) in enumerate(lengths)
    ]
    async with asking(tmp_path, at=NINE) as (app, held):
        for order in list(permutations(records))[:24]:
            held.records["sleep"] = list(order)
            said = (await told(app, "health_today", days=0))["last_night"]

            assert said["main"]["total_sleep_duration"] == lengths[0][1]
            assert said["main"]["type"] == "long_sleep"
            apart = [*said.get("naps", ()), *said.get("other_long_sleep", ())]
            assert sorted(each["type"] for each in apart) == naps
            assert not [nap for nap in said.get("naps", ()) if nap["type"] == "long_sleep"]
            assert said["all_sleep_of_day"] == all_sleep


async def test_d11_an_afternoon_nap_does_not_move_the_wake_time(tmp_path: Path) -> None:
    long = night("2026-03-10", "2026-03-10T00:30:00+01:00", "2026-03-10T08:30:00+01:00", 27_000)
    for kind in ("sleep", "late_nap", "rest"):
        nap = night("2026-03-10", "2026-03-10T16:20:00+01:00", "2026-03-10T17:14:00+01:00", 2_900, kind)
        async with asking(tmp_path / kind, at=NINE.replace(hour=18)) as (app, held):
            for held.records["sleep"] in ([long, nap], [nap, long]):
                said = (await told(app, "health_today", days=0))["last_night"]

                assert said["main"]["bedtime_end"] == "2026-03-10T08:30:00+01:00"


async def test_d23_a_night_of_eleven_days_ago_is_that_old_and_not_last_night(tmp_path: Path) -> None:
    async with asking(tmp_path, at=NINE) as (app, held):
        held.records["sleep"] = [night("2026-02-27", "2026-02-26T23:40:00+01:00", "2026-02-27T07:05:00+01:00", 25_000)]
        held.records["daily_sleep"] = held.records["daily_readiness"] = []
        said = [await told(app, "health_today", days=days) for days in (0, 7, 31)]

    for answer in said:
        assert "last_night" not in answer
        assert answer["missing"]["last_night"] == "no_record"
        assert answer["newest_record_age"]["sleep"] == {"day": "2026-02-27", "days_ago": 11}
        assert any("it is not last night" in note for note in answer["notes"])


async def test_d24_what_comes_late_is_seen_at_the_next_question_in_all_collections(tmp_path: Path) -> None:
    async with asking(tmp_path, at=NINE) as (app, held):
        for name in DATED:
            held.records[name] = [document(name, "2026-03-09", score=None)]
            before = await told(app, "health_query", collection=name, day="2026-03-09")
            held.records[name] = [document(name, "2026-03-09", score=83)]
            after = await told(app, "health_query", collection=name, day="2026-03-09")

            assert (before["data"][0]["score"], after["data"][0]["score"]) == (None, 83), name
        for name in DENSE:
            held.records[name] = []
            before = await told(app, "health_query", collection=name, day="2026-03-09")
            held.records[name] = [sample(NINE - timedelta(days=1))]
            after = await told(app, "health_query", collection=name, day="2026-03-09")

            assert (before["n"], after["n"]) == (0, 1), name
        today = await told(app, "health_today", days=1)

    assert today["days"][0]["readiness"]["score"] == 83


async def test_d25_95_days_of_samples_have_no_gap_and_no_double_and_no_window_over_30_days(tmp_path: Path) -> None:
    first = datetime(2026, 1, 1, tzinfo=BERLIN).astimezone(UTC)
    last = date(2026, 1, 1) + timedelta(days=94)
    samples = [sample(first + timedelta(hours=n)) for n in range(95 * 24 - 1)]  # clocks went forward on 29 March
    for name in DENSE:
        async with asking(tmp_path / name, at=datetime(2026, 5, 1, tzinfo=UTC), cap="400000") as (
            app,
            held,
        ):
            held.records[name] = samples
            answer = await told(
                app, "health_query", collection=name, start="2026-01-01", end=str(last), resolution="raw"
            )
            held.answers[name] = (400, "application/json", b'{"detail":"The date range must not exceed 30 days."}')
            said = await refused(app, "health_query", collection=name, day="2026-01-01")

        assert [r["timestamp"] for r in answer["data"]] == [r["timestamp"] for r in samples]
        assert answer["complete"] is True
        assert "must not exceed 30 days" in said
