"""Which records a request gets: the measured reading of bounds, per collection."""

from datetime import date, datetime, timedelta

import pytest

from app.simulator import Person, Rules, Simulator
from app.simulator.filters import MEASURED_EXCLUSIVE, UNMEASURED
from app.simulator.world import DATED
from tests.simulator.conftest import Asker, Clock, Connect

INCLUSIVE = sorted(set(DATED) - MEASURED_EXCLUSIVE - UNMEASURED)
PLAIN = Person(zone="America/Denver", odd=False)  # the account it was measured on stood at -06:00


def _day_with(sim: Simulator, collection: str) -> str:
    records = sim.truth(collection, "2026-03-01", "2026-03-28")
    return str(records[len(records) // 2].get("day") or records[len(records) // 2]["start_day"])


@pytest.mark.parametrize("collection", sorted(MEASURED_EXCLUSIVE))
async def test_a_bare_end_date_loses_its_own_day_where_that_was_measured(
    collection: str, clock: Clock, connect: Connect
) -> None:
    oura = connect(Simulator(now=clock, person=PLAIN))
    day = _day_with(oura.sim, collection)

    assert [
        record for record in await oura.data(collection, start_date=day, end_date=day) if record["day"] == day
    ] == []


@pytest.mark.parametrize("collection", INCLUSIVE)
async def test_a_bare_end_date_keeps_its_own_day_elsewhere(collection: str, clock: Clock, connect: Connect) -> None:
    oura = connect(Simulator(now=clock, person=PLAIN))
    day = _day_with(oura.sim, collection)

    assert [record["day"] for record in await oura.data(collection, start_date=day, end_date=day)] == [day]


@pytest.mark.parametrize("collection", ["vO2_max", "tag"])
@pytest.mark.parametrize("exclusive", [True, False])
async def test_the_unmeasured_collections_can_be_read_either_way(
    collection: str, exclusive: bool, clock: Clock, connect: Connect
) -> None:
    rules = Rules() if exclusive else Rules(exclusive_end=MEASURED_EXCLUSIVE)
    oura = connect(Simulator(now=clock, rules=rules))
    day = _day_with(oura.sim, collection)

    found = await oura.data(collection, start_date=day, end_date=day)

    assert found == ([] if exclusive else oura.sim.truth(collection, day, day))


@pytest.mark.parametrize("collection", sorted(MEASURED_EXCLUSIVE - {"workout"}))
async def test_an_end_at_the_last_second_of_the_day_keeps_it(collection: str, clock: Clock, connect: Connect) -> None:
    oura = connect(Simulator(now=clock, person=PLAIN))
    day = _day_with(oura.sim, collection)

    found = await oura.data(collection, start_date=day, end_date=f"{day}T23:59:59")

    assert found == oura.sim.truth(collection, day, day)


async def test_workouts_are_filtered_by_utc_date_and_report_the_local_day(clock: Clock, connect: Connect) -> None:
    oura = connect(Simulator(now=clock, person=PLAIN))
    evening = next(
        workout
        for workout in oura.sim.truth("workout", "2026-03-01", "2026-03-28")
        if "T18:" in workout["start_datetime"] and workout["start_datetime"].endswith("-06:00")
    )
    day = date.fromisoformat(evening["day"])
    next_day = (day + timedelta(days=1)).isoformat()

    own_date = await oura.data("workout", start_date=evening["day"], end_date=next_day)
    utc_date = await oura.data("workout", start_date=next_day, end_date=(day + timedelta(days=2)).isoformat())

    assert evening not in own_date
    assert evening in utc_date


@pytest.mark.parametrize("zone", ["Pacific/Pago_Pago", "America/Denver", "UTC", "Asia/Kathmandu", "Pacific/Kiritimati"])
@pytest.mark.parametrize("collection", DATED)
async def test_two_days_of_margin_on_both_sides_bring_every_record_of_the_range(
    collection: str, zone: str, clock: Clock, connect: Connect
) -> None:
    oura = connect(Simulator(now=clock, person=Person(zone=zone)))

    for start, end in (("2026-02-28", "2026-03-02"), ("2026-03-10", "2026-03-10"), ("2025-12-30", "2026-01-02")):
        padded = await oura.data(collection, start_date=_shift(start, -2), end_date=_shift(end, 2))
        expected = oura.sim.truth(collection, start, end)

        assert [record for record in padded if record in expected] == expected


async def test_an_open_rest_period_and_a_long_tag_are_found_long_after_they_began(
    clock: Clock, connect: Connect
) -> None:
    oura = connect(Simulator(now=clock, person=Person(rest_mode_open_days=40)))
    tag = next(
        t
        for t in oura.sim.truth("enhanced_tag", "2026-03-01", "2026-03-28")
        if t["end_day"] not in {None, t["start_day"]}
    )

    [period] = await oura.data("rest_mode_period", start_date="2026-03-20", end_date="2026-03-21")
    last_day = await oura.data("enhanced_tag", start_date=tag["end_day"], end_date=_shift(tag["end_day"], 1))

    assert period["end_day"] is None
    assert period["start_day"] == "2026-02-21"
    assert oura.sim.truth("rest_mode_period", "2026-03-20", "2026-03-21") == [period]
    assert tag in last_day


async def test_a_late_nap_is_filed_under_the_next_day(sim: Simulator) -> None:
    [nap] = [one for one in sim.truth("sleep", "2026-01-01", "2026-01-31") if one["type"] == "late_nap"]

    ended = datetime.fromisoformat(nap["bedtime_end"])

    assert ended.hour >= 18
    assert nap["day"] == (ended.date() + timedelta(days=1)).isoformat()


async def test_dates_left_out_mean_yesterday_to_today_in_utc(oura: Asker) -> None:
    explicit = await oura.data("daily_readiness", start_date="2026-04-01", end_date="2026-04-02")

    assert await oura.data("daily_readiness") == explicit
    assert [record["day"] for record in explicit] == ["2026-04-01", "2026-04-02"]


async def test_dates_may_be_datetimes_with_an_offset(oura: Asker) -> None:
    found = await oura.data("session", start_date="2026-03-20T00:00:00+01:00", end_date="2026-03-24T23:59:59+01:00")

    assert found == oura.sim.truth("session", "2026-03-20", "2026-03-24")
    assert found


@pytest.mark.parametrize(
    ("params", "status"),
    [
        pytest.param({"start_date": "2026-02-30"}, 422, id="impossible"),
        pytest.param({"end_date": "yesterday"}, 422, id="words"),
        pytest.param({"start_date": "20260301"}, 422, id="compact"),
        pytest.param({"start_date": "2026-03-01T00:00:00 01:00"}, 422, id="plus-sent-as-space"),
        pytest.param({"start_date": "2026-03-02", "end_date": "2026-03-01"}, 400, id="reversed"),
        pytest.param({"next_token": "nonsense"}, 400, id="cursor"),
    ],
)
async def test_bad_dates_are_refused(params: dict[str, str], status: int, oura: Asker) -> None:
    answer = await oura.get("daily_sleep", **params)

    assert answer.status_code == status
    detail = answer.json()["detail"]
    if status == 422:
        [name] = params
        assert detail[0]["loc"] == ["query", name]
        assert detail[0]["input"] == params[name]


@pytest.mark.parametrize(
    "collection", sorted(set(DATED) - {"daily_resilience", "enhanced_tag", "tag", "rest_mode_period"})
)
async def test_fields_bring_id_and_day_besides_what_was_named(collection: str, oura: Asker) -> None:
    params = {"start_date": "2026-03-01", "end_date": "2026-03-20"}
    whole = await oura.data(collection, **params)
    name = max(set(whole[0]) - {"id", "day"})

    trimmed = await oura.data(collection, fields=f"{name},nonsense", **params)
    none_known = await oura.data(collection, fields="nonsense", **params)

    assert trimmed == [{key: value for key, value in one.items() if key in {"id", "day", name}} for one in whole]
    assert none_known == whole


@pytest.mark.parametrize("collection", ["daily_resilience", "enhanced_tag", "tag"])
async def test_fields_are_ignored_where_the_route_does_not_support_them(collection: str, oura: Asker) -> None:
    params = {"start_date": "2026-03-01", "end_date": "2026-03-20"}

    assert await oura.data(collection, fields="id", **params) == await oura.data(collection, **params)


async def test_latest_is_ignored_on_documents(oura: Asker) -> None:
    params = {"start_date": "2026-03-01", "end_date": "2026-03-20"}

    assert await oura.data("daily_sleep", latest="true", **params) == await oura.data("daily_sleep", **params)


async def test_documents_come_in_pages_when_the_page_is_small(clock: Clock, connect: Connect) -> None:
    params = {"start_date": "2026-03-01", "end_date": "2026-03-20"}
    small = connect(Simulator(now=clock, rules=Rules(page_size=7)))
    large = connect(Simulator(now=clock))

    paged, pages = await small.all("daily_sleep", **params)
    whole = await large.data("daily_sleep", **params)

    assert paged == whole
    assert pages == -(-len(whole) // 7)


def _shift(day: str, by: int) -> str:
    return (date.fromisoformat(day) + timedelta(days=by)).isoformat()
