import csv
import io
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from app.errors import NotPermitted, SourceUnreachable
from app.identity import Caller
from app.sources.base import Collection, DateRange, Fetched, Progress, Record
from tests.tools.fakes import Connector, FakeSource, heart, sleep

pytestmark = pytest.mark.anyio

SCORES: list[Record] = [
    {
        "id": f"s{day}",
        "day": f"2026-03-{day:02}",
        "score": 70 + day,
        "contributors": {"deep_sleep": 80, "efficiency": 97},
        "timestamp": f"2026-03-{day:02}T00:00:00+00:00",
    }
    for day in range(1, 11)
]


def scores() -> Connector:
    return Connector(FakeSource({"daily_sleep": SCORES}))


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


async def test_a_score_is_called_a_score_and_a_measurement_has_its_unit() -> None:
    connector = Connector(FakeSource({"sleep": [sleep("2026-03-10", average_hrv=42, efficiency=88)]}))

    nights = await connector.ask("health_query", collection="sleep", day="today")
    marks = await scores().ask("health_query", collection="daily_sleep", day="today")

    assert nights["units"]["average_hrv"] == {"unit": "ms (RMSSD)", "kind": "measurement"}
    assert nights["units"]["efficiency"] == {"unit": "%", "kind": "measurement"}
    assert nights["units"]["total_sleep_duration"]["unit"] == "s"
    assert marks["units"]["contributors.efficiency"] == {"kind": "score"}
    assert marks["units"]["score"] == {"kind": "score"}


async def test_an_unknown_field_is_ignored_by_name_and_the_near_one_is_offered() -> None:
    answer = await scores().ask("health_query", collection="daily_sleep", day="today", fields=["scoer"])

    assert answer["ignored_fields"] == ["scoer"]
    assert "score" in answer["fields_meant"]["scoer"]
    assert answer["data"][0]["score"] == 80


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(["contributors.deep_sleep"], id="list"),
        pytest.param("contributors.deep_sleep", id="text"),
        pytest.param('["contributors.deep_sleep"]', id="list as text"),
    ],
)
async def test_a_dotted_field_leaves_id_and_day_and_itself(fields: object) -> None:
    answer = await scores().ask("health_query", collection="daily_sleep", day="today", fields=fields)

    assert answer["data"] == [
        {"id": "s10", "day": "2026-03-10", "contributors": {"deep_sleep": 80}, "timestamp": SCORES[-1]["timestamp"]}
    ]
    assert answer["fields_split"]["here"] == ["contributors.deep_sleep"]


async def test_only_the_fields_asked_for_are_asked_of_the_source() -> None:
    connector = scores()

    await connector.ask("health_query", collection="daily_sleep", day="today", fields="score")
    await connector.ask("health_query", collection="daily_sleep", day="today", fields="score,brand_new")

    assert "score" in connector.source.asked[0][2]
    assert connector.source.asked[1][2] == ()  # it may be there although the catalogue does not know it


async def test_fields_are_chosen_here_where_the_source_cannot() -> None:
    tag: Record = {"id": "t", "start_day": "2026-03-10", "start_time": "2026-03-10T09:00:00+00:00", "comment": "tea"}
    connector = Connector(FakeSource({"enhanced_tag": [{**tag, "custom_name": "x"}]}))

    answer = await connector.ask("health_query", collection="enhanced_tag", day="today", fields="comment")

    assert answer["data"] == [tag]
    assert answer["fields_split"] == {"at_source": [], "here": ["comment"]}
    assert answer["free_text"] == ["comment"]


async def test_unknown_fields_pass_through_and_are_marked() -> None:
    connector = Connector(FakeSource({"daily_sleep": [{**SCORES[-1], "glow": 7, "halo": {"size": "big"}}]}))

    answer = await connector.ask("health_query", collection="daily_sleep", day="today")

    assert answer["data"][0]["glow"] == 7
    assert answer["unknown_fields"] == ["glow", "halo.size"]
    assert answer["units"]["glow"] == {"kind": "unknown"}


async def test_series_are_left_out_named_and_counted_unless_asked_for() -> None:
    series = {"interval": 300, "items": [50, None, 52], "timestamp": "2026-03-10T00:10:00+00:00"}
    connector = Connector(FakeSource({"sleep": [sleep("2026-03-10", heart_rate=series, sleep_phase_5_min="4421")]}))

    short = await connector.ask("health_query", collection="sleep", day="today")
    long = await connector.ask("health_query", collection="sleep", day="today", detail="full")
    named = await connector.ask("health_query", collection="sleep", day="today", fields="heart_rate")

    assert short["series_left_out"] == {"heart_rate": 3, "sleep_phase_5_min": 4}
    assert "heart_rate" not in short["data"][0]
    assert long["data"][0]["heart_rate"] == series
    assert long["units"]["heart_rate"] == {"unit": "bpm", "kind": "series"}
    assert "series_left_out" not in long
    assert named["data"][0]["heart_rate"] == series


