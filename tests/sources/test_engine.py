"""A range comes back whole, each record once and in order; and what did not come is said."""

import random
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import BadRequest, MembershipRequired, SourceBusy, SourceUnreachable
from app.sources.base import Collection, DateKind, Fetched, Record
from app.sources.engine import Engine
from app.sources.oura.catalog import COLLECTIONS
from app.sources.question import Terms
from app.sources.windows import midnight
from tests.sources.fakes import ADA, HELSINKI, Asked, FakePages, days, samples

HEARTRATE = COLLECTIONS["heartrate"]
SLEEP = COLLECTIONS["daily_sleep"]
MONTH = days("2026-03-10", "2026-04-08")  # the clocks change inside
DATED = sorted(name for name, c in COLLECTIONS.items() if not c.dense and c.date_kind is not DateKind.UNDATED)


def engine(pages: FakePages, *, parallel: int = 8, window_pages: int = 200, question_pages: int = 2000) -> Engine:
    return Engine(Terms(pages, parallel, window_pages, question_pages))


def nights(first: str, count: int) -> list[Record]:
    start = date.fromisoformat(first)
    return [{"id": f"n{n}", "day": (start + timedelta(days=n)).isoformat(), "score": n} for n in range(count)]


async def month_of_heart_rate(pages: FakePages) -> Fetched:
    with anyio.fail_after(10):
        return await engine(pages).fetch(ADA, HEARTRATE, MONTH)


@pytest.mark.anyio
@pytest.mark.parametrize("name", DATED)
async def test_a_one_day_question_brings_exactly_that_day(name: str) -> None:  # D1
    first = COLLECTIONS[name].day_fields[0]
    end = COLLECTIONS[name].end_day_field
    held: list[Record] = [{"id": f"d{n}", first: f"2026-03-{n:02}"} for n in range(5, 16)]
    if end is not None:
        held = [{**record, end: record[first]} for record in held]
    pages = FakePages(held)

    got = await engine(pages).fetch(ADA, COLLECTIONS[name], days("2026-03-10", "2026-03-10"))

    assert [record["id"] for record in got.records] == ["d10"]
    assert got.complete
    assert pages.asked[0].params["start_date"] <= "2026-03-09"
    assert pages.asked[0].params["end_date"] >= "2026-03-11"
    assert got.trimmed == len(pages.records) - 1 - sum(
        not pages._matches(record, pages.asked[0].params) for record in held
    )


@pytest.mark.anyio
async def test_every_page_is_read_and_the_newest_sample_is_the_last_of_the_last_page() -> None:  # D6
    held = samples(midnight(date(2026, 3, 10), HELSINKI), 1231)

    got = await engine(FakePages(held)).fetch(ADA, HEARTRATE, days("2026-03-10", "2026-03-10"))

    assert len(got.records) == 1231
    assert got.records[-1]["timestamp"] == held[-1]["timestamp"]
    assert (got.pages, got.complete) == (2, True)


@pytest.mark.anyio
async def test_a_cursor_that_repeats_ends_the_walk_and_is_said() -> None:
    held = samples(midnight(date(2026, 3, 10), HELSINKI), 1300)
    pages = FakePages(held, page_size=500, repeat_cursor=True)

    got = await engine(pages).fetch(ADA, HEARTRATE, days("2026-03-10", "2026-03-10"))

    assert (got.pagination_cycle, got.complete) == (True, False)
    assert len(pages.asked) == 2
    assert len(got.records) == 1000  # the repeated page is there once
    assert "cursor" in got.failures[0]


@pytest.mark.anyio
async def test_pages_without_end_stop_at_the_limit_and_are_said() -> None:
    pages = FakePages(nights("2026-03-01", 40), page_size=2, endless=True)

    got = await engine(pages, window_pages=7).fetch(ADA, SLEEP, days("2026-03-01", "2026-03-31"))

    assert len(pages.asked) == 7
    assert not got.complete
    assert "limit of pages" in got.failures[0]


@pytest.mark.anyio
async def test_a_whole_question_has_a_limit_of_pages_too_and_one_sentence_for_it() -> None:
    pages = FakePages([])

    got = await engine(pages, question_pages=20).fetch(ADA, HEARTRATE, days("2020-01-01", "2025-12-31"))

    assert len(pages.asked) == 20
    assert not got.complete
    assert len(got.failures) == 1
    assert "2025-12-31" in got.failures[0]


@pytest.mark.anyio
@pytest.mark.parametrize("both_ends", [False, True], ids=["end excluded", "end included"])
async def test_95_days_come_without_gap_or_double_at_the_seams(both_ends: bool) -> None:  # D25
    asked = days("2026-01-01", "2026-04-05")
    held = samples(midnight(date(2025, 12, 31), HELSINKI), 97 * 24 * 4, every_s=900)
    pages = FakePages(held, both_ends=both_ends)

    got = await engine(pages).fetch(ADA, HEARTRATE, asked)

    start, end = midnight(asked.start, HELSINKI).isoformat(), midnight(date(2026, 4, 6), HELSINKI).isoformat()
    assert [r["timestamp"] for r in got.records] == [r["timestamp"] for r in held if start <= str(r["timestamp"]) < end]
    assert got.complete


