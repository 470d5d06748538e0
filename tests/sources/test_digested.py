"""Samples that are put together as they arrive: each once, and saying what is missing as kept ones do."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial

import anyio
import pytest

from app.errors import SourceBusy
from app.sources.base import Fetched, Record
from app.sources.engine import Engine
from app.sources.question import Terms
from app.sources.windows import midnight
from app.tools.records.buckets import samples_in
from app.tools.records.gathering import Gather
from tests.sources.fakes import ADA, HELSINKI, Asked, FakePages, days, samples
from tests.sources.test_engine import HEARTRATE, MONTH, engine


def per_hour() -> Gather:
    return Gather(HEARTRATE, "bpm", HELSINKI, ("hour",), most=100_000)


@pytest.mark.anyio
async def test_a_sample_that_comes_twice_in_a_window_is_put_together_once() -> None:
    held = samples(midnight(date(2026, 3, 10), HELSINKI), 600)
    pages = FakePages([*held[:300], *held[200:]], page_size=100)

    got = await engine(pages).fetch(ADA, HEARTRATE, days("2026-03-10", "2026-03-10"), digest=per_hour())

    assert samples_in(got.records) == 600
    assert (len(got.records), got.complete) == (10, True)


@pytest.mark.anyio
async def test_samples_put_together_say_what_is_missing_as_kept_ones_do() -> None:
    held = samples(midnight(MONTH.start, HELSINKI), 29 * 24 * 6, every_s=600)

    def fault(asked: Asked, n: int) -> Exception | None:
        start, cursor = asked.params["start_datetime"][:10], asked.next_token
        return SourceBusy("Oura is failing.", status=502) if start == "2026-03-18" and cursor == "200" else None

    async def fetched(digest: Gather | None) -> Fetched:
        with anyio.fail_after(10):
            pages = FakePages(held, page_size=100, fault=fault)
            return await engine(pages).fetch(ADA, HEARTRATE, MONTH, digest=digest)

    kept, together = await fetched(None), await fetched(per_hour())

    assert samples_in(together.records) == len(kept.records)
    assert replace(together, records=()) == replace(kept, records=())
    assert "200 of its records came" in together.failures[0]
    assert together.whole_until == date(2026, 3, 18)


@pytest.mark.anyio
async def test_sample_data_of_a_day_far_away_is_put_together_once_though_every_window_brings_it() -> None:
    held = samples(datetime(2020, 1, 1, tzinfo=UTC), 30)

    class Ignorant(FakePages):
        def _matches(self, record: Record, params: Mapping[str, str]) -> bool:
            return True

    sandbox = Engine(Terms(Ignorant(held), synthetic=True))

    got = await sandbox.fetch(ADA, HEARTRATE, MONTH, digest=per_hour())

    assert samples_in(got.records) == 30


@pytest.mark.anyio
async def test_equal_questions_put_together_alike_share_one_fetch_and_others_do_not() -> None:
    pages = FakePages(samples(midnight(date(2026, 3, 10), HELSINKI), 10), gate=anyio.Event())
    asked = engine(pages)
    day = days("2026-03-10", "2026-03-10")
    by_day = Gather(HEARTRATE, "bpm", HELSINKI, ("day",), most=100_000)
    assert pages.gate is not None

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for digest in (per_hour(), per_hour(), by_day, None):
                group.start_soon(partial(asked.fetch, ADA, HEARTRATE, day, digest=digest))
            await anyio.wait_all_tasks_blocked()
            pages.gate.set()

    assert len(pages.asked) == 3