async def test_buckets_skip_what_was_not_measured_and_what_was_not_there() -> None:
    day = datetime(2026, 3, 10, 8, 0, tzinfo=UTC)
    connector = Connector(
        FakeSource({"heartrate": [*heart(day, 3, bpm=(60, None, 62)), *heart(day + timedelta(hours=3), 1)]})
    )

    answer = await connector.ask("health_query", collection="heartrate", day="today", resolution="hour")

    assert answer["data"] == [
        {"start": "2026-03-10T08:00+00:00", "n": 2, "min": 60, "mean": 61.0, "max": 62},
        {"start": "2026-03-10T11:00+00:00", "n": 1, "min": 60, "mean": 60.0, "max": 60},
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


async def test_csv_is_one_table_with_columns_in_the_catalogues_order() -> None:
    answer = await scores().ask(
        "health_query", collection="daily_sleep", start="2026-03-09", end="2026-03-10", format="csv"
    )

    rows = list(csv.reader(io.StringIO(answer["data"], newline="")))
    assert rows[0] == ["id", "day", "score", "contributors.deep_sleep", "contributors.efficiency", "timestamp"]
    assert rows[1][:5] == ["s9", "2026-03-09", "79", "80", "97"]
    assert answer["data"].endswith("\r\n")
    assert answer["n"] == 2


async def test_columns_that_not_every_record_has_are_named() -> None:
    uneven: list[Record] = [SCORES[0] | {"day": "2026-03-09"}, {"id": "x", "day": "2026-03-10", "score": None}]
    connector = Connector(FakeSource({"daily_sleep": uneven}))

    answer = await connector.ask("health_query", collection="daily_sleep", format="csv")

    assert answer["uneven_columns"] == ["contributors.deep_sleep", "contributors.efficiency", "timestamp"]


async def test_the_newest_record_is_found_however_old_and_its_age_said() -> None:
    old: Record = {"id": "v", "day": "2026-01-20", "vo2_max": 44, "timestamp": "2026-01-20T10:00:00+00:00"}
    connector = Connector(FakeSource({"vO2_max": [old]}))

    answer = await connector.ask("health_query", collection="vO2_max", latest=True)

    assert answer["data"] == [old]
    assert answer["age_days"] == 49
    assert answer["start"] == "2026-01-20"
    assert [done for done, _, _ in connector.progress] == [1, 2]  # looked back twice


async def test_the_newest_sample_is_asked_of_the_source() -> None:
    connector = Connector(FakeSource({"heartrate": heart(datetime(2026, 3, 10, tzinfo=UTC), 5)}))

    answer = await connector.ask("health_query", collection="heartrate", latest="true")

    assert [record["timestamp"] for record in answer["data"]] == ["2026-03-10T00:20:00.000Z"]
    assert connector.source.asked[0][1] is None


async def test_no_newest_record_says_how_far_was_looked() -> None:
    answer = await Connector(FakeSource()).ask("health_query", collection="workout", latest=True)

    assert answer["n"] == 0
    assert answer["empty"]["reasons"] == ["no_record"]
    assert "2025-03-10" in answer["notes"][-1]


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


async def test_raw_samples_of_several_blocks_come_once_each() -> None:
    samples = heart(datetime(2026, 3, 1, tzinfo=UTC), 80, every_s=3 * 3600)
    connector = Connector(FakeSource({"heartrate": samples}))

    answer = await connector.ask("health_query", collection="heartrate", start="2026-03-01", resolution="raw")

    assert len(connector.source.asked) == 3
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


async def test_buckets_ask_the_source_for_no_more_than_they_need() -> None:
    connector = Connector(FakeSource({"heartrate": heart(datetime(2026, 3, 10, tzinfo=UTC), 10)}))

    await connector.ask("health_query", collection="heartrate", day="today", resolution="hour")

    assert connector.source.asked[0][2] == ("bpm", "timestamp")


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
    ) -> Fetched:
        if self.asked:
            raise SourceUnreachable("the connection was cut.")
        return await super().fetch(caller, collection, days, fields=fields, latest=latest, progress=progress)
