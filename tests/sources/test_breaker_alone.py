"""One collection that fails alone is left alone; the others go on, until something says that it is Oura."""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import httpx2
import pytest
from structlog.testing import capture_logs

from app.sources.oura.breaker import FAILURES, LONGEST_S, PAUSES_S, Down
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
async def asking_for(
    oura: OneIsBroken, time: Time, seen: list[OuraClient] | None = None
) -> AsyncIterator[Callable[[str], Coroutine[Any, Any, object]]]:
    async def wait(_seconds: float) -> None:
        """Do not."""

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(oura)) as http:
        client = OuraClient(http=http, api_url="https://oura.test", tokens=Tokens(), sleep=wait, clock=time)
        if seen is not None:
            seen.append(client)
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


async def test_answers_for_others_in_between_do_not_open_the_way_to_the_one_that_is_broken() -> None:
    oura, time = OneIsBroken("vO2_max"), Time()
    async with asking_for(oura, time) as ask:
        for _ in range(FAILURES):
            await fails(lambda: ask("vO2_max"))
            await ask("daily_sleep")

        assert isinstance(await fails(lambda: ask("vO2_max")), Down)


async def test_a_failure_of_another_between_answers_is_not_taken_for_the_source_whatever_is_broken_already() -> None:
    oura, time = OneIsBroken("vO2_max", "workout"), Time()
    async with asking_for(oura, time) as ask:
        for _ in range(FAILURES):
            await fails(lambda: ask("vO2_max"))
        time.at += PAUSES_S[-1]
        await ask("daily_sleep")
        await fails(lambda: ask("workout"))

        await ask("daily_sleep")
        assert not isinstance(await fails(lambda: ask("workout")), Down)


async def test_when_the_source_is_back_every_collection_is_and_none_has_to_be_tried_by_one_alone() -> None:
    oura, time = OneIsBroken("vO2_max", "workout", "daily_sleep"), Time()
    async with asking_for(oura, time) as ask:
        for name in ("vO2_max", "workout", "daily_sleep"):
            for _ in range(FAILURES):
                time.at += PAUSES_S[-1]
                await fails(partial(ask, name))
        time.at += PAUSES_S[-1]
        oura.broken.clear()

        await ask("daily_sleep")
        oura.hold = {"vO2_max": anyio.Event()}
        oura.asked.clear()
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                for _ in range(AT_ONCE):
                    group.start_soon(ask, "vO2_max")
                await anyio.wait_all_tasks_blocked()
                at_once = list(oura.asked)
                oura.hold["vO2_max"].set()

    assert at_once == ["vO2_max"] * AT_ONCE


async def test_what_is_broken_alone_is_told_of_each() -> None:
    oura, time, clients = OneIsBroken("vO2_max", "workout"), Time(), list[OuraClient]()
    async with asking_for(oura, time, clients) as ask:
        for name in ("vO2_max", "workout"):
            for _ in range(FAILURES):
                await ask("daily_sleep")
                await fails(partial(ask, name))
        (client,) = clients

        said = client.troubles(ADA)["source_down"]

    assert said == (
        "Oura's vO2_max has been failing for 1 s (last: HTTP 500); "
        "Oura's workout has been failing for 1 s (last: HTTP 500)"
    )


async def test_the_log_says_what_is_down_and_when_it_is_all_of_it() -> None:
    oura, time = OneIsBroken("vO2_max"), Time()
    with capture_logs() as written:
        async with asking_for(oura, time) as ask:
            for _ in range(FAILURES):
                await fails(partial(ask, "vO2_max"))
            await ask("daily_sleep")
            oura.broken |= {"workout", "daily_sleep"}
            for name in ("workout", "daily_sleep", "workout"):
                await fails(partial(ask, name))
            time.at += PAUSES_S[-1]
            oura.broken.clear()
            await ask("daily_sleep")

    assert [(line["event"], line.get("reason")) for line in written] == [
        ("source_down", "HTTP 500 (vO2_max alone)"),
        ("source_down", "HTTP 500"),
        ("source_back", None),
    ]


async def test_what_nobody_has_asked_for_a_while_is_not_said_to_be_failing_still() -> None:
    oura, time, clients = OneIsBroken("vO2_max"), Time(), list[OuraClient]()
    async with asking_for(oura, time, clients) as ask:
        for _ in range(FAILURES):
            await fails(partial(ask, "vO2_max"))
        (client,) = clients
        soon = client.troubles(ADA)
        time.at += PAUSES_S[0] + LONGEST_S

        later = client.troubles(ADA)

    assert "source_down" in soon
    assert "source_down" not in later


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
