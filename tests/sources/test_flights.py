"""Identical questions in flight are asked once, per owner and grant; one who hangs up takes nobody along."""

from dataclasses import replace
from functools import partial

import anyio
import pytest

from app.errors import SourceUnreachable
from app.identity import Caller
from app.sources.base import Fetched, Record
from app.sources.engine import Engine
from app.sources.oura.catalog import COLLECTIONS
from app.sources.question import Terms
from tests.sources.fakes import ADA, FakePages, days

SLEEP = COLLECTIONS["daily_sleep"]
DAY = days("2026-03-10", "2026-03-10")
HELD: list[Record] = [{"id": "n", "day": "2026-03-10"}]


async def settle() -> None:
    await anyio.wait_all_tasks_blocked()


@pytest.mark.anyio
async def test_fifty_identical_questions_are_one_request_and_everyone_hears_of_progress() -> None:
    pages = FakePages(HELD, gate=anyio.Event())
    engine = Engine(Terms(pages))
    answers: list[Fetched] = []
    heard: list[int] = []

    async def progress(n: int, expected: int | None, words: str) -> None:
        heard.append(n)

    async def ask() -> None:
        answers.append(await engine.fetch(ADA, SLEEP, DAY, progress=progress))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(ask)
            await settle()
            assert pages.gate is not None
            pages.gate.set()

    assert len(pages.asked) == 1
    assert [len(answer.records) for answer in answers] == [1] * 50
    assert heard == [1] * 50


@pytest.mark.anyio
@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(ADA, owner="bob"), id="another owner"),
        pytest.param(replace(ADA, grant="g2"), id="another grant"),
    ],
)
async def test_an_answer_is_never_shared_with_another_owner_or_grant(other: Caller) -> None:
    pages = FakePages(HELD, gate=anyio.Event())
    engine = Engine(Terms(pages))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(engine.fetch, ADA, SLEEP, DAY)
            group.start_soon(engine.fetch, other, SLEEP, DAY)
            await settle()
            assert pages.gate is not None
            pages.gate.set()

    assert len(pages.asked) == 2


@pytest.mark.anyio
async def test_one_who_hangs_up_does_not_take_the_question_along() -> None:
    pages = FakePages(HELD, gate=anyio.Event())
    engine = Engine(Terms(pages))
    first = anyio.CancelScope()
    answers: list[Fetched] = []

    async def hang_up() -> None:
        with first:
            await engine.fetch(ADA, SLEEP, DAY)

    async def stay() -> None:
        answers.append(await engine.fetch(ADA, SLEEP, DAY))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(hang_up)
            await settle()
            group.start_soon(stay)
            group.start_soon(stay)
            await settle()
            first.cancel()
            await settle()
            assert pages.gate is not None
            pages.gate.set()

    assert len(pages.asked) == 2  # the second was asked again, by one of those who stayed
    assert [len(answer.records) for answer in answers] == [1, 1]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("first_s", "second_s", "requests"),
    [
        pytest.param(38.0, 37.0, 1, id="much the same"),
        pytest.param(30.0, 38.0, 1, id="a little more"),
        pytest.param(38.0, 0.5, 2, id="less: it would hear too late"),
        pytest.param(0.5, 38.0, 2, id="more: it would get what came in half a second"),
    ],
)
async def test_who_has_another_time_left_asks_for_themselves(first_s: float, second_s: float, requests: int) -> None:
    pages = FakePages(HELD, gate=anyio.Event())
    limits: list[float] = []

    async def until_the_time_is_up(seconds: float) -> None:
        limits.append(seconds)
        await anyio.sleep_forever()

    engine = Engine(Terms(pages, sleep=until_the_time_is_up, clock=lambda: 1000.0))
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for seconds in (first_s, second_s):
                group.start_soon(partial(engine.fetch, ADA, SLEEP, DAY, within_s=seconds))
                await settle()
            assert pages.gate is not None
            pages.gate.set()

    assert len(pages.asked) == requests
    assert limits == [first_s, second_s][:requests]


@pytest.mark.anyio
async def test_who_asks_again_after_another_hung_up_has_only_what_is_left_of_their_time() -> None:
    pages, at = FakePages(HELD, gate=anyio.Event()), [1000.0]
    limits: list[float] = []
    first = anyio.CancelScope()

    async def until_the_time_is_up(seconds: float) -> None:
        limits.append(seconds)
        await anyio.sleep_forever()

    engine = Engine(Terms(pages, sleep=until_the_time_is_up, clock=lambda: at[0]))

    async def hang_up() -> None:
        with first:
            await engine.fetch(ADA, SLEEP, DAY, within_s=38)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(hang_up)
            await settle()
            group.start_soon(partial(engine.fetch, ADA, SLEEP, DAY, within_s=38))
            await settle()
            at[0] += 20
            first.cancel()
            await settle()
            assert pages.gate is not None
            pages.gate.set()

    assert limits == [38, 18]


@pytest.mark.anyio
async def test_a_failure_reaches_everyone_and_is_not_asked_again_by_each() -> None:
    pages = FakePages([], gate=anyio.Event(), fault=lambda asked, n: SourceUnreachable("cut"))
    engine = Engine(Terms(pages))
    failed: list[str] = []

    async def ask() -> None:
        try:
            await engine.fetch(ADA, SLEEP, DAY)
        except SourceUnreachable as error:
            failed.append(str(error))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(ask)
            await settle()
            assert pages.gate is not None
            pages.gate.set()

    assert (len(pages.asked), failed) == (1, ["cut"] * 5)


@pytest.mark.anyio
async def test_nothing_is_kept_once_the_answer_is_there() -> None:  # D24
    pages = FakePages([{"id": "n", "day": "2026-03-10", "score": None}])
    engine = Engine(Terms(pages))
    await engine.fetch(ADA, SLEEP, DAY)
    pages.records = [{"id": "n", "day": "2026-03-10", "score": 81}]

    again = await engine.fetch(ADA, SLEEP, DAY)

    assert again.records[0]["score"] == 81
