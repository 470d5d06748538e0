from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from app.errors import MembershipRequired, NotPermitted, ReconnectRequired, SourceUnreachable
from app.sources.base import Record
from tests.tools.fakes import NOW, Connector, FakeSource, sleep

pytestmark = pytest.mark.anyio


def mark(day: str, score: int | None) -> Record:
    return {"id": f"m{day}", "day": day, "score": score, "contributors": {}, "timestamp": f"{day}T00:00:00+00:00"}


def connector(*nights: Record, now: datetime = NOW, zone: str = "UTC", **records: list[Record]) -> Connector:
    return Connector(FakeSource({"sleep": list(nights), **records}, zone=ZoneInfo(zone)), now=now)


async def test_todays_score_is_the_record_of_today() -> None:
    asked = connector(
        sleep("2026-03-10"),
        daily_sleep=[mark("2026-03-09", 60), mark("2026-03-10", 77)],
        daily_readiness=[mark("2026-03-10", 81)],
        now=datetime(2026, 3, 10, 9, tzinfo=UTC),
    )

    answer = await asked.ask("health_today")

    assert answer["sleep_score"]["score"] == 77
    assert answer["readiness"]["score"] == 81
    assert answer["last_night"]["wake_day"] == "2026-03-10"
    assert "missing" not in answer
    assert answer["units"]["sleep_score.score"] == {"kind": "score"}
    assert answer["units"]["sleep.total_sleep_duration"] == {"unit": "s", "kind": "measurement"}


async def test_units_are_named_by_the_parts_that_carry_the_numbers() -> None:
    days = ("2026-03-09", "2026-03-10")
    marks = [mark(day, 80) for day in days]
    asked = connector(*(sleep(day) for day in days), daily_sleep=marks, daily_readiness=marks)

    answer = await asked.ask("health_today", days=1)

    rows = [{**answer, "sleep": answer["last_night"]}, *answer["days"]]
    assert {name.partition(".")[0] for name in answer["units"]} - {"all_sleep_of_day"} <= rows[0].keys() & rows[
        1
    ].keys()
    assert answer["collections"]["sleep_score"] == "oura.daily_sleep"


async def test_what_is_unknown_or_left_out_is_marked_by_its_part() -> None:
    series = {"interval": 300, "items": [50, 51], "timestamp": "2026-03-10T00:10:00+00:00"}
    asked = connector(
        sleep("2026-03-09", sleep_algorithm_version="v8", hrv=series),
        sleep("2026-03-10", sleep_algorithm_version="v9", hrv=series, glow=3),
        daily_sleep=[{**mark("2026-03-10", 77), "halo": 1}],
    )

    answer = await asked.ask("health_today")

    assert answer["unknown_values"] == {"sleep.sleep_algorithm_version": ["v8", "v9"]}
    assert sorted(answer["unknown_fields"]) == ["sleep.glow", "sleep_score.halo"]
    assert answer["series_left_out"] == {"sleep.hrv": 4}
    assert answer["units"]["sleep.glow"] == {"kind": "unknown"}


async def test_a_nights_own_readiness_is_given_once() -> None:
    same = {"score": 81, "contributors": {"hrv_balance": 70}}
    asked = connector(
        sleep("2026-03-09", readiness={**same, "score": 55}),
        sleep("2026-03-10", readiness=same),
        daily_readiness=[mark("2026-03-09", 81) | same, mark("2026-03-10", 81) | same],
    )

    answer = await asked.ask("health_today")

    assert "readiness" not in answer["last_night"]["main"]
    assert answer["readiness"]["contributors"] == {"hrv_balance": 70}
    assert answer["days"][-1]["sleep"]["main"]["readiness"]["score"] == 55  # it says something else
    assert any("own readiness is left out" in note for note in answer["notes"])


async def test_today_is_the_owners_day_and_not_the_servers() -> None:
    night = sleep("2026-03-09", bedtime_start="2026-03-09T00:10:00-07:00", end="2026-03-09T07:05:00-07:00")
    asked = connector(night, zone="America/Los_Angeles", now=datetime(2026, 3, 10, 5, 30, tzinfo=UTC))

    answer = await asked.ask("health_today")

    assert answer["today"] == "2026-03-09"
    assert answer["last_night"]["wake_day"] == "2026-03-09"
    assert answer["now"] == "2026-03-09T22:30-07:00"


