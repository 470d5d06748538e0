"""Days that are only partly there, found by a reader: each says so, so that nobody compares or adds them up."""

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.simulator import Person, Simulator
from app.sources.oura.catalog import COLLECTIONS
from app.tools.caveats.absence import ENTERED
from tests.app_under_test import Clock, running_app
from tests.cases.asking import asking, told
from tests.cases.oura_records import BERLIN, DATED, NINE, document, night, sample

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 7, 10, 12, tzinfo=BERLIN)
GROWING = tuple(name for name, collection in COLLECTIONS.items() if collection.grows)
RING_MADE = ("workout", "session")
DAILY = ("daily_activity", "daily_stress")
WHOLE = ("sleep", "daily_sleep", "daily_readiness")
YESTERDAY = date(2026, 7, 9)
NOTED = tuple(name for name, collection in COLLECTIONS.items() if collection.entered)


def simulated(unsynced_h: float = 0, at: datetime = NOON, *, odd: bool = False) -> tuple[Clock, Simulator]:
    clock = Clock(at.timestamp())
    simulator = Simulator(now=clock, person=Person(odd=odd))
    if unsynced_h:
        simulator.synced_until = clock.at - unsynced_h * 3600
    return clock, simulator


async def test_a_day_synced_in_part_says_so_in_every_collection_and_form(tmp_path: Path) -> None:
    clock, simulator = simulated(unsynced_h=26)  # until 10:00 of the 9th
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        app = await vitals.connected_app()
        for name in ("daily_activity", "daily_stress", "heartrate", "ring_battery_level"):
            if name == "daily_stress":
                simulator.archive.plant(name, (NOON - timedelta(days=1)).date(), document(name, "2026-07-09"))
            forms: list[dict[str, str]] = [{"format": "json"}, {"format": "csv"}]
            if COLLECTIONS[name].dense:
                forms += [{"resolution": step} for step in ("5min", "hour", "day")]
            for form in forms:
                before = len(vitals.simulator.log)
                answer = await told(app, "health_query", collection=name, day="yesterday", **form)
                asked = [seen for seen in vitals.simulator.log[before:] if "latest" in seen.query]

                assert list(answer["partial"]) == ["2026-07-09"], (name, form)
                assert ":" in answer["partial"]["2026-07-09"]
                assert sum("do not compare" in note for note in answer["notes"]) == 1
                assert answer["complete"] is True  # of what the source holds
                assert len(asked) == (0 if name == "daily_activity" else 1)


async def test_the_times_of_the_record_tell_how_much_of_the_day_there_is_and_go_out_only_if_asked_for(
    tmp_path: Path,
) -> None:
    clock, simulator = simulated(unsynced_h=26)
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        app = await vitals.connected_app()
        steps = await told(app, "health_query", collection="daily_activity", day="yesterday", fields="steps")
        older = await told(app, "health_query", collection="daily_activity", day="2026-07-08", fields="steps")

    assert steps["partial"] == {"2026-07-09": "5.8 h recorded, until about 09:45"}
    assert set(steps["data"][0]) == {"day", "non_wear_time", "steps"}
    assert "partial" not in older


async def test_today_is_unfinished_in_all_that_grows_and_a_whole_day_is_not(tmp_path: Path) -> None:
    clock, simulator = simulated()
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        app = await vitals.connected_app()
        for name in GROWING:
            answer = await told(app, "health_query", collection=name, start="2026-07-07", end="2026-07-10")
            whole = await told(app, "health_query", collection=name, start="2026-07-07", end="2026-07-09")

            there = {str(record.get("day") or record.get("start") or "")[:10] for record in answer["data"]}
            assert set(answer.get("partial", {})) == {"2026-07-10"}, (name, there)
            assert answer["partial"]["2026-07-10"].startswith("not over yet"), name
            assert "partial" not in whole, name
    assert set(GROWING) == {
        "daily_activity", "daily_stress", "heartrate", "ring_battery_level", *RING_MADE
    }  # fmt: skip


