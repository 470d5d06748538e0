"""CASES.md, section T, through the whole connector: races for a single-use refresh token, and answers that are lost.

Processes that are really killed are in `tests/system` and `tests/vault/test_processes.py`.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest

from app.demo.walk import App
from app.simulator import Simulator
from app.store.sqlite import SqliteStore
from app.vault.intents import Intents
from tests.app_under_test import URL, Clock, Vitals, running_app
from tests.cases.asking import heading, journey, refused, told
from tests.cases.test_a import LEGACY, NEW, token_requests

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def two_processes(folder: Path) -> AsyncIterator[tuple[Vitals, App, App]]:
    """Two connectors on one store and one Oura, and an app that reaches either."""
    clock = Clock()
    simulator = Simulator(now=clock)
    async with AsyncExitStack() as stack:
        stores = [SqliteStore(folder / "shared.sqlite3", now=clock) for _ in range(2)]
        key = "mK3v-0pX7wQz_Rt5LdB9hNfYc2GsJ8uE1aTiVoWnPxk"
        one, two = [
            await stack.enter_async_context(
                running_app(folder, simulator=simulator, clock=clock, store=store, SECRET_KEY=key)
            )
            for store in stores
        ]
        app = await one.connected_app()
        yield one, app, replace(app, http=two.http())


async def different_questions(apps: list[App], times: int) -> int:
    """Ask so many different questions at once, in turn by each app; return how many were answered whole."""
    good = 0

    async def ask(app: App, day: int) -> None:
        nonlocal good
        answer = await told(app, "health_query", collection="sleep", day=f"2026-0{1 + day // 28}-{1 + day % 28:02}")
        good += answer["complete"] is True

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for number in range(times):
                group.start_soon(ask, apps[number % len(apps)], number)
    return good


async def test_t1_fifty_different_questions_after_expiry_are_one_refresh_and_fifty_answers(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        for generation in (1, 2):
            vitals.simulator.expire_access_tokens()

            assert await different_questions([app], 50) == 50
            assert vitals.simulator.counts.refreshes == generation
        assert vitals.simulator.grants.families[0].alive


async def test_t1_fifty_questions_about_fifty_things_by_every_tool_are_one_refresh(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        vitals.simulator.expire_access_tokens()
        async with anyio.create_task_group() as group:
            for days in range(10):
                group.start_soon(lambda days: told(app, "health_today", days=days), days)
            for name in ("heartrate", "ring_battery_level"):
                group.start_soon(lambda name: told(app, "health_query", collection=name, start="2026-02-20"), name)

        assert vitals.simulator.counts.refreshes == 1


async def test_t3_fifty_questions_to_two_processes_on_one_store_are_one_refresh(tmp_path: Path) -> None:
    async with two_processes(tmp_path) as (one, first, second):
        for generation in (1, 2):
            one.simulator.expire_access_tokens()

            assert await different_questions([first, second], 50) == 50
            assert one.simulator.counts.refreshes == generation
        assert one.simulator.grants.families[0].alive


async def test_t2_a_process_that_holds_the_old_token_reads_again_and_the_connection_stays(tmp_path: Path) -> None:
    async with two_processes(tmp_path) as (one, first, second):
        one.simulator.expire_access_tokens()
        one.simulator.faults.add("hold", LEGACY)
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: told(first, "health_query", collection="sleep"))
                await one.simulator.faults.spent.wait()  # the first has spent the token and not heard of it
                # The second still reads the old one. It must neither send it nor end the connection.
                group.start_soon(lambda: told(second, "health_query", collection="workout"))
                await anyio.wait_all_tasks_blocked()
                one.simulator.faults.release()

        assert one.simulator.counts.refreshes == 1
        assert one.simulator.counts.refused == 0
        (check, other) = [await told(app, "health_check") for app in (first, second)]
        assert check["sources"][0]["state"] == other["sources"][0]["state"] == "live"


async def test_t5_a_lost_answer_is_one_attempt_one_explanation_and_then_silence_at_oura(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        vitals.simulator.expire_access_tokens()
        vitals.simulator.faults.cut_error = lambda: httpx2.ReadError("cut")
        vitals.simulator.faults.add("cut", LEGACY)
        lost = await refused(app, "health_query", collection="sleep")
        owner = next(iter(vitals.parts.settings.owners))
        journal = await Intents(vitals.parts.store, "oura").read(owner)
        first = await refused(app, "health_query", collection="sleep")
        spent = len(token_requests(vitals))
        later = [await refused(app, "health_query", collection=name) for name in ("sleep", "workout", "heartrate")]
        later += [await refused(app, "health_today")]

        assert journal is not None
        assert journal.intent.doubt is True
        assert "sign in again" not in lost.lower()
        assert "renewal" in first
        assert "interrupted" in first
        assert not any("interrupted" in said for said in later)
        assert all(f"{URL}/connections" in said for said in (first, *later))
        assert vitals.simulator.counts.refreshes == 2
        assert len(token_requests(vitals)) == spent


async def test_t8_without_a_refresh_token_neither_an_app_nor_the_owners_page_is_connected(tmp_path: Path) -> None:
    clock = Clock()
    simulator = Simulator(now=clock, issue_refresh=False)
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        walk = await journey(vitals, "approve", "owner")
        browser = vitals.browser("nowhere:")
        await browser.open(f"{URL}/connections")
        await browser.press("")
        await browser.press("owner")
        stored = [key async for key, _ in vitals.parts.store.scan("") if key.startswith(("conn:", "code:", "grant:"))]

    for page in (walk.browser.page, browser.page):
        assert heading(page) == "Oura gave no lasting connection"
        assert "no refresh token" in page
    assert "error=server_error" in walk.browser.page
    assert stored == []
    assert not any(family.alive for family in simulator.grants.families)


@pytest.mark.parametrize(
    ("fault", "state", "words"),
    [
        pytest.param({"kind": "status", "status": 500}, "live", "Try again", id="500"),
        pytest.param({"kind": "html", "status": 502}, "live", "Try again", id="html 502"),
        pytest.param({"kind": "cut_before"}, "live", "Try again", id="cut"),
        pytest.param({"kind": "truncate"}, "live", "Try again", id="half an answer"),
        pytest.param({"kind": "status", "status": 429}, "live", "rate limit", id="429"),
        pytest.param(
            {"kind": "status", "status": 400, "body": {"error": "invalid_grant"}}, "ended", "sign in again", id="grant"
        ),
        pytest.param(
            {"kind": "status", "status": 400, "body": {"error": "unauthorized_client"}}, "live", "kept", id="400 other"
        ),
        pytest.param(
            {"kind": "status", "status": 401, "body": {"error": "invalid_client"}}, "live", "kept", id="401 client"
        ),
        pytest.param({"kind": "status", "status": 403, "body": {}}, "live", "kept", id="403"),
    ],
)
async def test_t9_only_an_explicit_refusal_ends_the_connection(
    tmp_path: Path, fault: dict[str, object], state: str, words: str
) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        vitals.simulator.expire_access_tokens()
        vitals.simulator.faults.cut_error = lambda: httpx2.ReadError("cut")
        for path in (LEGACY, NEW):
            vitals.simulator.faults.add(path=path, times=None, **fault)  # type: ignore[arg-type]  # a table of faults
        said = await refused(app, "health_query", collection="sleep")
        check = await told(app, "health_check")
        vitals.simulator.faults.clear()
        vitals.clock.at += 400  # longer than any pause
        if state == "live" and fault["kind"] != "truncate":
            answer = await told(app, "health_query", collection="sleep")
            assert answer["n"] > 0

    assert words in said
    assert ("sign in again" in said) == (state == "ended")
    assert check["sources"][0]["state"] == state


async def test_t10_a_clock_ten_minutes_ahead_renews_early_and_a_late_one_renews_once_on_401(tmp_path: Path) -> None:
    here, at_oura = Clock(), Clock()
    simulator = Simulator(now=at_oura, expires_in_s=86_400)
    async with running_app(tmp_path, simulator=simulator, clock=here) as vitals:
        app = await vitals.connected_app()

        async def ask_after(*, here_s: float, oura_s: float) -> tuple[int, list[int | None]]:
            here.at, at_oura.at = here.at + here_s, at_oura.at + oura_s
            await app.token(grant_type="refresh_token", refresh_token=app.refresh_token)
            before = simulator.counts.refreshes, len(simulator.log)
            assert (await told(app, "health_query", collection="personal_info"))["n"] == 1
            asked = [seen.status for seen in simulator.log[before[1] :] if "personal_info" in seen.path]
            return simulator.counts.refreshes - before[0], asked

        early = await ask_after(here_s=86_400 - 600, oura_s=86_400 - 1200)
        late = await ask_after(here_s=86_400 - 3000, oura_s=86_400 + 600)

    assert early == (1, [200])
    assert late == (1, [401, 200])


async def test_t10_a_source_that_refuses_every_fresh_token_costs_one_renewal_and_not_one_a_call(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        vitals.simulator.faults.add("status", "/v2/*", status=401, times=None)
        for call, name in enumerate(("sleep", "workout", "daily_stress", "personal_info"), start=1):
            said = await refused(app, "health_query", collection=name)
            asked = vitals.simulator.counts.data[f"/v2/usercollection/{name}"]

            assert f"{URL}/connections" in said
            assert vitals.simulator.counts.refreshes == 1
            # Of sleep the nights and the records are asked for at once. The last one at the sign-in too; the others not
            # even once, where what else a call asks hears it first.
            assert asked in ({4} if call == 1 else {1, 2} if name == "personal_info" else {0, 1})


@pytest.mark.parametrize("begun_by", ["an app", "the owner"])
async def test_t11_a_reloaded_callback_says_already_connected_and_exchanges_nothing(
    tmp_path: Path, begun_by: str
) -> None:
    async with running_app(tmp_path) as vitals:
        if begun_by == "an app":
            browser = (await journey(vitals, "approve")).browser
        else:
            browser = vitals.browser("nowhere:")
            await browser.open(f"{URL}/connections")
            await browser.press("")
        vitals.simulator.client.auto = "owner"
        callback = (await browser._http.get(browser.address)).headers["location"]
        for _ in range(3):
            await browser.open(callback)
            if begun_by == "an app" and browser.stopped:
                continue
            last = browser.page
        counts = vitals.simulator.counts

    assert urlsplit(callback).path == "/callback/oura/"
    assert heading(last) == "Already connected"
    assert (counts.authorizations, counts.exchanges, counts.refused) == (1, 1, 0)
    assert vitals.simulator.grants.families[0].alive
