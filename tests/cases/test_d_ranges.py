"""CASES.md, section D: days as people say them, journeys, clock changes, another ring; and going on after a gap."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from app.demo.walk import App
from app.simulator import Simulator
from app.sources.oura.catalog import COLLECTIONS
from tests.app_under_test import Clock, running_app
from tests.cases.asking import asking, refused, told
from tests.cases.oura_records import BERLIN, DATED, DENSE, NINE, UNDATED, document, night, sample
from tests.cases.shelf import day_of

pytestmark = pytest.mark.anyio

CLOCKED = tuple(name for name, collection in COLLECTIONS.items() if collection.clock_field)
WORDS = {
    "yesterday": ("2026-03-09", "2026-03-09"),
    "last week": ("2026-03-02", "2026-03-08"),
    "this week": ("2026-03-09", "2026-03-10"),
    "last month": ("2026-02-01", "2026-02-28"),
    "2026-W07": ("2026-02-09", "2026-02-15"),
    "2026-02": ("2026-02-01", "2026-02-28"),
    "last 7 days": ("2026-03-04", "2026-03-10"),
    "monday": ("2026-03-09", "2026-03-09"),
}


async def followed(app: App, **question: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Ask, and go on from `continue_from` to the end; return the answers, and all records of them."""
    answers: list[dict[str, Any]] = []
    records: list[dict[str, Any]] = []
    for _ in range(400):
        answers.append(await told(app, "health_query", **question))
        if "continue_from" not in answers[-1]:
            assert answers[-1]["complete"] is True
            return answers, records + answers[-1]["data"]
        assert (answers[-1]["complete"], answers[-1]["truncated"]) == (False, True)
        records += answers[-1]["data"]
        question["start"] = str(date.fromisoformat(answers[-1]["continue_from"]) + timedelta(days=1))
        question["end"] = question.pop("day", None) or question["end"]
    raise AssertionError("never ended")


async def test_d5_words_for_days_are_the_owners_days_in_all_collections(tmp_path: Path) -> None:
    async with asking(tmp_path, at=NINE) as (app, held):
        held.records |= {name: [] for name in (*DATED, *DENSE)}
        for name in (*DATED, *DENSE):
            for words, days in WORDS.items():
                answer = await told(app, "health_query", collection=name, day=words)
                assert (answer["start"], answer["end"]) == days, (name, words)
                both = await told(app, "health_query", collection=name, start=words, end=words)
                assert (both["start"], both["end"]) == days
        west = await told(app, "health_query", collection="daily_sleep", day="yesterday", timezone="Pacific/Pago_Pago")
        said = await refused(app, "health_query", collection="daily_sleep", day="the other day")

    assert west["start"] == "2026-03-08"
    assert "2026-W07" in said


async def test_d5_last_night_is_the_wake_day_or_the_hours_and_nothing_else(tmp_path: Path) -> None:
    evening = datetime(2026, 3, 9, 17, 59, tzinfo=BERLIN)
    async with asking(tmp_path, at=NINE) as (app, held):
        for name in DATED:
            held.records[name] = [document(name, "2026-03-10")]
        for name in DENSE:
            held.records[name] = [sample(evening), sample(evening + timedelta(hours=9))]
        for name in DATED:
            if COLLECTIONS[name].date_kind == "wake day":
                answer = await told(app, "health_query", collection=name, day="Last night")
                assert (answer["start"], answer["n"]) == ("2026-03-10", 1), name
            else:
                assert "not filed by nights" in await refused(app, "health_query", collection=name, day="last_night")
        for name in DENSE:
            answer = await told(app, "health_query", collection=name, day="last night", resolution="raw")
            assert [r["timestamp"] for r in answer["data"]] == ["2026-03-10T01:59:00+00:00"], name


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("Europe/Berlin", "2026-03-29", 23),
        ("Europe/Berlin", "2026-10-25", 25),
        ("America/New_York", "2026-03-08", 23),
        ("Australia/Lord_Howe", "2026-04-05", 24.5),
    ],
)
async def test_d7_a_day_of_23_or_25_hours_has_exactly_its_samples(
    tmp_path: Path, zone: str, day: str, hours: float
) -> None:
    first = datetime.combine(date.fromisoformat(day), datetime.min.time(), ZoneInfo(zone)).astimezone(UTC)
    around = [sample(first + timedelta(minutes=10 * n)) for n in range(-144, 300)]
    for name in DENSE:
        async with asking(tmp_path / name, at=datetime(2026, 12, 1, tzinfo=UTC), zone=zone) as (app, held):
            held.records |= {name: around, "sleep": []}
            raw = await told(app, "health_query", collection=name, day=day, resolution="raw")
            whole = await told(app, "health_query", collection=name, day=day, resolution="day")

        assert raw["n"] == hours * 6
        assert raw["data"] == around[144 : 144 + int(hours * 6)]
        assert whole["samples"] == hours * 6
        assert raw["filed_by"] == COLLECTIONS[name].date_kind
        assert [run["from"] for run in raw["offsets"]] == [day, day]
        assert f"Clocks changed in {zone}: see offsets." in raw["notes"]