async def test_where_the_newest_sample_cannot_be_read_the_last_days_are_not_known_to_be_whole(tmp_path: Path) -> None:
    async with asking(tmp_path, at=NINE) as (app, held):
        held.records["daily_stress"] = [document("daily_stress", f"2026-03-{day:02}") for day in (8, 9, 10)]
        held.answers["heartrate"] = (403, "application/json", b'{"detail":"Forbidden"}')
        answer = await told(app, "health_query", collection="daily_stress", start="2026-03-08", end="2026-03-10")

    assert answer["partial"] == {"2026-03-09": "not known to be whole", "2026-03-10": "not over yet"}


async def test_the_newest_record_alone_says_so_too(tmp_path: Path) -> None:
    clock, simulator = simulated()
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        app = await vitals.connected_app()
        today = {name: await told(app, "health_query", collection=name, latest=True) for name in GROWING + WHOLE}
        simulator.synced_until = clock.at - 26 * 3600
        simulator.archive.plant("daily_stress", YESTERDAY, document("daily_stress", str(YESTERDAY)))
        before = {name: await told(app, "health_query", collection=name, latest=True) for name in DAILY}

    assert {name: answer.get("partial", {}).get("2026-07-10") for name, answer in today.items()} == {
        "daily_activity": "not over yet, 7.8 h recorded, until about 11:45",
        "daily_stress": "not over yet, newest sample 12:00",
    } | dict.fromkeys((*RING_MADE, "heartrate", "ring_battery_level", *WHOLE))
    assert before["daily_activity"]["partial"] == {"2026-07-09": "5.8 h recorded, until about 09:45"}
    assert before["daily_stress"]["partial"] == {"2026-07-09": "newest sample 10:00"}
    for answer in (*(today[name] for name in DAILY), *before.values()):
        assert sum("do not compare" in note for note in answer["notes"]) == 1


async def test_the_page_of_a_day_says_what_of_it_is_not_whole(tmp_path: Path) -> None:
    clock, simulator = simulated(unsynced_h=26)
    async with running_app(tmp_path, simulator=simulator, clock=clock, CHATGPT_TOOLS="1") as vitals:
        app = await vitals.connected_app()
        before = len(simulator.log)
        partly = await told(app, "fetch", id="day:2026-07-09")
        asked = [seen for seen in simulator.log[before:] if "latest" in seen.query]
        whole = await told(app, "fetch", id="day:2026-07-08")
        simulator.synced_until = None
        today = await told(app, "fetch", id="day:2026-07-10")

    said = dict(one.split(": ", 1) for one in partly["metadata"]["partial"].split("; "))
    assert said == {
        "oura.daily_activity": "5.8 h recorded, until about 09:45",
        "oura.daily_stress": "newest sample 10:00",
        "oura.heartrate": "newest sample 10:00",
    }
    assert "\n## Not whole\n" in partly["text"]
    assert "What is named here is not whole" in partly["text"]
    assert "- newest sample 10:00: oura.daily_stress, oura.heartrate\n" in partly["text"]
    assert len(asked) == 1
    assert "Not whole" not in whole["text"]
    assert "partial" not in whole["metadata"]
    assert "oura.daily_activity: not over yet, 7.8 h recorded, until about 11:45" in today["metadata"]["partial"]
    assert "oura.daily_stress: not over yet, newest sample 12:00" in today["metadata"]["partial"]


