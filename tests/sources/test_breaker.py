"""An Oura that is down is asked gently: who comes is told at once, and one request at a time finds out."""

import re
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest

from app.errors import SourceBusy, SourceChanged, SourceError, VitalsError
from app.sources.oura.breaker import FAILURES, LONGEST_S, PAUSES_S, Down
from app.sources.oura.catalog import COLLECTIONS
from app.sources.oura.client import OuraClient
from tests.sources.fakes import ADA
from tests.sources.test_client import Tokens

pytestmark = pytest.mark.anyio
SLEEP = COLLECTIONS["daily_sleep"]
PAGE = httpx2.Response(200, json={"data": [], "next_token": None})
Answer = httpx2.Response | Exception


class Oura:
    """Answers alike until told otherwise, and counts."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked = 0
        self.waits = 0  # of the client, between an attempt and the next
        self.hold: anyio.Event | None = None
        self.failing = 0  # requests that fail before it answers

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked += 1
        if self.failing:
            self.failing -= 1
            return httpx2.Response(503, json={})
        if self.hold is not None:
            await self.hold.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Time:
    """Seconds that rise when a test says so."""

    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


@asynccontextmanager
async def asking(oura: Oura, time: Time | None = None) -> AsyncIterator[Callable[[], Coroutine[Any, Any, object]]]:
    """A way to ask for a page."""

    async def wait(_seconds: float) -> None:
        oura.waits += 1

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(oura)) as http:
        client = OuraClient(http=http, api_url="https://oura.test", tokens=Tokens(), sleep=wait, clock=time or Time())

        async def ask() -> object:
            return await client.page(ADA, SLEEP, {})

        yield ask


async def fails(ask: Callable[[], Coroutine[Any, Any, object]]) -> SourceError:
    with pytest.raises(SourceError) as caught:
        await ask()
    return caught.value


async def until_down(ask: Callable[[], Coroutine[Any, Any, object]]) -> None:
    """Ask as often as it takes, and not once more."""
    for _ in range(FAILURES):
        assert not isinstance(await fails(ask), Down)


async def together(oura: Oura, ask: Callable[[], Coroutine[Any, Any, object]], times: int) -> int:
    """Ask side by side while Oura keeps its answers back; return how many requests it had by then."""
    oura.hold, before = anyio.Event(), oura.asked
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for _ in range(times):
                group.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            under_way = oura.asked - before
            oura.hold.set()
    return under_way


DOWN = [
    pytest.param(httpx2.Response(500, json={}), id="500"),
    pytest.param(httpx2.Response(503, html="<html>"), id="503 with a web page"),
    pytest.param(httpx2.Response(200, html="<html>"), id="a web page under 200"),
    pytest.param(httpx2.Response(403, html="<html>"), id="a challenge"),
    pytest.param(httpx2.ConnectError("no"), id="no connection"),
    pytest.param(httpx2.ReadTimeout("slow"), id="no answer in time"),
    pytest.param(httpx2.ReadError("cut"), id="cut off"),
]


@pytest.mark.parametrize("answer", DOWN)
async def test_after_three_requests_given_up_in_a_row_nothing_is_sent_for_a_while(answer: Answer) -> None:
    oura, time = Oura(answer), Time()
    async with asking(oura, time) as ask:
        await until_down(ask)
        sent, waits = oura.asked, oura.waits
        time.at += PAUSES_S[0] - 1
        refused = [await fails(ask) for _ in range(20)]

    assert oura.asked == sent <= 2 * FAILURES
    assert oura.waits == waits  # told at once
    assert all(isinstance(error, Down) for error in refused)


async def test_what_is_said_names_how_long_it_has_failed_with_what_and_when_to_come_back() -> None:
    oura, time = Oura(httpx2.Response(502, json={})), Time()
    async with asking(oura, time) as ask:
        await fails(ask)
        time.at += 30
        await fails(ask)
        await fails(ask)
        time.at += 2
        said = str(await fails(ask))

    assert "failing for 32 s" in said
    assert "HTTP 502" in said
    assert "nothing was sent" in said
    assert re.findall(r"in \d+ s", said) == ["in 3 s"]


ANSWERS = [
    pytest.param(httpx2.Response(400, json={"detail": "no"}), id="400"),
    pytest.param(httpx2.Response(403, json={"detail": "no"}), id="403"),
    pytest.param(httpx2.Response(429, json={}), id="429"),
    pytest.param(httpx2.Response(200, content=b'{"data":['), id="half of it"),
]


@pytest.mark.parametrize("answer", ANSWERS)
async def test_a_refusal_and_an_unreadable_answer_are_no_failures_of_that_kind(answer: httpx2.Response) -> None:
    oura = Oura(answer)
    async with asking(oura) as ask:
        for _ in range(3 * FAILURES):
            with pytest.raises(VitalsError) as caught:
                await ask()
            assert not isinstance(caught.value, Down)
        oura.answer = PAGE
        sent = oura.asked
        if answer.status_code != 429:  # after which `pace` says no
            await ask()

            assert oura.asked == sent + 1
    assert sent >= 3


async def test_what_a_repetition_mends_is_never_taken_for_down() -> None:
    oura = Oura(PAGE)
    oura.hold = anyio.Event()
    async with asking(oura) as ask:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                for _ in range(2 * FAILURES):  # each fails after the one before, and none is answered in between
                    oura.failing = 1
                    group.start_soon(ask)
                    await anyio.wait_all_tasks_blocked()
                oura.hold.set()

    assert oura.asked == 4 * FAILURES


async def test_one_answer_in_between_begins_the_count_anew() -> None:
    oura = Oura(httpx2.Response(503, json={}))
    async with asking(oura) as ask:
        for _ in range(5):
            assert isinstance(await fails(ask), SourceBusy)  # twice, with its repetition
            oura.answer = PAGE
            await ask()
            oura.answer = httpx2.Response(503, json={})

    assert oura.asked == 5 * 3


async def test_each_pause_is_longer_up_to_a_cap_and_each_probe_is_one_request() -> None:
    oura, time = Oura(httpx2.Response(503, json={})), Time()
    async with asking(oura, time) as ask:
        await until_down(ask)
        for pause_s in (*PAUSES_S, PAUSES_S[-1]):
            sent = oura.asked
            time.at += pause_s - 0.5
            await fails(ask)
            assert oura.asked == sent
            time.at += 0.5
            await fails(ask)
            await fails(ask)

            assert oura.asked == sent + 1  # not repeated either: the pause has begun again


async def test_a_wait_that_oura_asks_for_is_kept_but_not_for_ever() -> None:
    for asked_s, kept_s in (("90", 90.0), ("86400", LONGEST_S)):
        oura, time = Oura(httpx2.Response(503, json={}, headers={"retry-after": asked_s})), Time()
        async with asking(oura, time) as ask:
            await until_down(ask)
            time.at += kept_s - 1
            assert isinstance(await fails(ask), Down)
            time.at += 1
            oura.answer = PAGE
            await ask()


async def test_of_many_at_once_one_probes_and_the_others_go_on_when_it_is_answered() -> None:
    oura, time = Oura(httpx2.Response(503, json={})), Time()
    async with asking(oura, time) as ask:
        await until_down(ask)
        time.at += PAUSES_S[0]
        oura.answer, sent = PAGE, oura.asked
        probes = await together(oura, ask, 20)

    assert probes == 1
    assert oura.asked == sent + 20


async def test_one_answer_ends_it_and_all_go_side_by_side_again() -> None:
    oura, time = Oura(httpx2.Response(503, json={})), Time()
    async with asking(oura, time) as ask:
        await until_down(ask)
        time.at += PAUSES_S[0]
        oura.answer = PAGE
        await ask()
        at_once = await together(oura, ask, 8)

    assert at_once == 8


async def test_of_many_at_once_one_probes_and_the_others_are_refused_when_it_fails() -> None:
    oura, time, refused = Oura(httpx2.Response(503, json={})), Time(), []

    async def refusal() -> None:
        refused.append(await fails(ask))

    async with asking(oura, time) as ask:
        await until_down(ask)
        time.at += PAUSES_S[0]
        sent = oura.asked
        await together(oura, refusal, 20)

    assert oura.asked == sent + 1
    assert [type(error) for error in refused] == [Down] * 20


async def test_who_hangs_up_while_probing_leaves_the_probe_to_the_next() -> None:
    oura, time = Oura(httpx2.Response(503, json={})), Time()
    async with asking(oura, time) as ask:
        await until_down(ask)
        time.at += PAUSES_S[0]
        oura.answer, oura.hold, sent = PAGE, anyio.Event(), oura.asked
        with anyio.fail_after(5):
            async with anyio.create_task_group() as probing:
                probing.start_soon(ask)
                await anyio.wait_all_tasks_blocked()
                probing.cancel_scope.cancel()
            oura.hold.set()
            await ask()

    assert oura.asked == sent + 2


async def test_what_was_on_its_way_together_and_failed_together_is_one_failure() -> None:
    oura = Oura(httpx2.ReadError("the connection that all of them shared was cut"))
    oura.hold = anyio.Event()
    async with asking(oura) as ask:

        async def refusal() -> None:
            assert not isinstance(await fails(ask), Down)

        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                for _ in range(8):
                    group.start_soon(refusal)
                await anyio.wait_all_tasks_blocked()
                cut, oura.hold = oura.hold, anyio.Event()
                cut.set()
                await anyio.wait_all_tasks_blocked()
                oura.hold.set()
        oura.answer = PAGE
        await ask()

    assert oura.asked == 17  # each once, each repeated once, and the next one, which is not refused


async def test_an_answer_that_is_too_large_shows_that_somebody_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.sources.oura.sending._LARGEST_BODY", 1000)
    oura, time = Oura(httpx2.ConnectError("no")), Time()
    async with asking(oura, time) as ask:
        await until_down(ask)
        time.at += PAUSES_S[0]
        oura.answer = httpx2.Response(200, content=b"[" * 2000)
        assert isinstance(await fails(ask), SourceChanged)
        oura.answer = PAGE
        await ask()