async def test_d9_a_range_across_a_journey_says_which_days_carry_which_offset(tmp_path: Path) -> None:
    where = {8: "+01:00", 9: "+01:00", 10: "-05:00", 11: "-05:00", 12: "+01:00"}
    async with asking(tmp_path, at=NINE + timedelta(days=5)) as (app, held):
        held.records["ring_configuration"] = []
        for name in CLOCKED:
            field = str(COLLECTIONS[name].clock_field)
            held.records[name] = [
                document(name, f"2026-03-{day:02}", **{field: f"2026-03-{day:02}T12:00:00{offset}"})
                for day, offset in where.items()
            ]
        held.records["heartrate"] = held.records["ring_battery_level"] = [sample(NINE)]
        home = {name: await told(app, "health_query", collection=name, day="2026-03-08") for name in CLOCKED}
        for name in (*CLOCKED, *DENSE):
            answer = await told(app, "health_query", collection=name, start="2026-03-08", end="2026-03-12")

            assert answer["offsets"] == [
                {"offset": "+01:00", "from": "2026-03-08", "to": "2026-03-09"},
                {"offset": "-05:00", "from": "2026-03-10", "to": "2026-03-11"},
                {"offset": "+01:00", "from": "2026-03-12", "to": "2026-03-12"},
            ], name
            assert any("journey" in note for note in answer["notes"])
        today = await told(app, "health_today", days=7)

    assert not [name for name, answer in home.items() if "offsets" in answer]
    assert [run["offset"] for run in today["offsets"]] == ["+01:00", "-05:00", "+01:00"]
    assert set(CLOCKED) == {
        "sleep", "daily_activity", "workout", "session", "enhanced_tag", "tag", "rest_mode_period", "vO2_max",
    }  # fmt: skip


async def test_d9_a_clock_change_at_home_is_no_journey(tmp_path: Path) -> None:
    async with asking(tmp_path, at=datetime(2026, 4, 2, 9, tzinfo=UTC)) as (app, held):
        held.records["sleep"] = [
            night("2026-03-28", "2026-03-27T23:00:00+01:00", "2026-03-28T07:00:00+01:00", 25_000),
            night("2026-03-31", "2026-03-30T23:00:00+02:00", "2026-03-31T07:00:00+02:00", 25_000),
        ]
        answer = await told(app, "health_query", collection="sleep", start="2026-03-28", end="2026-03-31")

    assert [run["offset"] for run in answer["offsets"]] == ["+01:00", "+02:00"]
    assert "Clocks changed" in " ".join(answer["notes"])
    assert "journey" not in " ".join(answer["notes"])


