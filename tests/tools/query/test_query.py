"""`health_query`: which records come, and what the answer says about those that do not."""

import pytest

from app.errors import NotPermitted
from app.sources.base import Record
from tests.tools.fakes import SCORES, Connector, FakeSource, scores, sleep

pytestmark = pytest.mark.anyio


async def test_one_day_gives_exactly_that_day() -> None:
    answer = await scores().ask("health_query", collection="oura.daily_sleep", day="2026-03-09")

    assert [record["day"] for record in answer["data"]] == ["2026-03-09"]
    assert answer["collection"] == "oura.daily_sleep"
    assert (answer["start"], answer["end"], answer["timezone"]) == ("2026-03-09", "2026-03-09", "UTC")
    assert (answer["n"], answer["pages"], answer["complete"]) == (1, 1, True)
    assert answer["filed_by"] == "wake day"


async def test_without_dates_the_last_seven_days_are_given_and_named() -> None:
    answer = await scores().ask("health_query", collection="daily_sleep")

    assert (answer["start"], answer["end"], answer["n"]) == ("2026-03-04", "2026-03-10", 7)


async def test_the_newest_record_is_found_however_old_and_its_age_said() -> None:
    old: Record = {"id": "v", "day": "2026-01-20", "vo2_max": 44, "timestamp": "2026-01-20T10:00:00+00:00"}
    connector = Connector(FakeSource({"vO2_max": [old]}))

    answer = await connector.ask("health_query", collection="vO2_max", latest=True)

    assert answer["data"] == [old]
    assert answer["age_days"] == 49
    assert answer["start"] == "2026-01-20"
    assert [done for done, _, _ in connector.progress] == [1, 2]  # looked back twice


async def test_no_newest_record_says_how_far_was_looked() -> None:
    answer = await Connector(FakeSource()).ask("health_query", collection="workout", latest=True)

    assert answer["n"] == 0
    assert answer["empty"]["reasons"] == ["no_record"]
    assert any("2025-03-10" in note for note in answer["notes"])


async def test_an_empty_answer_says_what_not_to_conclude() -> None:
    answer = await Connector(FakeSource()).ask("health_query", collection="sleep", day="2026-03-09")

    assert answer["n"] == 0
    assert answer["empty"]["reasons"] == ["no_record"]
    assert "not worn" in answer["empty"]["note"] or "not have been worn" in answer["empty"]["note"]
    assert answer["complete"] is True


async def test_what_lies_ahead_is_not_asked_for() -> None:
    connector = scores()

    answer = await connector.ask("health_query", collection="daily_sleep", day="2026-04-01")

    assert answer["empty"]["reasons"] == ["in_future"]
    assert connector.source.asked == []


async def test_an_answer_that_did_not_arrive_whole_says_so() -> None:
    connector = scores()
    connector.source.arrival = {
        "complete": False,
        "pagination_cycle": True,
        "rate_limited": True,
        "trimmed": 4,
        "failures": ("2026-03-01 to 2026-03-05 did not arrive.",),
    }

    answer = await connector.ask("health_query", collection="daily_sleep")

    assert answer["complete"] is False
    assert (answer["pagination_cycle"], answer["rate_limited"], answer["trimmed"]) == (True, True, 4)
    assert answer["failures"] == ["2026-03-01 to 2026-03-05 did not arrive."]


async def test_nothing_read_is_not_nothing_recorded() -> None:
    connector = Connector(FakeSource(arrival={"complete": False}))

    answer = await connector.ask("health_query", collection="daily_sleep")

    assert answer["empty"]["reasons"] == ["incomplete"]


async def test_sample_data_is_marked_in_every_answer() -> None:
    connector = Connector(FakeSource({"daily_sleep": SCORES}, synthetic=True))

    answers = [
        await connector.ask("health_query", collection="daily_sleep"),
        await connector.ask("health_query", collection="daily_sleep", day="2027-01-01"),
        await connector.ask("health_query", collection="daily_sleep", latest=True),
        await connector.ask("health_today"),
        await connector.ask("health_catalog"),
        await connector.ask("health_catalog", collection="sleep"),
        await connector.ask("health_check"),
    ]

    assert all(answer["synthetic"] is True for answer in answers)


async def test_a_collection_without_days_is_given_whole_and_says_so() -> None:
    connector = Connector(FakeSource({"personal_info": [{"id": "me", "age": 40, "weight": 74.8}]}))

    answer = await connector.ask("health_query", collection="personal_info", day="2026-03-10")

    assert answer["data"] == [{"id": "me", "age": 40, "weight": 74.8}]
    assert (answer["start"], answer["end"]) == (None, None)
    assert any("not filed by days" in note for note in answer["notes"])


async def test_a_missing_scope_is_a_refusal_and_not_an_empty_answer() -> None:
    failing = {"heartrate": NotPermitted("Oura's scope heartrate is not granted.", scope="heartrate")}
    connector = Connector(FakeSource(failing=dict(failing)))

    said = await connector.refused("health_query", collection="heartrate")

    assert "heartrate" in said
    assert "not missing data" in said