async def test_a_day_shortened_by_a_journey_is_no_day_like_others(tmp_path: Path) -> None:
    times = dict.fromkeys(COLLECTIONS["daily_activity"].covered_by, 0)
    async with asking(tmp_path, at=NINE) as (app, held):
        held.records["daily_activity"] = [
            document(
                "daily_activity", day, timestamp=f"{day}T04:00:00+01:00", **{**times, "sedentary_time": hours * 3600}
            )
            for day, hours in (("2026-02-07", 24), ("2026-02-08", 10), ("2026-02-09", 23), ("2026-02-10", 25))
        ]
        answer = await told(app, "health_query", collection="daily_activity", start="2026-02-07", end="2026-02-10")

    assert answer["partial"] == {"2026-02-08": "10.0 h recorded, until about 14:00"}


async def test_a_day_of_sums_says_that_a_journey_made_it_shorter_or_longer_and_names_the_right_one(
    tmp_path: Path,
) -> None:
    clock = Clock(NOON.timestamp())
    simulator = Simulator(now=clock, person=Person.traveller())
    where = simulator.archive.world.where
    days = [date(2026, 1, 2) + timedelta(days=n) for n in range(180)]
    hours = {day: (where.span(day)[1] - where.span(day)[0]) / 3600 for day in days}
    async with running_app(tmp_path, simulator=simulator, clock=clock, CHATGPT_TOOLS="1") as vitals:
        app = await vitals.connected_app()
        span = {"start": str(days[0]), "end": str(days[-1])}
        stress = await told(app, "health_query", collection="daily_stress", fields="stress_high", **span)
        alone = await told(app, "health_query", collection="daily_stress", day="2026-02-08")
        page = await told(app, "fetch", id="day:2026-02-08")

    there = {one["day"] for one in stress["data"]}
    odd = {day: f"about {hours[day]:.0f} h long" for day in days if not 22.75 <= hours[day] <= 25.25}
    assert stress["partial"] == {str(day): said for day, said in odd.items() if str(day) in there}
    assert len(stress["partial"]) >= 5
    assert alone["partial"] == {"2026-02-08": "about 11 h long"}
    assert "oura.daily_stress: about 11 h long" in page["metadata"]["partial"]


async def test_what_the_ring_makes_waits_for_a_sync_before_none_is_said_to_be(tmp_path: Path) -> None:
    clock, simulator = simulated(unsynced_h=26)
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        app = await vitals.connected_app()
        for name in RING_MADE:
            simulator.archive.withhold(name, (NOON - timedelta(days=1)).date())
            answer = await told(app, "health_query", collection=name, day="yesterday")

            assert answer["empty"]["reasons"] == ["not_synced_yet"], name
            assert "entered" not in answer["empty"]["note"]
            assert answer["partial"] == {"2026-07-09": "newest sample 10:00"}
    clock, simulator = simulated(unsynced_h=96)
    async with running_app(tmp_path / "b", simulator=simulator, clock=clock) as vitals:
        app = await vitals.connected_app()
        week = await told(app, "health_query", collection="workout", day="last 7 days", fields="activity")

    assert week["partial"] == {
        "2026-07-06": "newest sample 12:00",
        "2026-07-10": "not over yet, no sample yet",
        "2026-07-07 to 2026-07-09": "no sample yet",
    }


async def test_of_what_the_owner_writes_down_it_is_said_that_none_was_noted(tmp_path: Path) -> None:
    async with asking(tmp_path, at=NINE) as (app, held):
        for name in NOTED:
            held.records[name] = []
            answer = await told(app, "health_query", collection=name, day="yesterday")

            assert answer["empty"] == {"reasons": ["no_record"], "note": ENTERED}, name
            assert "partial" not in answer
    assert set(NOTED) == {"enhanced_tag", "tag", "rest_mode_period"}


async def test_unworn_hours_go_before_the_silence_of_samples(tmp_path: Path) -> None:
    clock, simulator = simulated(at=datetime(2026, 2, 6, 11, tzinfo=BERLIN), odd=True)
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        app = await vitals.connected_app()
        for name in ("heartrate", "ring_battery_level"):
            simulator.archive.withhold(name, datetime(2026, 2, 6, tzinfo=BERLIN).date())
            answer = await told(app, "health_query", collection=name, day="today")

            assert answer["empty"]["reasons"] == ["not_worn"], name
            assert "up to 10:45" in answer["empty"]["evidence"][0]