@pytest.mark.anyio
async def test_windows_run_side_by_side_and_never_more_than_eight() -> None:
    pages = FakePages([])

    await engine(pages).fetch(ADA, HEARTRATE, days("2026-01-01", "2026-06-30"))

    assert pages.most_at_once == 8


@pytest.mark.anyio
async def test_the_same_record_on_two_pages_is_there_once() -> None:
    held = nights("2026-03-09", 3)
    pages = FakePages([held[0], held[1], dict(held[1]), held[2]], page_size=2)

    got = await engine(pages).fetch(ADA, SLEEP, days("2026-03-09", "2026-03-11"))

    assert [record["id"] for record in got.records] == ["n0", "n1", "n2"]


@pytest.mark.anyio
async def test_records_without_an_id_are_the_same_only_if_all_of_them_is() -> None:
    held: list[Record] = [{"day": "2026-03-10", "x": 1}, {"day": "2026-03-10", "x": 1}, {"day": "2026-03-10", "x": 2}]

    got = await engine(FakePages(held)).fetch(ADA, SLEEP, days("2026-03-10", "2026-03-10"))

    assert [record["x"] for record in got.records] == [1, 2]


@pytest.mark.anyio
async def test_records_come_by_day_then_by_instant_and_offsets_survive() -> None:  # D9
    nap: Record = {"id": "nap", "day": "2026-03-11", "bedtime_start": "2026-03-11T14:00:00-07:00"}
    night: Record = {"id": "night", "day": "2026-03-11", "bedtime_start": "2026-03-10T23:40:00-07:00"}
    before: Record = {"id": "before", "day": "2026-03-10", "bedtime_start": "2026-03-09T23:10:00-07:00"}

    got = await engine(FakePages([nap, night, before])).fetch(
        ADA, COLLECTIONS["sleep"], days("2026-03-10", "2026-03-11", ZoneInfo("America/Phoenix"))
    )

    assert [record["id"] for record in got.records] == ["before", "night", "nap"]
    assert got.records[1]["bedtime_start"] == "2026-03-10T23:40:00-07:00"


@pytest.mark.anyio
async def test_a_window_that_fails_is_said_and_the_others_are_delivered() -> None:
    held = samples(midnight(MONTH.start, HELSINKI), 29 * 24, every_s=3600)

    def fault(asked: Asked, n: int) -> Exception | None:
        start = asked.params["start_datetime"][:10]
        return SourceBusy("Oura is failing (HTTP 502).", status=502) if start == "2026-03-18" else None

    got = await month_of_heart_rate(FakePages(held, fault=fault))

    assert not got.complete
    assert len(got.failures) == 1
    assert got.failures[0].startswith("2026-03-18 to 2026-03-21: Oura is failing (HTTP 502).")
    assert 0 < len(got.records) < len(held)
    assert not any("2026-03-19" in str(record["timestamp"]) for record in got.records)


@pytest.mark.anyio
async def test_what_arrived_before_a_failure_half_way_is_delivered() -> None:
    pages = FakePages(
        nights("2026-03-01", 31),
        page_size=10,
        fault=lambda asked, n: SourceUnreachable("cut off.") if n == 2 else None,
    )

    got = await engine(pages).fetch(ADA, SLEEP, days("2026-03-01", "2026-03-31"))

    assert len(got.records) == 10
    assert not got.complete
    assert "10 of its records came" in got.failures[0]


@pytest.mark.anyio
async def test_when_nothing_arrived_the_error_is_raised_and_a_dead_source_is_not_asked_for_every_window() -> None:
    pages = FakePages([], fault=lambda asked, n: SourceUnreachable("no connection."))

    with pytest.raises(SourceUnreachable):
        await engine(pages).fetch(ADA, HEARTRATE, days("2025-01-01", "2025-12-31"))
    assert len(pages.asked) <= 11


@pytest.mark.anyio
async def test_a_rate_limit_that_ended_a_window_is_said() -> None:
    pages = FakePages([], fault=lambda asked, n: SourceBusy("429", status=429) if n == 2 else None)

    got = await month_of_heart_rate(pages)

    assert got.rate_limited
    assert not got.complete


