"""Samples put together by the clock: what a workout's many samples must not do to the mean of a day."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import groupby
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.sources.base import Record
from app.sources.oura.catalog import COLLECTIONS
from app.tools.records.buckets import RESOLUTIONS, Part, bucketed, measured
from app.tools.records.gathering import Gather
from tests.tools.fakes import Connector, FakeSource, heart

HEART = COLLECTIONS["heartrate"]
FIELD = measured(HEART, ())
KATHMANDU = ZoneInfo("Asia/Kathmandu")  # 5:45 from UTC
DAY = datetime(2026, 3, 10, tzinfo=UTC)


def sample(second: int, bpm: int | None) -> Record:
    return {"timestamp": (DAY + timedelta(seconds=second)).isoformat(), "bpm": bpm, "source": "awake"}


def plainly(samples: list[tuple[int, int | None]], resolution: str, zone: ZoneInfo) -> dict[str, float]:
    """Return the mean of the means of five minutes by bucket, in exact numbers and the simplest way."""

    def bucket(second: int) -> str:
        local = (DAY + timedelta(seconds=second)).astimezone(zone)
        return str(local.date()) if resolution == "day" else local.replace(minute=0, second=0).isoformat("T", "minutes")

    known = sorted((second, bpm) for second, bpm in samples if bpm is not None)
    means: dict[str, list[Fraction]] = {}
    for slot, group in groupby(known, key=lambda pair: pair[0] // 300):
        values = [bpm for _, bpm in group]
        means.setdefault(bucket(slot * 300), []).append(Fraction(sum(values), len(values)))
    return {name: float(sum(found) / len(found)) for name, found in means.items()}


@pytest.mark.anyio
@pytest.mark.parametrize("form", ["json", "csv"])
async def test_a_workout_pulls_the_mean_of_samples_but_not_the_mean_by_time(form: str) -> None:
    calm = heart(DAY, 12, bpm=(60,))
    workout = heart(DAY + timedelta(minutes=60), 60, every_s=5, bpm=(150,))
    connector = Connector(FakeSource({"heartrate": [*calm, *workout]}))

    answer = await connector.ask("health_query", collection="heartrate", day="today", resolution="day", format=form)

    if form == "csv":
        assert answer["data"] == "day,n,min,mean,mean_by_time,max\r\n2026-03-10,72,60,135.0,66.92,150\r\n"
        return
    assert answer["data"] == [
        {"day": "2026-03-10", "n": 72, "min": 60, "mean": 135.0, "mean_by_time": 66.92, "max": 150}
    ]
    assert answer["units"]["mean_by_time"] == {
        "unit": "bpm", "kind": "measurement", "of": "bpm", "how": "each five minutes with samples count once",
    }  # fmt: skip
    assert any("mean_by_time" in note for note in answer["notes"])


@pytest.mark.anyio
async def test_five_minutes_have_one_mean_and_their_units_name_no_other() -> None:
    connector = Connector(FakeSource({"heartrate": heart(DAY, 12)}))

    answer = await connector.ask("health_query", collection="heartrate", day="today", resolution="5min")

    assert set(answer["data"][0]) == {"start", "n", "min", "mean", "max"}
    assert set(answer["units"]) == {"n", "min", "mean", "max"}


SAMPLES = st.lists(
    st.tuples(st.integers(0, 3 * 86_400), st.none() | st.integers(30, 220)),
    min_size=1,
    max_size=120,
    unique_by=lambda pair: pair[0],
)


@given(
    SAMPLES,
    st.sampled_from(["hour", "day"]),
    st.sampled_from([1, 10, 10_000]),
    st.sampled_from([RESOLUTIONS, RESOLUTIONS[1:], None]),
    st.sampled_from([ZoneInfo("UTC"), KATHMANDU]),
)
def test_the_mean_by_time_is_exact_however_the_samples_were_put_together_on_the_way(
    samples: list[tuple[int, int | None]],
    resolution: str,
    most: int,
    resolutions: tuple[str, ...] | None,
    zone: ZoneInfo,
) -> None:
    ways = (resolution,) if resolutions is None else resolutions[: resolutions.index(resolution) + 1]
    gathering = Gather(HEART, "bpm", zone, ways, most).begin()
    for second, bpm in samples:
        gathering.add([sample(second, bpm)])

    records = gathering.records()
    buckets = bucketed(records, HEART, field=FIELD, resolution=resolution, zone=zone)

    label = "day" if resolution == "day" else "start"
    got = {str(bucket[label]): cast("float", bucket["mean_by_time"]) for bucket in buckets}
    expected = plainly(samples, resolution, zone)
    assert got.keys() == expected.keys()
    assert all(got[name] == pytest.approx(expected[name], abs=0.00501) for name in got)


def test_a_year_put_together_by_days_takes_little_memory() -> None:
    gathering = Gather(HEART, "bpm", ZoneInfo("UTC"), ("day",), 10_000).begin()
    for day in range(366):
        gathering.add([sample(day * 86_400 + n * 300, 60) for n in range(288)])

    parts: list[Any] = [record for record in gathering.records() if isinstance(record, Part)]
    held = sum(array.buffer_info()[1] * array.itemsize for part in parts for array in part.sum.hours.values())

    assert len(parts) == 366
    assert held == 366 * 24 * 24 * 8  # under 2 MB, whatever the number of samples