@pytest.mark.parametrize("kind", ["sleep", "late_nap", "rest"])
async def test_naps_or_rest_alone_are_no_night_and_their_total_is_not_its(tmp_path: Path, kind: str) -> None:
    evening = NINE.replace(hour=20)
    nap = night("2026-03-10", "2026-03-10T16:20:00+01:00", "2026-03-10T17:14:00+01:00", 2_400, kind)
    off = {"non_wear_time": 30_000, "class_5_min": "0" * 300}
    async with asking(tmp_path, at=evening) as (app, held):
        held.records |= {name: [] for name in ("daily_sleep", "daily_readiness", "daily_activity")}
        held.records["sleep"] = [nap]
        held.records["heartrate"] = [sample(evening - timedelta(minutes=5))]
        unknown = await told(app, "health_today", days=0)
        held.records["daily_activity"] = [
            document("daily_activity", day, timestamp=f"{day}T04:00:00+01:00", **off)
            for day in ("2026-03-09", "2026-03-10")
        ]
        unworn = await told(app, "health_today", days=0)

    assert unknown["missing"]["last_night"] == "no_long_sleep"
    assert any(note.startswith("no_long_sleep:") for note in unknown["notes"])
    assert unworn["missing"]["last_night"] == "not_worn"
    for answer in (unknown, unworn):
        assert sum("is not how long that night was" in note for note in answer["notes"]) == 1


@pytest.mark.parametrize("kind", ["sleep", "late_nap", "rest"])
async def test_a_day_among_others_that_has_naps_or_rest_alone_is_one_without_a_night(tmp_path: Path, kind: str) -> None:
    evening = NINE.replace(hour=20)
    async with asking(tmp_path, at=evening, chatgpt="1") as (app, held):
        held.records |= {name: [] for name in (*DATED, "heartrate")}
        held.records["sleep"] = [
            night("2026-03-08", "2026-03-07T23:40:00+01:00", "2026-03-08T07:05:00+01:00", 25_000),
            night("2026-03-10", "2026-03-10T16:20:00+01:00", "2026-03-10T17:14:00+01:00", 2_400, kind),
        ]
        held.records["heartrate"] = [sample(evening - timedelta(minutes=5))]
        ways: dict[str, dict[str, Any]] = {"all": {}, "few": {"fields": "average_hrv"}, "table": {"format": "csv"}}
        week = {
            name: await told(app, "health_query", collection="sleep", start="2026-03-08", end="2026-03-10", **way)
            for name, way in ways.items()
        }
        newest = await told(app, "health_query", collection="sleep", latest=True)
        page = await told(app, "fetch", id="day:2026-03-10")
        held.records["heartrate"] = [sample(NINE - timedelta(hours=8))]
        silent = await told(app, "health_query", collection="sleep", day="today")

    for answer in week.values():
        assert answer["days_without_night"] == {"no_long_sleep": ["2026-03-10"]}
        assert answer["days_without_record"] == {"no_record": ["2026-03-09"]}
        assert sum("not how long the night was" in note for note in answer["notes"]) == 1
        assert any(note.startswith("no_long_sleep:") for note in answer["notes"])
    assert "days_without_night" not in newest  # one record is not a day
    assert "oura.sleep.main_sleep: no_long_sleep" in page["metadata"]["missing"]
    assert list(silent["days_without_night"]) == ["not_synced_yet"]
    assert "nothing later was synced" in silent["evidence"][0]