async def test_d26_a_ring_change_inside_a_long_range_is_said_in_all_collections(tmp_path: Path) -> None:
    rings = [
        {"id": "a", "set_up_at": "2024-01-05T09:12:00+00:00", "hardware_type": "gen3"},
        {"id": "b", "set_up_at": "2026-03-01T23:30:00+00:00", "hardware_type": "or5"},  # the 2nd at home
    ]
    async with asking(tmp_path, at=NINE) as (app, held):
        held.records |= {name: [] for name in (*DATED, *DENSE)}
        held.records["ring_configuration"] = rings
        for name in (*DATED, *DENSE):
            held.asked.clear()
            across = await told(app, "health_query", collection=name, start="2026-02-20", end="2026-03-09")
            requests = [asked for asked, _ in held.asked].count("ring_configuration")
            after = await told(app, "health_query", collection=name, start="2026-03-02", end="2026-03-20")

            entered = COLLECTIONS[name].entered
            change = [{"day": "2026-03-02", "from": "gen3", "to": "or5"}]
            assert across.get("ring_changes") == (None if entered else change), name
            assert requests == (
                0 if entered else 1
            )  # daily_spo2, whose absence wants the ring too, asks no second time
            before = await told(app, "health_query", collection=name, start="2026-02-01", end="2026-02-28")
            assert "ring_changes" not in after
            assert "ring_changes" not in before
        held.answers["ring_configuration"] = (500, "application/json", b"{}")
        without = await told(app, "health_query", collection="daily_stress", start="2026-02-20", end="2026-03-09")

    assert without["complete"] is True
    assert "ring_changes" not in without


