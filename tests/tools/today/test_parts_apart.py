"""`health_today` when one collection is refused for a reason of its own: it is named, and costs the others nothing."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from app.errors import BadRequest, ReconnectRequired, SourceChanged, SourceUnreachable, VitalsError
from app.identity import Caller
from app.sources.base import Collection, DateRange, Fetched, Record
from tests.tools.fakes import Connector, FakeSource, sleep

pytestmark = pytest.mark.anyio

BERLIN = ZoneInfo("Europe/Berlin")

MARK: Record = {
    "id": "m",
    "day": "2026-03-10",
    "score": 81,
    "contributors": {},
    "timestamp": "2026-03-10T00:00:00+00:00",
}


@pytest.mark.parametrize(
    "failure",
    [BadRequest("HTTP 426: too old."), SourceChanged("HTTP 418."), SourceUnreachable("It did not answer.")],
    ids=["refused", "undocumented", "unreachable"],
)
async def test_one_part_that_cannot_be_read_is_named_and_the_others_come(failure: VitalsError) -> None:
    source = FakeSource({"sleep": [sleep("2026-03-10")], "daily_sleep": [MARK]}, failing={"daily_readiness": failure})

    answer = await Connector(source).ask("health_today", days=0)

    assert answer["last_night"]["main"]["total_sleep_duration"] == 25_000
    assert answer["sleep_score"]["score"] == 81
    assert answer["missing"] == {"readiness": "not_read"}
    assert answer["complete"] is False
    assert any("oura.daily_readiness" in note and str(failure) in note for note in answer["notes"])


async def test_if_no_part_can_be_read_the_call_is_refused() -> None:
    refused = BadRequest("HTTP 426: too old.")
    source = FakeSource(failing=dict.fromkeys(("sleep", "daily_sleep", "daily_readiness"), refused))

    assert "HTTP 426" in await Connector(source).refused("health_today")


@pytest.mark.parametrize(("days", "told"), [(1, True), (0, False)])
async def test_a_ring_that_was_changed_between_the_days_is_told(days: int, told: bool) -> None:
    rings: list[Record] = [
        {"id": "a", "hardware_type": "gen3", "set_up_at": "2025-01-01T10:00:00Z"},
        {"id": "b", "hardware_type": "gen4", "set_up_at": "2026-03-10T09:00:00Z"},
    ]
    source = FakeSource({"sleep": [sleep("2026-03-09"), sleep("2026-03-10")], "ring_configuration": rings})

    answer = await Connector(source).ask("health_today", days=days)

    changes = [{"day": "2026-03-10", "from": "gen3", "to": "gen4"}] if told else None
    assert answer.get("ring_changes") == changes
    assert any("not the same instrument" in note for note in answer["notes"]) is told


class ForgetsThePast(FakeSource):
    """Answers the first question about sleep, and none after it."""

    refusal: VitalsError = SourceUnreachable("It did not answer.")

    async def fetch(self, caller: Caller, collection: Collection, days: DateRange | None, **more: Any) -> Fetched:
        if collection.name == "sleep" and any(name == "sleep" for name, *_ in self.asked):
            raise self.refusal
        return await super().fetch(caller, collection, days, **more)


async def test_a_look_for_older_nights_that_fails_costs_nothing_that_came() -> None:
    nap = sleep("2026-03-10", "sleep", asleep_s=1200)
    source = ForgetsThePast({"sleep": [nap], "daily_sleep": [MARK], "daily_readiness": [MARK]})

    answer = await Connector(source).ask("health_today", days=0)

    assert [one["total_sleep_duration"] for one in answer["last_night"]["naps"]] == [1200]
    assert answer["missing"]["last_night"] != "not_read"
    assert answer["newest_record_age"]["sleep"] is None
    assert "How old the newest sleep is could not be read: It did not answer." in answer["notes"]


async def test_a_sign_in_that_ends_during_that_look_is_said_as_such() -> None:
    source = ForgetsThePast({"sleep": [sleep("2026-03-10", "sleep")], "daily_sleep": [MARK]})
    source.refusal = ReconnectRequired("The sign-in has ended.")

    assert "sign-in has ended" in await Connector(source).refused("health_today", days=0)


async def test_scores_of_the_last_days_are_said_to_change_yet_and_older_ones_are_not() -> None:
    old = {**MARK, "day": "2026-03-01"}
    asked = Connector(FakeSource({"daily_readiness": [MARK]}), chatgpt=True)
    before = Connector(FakeSource({"daily_readiness": [old], "sleep": [sleep("2026-03-01")]}), chatgpt=True)
    change = "Scores may still change for a day or two."

    assert change in (await asked.ask("health_today", days=0))["notes"]
    assert change in (await asked.ask("fetch", id="day:2026-03-10"))["text"]
    assert change not in (await before.ask("health_today", days=31))["notes"]
    assert change not in (await before.ask("fetch", id="day:2026-03-01"))["text"]


@pytest.mark.parametrize("collection", ["daily_readiness", "daily_activity"])
async def test_what_is_not_scored_as_usual_in_rest_mode_points_to_it(collection: str) -> None:
    answer = await Connector(FakeSource({collection: [MARK]})).ask("health_query", collection=collection)

    assert any("rest_mode_period" in note for note in answer["notes"])


async def test_where_today_has_no_sleep_yet_nothing_is_said_of_adding_to_it() -> None:
    without = await Connector(FakeSource({"daily_sleep": [MARK]})).ask("health_today", days=0)
    with_night = await Connector(FakeSource({"sleep": [sleep("2026-03-10")]})).ask("health_today", days=0)

    assert not any("may still add" in note for note in without["notes"])
    assert any(note.startswith("Today is not over") for note in with_night["notes"])


@pytest.mark.parametrize(
    ("hour", "late_nap", "said"),
    [
        pytest.param(12, False, "a nap may still add to all_sleep_of_day", id="at noon"),
        pytest.param(21, False, "is filed under tomorrow, 2026-03-11, and adds nothing to today.", id="in the evening"),
        pytest.param(21, True, "One is there already: health_query has it.", id="with a nap of this evening"),
    ],
)
async def test_from_the_evening_on_a_nap_adds_to_tomorrow(hour: int, late_nap: bool, said: str) -> None:
    nap = {**sleep("2026-03-11", "late_nap"), "bedtime_start": "2026-03-10T18:10:00+01:00"}
    nap |= {"bedtime_end": "2026-03-10T18:50:00+01:00", "total_sleep_duration": 2000}
    source = FakeSource({"sleep": [sleep("2026-03-10"), *([nap] if late_nap else [])]}, zone=BERLIN)

    answer = await Connector(source, now=datetime(2026, 3, 10, hour, tzinfo=BERLIN)).ask("health_today", days=0)

    assert sum("nap" in note and said in note for note in answer["notes"]) == 1
    assert sum("adds nothing" in note or "may still add" in note for note in answer["notes"]) == 1


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Tokyo"])
async def test_by_a_clock_that_is_not_the_owners_nothing_is_said_of_naps_to_come(zone: str) -> None:
    night = sleep("2026-03-11", bedtime_start="2026-03-10T23:40:00+01:00", end="2026-03-11T06:30:00+01:00")
    nap = {**sleep("2026-03-11", "late_nap"), "bedtime_start": "2026-03-11T07:10:00+01:00"}
    nap |= {"bedtime_end": "2026-03-11T07:40:00+01:00"}
    connector = Connector(
        FakeSource({"sleep": [night, nap]}, zone=BERLIN), now=datetime(2026, 3, 11, 11, tzinfo=BERLIN)
    )

    named = await connector.ask("health_today", days=0, timezone=zone)
    own = await connector.ask("health_today", days=0)

    assert not any("adds nothing" in note or "may still add" in note for note in named["notes"])
    assert any("may still add" in note for note in own["notes"])