async def test_naps_stand_beside_the_night_and_add_up_with_it() -> None:
    night = sleep("2026-03-10", asleep_s=18_120)
    nap = sleep("2026-03-10", "late_nap", end="2026-03-10T17:14:00+00:00", asleep_s=1_800)

    for order in ([night, nap], [nap, night]):
        answer = await connector(*order).ask("health_today")

        assert answer["last_night"]["main"]["bedtime_end"] == "2026-03-10T07:05:00+00:00"
        assert [record["type"] for record in answer["last_night"]["naps"]] == ["late_nap"]
        assert answer["last_night"]["all_sleep_of_day"] == 5 * 3600 + 32 * 60


async def test_two_long_sleeps_add_up_and_the_longer_one_is_the_night() -> None:
    short = sleep("2026-03-10", end="2026-03-10T03:00:00+00:00", asleep_s=12_600)
    long = sleep("2026-03-10", end="2026-03-10T09:00:00+00:00", asleep_s=14_280)

    answer = await connector(short, long).ask("health_today")

    assert answer["last_night"]["main"]["bedtime_end"] == long["bedtime_end"]
    assert answer["last_night"]["other_long_sleep"][0]["bedtime_end"] == short["bedtime_end"]
    assert "naps" not in answer["last_night"]
    assert answer["last_night"]["all_sleep_of_day"] == 7 * 3600 + 28 * 60


async def test_rest_and_deleted_periods_are_never_sleep() -> None:
    kinds = ("long_sleep", "sleep", "late_nap", "rest", "deleted")
    records = [sleep("2026-03-10", kind, asleep_s=1000) for kind in kinds]

    answer = await connector(*records).ask("health_today")

    assert answer["last_night"]["all_sleep_of_day"] == 3000
    assert [record["type"] for record in answer["last_night"]["naps"]] == ["sleep", "late_nap"]
    assert [record["type"] for record in answer["last_night"]["not_counted"]] == ["rest", "deleted"]


async def test_an_old_night_is_not_called_last_night() -> None:
    answer = await connector(sleep("2026-02-27")).ask("health_today")

    assert "last_night" not in answer
    assert answer["missing"]["last_night"] == "no_record"
    assert answer["newest_record_age"]["sleep"] == {"day": "2026-02-27", "days_ago": 11}
    assert any("it is not last night" in note for note in answer["notes"])
    assert answer["newest_record_age"]["readiness"] is None
    assert any("null where 60 days held nothing" in note for note in answer["notes"])


async def test_a_night_still_going_on_is_said_to_be_and_does_not_count() -> None:
    going_on = {**sleep("2026-03-10"), "bedtime_end": None}

    answer = await connector(sleep("2026-03-09"), going_on).ask("health_today")

    assert answer["missing"]["last_night"] == "in_progress"
    assert answer["in_progress"] == {"day": "2026-03-10", "bedtime_start": going_on["bedtime_start"]}
    assert "last_night" not in answer
    assert (answer["days"][-1]["day"], "main" in answer["days"][-1]["sleep"]) == ("2026-03-09", True)
    assert answer["newest_record_age"]["sleep"] == {"day": "2026-03-09", "days_ago": 1}
    assert any("in progress" in note for note in answer["notes"])


async def test_a_night_begun_this_evening_is_said_to_be_and_does_not_replace_last_night() -> None:
    for day in ("2026-03-10", "2026-03-11"):
        going_on = {**sleep(day), "bedtime_start": "2026-03-10T22:40:00+00:00", "bedtime_end": None}
        for records in ([sleep("2026-03-10"), going_on], [going_on, sleep("2026-03-10")]):
            answer = await connector(*records, now=datetime(2026, 3, 10, 23, 30, tzinfo=UTC)).ask("health_today")

            assert answer["last_night"]["main"]["bedtime_end"] == "2026-03-10T07:05:00+00:00"
            assert answer["in_progress"] == {"day": day, "bedtime_start": "2026-03-10T22:40:00+00:00"}
            assert answer["last_night"]["all_sleep_of_day"] == 25_000