class BreaksOff:
    """An Oura that fails from the nth page of a collection on, while armed."""

    def __init__(self, inner: Any, name: str, *, pages: int, status: int, body: bytes) -> None:
        self._inner, self._name, self._pages, self._status, self._body = inner, name, pages, status, body
        self.armed = False
        self._seen = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self.armed and scope["path"].endswith(self._name):
            self._seen += 1
            if self._seen > self._pages:
                await send({"type": "http.response.start", "status": self._status, "headers": []})
                await send({"type": "http.response.body", "body": self._body})
                return
        await self._inner(scope, receive, send)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        pytest.param(200, b'{"data":[],"next_token":"again"}', id="a repeated cursor"),
        pytest.param(302, b"{}", id="a status that is no answer"),
        pytest.param(200, b'{"data":{}}', id="another shape"),
    ],
)
@pytest.mark.parametrize("pages", [1, 7, 20])
async def test_d27_after_a_failed_window_going_on_gives_each_sample_once(
    tmp_path: Path, status: int, body: bytes, pages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.sources.oura.breaker.PAUSES_S", (0.0,))  # web pages one after the other: it is down
    start, end = "2026-01-01", "2026-01-20"
    clock = Clock(datetime(2026, 2, 10, 12, tzinfo=UTC).timestamp())
    simulator = Simulator(now=clock)
    truth = simulator.truth("heartrate", start, end, "Europe/Berlin")
    held = BreaksOff(simulator.app, "heartrate", pages=pages, status=status, body=body)
    simulator.app = held
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        app = await vitals.connected_app()
        held.armed = True
        asked = {"collection": "heartrate", "end": end, "resolution": "hour"}
        first = await told(app, "health_query", start=start, **asked)
        held.armed = False
        since = date.fromisoformat(first["continue_from"]) + timedelta(days=1)
        rest = await told(app, "health_query", start=str(since), **asked)

    assert first["failures"]
    assert (first["complete"], first["truncated"], rest["complete"]) == (False, True, True)
    if since == date.fromisoformat(start):
        assert "take that answer instead" in " ".join(first["notes"])
        first = {"samples": 0, "data": []}
    assert first["samples"] + rest["samples"] == len(truth)
    starts = [bucket["start"] for bucket in (*first["data"], *rest["data"])]
    assert len(starts) == len(set(starts))
    assert starts == sorted(starts, key=datetime.fromisoformat)


async def test_d27_where_no_day_is_whole_what_came_is_a_part_and_is_asked_for_again(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        for name in DATED:
            vitals.simulator.faults.add("endless", f"/v2/usercollection/{name}", times=None)
            answer = await told(app, "health_query", collection=name, start="2026-02-01", end="2026-02-28")
            vitals.simulator.faults.clear()
            again = await told(app, "health_query", collection=name, start="2026-02-01", end="2026-02-28")

            assert (answer["complete"], answer["continue_from"]) == (False, "2026-01-31"), name
            assert answer["n"] <= again["n"]
            assert "take that answer instead" in " ".join(answer["notes"])
            assert again["complete"] is True


async def test_d27_a_part_that_is_cut_to_size_too_is_asked_for_again_from_its_start(tmp_path: Path) -> None:
    async with running_app(tmp_path, ANSWER_MAX_CHARS="4000") as vitals:
        app = await vitals.connected_app()
        vitals.simulator.faults.add("endless", "/v2/usercollection/daily_readiness", times=None)
        answer = await told(app, "health_query", collection="daily_readiness", start="2026-02-01", end="2026-02-28")

    assert 0 < answer["n"] < 20
    assert (answer["complete"], answer["continue_from"]) == (False, "2026-01-31")


async def test_d27_a_small_cap_and_every_answer_followed_gives_each_record_once(tmp_path: Path) -> None:
    start, end = "2026-02-20", "2026-03-10"
    clock = Clock(NINE.timestamp())
    simulator = Simulator(now=clock)
    async with running_app(tmp_path, simulator=simulator, clock=clock, ANSWER_MAX_CHARS="9000") as vitals:
        app = await vitals.connected_app()
        for name in DATED:
            _, records = await followed(app, collection=name, start=start, end=end)
            truth = [record["id"] for record in simulator.truth(name, start, end)]
            ids = [record["id"] for record in records]
            if COLLECTIONS[name].end_day_field is None:
                assert ids == list(dict.fromkeys(ids)), name
            assert set(ids) == set(truth)
    assert set(UNDATED) == {"personal_info", "ring_configuration"}
    assert day_of({"day": "2026-03-10"}) == date(2026, 3, 10)


async def test_d31_what_was_not_measured_counts_in_no_average(tmp_path: Path) -> None:
    values = {"heartrate": "bpm", "ring_battery_level": "level"}
    async with asking(tmp_path, at=NINE) as (app, held):
        for name in DENSE:
            held.records[name] = [
                {"timestamp": f"2026-03-09T10:0{n}:00+00:00", values[name]: value}
                for n, value in enumerate((60, None, 62))
            ]
            for resolution in ("5min", "hour", "day"):
                answer = await told(app, "health_query", collection=name, day="2026-03-09", resolution=resolution)

                (bucket,) = answer["data"]
                assert (bucket["n"], bucket["min"], bucket["mean"], bucket["max"]) == (2, 60, 61, 62), name
                assert answer["units"]["n"] == {"unit": "samples", "kind": "measurement"}
                assert answer["samples"] == 3


@pytest.mark.parametrize("pages", [1, 3, 6, 9])
async def test_d27_raw_samples_after_a_failed_page_are_followed_to_the_end(tmp_path: Path, pages: int) -> None:
    start, end = "2026-01-01", "2026-01-09"
    clock = Clock(datetime(2026, 2, 10, 12, tzinfo=UTC).timestamp())
    simulator = Simulator(now=clock)
    truth = [record["timestamp"] for record in simulator.truth("heartrate", start, end, "Europe/Berlin")]
    held = BreaksOff(simulator.app, "heartrate", pages=pages, status=302, body=b"{}")
    simulator.app = held
    async with running_app(tmp_path, simulator=simulator, clock=clock, ANSWER_MAX_CHARS="900000") as vitals:
        app = await vitals.connected_app()
        held.armed = True
        first = await told(app, "health_query", collection="heartrate", start=start, end=end, resolution="raw")
        held.armed = False
        since = str(date.fromisoformat(first["continue_from"]) + timedelta(days=1))
        _, rest = await followed(app, collection="heartrate", start=since, end=end, resolution="raw")

    assert (first["complete"], bool(first["failures"])) == (False, True)
    kept = [] if since == start else first["data"]
    assert [record["timestamp"] for record in (*kept, *rest)] == truth