async def test_health_today_says_that_today_is_not_over_and_which_day_was_synced_in_part(tmp_path: Path) -> None:
    clock, simulator = simulated(unsynced_h=26)
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        app = await vitals.connected_app()
        partly = await told(app, "health_today", days=2)
        simulator.synced_until = None
        whole = await told(app, "health_today", days=2)

    assert partly["partial"] == {"2026-07-09": "newest sample 10:00"}
    (said,) = [note for note in partly["notes"] if "under partial" in note]
    assert "naps after the newest sample may be missing" in said
    assert "do not compare" not in said  # the night of that day, and its scores, are whole
    assert partly["days"][-1]["sleep"]["main"]
    assert "partial" not in whole
    assert any(note.startswith("Today is not over") for note in whole["notes"])


async def test_before_the_first_ring_is_said_as_such_in_all_that_it_measures(tmp_path: Path) -> None:
    clock, simulator = simulated()
    measured = [n for n in (*DATED, "heartrate") if not COLLECTIONS[n].entered]  # the simulated battery is older
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        app = await vitals.connected_app()
        for name in measured:
            answer = await told(app, "health_query", collection=name, day="2015-01-02")

            assert answer["empty"]["reasons"] == ["before_first_ring"], name
            assert "app" not in answer["empty"]["note"], name


async def test_what_bears_on_the_last_days_alone_is_said_of_them_alone(tmp_path: Path) -> None:
    clock, simulator = simulated()
    noted = {name: collection.recent_notes for name, collection in COLLECTIONS.items() if collection.recent_notes}
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        app = await vitals.connected_app()
        for name, notes in noted.items():
            new = await told(app, "health_query", collection=name, start="2026-07-01", end="2026-07-08")
            old = await told(app, "health_query", collection=name, start="2026-07-01", end="2026-07-07")
            latest = await told(app, "health_query", collection=name, latest=True)

            assert set(notes) <= set(new["notes"]) & set(latest["notes"]), name
            assert not set(notes) & set(old["notes"]), name
    assert set(noted) == {"sleep", "daily_sleep", "daily_readiness", "sleep_time"}


@pytest.mark.parametrize(("name", "series"), [(n, s) for n, c in COLLECTIONS.items() for s in c.series])
async def test_samples_asked_for_alone_keep_what_places_them_in_time(tmp_path: Path, name: str, series: str) -> None:
    run = {"interval": 300, "items": [50, None, 52], "timestamp": "2026-03-09T00:10:00+01:00"}
    if f"{series}.items" not in {field.name for field in COLLECTIONS[name].fields}:
        pytest.skip("one digit each, placed by the beginning of the record")
    async with asking(tmp_path, at=NINE) as (app, held):
        held.records[name] = [document(name, "2026-03-09", **{series: run})]
        answer = await told(app, "health_query", collection=name, day="yesterday", fields=f"{series}.items")

    assert answer["data"][0][series] == run
    assert {f"{series}.interval", f"{series}.timestamp"} <= set(answer["fields_added"])


async def test_an_empty_value_is_missing_for_a_reason(tmp_path: Path) -> None:
    empty: dict[str, list[dict[str, Any]]] = {
        "daily_spo2": [{"spo2_percentage": None}, {"spo2_percentage": {"average": None}}],
        "daily_cardiovascular_age": [{"vascular_age": None}],
    }
    async with asking(tmp_path, at=NINE) as (app, held):
        for name, ways in empty.items():
            for way in ways:
                held.records[name] = [document(name, day, **way) for day in ("2026-03-01", "2026-03-10")]
                answer = await told(app, "health_query", collection=name, start="2026-03-01", end="2026-03-10")

                field = COLLECTIONS[name].value_field
                assert answer["missing"] == {field: {"no_value": ["2026-03-01"], "not_computed_yet": ["2026-03-10"]}}
                assert any(note.startswith("no_value:") for note in answer["notes"])
        held.records |= {n: [document(n, "2026-03-10", score=None)] for n in ("daily_sleep", "daily_readiness")}
        today = await told(app, "health_today", days=0)

    assert today["missing"]["readiness"] == "not_computed_yet"
    assert any("not computed yet" in note for note in today["notes"])
