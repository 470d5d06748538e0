"""One collection that fails alone is left alone; the others go on, until something says that it is Oura."""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest

from app.sources.oura.breaker import FAILURES, PAUSES_S, Down
from app.sources.oura.catalog import COLLECTIONS
from app.sources.oura.client import OuraClient
from app.sources.oura.pace import AT_ONCE
from tests.sources.fakes import ADA
from tests.sources.test_breaker import PAGE, SLEEP, Oura, Time, fails, until_down
from tests.sources.test_client import Tokens

pytestmark = pytest.mark.anyio


class OneIsBroken:
    """Answers 500 for some collections and a page for all others."""

    def __init__(self, *broken: str) -> None:
        self.broken = set(broken)
        self.asked: list[str] = []
        self.hold: dict[str, anyio.Event] = {}

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        name = request.url.path.rsplit("/", 1)[-1]
        self.asked.append(name)
        if name in self.hold:
            await self.hold[name].wait()
        return httpx2.Response(500, json={}) if name in self.broken else PAGE


@asynccontextmanager
async def asking_for(oura: OneIsBroken, time: Time) -> AsyncIterator[Callable[[str], Coroutine[Any, Any, object]]]:
    async def wait(_seconds: float) -> None:
        """Do not."""

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(oura)) as http:
        client = OuraClient(http=http, api_url="https://oura.test", tokens=Tokens(), sleep=wait, clock=time)
        yield lambda name: client.page(ADA, COLLECTIONS[name], {})


async def test_one_collection_that_is_broken_keeps_nobody_from_the_others_and_is_left_alone_itself() -> None:
    oura, time = OneIsBroken("vO2_max"), Time()
    async with asking_for(oura, time) as ask:
        for _ in range(FAILURES):
            await fails(lambda: ask("vO2_max"))
        sent = oura.asked.count("vO2_max")
        for _ in range(5):
            await ask("daily_sleep")
            said = await fails(lambda: ask("vO2_max"))

        assert isinstance(said, Down)
        assert "Oura's vO2_max has been failing for" in str(said)
        assert oura.asked.count("vO2_max") == sent  # the answers for another one do not open it again
        time.at += PAUSES_S[0]
        oura.broken.clear()
        await ask("vO2_max")
        await ask("vO2_max")


async def test_a_second_collection_that_fails_too_means_that_all_of_it_is_down() -> None:
    oura = OneIsBroken("vO2_max", "workout")
    async with asking_for(oura, Time()) as ask:
        for _ in range(FAILURES):
            await fails(lambda: ask("vO2_max"))
        assert not isinstance(await fails(lambda: ask("workout")), Down)

        said = await fails(lambda: ask("daily_sleep"))

    assert isinstance(said, Down)
    assert str(said).startswith("Oura has been failing for")


async def test_how_long_the_first_failed_alone_is_not_held_against_all() -> None:
    oura, time = OneIsBroken("vO2_max", "workout"), Time()
    async with asking_for(oura, time) as ask:
        for _ in range(FAILURES):
            await fails(lambda: ask("vO2_max"))
        for _ in range(len(PAUSES_S)):
            time.at += PAUSES_S[-1]
            await fails(lambda: ask("vO2_max"))
            await ask("daily_sleep")
        await fails(lambda: ask("workout"))

        said = str(await fails(lambda: ask("daily_sleep")))

    assert "Oura has been failing for 1 s" in said
    assert f"Ask again in {PAUSES_S[0]:.0f} s" in said


@pytest.mark.parametrize("places", ["free", "taken at first"])
async def test_whoever_waits_for_the_probe_of_one_takes_no_place_from_the_others(places: str) -> None:
    oura, time, refused = OneIsBroken("vO2_max"), Time(), []
    async with asking_for(oura, time) as ask:
        for _ in range(FAILURES):
            await fails(lambda: ask("vO2_max"))
        time.at += PAUSES_S[0]
        oura.hold = {"vO2_max": anyio.Event(), "workout": anyio.Event()}
        oura.asked.clear()

        async def refusal() -> None:
            refused.append(await fails(lambda: ask("vO2_max")))

        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                for _ in range(AT_ONCE if places == "taken at first" else 0):
                    group.start_soon(ask, "workout")
                await anyio.wait_all_tasks_blocked()
                for _ in range(2 * AT_ONCE):
                    group.start_soon(refusal)
                await anyio.wait_all_tasks_blocked()
                oura.hold["workout"].set()
                await anyio.wait_all_tasks_blocked()
                await ask("daily_sleep")
                before = [name for name in oura.asked if name != "workout"]
                oura.hold["vO2_max"].set()

    assert before == ["vO2_max", "daily_sleep"]
    assert [type(error) for error in refused] == [Down] * (2 * AT_ONCE)


async def test_without_any_connection_it_takes_no_second_collection() -> None:
    oura = Oura(httpx2.ConnectError("no"))
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(oura)) as http:

        async def wait(_seconds: float) -> None:
            """Do not."""

        client = OuraClient(http=http, api_url="https://oura.test", tokens=Tokens(), sleep=wait, clock=Time())
        await until_down(lambda: client.page(ADA, SLEEP, {}))

        assert isinstance(await fails(lambda: client.page(ADA, COLLECTIONS["workout"], {})), Down)