@pytest.mark.anyio
async def test_a_refusal_of_the_caller_is_raised_at_once_whatever_has_arrived() -> None:
    pages = FakePages([], fault=lambda asked, n: MembershipRequired("403") if n == 3 else None)

    with pytest.raises(MembershipRequired):
        await month_of_heart_rate(pages)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("collection", "start", "end", "latest", "says"),
    [
        pytest.param(SLEEP, "2026-03-11", "2026-03-10", False, "before it starts", id="reversed"),
        pytest.param(SLEEP, "0001-01-01", "2026-03-10", False, "between", id="the year 1"),
        pytest.param(SLEEP, "2026-01-01", "9999-12-31", False, "between", id="the year 9999"),
        pytest.param(SLEEP, None, None, False, "which", id="no days"),
        pytest.param(SLEEP, None, None, True, "streams", id="latest of documents"),
        pytest.param(HEARTRATE, "2026-03-10", "2026-03-10", True, "whatever the days", id="latest with days"),  # D29
    ],
)
async def test_a_question_that_cannot_be_asked_is_refused_before_any_request(
    collection: Collection, start: str | None, end: str | None, latest: bool, says: str
) -> None:
    pages = FakePages([])

    with pytest.raises(BadRequest, match=says):
        await engine(pages).fetch(ADA, collection, days(start, end) if start and end else None, latest=latest)
    assert pages.asked == []


@pytest.mark.anyio
async def test_latest_brings_the_newest_even_where_the_source_ignores_the_word() -> None:
    held = samples(datetime(2026, 3, 10, tzinfo=UTC), 5)
    pages = FakePages([held[1], held[4], held[0]])

    got = await engine(pages).fetch(ADA, HEARTRATE, None, latest=True)

    assert got.records == (held[4],)
    assert pages.asked[0].params == {"latest": "true"}


@pytest.mark.anyio
async def test_a_collection_without_days_keeps_the_order_of_the_source() -> None:
    rings: list[Record] = [{"id": "b", "set_up_at": None}, {"id": "a", "set_up_at": "2020-01-01T00:00:00Z"}]
    pages = FakePages(rings)

    got = await engine(pages).fetch(ADA, COLLECTIONS["ring_configuration"], days("2026-03-10", "2026-03-10"))

    assert [record["id"] for record in got.records] == ["b", "a"]
    assert pages.asked[0].params == {}


@pytest.mark.anyio
async def test_fields_asked_for_always_carry_what_is_needed_to_date_a_record() -> None:
    pages = FakePages([{"id": "n", "day": "2026-03-10", "score": 80, "timestamp": "2026-03-10T00:00:00Z", "other": 1}])

    got = await engine(pages).fetch(
        ADA, SLEEP, days("2026-03-10", "2026-03-10"), fields=("score", "contributors.deep_sleep")
    )

    assert pages.asked[0].params["fields"] == "contributors,day,id,score,timestamp"
    assert got.records == ({"id": "n", "day": "2026-03-10", "score": 80, "timestamp": "2026-03-10T00:00:00Z"},)


@pytest.mark.anyio
async def test_fields_are_left_out_here_where_the_source_cannot() -> None:
    pages = FakePages([{"id": "t", "start_day": "2026-03-10", "end_day": None, "comment": "x", "custom_name": "y"}])

    got = await engine(pages).fetch(
        ADA, COLLECTIONS["enhanced_tag"], days("2026-03-10", "2026-03-10"), fields=("comment",)
    )

    assert "fields" not in pages.asked[0].params
    assert got.records == ({"id": "t", "start_day": "2026-03-10", "end_day": None, "comment": "x"},)


@pytest.mark.anyio
async def test_progress_counts_pages() -> None:
    told: list[int] = []

    async def progress(pages: int, expected: int | None, words: str) -> None:
        told.append(pages)

    await engine(FakePages(nights("2026-03-01", 31), page_size=10)).fetch(
        ADA, SLEEP, days("2026-03-01", "2026-03-31"), progress=progress
    )

    assert told == [1, 2, 3, 4]


@settings(max_examples=25, deadline=None)
@given(
    length=st.integers(0, 40),
    page_size=st.integers(1, 300),
    stride=st.sampled_from([None, 1, 3, 4, 30]),
    both_ends=st.booleans(),
    zone=st.sampled_from(["Pacific/Pago_Pago", "America/St_Johns", "Europe/Helsinki", "Pacific/Kiritimati"]),
    seed=st.integers(0, 10_000),
)
def test_windows_side_by_side_equal_one_slow_walk(
    length: int, page_size: int, stride: int | None, both_ends: bool, zone: str, seed: int
) -> None:
    asked = days("2026-03-01", (date(2026, 3, 1) + timedelta(days=length)).isoformat(), ZoneInfo(zone))
    held = samples(datetime(2026, 2, 27, 12, tzinfo=UTC), 46 * 12, every_s=7200)
    order = random.Random(seed)

    async def between() -> None:
        for _ in range(order.randrange(4)):
            await anyio.lowlevel.checkpoint()

    async def both() -> tuple[Fetched, Fetched]:
        fast = FakePages(held, page_size=page_size, both_ends=both_ends, between=between)
        slow = FakePages(held, page_size=100_000)
        return (
            await engine(fast, question_pages=100_000, window_pages=100_000).fetch(
                ADA, replace(HEARTRATE, stride_days=stride), asked
            ),
            await engine(slow, parallel=1).fetch(ADA, replace(HEARTRATE, stride_days=None, window_days=None), asked),
        )

    got, expected = anyio.run(both)

    assert got.records == expected.records
    assert got.complete