async def test_a_large_answer_says_how_to_make_it_smaller() -> None:
    tags: list[Record] = [
        {"id": f"t{n}", "start_day": "2026-03-10", "start_time": f"2026-03-10T09:00:{n:02}+00:00", "comment": "x" * 900}
        for n in range(60)
    ]

    answer = await Connector(FakeSource({"enhanced_tag": tags})).ask("health_query", collection="enhanced_tag")

    assert "characters" in answer["large_response"]
    assert list(answer)[-1] == "data"  # what a host cuts off is data, and never a word about it


async def test_late_scores_are_seen_because_nothing_is_kept() -> None:
    connector = Connector(FakeSource({"daily_sleep": [{"id": "a", "day": "2026-03-09", "score": None}]}))
    await connector.ask("health_query", collection="daily_sleep", day="yesterday")
    connector.source.records["daily_sleep"] = [{"id": "a", "day": "2026-03-09", "score": 71}]

    answer = await connector.ask("health_query", collection="daily_sleep", day="yesterday")

    assert answer["data"][0]["score"] == 71


async def test_progress_is_told_as_pages_arrive() -> None:
    connector = scores()
    connector.source.pages = 3

    await connector.ask("health_query", collection="daily_sleep")

    assert connector.progress == [(1, 3, "page 1"), (2, 3, "page 2"), (3, 3, "page 3")]


async def test_progress_only_rises_where_a_journey_made_it_another_day_and_the_records_are_asked_for_anew() -> None:
    night = sleep("2026-03-11", bedtime_start="2026-03-10T22:10:00+14:00", end="2026-03-11T05:05:00+14:00")
    connector = Connector(FakeSource({"daily_sleep": SCORES, "sleep": [night]}, pages=3))  # it is 07:00 of the 11th

    answer = await connector.ask("health_query", collection="daily_sleep", day="yesterday")

    assert [record["day"] for record in answer["data"]] == ["2026-03-10"]
    assert [days.start.day for name, days, _ in connector.source.asked if days and name == "daily_sleep"] == [9, 10]
    done = [pages for pages, _, _ in connector.progress]
    assert len(done) == 6
    assert done == sorted(set(done))


async def test_days_without_a_record_are_named_where_there_is_one_nearly_every_day() -> None:
    records = [record for record in SCORES if record["day"] not in ("2026-03-03", "2026-03-04", "2026-03-07")]
    connector = Connector(FakeSource({"daily_sleep": records}))

    answer = await connector.ask("health_query", collection="daily_sleep", start="2026-03-01", end="2026-03-12")
    ahead = await connector.ask("health_query", collection="daily_sleep", start="2026-03-10", end="2026-03-12")

    assert answer["days_without_record"] == {
        "no_record": ["2026-03-03 to 2026-03-04", "2026-03-07"],
        "in_future": ["2026-03-11 to 2026-03-12"],
    }
    assert ahead["days_without_record"] == {"in_future": ["2026-03-11 to 2026-03-12"]}
    assert "looked_with" not in ahead


async def test_days_without_a_record_are_named_also_where_they_are_most_and_at_the_ends() -> None:
    beats = [{"timestamp": f"2026-03-0{day}T12:00:00+00:00", "bpm": 60} for day in (4, 6)]
    connector = Connector(FakeSource({"daily_sleep": [{"id": "a", "day": "2026-03-05"}], "heartrate": beats}))
    span = {"start": "2026-03-03", "end": "2026-03-07"}

    scores = await connector.ask("health_query", collection="daily_sleep", **span)
    beating = await connector.ask("health_query", collection="heartrate", resolution="day", **span)

    assert scores["days_without_record"] == {
        "no_record": ["2026-03-03 to 2026-03-04", "2026-03-06"],
        "not_synced_yet": ["2026-03-07"],
    }
    assert beating["days_without_record"] == {
        "no_record": ["2026-03-03", "2026-03-05"],
        "not_synced_yet": ["2026-03-07"],
    }


async def test_a_day_without_the_ring_is_never_a_day_without_steps() -> None:
    days = [
        {"id": "a", "day": "2026-03-04", "steps": 9000, "score": 80, "non_wear_time": 3600},
        {"id": "b", "day": "2026-03-05", "steps": 0, "score": None, "non_wear_time": 86400},
    ]
    connector = Connector(FakeSource({"daily_activity": days}))

    answer = await connector.ask("health_query", collection="daily_activity", day="2026-03-05", fields="steps,score")
    worn = await connector.ask("health_query", collection="daily_activity", day="2026-03-04", fields="steps,score")

    assert answer["data"][0]["non_wear_time"] == 86400
    assert answer["missing"] == {"score": {"not_worn": ["2026-03-05"]}}
    assert any(note.startswith("On 2026-03-05 the ring was off for 20 h or more") for note in answer["notes"])
    assert not any("ring was off for 20 h" in note for note in worn["notes"])


async def test_a_night_that_ended_under_another_clock_names_both_offsets() -> None:
    flight = sleep("2026-03-10", bedtime_start="2026-03-09T22:00:00+00:00", end="2026-03-10T04:00:00-05:00")
    connector = Connector(FakeSource({"sleep": [flight]}))

    answer = await connector.ask("health_query", collection="sleep", day="2026-03-10")

    assert [run["offset"] for run in answer["offsets"]] == ["+00:00", "-05:00"]
    assert {(run["from"], run["to"]) for run in answer["offsets"]} == {("2026-03-10", "2026-03-10")}
