"""`health_query` over streams of samples: buckets, cuts, blocks, the newest one."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from app.errors import SourceUnreachable
from app.identity import Caller
from app.sources.base import Collection, DateRange, Digest, Fetched, Progress
from tests.tools.fakes import SCORES, Connector, FakeSource, heart

pytestmark = pytest.mark.anyio


async def test_buckets_skip_what_was_not_measured_and_what_was_not_there() -> None:
    day = datetime(2026, 3, 10, 8, 0, tzinfo=UTC)
    connector = Connector(
        FakeSource({"heartrate": [*heart(day, 3, bpm=(60, None, 62)), *heart(day + timedelta(hours=3), 1)]})
    )

    answer = await connector.ask("health_query", collection="heartrate", day="today", resolution="hour")

    assert answer["data"] == [
        {"start": "2026-03-10T08:00+00:00", "n": 2, "min": 60, "mean": 61.0, "mean_by_time": 61.0, "max": 62},
        {"start": "2026-03-10T11:00+00:00", "n": 1, "min": 60, "mean": 60.0, "mean_by_time": 60.0, "max": 60},
    ]
    assert answer["units"]["mean"] == {"unit": "bpm", "kind": "measurement", "of": "bpm"}
    assert (answer["n"], answer["samples"], answer["resolution"]) == (2, 4, "hour")


async def test_the_hour_that_a_clock_change_repeats_is_two_buckets() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    start = datetime(2026, 10, 24, 22, 0, tzinfo=UTC)  # midnight in Berlin; the day has 25 hours
    connector = Connector(
        FakeSource({"heartrate": heart(start, 300)}, zone=berlin), now=datetime(2026, 10, 26, tzinfo=UTC)
    )

    answer = await connector.ask("health_query", collection="heartrate", day="2026-10-25", resolution="hour")

    assert answer["n"] == 25
    assert sum(bucket["n"] for bucket in answer["data"]) == 300
    assert [b["start"] for b in answer["data"] if "T02:" in b["start"]] == [
        "2026-10-25T02:00+02:00",
        "2026-10-25T02:00+01:00",
    ]


async def test_samples_that_do_not_fit_come_at_the_finest_resolution_that_does() -> None:
    connector = Connector(
        FakeSource({"heartrate": heart(datetime(2026, 3, 10, tzinfo=UTC), 1000, every_s=60)}), cap=20_000
    )

    answer = await connector.ask("health_query", collection="heartrate", day="today")

    assert answer["resolution"] == "5min"
    assert answer["samples"] == 1000
    assert any("resolution=raw" in note for note in answer["notes"])
    assert answer["complete"] is True


async def test_raw_samples_are_cut_after_a_whole_day_and_the_rest_can_be_had() -> None:
    samples = heart(datetime(2026, 3, 6, tzinfo=UTC), 5 * 288)
    connector = Connector(FakeSource({"heartrate": samples}), cap=60_000)
    got: list[object] = []
    start = "2026-03-06"
    for _ in range(10):
        answer = await connector.ask(
            "health_query", collection="heartrate", start=start, end="2026-03-10", resolution="raw"
        )
        got += answer["data"]
        if "continue_from" not in answer:
            break
        assert answer["truncated"] is True
        assert answer["complete"] is False
        start = (datetime.fromisoformat(answer["continue_from"]) + timedelta(days=1)).date().isoformat()

    assert got == samples


async def test_a_single_day_over_the_limit_is_refused_with_what_to_do() -> None:
    connector = Connector(
        FakeSource({"heartrate": heart(datetime(2026, 3, 10, tzinfo=UTC), 500, every_s=60)}), cap=5_000
    )

    said = await connector.refused("health_query", collection="heartrate", day="today", resolution="raw")

    assert "format=csv" in said
    assert "resolution=5min" in said
    assert "2026-03-10" in said


async def test_instants_cut_a_stream_of_samples_but_not_single_records() -> None:
    connector = Connector(
        FakeSource({"heartrate": heart(datetime(2026, 3, 10, tzinfo=UTC), 288), "daily_sleep": SCORES})
    )
    between = {"start": "2026-03-10T06:00:00Z", "end": "2026-03-10T10:00:00+03:00"}

    samples = await connector.ask("health_query", collection="heartrate", **between)
    marks = await connector.ask("health_query", collection="daily_sleep", **between)

    assert (samples["data"][0]["timestamp"], samples["data"][-1]["timestamp"]) == (
        "2026-03-10T06:00:00.000Z",
        "2026-03-10T07:00:00.000Z",
    )
    assert samples["start"] == "2026-03-10T06:00:00+00:00"
    assert (marks["start"], marks["end"], marks["n"]) == ("2026-03-10", "2026-03-10", 1)
    assert marks["notes"][0].startswith("Hours were not applied: oura.daily_sleep is filed by days")
    assert not any("Hours were not applied" in note for note in samples["notes"])


async def test_the_newest_sample_is_asked_of_the_source() -> None:
    connector = Connector(FakeSource({"heartrate": heart(datetime(2026, 3, 10, tzinfo=UTC), 5)}))

    answer = await connector.ask("health_query", collection="heartrate", latest="true")

    assert [record["timestamp"] for record in answer["data"]] == ["2026-03-10T00:20:00.000Z"]
    assert connector.source.asked[0][1] is None


async def test_raw_samples_of_several_blocks_come_once_each() -> None:
    samples = heart(datetime(2026, 3, 1, tzinfo=UTC), 80, every_s=3 * 3600)
    connector = Connector(FakeSource({"heartrate": samples}))

    answer = await connector.ask("health_query", collection="heartrate", start="2026-03-01", resolution="raw")

    assert sum(name == "heartrate" and days is not None for name, days, _ in connector.source.asked) == 3
    assert answer["data"] == samples
    assert (answer["complete"], answer["pages"]) == (True, 3)
    assert [done for done, _, _ in connector.progress] == [1, 2, 3]


async def test_a_block_that_fails_ends_the_answer_at_what_arrived() -> None:
    samples = heart(datetime(2026, 3, 1, tzinfo=UTC), 80, every_s=3 * 3600)
    connector = Connector(FailingLater({"heartrate": samples}))

    answer = await connector.ask("health_query", collection="heartrate", start="2026-03-01", resolution="raw")

    assert answer["n"] == 4 * 8
    assert (answer["complete"], answer["truncated"], answer["continue_from"]) == (False, True, "2026-03-04")
    assert "2026-03-05 to 2026-03-10 did not arrive" in answer["failures"][0]


@pytest.mark.parametrize(
    ("resolution", "form", "a_day", "most_days"),
    [("5min", "json", 288, 6), ("hour", "json", 24, 58), ("hour", "csv", 24, 101), ("day", "json", 4, 300)],
)
async def test_no_more_days_are_fetched_than_one_answer_can_hold_and_all_are_had_in_the_end(
    resolution: str, form: str, a_day: int, most_days: int
) -> None:
    days = 20 if resolution == "5min" else 300
    start, end = date(2026, 3, 10) - timedelta(days=days - 1), date(2026, 3, 10)
    first = datetime(start.year, start.month, start.day, tzinfo=UTC)
    connector = Connector(FakeSource({"heartrate": heart(first, days * a_day, every_s=86_400 // a_day)}))
    samples, buckets = 0, 0
    question = {"collection": "heartrate", "end": str(end), "resolution": resolution, "format": form}
    while True:
        connector.source.asked.clear()
        answer = await connector.ask("health_query", start=str(start), **question)
        blocks = [days for name, days, _ in connector.source.asked if name == "heartrate" and days]
        samples += answer["samples"]
        buckets += answer["n"]
        assert sum((block.end - block.start).days + 1 for block in blocks) <= most_days
        if "continue_from" not in answer:
            break
        assert (answer["complete"], answer["resolution"]) == (False, resolution)
        assert len(str(answer["data"])) > 60_000  # and the answer is not much smaller than it may be
        start = date.fromisoformat(answer["continue_from"]) + timedelta(days=1)

    assert samples == days * a_day
    assert buckets == days * {"5min": 288, "hour": 24, "day": 1}[resolution]


async def test_buckets_ask_the_source_for_no_more_than_they_need() -> None:
    connector = Connector(FakeSource({"heartrate": heart(datetime(2026, 3, 10, tzinfo=UTC), 10)}))

    await connector.ask("health_query", collection="heartrate", day="today", resolution="hour")

    assert next(fields for name, _, fields in connector.source.asked if name == "heartrate") == ("bpm", "timestamp")


class FailingLater(FakeSource):
    async def fetch(
        self,
        caller: Caller,
        collection: Collection,
        days: DateRange | None,
        *,
        fields: tuple[str, ...] = (),
        latest: bool = False,
        progress: Progress | None = None,
        digest: Digest | None = None,
        within_s: float | None = None,
    ) -> Fetched:
        if days is not None and any(name == "heartrate" and asked is not None for name, asked, _ in self.asked):
            raise SourceUnreachable("the connection was cut.")
        return await super().fetch(
            caller, collection, days, fields=fields, latest=latest, progress=progress, digest=digest
        )
