"""A 429 holds up the whole process, not the one window that met it; then the speed comes back by and by."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest

from app.errors import SourceBusy
from app.sources.oura.catalog import COLLECTIONS
from app.sources.oura.client import OuraClient
from app.sources.oura.pace import ANSWERS_FOR_ONE_MORE, Held, Pace
from tests.sources.fakes import ADA

pytestmark = pytest.mark.anyio
SLEEP = COLLECTIONS["daily_sleep"]
EMPTY = httpx2.Response(200, json={"data": [], "next_token": None})


class Tokens:
    async def access_token(self, caller: object, *, refused: str | None = None) -> str:
        return "token"


class Sleeper:
    """Sleeps until it is told to wake."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.wake = anyio.Event()

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        await self.wake.wait()


async def at_once(_seconds: float) -> None:
    """Return."""


@asynccontextmanager
async def oura(
    answer: Callable[[httpx2.Request], httpx2.Response], sleep: Callable[[float], object]
) -> AsyncIterator[OuraClient]:
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        yield OuraClient(http=http, api_url="https://oura.test", tokens=Tokens(), sleep=sleep)  # type: ignore[arg-type]


async def test_after_a_429_nobody_sends_before_the_wait_is_over() -> None:
    sent: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        return httpx2.Response(429, headers={"retry-after": "3"}) if len(sent) == 1 else EMPTY

    sleeper = Sleeper()
    with anyio.fail_after(5):
        async with oura(answer, sleeper) as client, anyio.create_task_group() as group:
            group.start_soon(client.page, ADA, SLEEP, {})
            await anyio.wait_all_tasks_blocked()
            for _ in range(10):
                group.start_soon(client.page, ADA, SLEEP, {})
            await anyio.wait_all_tasks_blocked()

            assert (sleeper.asked, len(sent)) == ([3], 1)

            sleeper.wake.set()

    assert len(sent) == 12


async def test_those_who_queue_while_a_429_comes_in_are_not_let_through_behind_it() -> None:
    pace = Pace(at_once=1)
    through: list[str] = []

    async def another() -> None:
        async with pace.turn():
            through.append("another")

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            async with pace.turn():
                group.start_soon(another)
                await anyio.wait_all_tasks_blocked()
                pace.limited()
            await anyio.wait_all_tasks_blocked()
            assert through == []
            await pace.wait_out(0)

    assert through == ["another"]


async def test_a_wait_that_is_too_long_is_kept_by_everyone_and_no_longer_than_it_lasts() -> None:
    now, sent = [1000.0], 0

    def answer(request: httpx2.Request) -> httpx2.Response:
        nonlocal sent
        sent += 1
        return httpx2.Response(429, headers={"retry-after": "60"}) if sent == 1 else EMPTY

    async with oura(answer, at_once) as client:
        client._pace = Pace(sleep=at_once, clock=lambda: now[0])
        with pytest.raises(SourceBusy):
            await client.page(ADA, SLEEP, {})
        now[0] += 59
        with pytest.raises(Held, match=r"Ask again in 1 s") as held:
            await client.page(ADA, SLEEP, {})
        assert (held.value.status, sent) == (429, 1)

        now[0] += 1
        await client.page(ADA, SLEEP, {})

    assert sent == 2


async def room(pace: Pace) -> int:
    """How many get through at once."""
    got = 0
    gate = anyio.Event()

    async def one() -> None:
        nonlocal got
        async with pace.turn():
            got += 1
            await gate.wait()

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(one)
        await anyio.wait_all_tasks_blocked()
        counted = got
        gate.set()
    return counted


async def test_a_429_halves_what_runs_side_by_side_and_answers_bring_it_back_one_by_one() -> None:
    pace = Pace(sleep=at_once)
    assert await room(pace) == 8

    async with pace.turn():
        pace.limited()
    await pace.wait_out(0)
    assert await room(pace) == 4

    for expected in (5, 6, 7, 8, 8):
        for _ in range(ANSWERS_FOR_ONE_MORE):
            pace.answered()
        assert await room(pace) == expected


async def test_429s_that_were_on_their_way_together_count_as_one() -> None:
    pace = Pace(sleep=at_once)

    for _ in range(8):
        pace.limited()
    for _ in range(8):
        await pace.wait_out(0)

    assert await room(pace) == 4


async def test_who_hangs_up_in_the_queue_or_while_waiting_takes_no_place_along() -> None:
    pace = Pace(at_once=1)

    async def queue() -> None:
        async with pace.turn():
            raise AssertionError("never let through")

    with anyio.fail_after(5):
        async with pace.turn():
            async with anyio.create_task_group() as queued:
                queued.start_soon(queue)
                await anyio.wait_all_tasks_blocked()
                queued.cancel_scope.cancel()
            pace.limited()
        with anyio.move_on_after(0):
            await pace.wait_out(1000)

        assert await room(pace) == 1


async def test_who_is_let_through_and_hangs_up_at_the_same_moment_gives_the_place_back() -> None:
    pace = Pace(at_once=1)

    async def queue() -> None:
        async with pace.turn():
            raise AssertionError("cancelled before")

    with anyio.fail_after(5):
        async with pace.turn():
            queued = asyncio.create_task(queue())
            await anyio.wait_all_tasks_blocked()
        queued.cancel()  # natively: anyio does not cancel who has been woken
        await asyncio.wait([queued])

        assert queued.cancelled()
        assert await room(pace) == 1
