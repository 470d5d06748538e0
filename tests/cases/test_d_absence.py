"""CASES.md, D22: what is missing is missing for a reason, and the reasons are told apart by evidence."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.simulator import Simulator
from app.sources.base import DateKind
from app.sources.oura.catalog import COLLECTIONS
from tests.app_under_test import Clock, running_app
from tests.cases.asking import asking, refused, told
from tests.cases.oura_records import DATED, DENSE, NINE, document, night, sample
from tests.cases.shelf import Shelf

pytestmark = pytest.mark.anyio

TODAY = "2026-03-10"
NIGHTLY = ("sleep", "daily_sleep", "daily_readiness", "daily_spo2")
MEASURED = tuple(name for name in (*DATED, *DENSE) if not COLLECTIONS[name].entered)
ENTERED = tuple(name for name in DATED if COLLECTIONS[name].entered)
GEN3 = {"id": "r", "set_up_at": "2024-01-05T09:12:00+00:00", "hardware_type": "gen3"}
SLEPT = night(TODAY, "2026-03-09T23:40:00+01:00", "2026-03-10T07:05:00+01:00", 25_000)


def nothing(held: Shelf) -> None:
    """A ring that is worn and in touch, and no record of anything else."""
    held.records |= {name: [] for name in (*DATED, *DENSE)}
    held.records["heartrate"] = [sample(NINE - timedelta(minutes=5))]
    held.records["ring_configuration"] = [GEN3]


def unworn(day: str, seconds: int = 86_400) -> dict[str, Any]:
    return document("daily_activity", day, non_wear_time=seconds, timestamp=f"{day}T04:00:00+01:00")


async def test_d22_not_worn_comes_from_the_non_wear_time_in_all_collections(tmp_path: Path) -> None:
    async with asking(tmp_path, at=NINE) as (app, held):
        nothing(held)
        held.records["daily_activity"] = [unworn("2026-03-09"), unworn(TODAY)]
        for name in MEASURED:
            if name in ("daily_activity", "heartrate"):
                continue
            answer = await told(app, "health_query", collection=name, day="2026-03-09")

            assert answer["empty"]["reasons"] == ["not_worn"], name
            assert "24 h" in answer["empty"]["evidence"][0]
            assert "not zero" in answer["empty"]["note"]
        today = await told(app, "health_today", days=1)

    assert today["missing"] == dict.fromkeys(("last_night", "readiness", "sleep_score"), "not_worn")
    assert today["days"][0]["missing"] == dict.fromkeys(("sleep", "readiness", "sleep_score"), "not_worn")


async def test_d22_not_synced_comes_from_the_newest_sample_in_all_collections(tmp_path: Path) -> None:
    async with asking(tmp_path, at=NINE) as (app, held):
        nothing(held)
        held.records["heartrate"] = [sample(NINE - timedelta(hours=6))]
        for name in MEASURED:
            if name == "heartrate":
                continue
            answer = await told(app, "health_query", collection=name, day="today")

            assert answer["empty"]["reasons"] == ["not_synced_yet"], name
            assert "2026-03-10T03:00+01:00, 6 h ago" in answer["empty"]["evidence"][0]
        today = await told(app, "health_today", days=1)
        held.records["heartrate"] = [sample(NINE - timedelta(days=2))]
        samples = await told(app, "health_query", collection="heartrate", day="today")

    assert today["missing"] == dict.fromkeys(("last_night", "readiness", "sleep_score"), "not_synced_yet")
    assert today["days"][0]["missing"]["sleep"] == "no_record"  # that night the ring was in touch
    assert samples["empty"]["reasons"] == ["not_synced_yet"]


async def test_d22_days_after_the_newest_sample_are_unsynced_and_days_before_it_are_not(tmp_path: Path) -> None:
    async with asking(tmp_path, at=NINE) as (app, held):
        nothing(held)
        held.records["heartrate"] = [sample(NINE - timedelta(days=2))]  # the 8th, 09:00
        for name in MEASURED:
            if name == "heartrate":
                continue
            words = {
                day: (await told(app, "health_query", collection=name, day=f"2026-03-{day:02}"))["empty"]["reasons"]
                for day in (7, 8, 9)
            }

            seen = "no_record" if name in NIGHTLY else "not_synced_yet"  # its night was over, its day was not
            assert words == {7: ["no_record"], 8: [seen], 9: ["not_synced_yet"]}, name


async def test_d22_before_the_morning_a_night_is_not_missed(tmp_path: Path) -> None:
    half_past_midnight = NINE.replace(hour=0, minute=30)
    async with asking(tmp_path, at=half_past_midnight) as (app, held):
        nothing(held)
        held.records["heartrate"] = [sample(half_past_midnight - timedelta(minutes=5))]
        today = await told(app, "health_today", days=0)
        asked = await told(app, "health_query", collection="sleep", day="last night")

    assert today["missing"]["last_night"] == asked["empty"]["reasons"][0] == "not_over_yet"
    assert (
        today["evidence"] == asked["empty"]["evidence"] == ["It is 00:30: the night of 2026-03-10 may not be over yet."]
    )


async def test_d22_not_permitted_names_the_scope_and_asks_nothing_in_all_collections(tmp_path: Path) -> None:
    for name, collection in COLLECTIONS.items():
        if collection.scope is None or name == "personal_info":  # its id needs no scope
            continue
        others = {c.scope for c in COLLECTIONS.values()} - {collection.scope, None} - collection.also_scopes
        async with running_app(tmp_path / name, clock=Clock(NINE.timestamp())) as vitals:
            vitals.simulator.client.scopes = frozenset({"email", "personal", *map(str, others)})
            app = await vitals.connected_app()
            before = len(vitals.simulator.log)
            said = await refused(app, "health_query", collection=name)

            assert "not_permitted" in said, name
            assert f"`{collection.scope}`" in said
            assert len(vitals.simulator.log) == before


async def test_d22_without_a_membership_the_word_is_no_membership(tmp_path: Path) -> None:
    async with asking(tmp_path, at=NINE) as (app, held):
        nothing(held)
        for name in COLLECTIONS:
            held.answers[name] = (403, "application/json", b'{"detail":"Forbidden"}')
            assert "no_membership" in await refused(app, "health_query", collection=name)
        held.answers = {"daily_sleep": held.answers["daily_sleep"]}
        today = await told(app, "health_today", days=0)

    assert today["missing"]["sleep_score"] == "no_membership"


async def test_d22_not_computed_is_a_record_without_a_score_or_a_night_without_its_records(tmp_path: Path) -> None:
    scored = [n for n in DATED if "score" in {field.name for field in COLLECTIONS[n].fields}]
    async with asking(tmp_path, at=NINE) as (app, held):
        nothing(held)
        held.records["sleep"] = [SLEPT]
        for name in NIGHTLY[1:]:
            answer = await told(app, "health_query", collection=name, day="today")
            assert answer["empty"]["reasons"] == ["not_computed_yet"], name
        bare = await told(app, "health_today", days=0)
        for name in scored:
            held.records[name] = [document(name, TODAY, score=None)]
            answer = await told(app, "health_query", collection=name, day="today")
            assert answer["missing"] == {"score": {"not_computed_yet": [TODAY]}}, name
        unscored = await told(app, "health_today", days=0)

    assert set(scored) == {"daily_sleep", "daily_readiness", "daily_activity"}
    assert bare["missing"] == unscored["missing"] == dict.fromkeys(("readiness", "sleep_score"), "not_computed_yet")


async def test_d22_what_a_ring_cannot_measure_it_lacks(tmp_path: Path) -> None:
    rings = [{**GEN3, "hardware_type": "gen2"}, {**GEN3, "id": "s", "set_up_at": "2026-03-05T08:00:00+00:00"}]
    async with asking(tmp_path, at=NINE) as (app, held):
        nothing(held)
        held.records["ring_configuration"] = rings
        before = await told(app, "health_query", collection="daily_spo2", day="2026-03-04")
        after = await told(app, "health_query", collection="daily_spo2", day="2026-03-06")
        both = await told(app, "health_query", collection="daily_spo2", start="2026-03-03", end="2026-03-06")

    assert before["empty"]["reasons"] == ["ring_lacks_it"]
    assert "gen2" in before["empty"]["evidence"][0]
    assert after["empty"]["reasons"] == ["no_record"]
    assert both["empty"]["days"] == {
        "ring_lacks_it": ["2026-03-03 to 2026-03-04"],
        "no_record": ["2026-03-05 to 2026-03-06"],
    }


async def test_d22_what_lies_ahead_or_has_no_reason_is_said_plainly_in_all_collections(tmp_path: Path) -> None:
    async with asking(tmp_path, at=NINE) as (app, held):
        nothing(held)
        for name in (*DATED, "ring_battery_level"):
            ahead = await told(app, "health_query", collection=name, day="2026-04-01")
            none = await told(app, "health_query", collection=name, day="2026-03-08")

            assert ahead["empty"]["reasons"] == ["in_future"], name
            assert none["empty"]["reasons"] == ["no_record"], name


async def test_d22_evidence_is_few_requests_only_when_something_is_missing_and_may_fail(tmp_path: Path) -> None:
    async with asking(tmp_path, at=NINE) as (app, held):
        nothing(held)
        for name in (*DATED, "ring_battery_level"):
            held.asked.clear()
            answer = await told(app, "health_query", collection=name, day="2026-03-07")

            extra = [asked for asked, _ in held.asked]
            extra.remove(name)
            if name in DENSE or name == "daily_stress":
                extra.remove("sleep")  # asked beside it, for the owner's clock
            assert len(extra) <= 4, name
            assert not (extra and name in ENTERED)
            assert answer["empty"].get("looked_with") == (f"{len(extra)} more requests" if extra else None)
        held.records |= {name: [document(name, TODAY, score=80)] for name in NIGHTLY}
        held.records["sleep"] = [SLEPT]
        held.asked.clear()
        for name in NIGHTLY:
            await told(app, "health_query", collection=name, day="today")
        assert sorted(asked for asked, _ in held.asked) == sorted(one for name in NIGHTLY for one in ("sleep", name))
        held.asked.clear()
        await told(app, "health_today", days=0)
        assert sorted(asked for asked, _ in held.asked) == [
            "daily_readiness", "daily_sleep", "rest_mode_period", "sleep"
        ]  # fmt: skip

        for name in ("daily_activity", "heartrate", "ring_configuration", "sleep"):
            held.answers[name] = (403, "application/json", b'{"detail":"Forbidden"}')
        alone = await told(app, "health_query", collection="daily_spo2", day="2026-03-08")

    assert alone["empty"]["reasons"] == ["no_record"]
    assert alone["complete"] is True
    for name in ("daily_activity", "heartrate", "ring_configuration", "sleep"):
        assert f"({name})" in alone["empty"]["note"]  # what could not be looked at is no sign of anything


async def test_d22_a_day_in_a_drawer_and_a_morning_without_a_sync_in_the_simulated_life(tmp_path: Path) -> None:
    clock = Clock(NINE.timestamp() + 6 * 3600)  # 10:00 in New York, where the owner is: the night is over
    simulator = Simulator(now=clock)
    drawer = [d for d in range(1, 28) if not simulator.archive.world.plan(date(2026, 2, d)).worn]
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        app = await vitals.connected_app()
        for day in drawer:
            answer = await told(app, "health_query", collection="sleep", day=f"2026-02-{day:02}")
            assert answer["empty"]["reasons"] == ["not_worn"], answer["empty"]
        simulator.synced_until = clock.at - 12 * 3600
        today = await told(app, "health_today", days=0)

    assert len(drawer) >= 3
    assert today["missing"]["last_night"] == "not_synced_yet"
    assert {c.date_kind for n, c in COLLECTIONS.items() if n in NIGHTLY} == {DateKind.WAKE_DAY}
