"""Windows side by side bring what one slow walk brings, whatever is asked, in whatever order and after whatever faults.

Against the simulated Oura, with the real client: its retries and its pace are part of the claim.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import anyio
import httpx2
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import SourceError
from app.simulator import Rules, Simulator
from app.sources.base import Collection, DateRange, Fetched, Record
from app.sources.engine import Engine
from app.sources.oura.catalog import COLLECTIONS
from app.sources.oura.client import OuraClient
from app.sources.question import Terms
from app.tools.records.buckets import RESOLUTIONS, bucketed, finest, samples_in
from app.tools.records.gathering import Gather
from tests.sources.fakes import ADA
from tests.sources.test_against_simulator import Tokens, no_wait

NOW: Final = datetime(2026, 11, 20, 9, tzinfo=UTC).timestamp()
FIRST: Final = date(2026, 3, 20)  # clocks change in Europe on the 29th
RECOVERABLE: Final = (("429",), ("429", "429"), ("500",), ("html",), ("cut",), ("429", "cut"), ("500", "429"))
ZONES: Final = ("Pacific/Pago_Pago", "America/St_Johns", "Europe/Berlin", "Asia/Kathmandu", "Pacific/Kiritimati")
DENSE: Final = ("heartrate", "ring_battery_level")
DATED: Final = ("sleep", "workout", "enhanced_tag", "daily_activity", "rest_mode_period", "daily_sleep")
SHARED: Final = Simulator(now=lambda: NOW).archive  # days once made serve every example


@dataclass
class Way(httpx2.AsyncBaseTransport):
    """The way to the simulated Oura, on which answers take as long as they like and requests go wrong."""

    simulator: Simulator
    order: random.Random
    wrong: float  # share of pages that go wrong at first
    dead: float  # share of pages that never come
    left: dict[str, list[str]] = field(default_factory=dict)
    at_once: int = 0
    most_at_once: int = 0

    def __post_init__(self) -> None:
        self.inner = httpx2.ASGITransport(app=self.simulator.app)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            for _ in range(self.order.randrange(6)):
                await anyio.lowlevel.checkpoint()
            what = self.left.setdefault(str(request.url), self._drawn())
            kind = what[0] if what == ["dead"] else what.pop(0) if what else ""
            if kind == "429":
                return httpx2.Response(429, headers={"retry-after": "1"}, json={"detail": "Rate Limit"})
            if kind in ("500", "dead"):
                return httpx2.Response(500, json={"detail": "Internal Server Error"})
            if kind == "html":
                return httpx2.Response(502, html="<!DOCTYPE html>")
            if kind == "cut":
                raise httpx2.ReadError("cut")
            answer = await self.inner.handle_async_request(request)
            await answer.aread()
            for _ in range(self.order.randrange(6)):
                await anyio.lowlevel.checkpoint()
            return answer
        finally:
            self.at_once -= 1

    def _drawn(self) -> list[str]:
        lot = self.order.random()
        if lot < self.dead:
            return ["dead"]
        return list(self.order.choice(RECOVERABLE)) if lot < self.dead + self.wrong else []


@dataclass(frozen=True)
class Asked:
    collection: Collection
    days: DateRange
    rules: Rules
    stride: int | None
    seed: int

    def simulator(self, rules: Rules) -> Simulator:
        found = Simulator(now=lambda: NOW, rules=rules)
        found.archive._kept, found.archive._kept_samples = SHARED._kept, SHARED._kept_samples
        return found

    @contextmanager
    def fast(self, *, wrong: float = 0, dead: float = 0) -> Iterator[tuple[Way, Collection]]:
        collection = self.collection
        if collection.dense:
            collection = replace(collection, stride_days=self.stride)
        else:  # Oura sets no limit for these, so they are cut here to have several windows
            collection = replace(collection, window_days=self.stride)
        yield Way(self.simulator(self.rules), random.Random(self.seed), wrong, dead), collection

    async def slow(self) -> Fetched:
        """One window after the other, all on one page each, nothing goes wrong."""
        calm = replace(self.rules, page_size=100_000, dense_page_size=100_000, dense_end_inclusive=False)
        way = Way(self.simulator(calm), random.Random(0), 0, 0)
        return await ask(way, replace(self.collection, stride_days=None), self.days, parallel=1)


async def ask(
    way: Way, collection: Collection, days: DateRange, *, parallel: int = 8, digest: Gather | None = None
) -> Fetched:
    async with httpx2.AsyncClient(transport=way) as http:
        client = OuraClient(http=http, api_url="http://oura.test", tokens=Tokens(way.simulator), sleep=no_wait)
        engine = Engine(Terms(client, parallel, window_pages=100_000, question_pages=100_000))
        return await engine.fetch(ADA, collection, days, digest=digest)


@st.composite
def asked(draw: st.DrawFn, names: tuple[str, ...] = DENSE + DATED) -> Asked:
    base = COLLECTIONS[draw(st.sampled_from(names))]
    start = FIRST + timedelta(days=draw(st.integers(0, 20)))
    end = start + timedelta(days=draw(st.integers(0, 14)))
    return Asked(
        replace(base, margin_days=base.margin_days + draw(st.integers(0, 2))),
        DateRange(start, end, ZoneInfo(draw(st.sampled_from(ZONES)))),
        Rules(
            dense_end_inclusive=draw(st.booleans()),
            page_size=draw(st.integers(1, 9)),
            dense_page_size=draw(st.sampled_from([37, 250, 1000, 5000])),
        ),
        draw(st.sampled_from([None, 1, 2, 3, 5])),
        draw(st.integers(0, 10_000)),
    )


def as_set(records: tuple[Record, ...]) -> set[str]:
    return {repr(sorted(record.items())) for record in records}


@settings(max_examples=40, deadline=None)
@given(asked())
def test_side_by_side_equals_one_slow_walk_whatever_goes_wrong_and_passes(question: Asked) -> None:
    async def both() -> None:
        with question.fast(wrong=0.3) as (way, collection):
            got = await ask(way, collection, question.days)
        expected = await question.slow()

        assert got.records == expected.records
        assert got.complete
        assert way.most_at_once <= 8

    anyio.run(both)


@settings(max_examples=25, deadline=None)
@given(asked())
def test_what_never_comes_leaves_a_part_of_it_and_is_said(question: Asked) -> None:
    async def both() -> None:
        with question.fast(wrong=0.2, dead=0.3) as (way, collection):
            try:
                got = await ask(way, collection, question.days)
            except SourceError:
                assert ["dead"] in way.left.values()
                return
        expected = await question.slow()

        assert as_set(got.records) <= as_set(expected.records)
        assert len(got.records) == len(as_set(got.records))
        assert got.complete == (["dead"] not in way.left.values())
        if got.complete:
            assert got.records == expected.records
        assert got.complete == (not got.failures)

    anyio.run(both)


@settings(max_examples=40, deadline=None)
@given(asked(DENSE), st.sampled_from([RESOLUTIONS, ("5min",), ("hour",), ("day",)]), st.sampled_from([30, 400, 9000]))
def test_samples_put_together_on_the_way_equal_those_put_together_at_the_end(
    question: Asked, resolutions: tuple[str, ...], most: int
) -> None:
    field_of = {"heartrate": "bpm", "ring_battery_level": "level"}[question.collection.name]
    zone = question.days.zone
    how = Gather(question.collection, field_of, zone, resolutions, most)

    async def both() -> None:
        with question.fast(wrong=0.3) as (way, collection):
            got = await ask(way, collection, question.days, digest=how)
        expected = await question.slow()

        assert got.complete
        assert samples_in(got.records) == len(expected.records)
        finest_now = finest(got.records)
        assert len(got.records) <= most or finest_now == resolutions[-1]
        value = next(f for f in question.collection.fields if f.name == field_of)
        for resolution in RESOLUTIONS[max(1, RESOLUTIONS.index(finest_now)) :]:
            assert bucketed(got.records, collection, field=value, resolution=resolution, zone=zone) == bucketed(
                expected.records, collection, field=value, resolution=resolution, zone=zone
            )
        if finest_now == "raw":
            assert got.records == expected.records

    anyio.run(both)
