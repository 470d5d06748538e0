"""The person: plausible, odd where people are, the same each time, in any zone, and not finished with today."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest

from app.simulator import COLLECTIONS, Canary, Person, Simulator
from app.simulator.person import Whereabouts
from app.simulator.world import DATED, DENSE
from tests.simulator.conftest import NOW, Asker, Clock, Connect, Document

MONTHS = ("2026-01-01", "2026-03-31")


def _by_day(records: list[Document]) -> dict[str, Document]:
    return {str(record["day"]): record for record in records}


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_two_simulators_of_one_seed_tell_the_same_life_whatever_was_asked_before(collection: str, clock: Clock) -> None:
    one, two, other = Simulator(now=clock), Simulator(now=clock), Simulator(now=clock, seed=8)
    for day in ("2026-03-20", "2026-02-10"):
        two.truth(collection, day, day)

    told = one.truth(collection, "2026-02-25", "2026-03-05")

    assert told == two.truth(collection, "2026-02-25", "2026-03-05")
    if collection not in {"personal_info", "rest_mode_period"}:
        assert told
        assert told != other.truth(collection, "2026-02-25", "2026-03-05")


@pytest.mark.parametrize("year", [2019, 2024, 2029])
def test_every_year_from_2019_to_some_ahead_has_every_collection(year: int) -> None:
    later = datetime(year + 1, 2, 1, tzinfo=UTC).timestamp()
    sim = Simulator(now=lambda: later)

    for collection in DATED + DENSE:
        assert sim.truth(collection, f"{year}-10-15", f"{year}-10-28"), collection


def test_nothing_is_recorded_before_the_first_ring_or_after_now(sim: Simulator) -> None:
    for collection in set(DATED) - {"rest_mode_period"}:
        assert sim.truth(collection, "2018-11-01", "2018-12-31") == []
        assert sim.truth(collection, "2026-04-03", "2026-04-30") == []


def test_a_month_holds_every_kind_of_sleep_and_two_long_ones_on_a_day(sim: Simulator) -> None:
    sleeps = sim.truth("sleep", "2026-01-01", "2026-01-31")
    longs = Counter(one["day"] for one in sleeps if one["type"] == "long_sleep")

    assert {one["type"] for one in sleeps} == {"long_sleep", "sleep", "late_nap", "rest", "deleted"}
    assert max(longs.values()) == 2
    assert len(longs) < 31  # a night without the ring


def test_the_durations_of_a_night_add_up_and_follow_from_its_phases(sim: Simulator) -> None:
    for night in sim.truth("sleep", *MONTHS):
        begin, end = datetime.fromisoformat(night["bedtime_start"]), datetime.fromisoformat(night["bedtime_end"])
        assert (end - begin).total_seconds() == night["time_in_bed"]
        asleep = night["deep_sleep_duration"] + night["light_sleep_duration"] + night["rem_sleep_duration"]
        assert asleep == night["total_sleep_duration"]
        assert asleep + night["awake_time"] == night["time_in_bed"]
        assert night["efficiency"] == round(100 * asleep / night["time_in_bed"])
        if night["sleep_phase_30_sec"] is not None:
            assert len(night["sleep_phase_30_sec"]) * 30 == night["time_in_bed"]
            assert night["sleep_phase_30_sec"].count("1") * 30 == night["deep_sleep_duration"]
        assert len(night["sleep_phase_5_min"]) == -(-night["time_in_bed"] // 300)
        assert len(night["heart_rate"]["items"]) == len(night["sleep_phase_5_min"])
        assert None in night["heart_rate"]["items"]
        known = [beat for beat in night["heart_rate"]["items"] if beat is not None]
        assert night["lowest_heart_rate"] == min(known)
        assert 40 < night["average_heart_rate"] < 80


def test_a_night_belongs_to_the_day_of_waking(sim: Simulator) -> None:
    for night in sim.truth("sleep", *MONTHS):
        if night["type"] != "late_nap":
            assert night["bedtime_end"].startswith(night["day"])


def test_the_times_of_an_activity_day_add_up_to_its_length_and_the_series_fits(sim: Simulator) -> None:
    names = ("non_wear", "resting", "sedentary", "low_activity", "medium_activity", "high_activity")
    for day in sim.truth("daily_activity", *MONTHS):
        minutes = len(day["met"]["items"])
        assert sum(day[f"{name}_time"] for name in names) == minutes * 60
        assert len(day["class_5_min"]) == -(-minutes // 5)
        assert day["timestamp"][10:19] == "T04:00:00"
        assert day["average_met_minutes"] == pytest.approx(sum(day["met"]["items"]) / minutes, abs=1e-3)


def test_an_ordinary_activity_day_has_1440_minutes_and_a_clock_change_an_hour_less_or_more(clock: Clock) -> None:
    sim = Simulator(now=clock, person=Person(odd=False))

    lengths = {
        day: len(sim.truth("daily_activity", day, day)[0]["met"]["items"])
        for day in ("2026-03-27", "2026-03-28", "2026-03-29", "2025-10-25")
    }

    assert lengths == {"2026-03-27": 1440, "2026-03-28": 1380, "2026-03-29": 1440, "2025-10-25": 1500}


def test_days_without_the_ring_have_activity_full_of_non_wear_and_nothing_that_needs_a_night(sim: Simulator) -> None:
    activity = _by_day(sim.truth("daily_activity", "2026-02-01", "2026-02-28"))
    unworn = [day for day, record in activity.items() if record["non_wear_time"] == 86_400]
    worn = _by_day(sim.truth("daily_sleep", "2026-02-01", "2026-02-28"))

    assert len(unworn) == 2  # of three days; the third ends in bed, with the ring on
    for day in unworn:
        assert day not in worn
        assert activity[day]["score"] is None
        assert activity[day]["steps"] == 0
        assert sim.truth("heartrate", day, day) == [] or day == max(unworn)
        for collection in ("daily_readiness", "daily_spo2", "daily_stress", "sleep_time"):
            assert sim.truth(collection, day, day) == []


def test_scores_saturation_and_stress_can_be_null_or_missing(sim: Simulator) -> None:
    scores = sim.truth("daily_sleep", *MONTHS)
    spo2 = [one["spo2_percentage"] for one in sim.truth("daily_spo2", *MONTHS)]
    stress = _by_day(sim.truth("daily_stress", *MONTHS))

    unscored = [one for one in scores if one["score"] is None]
    assert len(unscored) == 3
    assert set(unscored[0]["contributors"].values()) == {None}
    assert None in spo2
    assert {"average": None} in spo2
    assert set(_by_day(scores)) - set(stress)


def test_today_is_not_finished(sim: Simulator) -> None:
    [activity] = sim.truth("daily_activity", "2026-04-02", "2026-04-02")
    [stress] = sim.truth("daily_stress", "2026-04-02", "2026-04-02")
    newest = datetime.fromisoformat(sim.truth("heartrate", "2026-04-02", "2026-04-02")[-1]["timestamp"])

    assert activity["score"] is None
    assert 0 < len(activity["met"]["items"]) < 720
    assert stress["day_summary"] is None
    assert newest.timestamp() <= NOW


def test_today_grows_and_is_finished_two_days_later(clock: Clock) -> None:
    sim = Simulator(now=clock)
    before = sim.truth("daily_activity", "2026-04-02", "2026-04-02")[0]

    clock.at_s += 2 * 86_400
    after = sim.truth("daily_activity", "2026-04-02", "2026-04-02")[0]

    assert after["met"]["items"][: len(before["met"]["items"])] == before["met"]["items"]
    assert len(after["met"]["items"]) == 1440
    assert after["score"] is not None


def test_weekends_are_slept_longer(clock: Clock) -> None:
    sim = Simulator(now=clock, person=Person(odd=False))
    nights = [one for one in sim.truth("sleep", "2025-04-01", "2026-03-31") if one["type"] == "long_sleep"]

    def mean(weekend: bool) -> float:
        kept = [n["time_in_bed"] for n in nights if (date.fromisoformat(n["day"]).weekday() >= 5) == weekend]
        return float(sum(kept) / len(kept))

    assert mean(weekend=True) > mean(weekend=False) + 1_200


def test_the_comments_of_a_month_break_a_careless_csv_writer(sim: Simulator) -> None:
    comments = [str(tag["comment"]) for tag in sim.truth("enhanced_tag", "2026-01-01", "2026-01-31")]
    text = "".join(comments)

    assert any(comment.startswith("=") for comment in comments)
    assert any("\r" in comment and "\n" not in comment for comment in comments)
    assert {'"', ",", "\r\n", "\t"} <= {part for part in ('"', ",", "\r\n", "\t") if part in text}
    codes = {tag["tag_type_code"] for tag in sim.truth("enhanced_tag", "2025-01-01", "2026-03-31")}
    assert {None, "custom", "tag_generic_alcohol"} <= codes


def test_rest_mode_is_there_closed_and_open(sim: Simulator) -> None:
    periods = sim.truth("rest_mode_period", "2025-10-01", "2026-04-02")

    assert [period["end_day"] for period in periods] == ["2025-10-21", None]


def test_rings_come_oldest_first_and_only_once_set_up(clock: Clock) -> None:
    sim = Simulator(now=clock)
    set_up = [ring["set_up_at"] for ring in sim.truth("ring_configuration", "2026-01-01", "2026-01-01")]

    assert set_up == sorted(set_up)
    assert len(set_up) == 3
    clock.at_s = datetime(2022, 6, 1, tzinfo=UTC).timestamp()
    assert len(sim.truth("ring_configuration", "2026-01-01", "2026-01-01")) == 2


def test_times_carry_the_offset_of_that_moment_across_journeys_and_clock_changes(sim: Simulator) -> None:
    offsets = {night["day"]: night["bedtime_end"][-6:] for night in sim.truth("sleep", "2026-02-01", "2026-03-31")}

    assert {"+01:00", "+02:00", "+14:00", "-05:00", "-04:00"} <= set(offsets.values())
    assert offsets["2026-03-28"] == "+01:00"
    assert offsets["2026-03-30"] == "+02:00"


def test_a_year_of_travelling_leaves_no_gap_and_no_overlap_in_time() -> None:
    where = Whereabouts(Person.traveller())
    day = date(2025, 1, 1)
    while day < date(2026, 1, 1):
        start, end = where.span(day)
        assert end > start
        assert where.day_of(start) == day
        assert where.day_of(end - 1) == day
        day += timedelta(days=1)
        assert where.span(day)[0] == end


@pytest.mark.parametrize("seed", [7, 8])
def test_samples_rise_strictly_through_a_year_of_travelling(seed: int, clock: Clock) -> None:
    rows = Simulator(now=clock, seed=seed).truth("heartrate", "2026-02-05", "2026-03-31")

    stamps = [row["timestamp"] for row in rows]
    assert all(one < two for one, two in pairwise(stamps))


def test_a_jump_that_swallows_a_day_is_refused() -> None:
    with pytest.raises(ValueError, match="swallows"):
        Whereabouts(Person(zone="Pacific/Pago_Pago", moves=((date(2026, 3, 1), "Pacific/Kiritimati"),)))


def test_workouts_cross_midnight_and_utc_dates(sim: Simulator) -> None:
    workouts = sim.truth("workout", "2025-05-01", "2026-03-31")  # with journeys to both ends of the clock

    assert any(one["start_datetime"][:10] != one["end_datetime"][:10] for one in workouts)
    utc_days = [datetime.fromisoformat(one["start_datetime"]).astimezone(UTC).date().isoformat() for one in workouts]
    assert any(day < one["day"] for day, one in zip(utc_days, workouts, strict=True))
    assert any(day > one["day"] for day, one in zip(utc_days, workouts, strict=True))


async def test_planted_records_appear_and_withheld_days_are_empty(oura: Asker) -> None:
    day = date(2026, 3, 10)
    mine = {
        "id": "mine",
        "day": "2026-03-10",
        "score": 81,
        "contributors": {},
        "timestamp": "2026-03-10T00:00:00+00:00",
    }
    before = oura.sim.truth("daily_sleep", day, day)
    oura.sim.archive.withhold("daily_sleep", day)
    oura.sim.archive.plant("daily_sleep", day, mine)

    assert await oura.data("daily_sleep", start_date="2026-03-10", end_date="2026-03-10") == [mine]
    assert oura.sim.truth("daily_sleep", day, day) == [mine]
    assert (await oura.get("daily_sleep/mine")).json() == mine
    oura.sim.archive.restore("daily_sleep", day)
    assert await oura.data("daily_sleep", start_date="2026-03-10", end_date="2026-03-10") == before


async def test_the_canary_is_in_the_data_of_every_day_and_not_in_the_log(clock: Clock, connect: Connect) -> None:
    oura = connect(Simulator(now=clock, canary=Canary("kanarienvogel-7261", number=918_273)))

    tags = await oura.get("enhanced_tag", start_date="2026-03-30", end_date="2026-04-01")
    activity = await oura.data("daily_activity", start_date="2026-03-30", end_date="2026-04-01")

    assert tags.text.count("kanarienvogel-7261") == 2
    assert [day["steps"] for day in activity] == [918_273] * 2
    assert oura.sim.truth("heartrate", "2026-03-30", "2026-03-30")[0]["bpm"] == 918_273
    assert "kanarienvogel" not in repr(oura.sim.log)
    assert "918273" not in repr(oura.sim.log)


async def test_the_stranger_has_other_data(oura: Asker) -> None:
    stranger = oura.as_granted("personal", "email", "daily", who="stranger")
    params = {"start_date": "2026-03-01", "end_date": "2026-03-10"}

    profile = (await stranger.get("personal_info")).json()

    assert profile["email"] == "stranger@example.com"
    assert profile["id"] != (await oura.get("personal_info")).json()["id"]
    assert await stranger.data("daily_sleep", **params) != await oura.data("daily_sleep", **params)
