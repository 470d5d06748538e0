"""Samples: 1,000 on a page, 30 days at most, instants and not dates, five seconds apart on the move."""

from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from app.simulator import Person, Rules, Simulator
from tests.simulator.conftest import NOW, Asker, Clock, Connect

DAY = {"start_datetime": "2026-03-26T00:00:00+01:00", "end_datetime": "2026-03-27T00:00:00+01:00"}
MONTH = {"start_datetime": "2026-03-01T00:00:00+01:00", "end_datetime": "2026-03-31T00:00:00+02:00"}


async def test_a_day_has_about_1231_samples_in_two_pages_oldest_first(oura: Asker) -> None:
    found, pages = await oura.all("heartrate", **DAY)

    assert 1_050 < len(found) < 1_450
    assert pages == 2
    assert found == oura.sim.truth("heartrate", "2026-03-26", "2026-03-26")
    assert found == sorted(found, key=lambda row: str(row["timestamp"]))


async def test_a_month_is_about_37000_samples_and_all_pages_together_are_the_truth(oura: Asker) -> None:
    found, pages = await oura.all("heartrate", **MONTH)

    assert 33_000 < len(found) < 40_000
    assert pages == -(-len(found) // 1_000)
    assert found == oura.sim.truth("heartrate", "2026-03-01", "2026-03-30")


async def test_the_cursor_alone_carries_the_question(oura: Asker) -> None:
    first = (await oura.get("heartrate", **DAY)).json()
    rest = (await oura.get("heartrate", next_token=first["next_token"])).json()

    assert len(first["data"]) == 1_000
    assert first["data"] + rest["data"] == oura.sim.truth("heartrate", "2026-03-26", "2026-03-26")


async def test_samples_are_five_seconds_apart_in_workouts_and_five_minutes_at_rest(oura: Asker) -> None:
    rows = oura.sim.truth("heartrate", "2026-03-01", "2026-03-30")
    apart: dict[str, Counter[int]] = {}
    for one, two in pairwise(rows):
        if one["source"] == two["source"]:
            gap = datetime.fromisoformat(two["timestamp"]) - datetime.fromisoformat(one["timestamp"])
            apart.setdefault(one["source"], Counter())[int(gap.total_seconds())] += 1

    assert apart["workout"].most_common(1)[0][0] == 5
    assert apart["sleep"].most_common(1)[0][0] == 300
    assert apart["rest"].most_common(1)[0][0] == 300
    assert {row["source"] for row in rows} == {"awake", "workout", "rest", "sleep", "live", "session"}


async def test_live_rows_have_no_unix_stamp(oura: Asker) -> None:
    rows = oura.sim.truth("heartrate", "2026-03-01", "2026-03-30")

    assert all(("timestamp_unix" in row) == (row["source"] != "live") for row in rows)


@pytest.mark.parametrize("collection", ["heartrate", "ring_battery_level"])
async def test_a_sample_stands_exactly_at_a_local_midnight_so_that_seams_can_be_tested(
    collection: str, oura: Asker
) -> None:
    rows = oura.sim.truth(collection, "2026-03-01", "2026-03-27")

    assert any(row["timestamp"].endswith("T23:00:00+00:00") for row in rows)


@pytest.mark.parametrize("inclusive", [True, False])
async def test_the_unmeasured_end_of_samples_can_be_read_either_way(
    inclusive: bool, clock: Clock, connect: Connect
) -> None:
    oura = connect(Simulator(now=clock, rules=Rules(dense_end_inclusive=inclusive)))
    first, second = oura.sim.truth("heartrate", "2026-03-26", "2026-03-26")[:2]

    found = await oura.data("heartrate", start_datetime=first["timestamp"], end_datetime=second["timestamp"])

    assert found == ([first, second] if inclusive else [first])


@pytest.mark.parametrize("collection", ["heartrate", "ring_battery_level"])
async def test_more_than_30_days_are_refused_and_30_are_not(collection: str, oura: Asker) -> None:
    start = "2026-03-01T00:00:00+00:00"

    assert (await oura.get(collection, start_datetime=start, end_datetime="2026-03-31T00:00:00+00:00")).is_success
    refused = await oura.get(collection, start_datetime=start, end_datetime="2026-03-31T00:00:01+00:00")

    assert refused.status_code == 400
    assert "30 days" in refused.json()["detail"]


async def test_a_bare_date_in_both_bounds_is_a_range_of_no_width(oura: Asker) -> None:
    assert await oura.data("heartrate", start_datetime="2026-03-24", end_datetime="2026-03-24") == []


async def test_names_of_the_date_collections_are_ignored_and_the_last_day_comes(oura: Asker) -> None:
    by_date, _ = await oura.all("heartrate", start_date="2026-01-01", end_date="2026-01-02")
    stamps = [datetime.fromisoformat(row["timestamp"]).timestamp() for row in by_date]

    assert NOW - 86_400 <= stamps[0] < NOW - 80_000
    assert NOW - 3_600 < stamps[-1] <= NOW


@pytest.mark.parametrize("collection", ["heartrate", "ring_battery_level"])
async def test_latest_is_the_newest_sample_whatever_the_range(collection: str, oura: Asker) -> None:
    [newest] = await oura.data(collection, latest="true", start_datetime="2026-01-01", end_datetime="2026-01-02")

    assert newest == oura.sim.truth(collection, "2026-04-01", "2026-04-02")[-1]
    assert (await oura.get(collection, latest="perhaps")).status_code == 422


async def test_fields_keep_the_stamp_of_a_sample(oura: Asker) -> None:
    found = await oura.data("heartrate", fields="bpm", **DAY)

    assert {tuple(sorted(row)) for row in found} == {("bpm", "timestamp")}


async def test_nothing_newer_than_the_last_sync_is_there(oura: Asker) -> None:
    oura.sim.synced_until = NOW - 6 * 3600

    [newest] = await oura.data("heartrate", latest="true")

    assert NOW - 6.5 * 3600 < datetime.fromisoformat(newest["timestamp"]).timestamp() <= NOW - 6 * 3600
    assert await oura.data("daily_sleep", start_date="2026-04-02", end_date="2026-04-02") == []


@pytest.mark.parametrize("zone", ["Pacific/Pago_Pago", "Europe/Berlin", "Pacific/Kiritimati"])
@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2025-10-26", 25), ("2024-02-29", 24)])
async def test_local_days_are_as_long_as_the_clock_made_them(
    zone: str, day: str, hours: int, clock: Clock, connect: Connect
) -> None:
    oura = connect(Simulator(now=clock, person=Person(zone=zone, odd=False)))
    start, end = oura.sim.archive.world.where.span(datetime.fromisoformat(day).date())

    rows = oura.sim.truth("heartrate", day, day)
    stamps = [datetime.fromisoformat(row["timestamp"]).timestamp() for row in rows]

    assert end - start == (hours if zone == "Europe/Berlin" else 24) * 3600
    assert start <= stamps[0] < start + 1_200
    assert end - 1_200 < stamps[-1] < end


async def test_the_battery_is_charged_every_few_days_and_never_leaves_its_range(oura: Asker) -> None:
    rows = oura.sim.truth("ring_battery_level", "2026-03-01", "2026-03-30")

    assert {row["charging"] for row in rows} == {True, False, None}
    assert min(row["level"] for row in rows) >= 0
    assert max(row["level"] for row in rows) == 100
    assert timedelta(days=30) // timedelta(minutes=30) - 10 < len(rows) < 30 * 48 + 10
