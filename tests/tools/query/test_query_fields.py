"""`health_query`: which fields of a record go out, under which name, unit and form."""

import csv
import io

import pytest

from app.sources.base import DateKind, Record
from app.sources.oura.catalog import COLLECTIONS
from tests.tools.fakes import SCORES, Connector, FakeSource, scores, sleep

pytestmark = pytest.mark.anyio


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


async def test_every_field_alike_is_offered_and_where_the_one_asked_for_is() -> None:
    connector = Connector(FakeSource({"sleep": [sleep("2026-03-10")], "daily_sleep": SCORES}))

    night = await connector.ask("health_query", collection="sleep", day="today", fields="duration,type")
    marks = await connector.ask("health_query", collection="daily_sleep", day="today", fields="average_hrv")

    assert "total_sleep_duration" in night["fields_meant"]["duration"]  # one of four alone would pass for the meant one
    assert "average_hrv is a field of sleep." in marks["notes"]
    assert any("the records have all their fields" in note for note in marks["notes"])
    assert "fields_meant" not in marks


async def test_what_a_number_is_misread_without_goes_out_with_it() -> None:
    cold: Record = {"id": "t", "start_day": "2026-03-08", "end_day": "2026-03-10", "comment": "a cold"}
    connector = Connector(FakeSource({"sleep": [sleep("2026-03-10", type="rest")], "enhanced_tag": [cold]}))

    night = await connector.ask("health_query", collection="sleep", day="today", fields="total_sleep_duration")
    tag = await connector.ask("health_query", collection="enhanced_tag", day="today", fields="comment")

    assert night["data"][0]["type"] == "rest"
    assert tag["data"][0]["end_day"] == "2026-03-10"


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(["contributors.deep_sleep"], id="list"),
        pytest.param("contributors.deep_sleep", id="text"),
        pytest.param('["contributors.deep_sleep"]', id="list as text"),
    ],
)
async def test_a_dotted_field_leaves_the_day_and_itself(fields: object) -> None:
    answer = await scores().ask("health_query", collection="daily_sleep", day="today", fields=fields)

    assert answer["data"] == [{"day": "2026-03-10", "contributors": {"deep_sleep": 80}}]
    assert answer["fields_added"] == ["day"]
    assert answer["fields_split"]["here"] == ["contributors.deep_sleep"]


async def test_only_the_fields_asked_for_are_asked_of_the_source() -> None:
    connector = scores()

    await connector.ask("health_query", collection="daily_sleep", day="today", fields="score")
    await connector.ask("health_query", collection="daily_sleep", day="today", fields="score,brand_new")

    first, second = (fields for name, _, fields in connector.source.asked if name == "daily_sleep")
    assert "score" in first
    assert second == ()  # it may be there although the catalogue does not know it


async def test_fields_are_chosen_here_where_the_source_cannot() -> None:
    tag: Record = {"id": "t", "start_day": "2026-03-10", "start_time": "2026-03-10T09:00:00+00:00", "comment": "tea"}
    connector = Connector(FakeSource({"enhanced_tag": [{**tag, "custom_name": "x"}]}))

    answer = await connector.ask("health_query", collection="enhanced_tag", day="today", fields="comment")

    assert answer["data"] == [tag]
    assert answer["fields_split"] == {"at_source": [], "here": ["comment"]}
    assert answer["free_text"] == ["comment"]


HERE = sorted(name for name, collection in COLLECTIONS.items() if not collection.takes_fields)


@pytest.mark.parametrize("name", HERE)
async def test_fields_are_chosen_here_in_every_collection_whose_source_cannot(name: str) -> None:
    fields = COLLECTIONS[name].fields
    record: Record = {
        field.name: "2026-03-10" if field.name in {"day", "start_day"} else "w"
        for field in fields
        if "." not in field.name
    }
    chosen = next(each for each in reversed(record) if each not in {"id", *COLLECTIONS[name].day_fields})
    connector = Connector(FakeSource({name: [record]}))
    dates = {} if COLLECTIONS[name].date_kind is DateKind.UNDATED else {"day": "today"}

    answer = await connector.ask("health_query", collection=name, fields=chosen, **dates)

    (given,) = answer["data"]
    assert given[chosen] == "w"
    assert given.keys() < record.keys()
    assert answer["fields_split"] == {"at_source": [], "here": [chosen]}
    assert [fields for asked, _, fields in connector.source.asked if asked == name] == [()]


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


async def test_csv_is_one_table_with_columns_in_the_catalogues_order() -> None:
    answer = await scores().ask(
        "health_query", collection="daily_sleep", start="2026-03-09", end="2026-03-10", format="csv"
    )

    rows = list(csv.reader(io.StringIO(answer["data"], newline="")))
    assert rows[0] == ["id", "day", "score", "contributors.deep_sleep", "contributors.efficiency", "timestamp"]
    assert rows[1][:5] == ["s9", "2026-03-09", "79", "80", "97"]
    assert answer["data"].endswith("\r\n")
    assert answer["n"] == 2


async def test_a_table_of_chosen_fields_has_them_and_what_its_rows_are_read_by_and_no_ids() -> None:
    sleeping = sleep("2026-03-10", average_hrv=42)
    walk: Record = {"id": "w", "day": "2026-03-10", "start_datetime": "2026-03-10T09:00:00+01:00", "calories": 90}
    tag: Record = {"id": "t", "start_day": "2026-03-08", "end_day": "2026-03-10", "start_time": None, "comment": "tea"}
    records = {"daily_sleep": SCORES, "sleep": [sleeping], "workout": [walk], "enhanced_tag": [tag]}
    wanted = {
        "daily_sleep": ("score", ["day", "score"], ["day"]),
        "sleep": ("average_hrv", ["day", "type", "bedtime_start", "bedtime_end", "average_hrv"], None),
        "workout": ("calories", ["day", "start_datetime", "calories"], ["day", "start_datetime"]),
        "enhanced_tag": ("comment", ["id", "comment", "start_time", "start_day", "end_day"], None),  # may come again
    }
    for name, (field, columns, added) in wanted.items():
        connector = Connector(FakeSource({name: records[name]}))
        answer = await connector.ask("health_query", collection=name, day="today", fields=field, format="csv")
        with_id = await connector.ask("health_query", collection=name, day="today", fields=f"id,{field}", format="csv")

        head, *rows = csv.reader(io.StringIO(answer["data"], newline=""))
        assert head == columns, name
        assert len(rows) == 1
        assert sorted(answer["fields_added"]) == sorted(added or set(columns) - {field})
        assert with_id["data"].startswith("id,")


async def test_columns_that_not_every_record_has_are_named() -> None:
    uneven: list[Record] = [SCORES[0] | {"day": "2026-03-09"}, {"id": "x", "day": "2026-03-10", "score": None}]
    connector = Connector(FakeSource({"daily_sleep": uneven}))

    answer = await connector.ask("health_query", collection="daily_sleep", format="csv")

    assert answer["uneven_columns"] == ["contributors.deep_sleep", "contributors.efficiency", "timestamp"]