async def test_a_record_without_a_score_is_not_a_missing_record() -> None:
    answer = await connector(sleep("2026-03-10"), daily_sleep=[mark("2026-03-10", None)]).ask("health_today")

    assert answer["missing"] == {"readiness": "not_computed_yet", "sleep_score": "not_computed_yet"}
    assert answer["evidence"] == ["The sleep of 2026-03-10 is there; what is computed from it is not."]


async def test_a_score_that_never_came_is_not_called_on_its_way() -> None:
    asked = connector(daily_sleep=[mark("2026-03-07", None), mark("2026-03-09", None)])

    answer = await asked.ask("health_today", days=3)

    assert [row["missing"]["sleep_score"] for row in answer["days"]] == ["no_score", "no_record", "not_computed_yet"]


async def test_the_days_before_are_raw_and_name_what_they_lack() -> None:
    asked = connector(sleep("2026-03-08"), daily_readiness=[mark("2026-03-08", 66), mark("2026-03-09", 67)])

    answer = await asked.ask("health_today", days=3)

    assert [row["day"] for row in answer["days"]] == ["2026-03-07", "2026-03-08", "2026-03-09"]
    assert answer["days"][1]["readiness"]["score"] == 66
    assert answer["days"][1]["missing"] == {"sleep_score": "no_record"}
    assert answer["days"][2]["missing"]["sleep"] == "no_record"


async def test_a_part_that_was_refused_leaves_the_others() -> None:
    asked = connector(sleep("2026-03-10"))
    asked.source.failing = {
        "daily_sleep": NotPermitted("Oura's scope daily is not granted.", scope="daily"),
        "daily_readiness": MembershipRequired("Oura says there is no active membership."),
    }

    answer = await asked.ask("health_today")

    assert answer["missing"] == {"readiness": "no_membership", "sleep_score": "not_permitted"}
    assert answer["complete"] is False
    assert answer["last_night"]["wake_day"] == "2026-03-10"
    assert any("scope daily" in note for note in answer["notes"])


@pytest.mark.parametrize(
    "failing",
    [
        pytest.param({"sleep": ReconnectRequired("Sign in again.")}, id="sign-in ended"),
        pytest.param(
            dict.fromkeys(("sleep", "daily_sleep", "daily_readiness"), SourceUnreachable("No answer.")), id="all down"
        ),
    ],
)
async def test_no_part_at_all_is_a_failure(failing: dict[str, Exception]) -> None:
    asked = connector(sleep("2026-03-10"))
    asked.source.failing = failing

    said = await asked.refused("health_today")

    assert str(failing["sleep"]) in said


async def test_the_oldest_days_go_first_when_the_answer_does_not_fit() -> None:
    asked = connector(*(sleep(f"2026-03-{day:02}") for day in range(1, 11)))
    asked.cap = 3_000

    answer = await asked.ask("health_today", days=9)

    assert (answer["truncated"], answer["complete"]) == (True, False)
    assert any(f"The {9 - len(answer['days'])} oldest" in note for note in answer["notes"])
    assert answer["days"][-1]["day"] == "2026-03-09"
    assert 0 < len(answer["days"]) < 9


async def test_an_unknown_zone_is_said() -> None:
    asked = Connector(FakeSource(zone=None))

    answer = await asked.ask("health_today")

    assert answer["timezone"] == "UTC"
    assert "time zone is not known" in answer["notes"][0]


async def test_a_journey_tells_what_time_it_is_by_the_clock_of_the_newest_night() -> None:
    away = sleep("2026-03-10", bedtime_start="2026-03-10T00:10:00-05:00", end="2026-03-10T05:10:00-05:00")

    abroad = await connector(away).ask("health_today", days=0)
    home = await connector(sleep("2026-03-10")).ask("health_today", days=0)

    assert abroad["now"] == "2026-03-10T12:00-05:00"
    assert [note for note in abroad["notes"] if note.startswith("The owner's newest night carries -05:00")]
    assert not [note for note in home["notes"] if "newest night carries" in note]


async def test_scores_are_said_to_be_no_measurements_and_nothing_is_explained_that_is_not_there() -> None:
    scored = await connector(daily_readiness=[mark("2026-03-10", 80)]).ask("health_today", days=0)
    empty = await connector().ask("health_today", days=0)

    assert any("never bpm or minutes" in note for note in scored["notes"])
    assert not any("long_sleep" in note for note in empty["notes"])
