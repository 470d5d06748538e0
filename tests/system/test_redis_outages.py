"""A Redis that goes away, hangs, fills up or forgets: nothing wrong is answered, each is told once, and it heals."""

import secrets
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

from app import readiness
from app.parts import Parts
from app.store import redis as module
from app.store.redis import RedisStore
from tests.app_under_test import Clock, Vitals, running_app
from tests.redis_server import RedisServer, start_redis
from tests.system.asking import ask, consent_page, heading, hear, lead, outage_lines

pytestmark = pytest.mark.anyio

AWAY = "temporarily_unavailable: The store does not answer. Try again shortly."
FULL = (
    "temporarily_unavailable: The store is full, so nothing can be written down. "
    "Whoever runs this server has to make room."
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    server = start_redis(tmp_path, "--appendonly", "yes", "--appendfsync", "always")
    yield server
    server.stop()


@asynccontextmanager
async def on_redis(folder: Path, url: str) -> AsyncIterator[Vitals]:
    clock = Clock()
    store = RedisStore(url, now=clock)
    async with running_app(folder, clock=clock, store=store, SECRET_KEY=secrets.token_urlsafe(32)) as vitals:
        yield vitals


@asynccontextmanager
async def told(server: RedisServer) -> AsyncIterator[Redis]:
    raw = Redis.from_url(server.url)
    try:
        yield raw
    finally:
        await raw.aclose()


async def test_a_redis_that_restarts_costs_nothing_but_the_calls_meanwhile(tmp_path: Path, server: RedisServer) -> None:
    async with on_redis(tmp_path, server.url) as vitals:
        app = await vitals.connected_app()
        with capture_logs() as written:
            server.stop()
            away = [await hear(vitals, app) for _ in range(3)]
            page = await consent_page(vitals, app)
            server.start()
            back = await hear(vitals, app)
            said = await ask(app)

    for each in away:
        assert each.mcp == (503, AWAY)
        assert each.token == (503, AWAY)
        assert each.connections == (503, "The store does not answer")
        assert (each.ready, each.alive) == (503, 200)
    assert page.status == 503
    assert lead(page.page).startswith("This server cannot reach its own records at the moment, so it lets nobody in.")
    assert (back.mcp, back.token, back.ready) == ((200, ""), (200, ""), 200)
    assert said["structuredContent"]["complete"] is True
    assert [event for event, _ in outage_lines(written)] == ["store_unavailable", "store_available_again"]
    assert vitals.simulator.counts.exchanges == 1


async def test_a_flushed_redis_is_a_clean_new_beginning_for_apps_and_owner(tmp_path: Path, server: RedisServer) -> None:
    async with on_redis(tmp_path, server.url) as vitals, told(server) as raw:
        app = await vitals.connected_app()
        await raw.flushall()

        lost = await hear(vitals, app)
        page = await consent_page(vitals, app)
        anew = await vitals.connected_app()
        said = await ask(anew)

    assert lost.mcp[0] == 401
    assert "ended by the owner; connect again" in lost.mcp[1]
    assert lost.token[0] in {400, 401}
    assert lost.token[1].startswith("invalid_client")
    assert lost.connections == (200, "Your connections")
    assert (lost.ready, lost.alive) == (200, 200)
    assert (page.status, heading(page.page)) == (400, "This app's request cannot be answered")
    assert "forgotten" in lead(page.page)
    assert said["structuredContent"]["complete"] is True


async def test_a_redis_that_lost_the_sign_in_alone_asks_for_it_and_for_nothing_else(
    tmp_path: Path, server: RedisServer
) -> None:
    async with on_redis(tmp_path, server.url) as vitals, told(server) as raw:
        app = await vitals.connected_app()
        for kind in ("conn", "pin", "intent"):
            keys = await raw.keys(f"vitals:record:{kind}:*")
            if keys:
                await raw.delete(*keys)

        said = await ask(app)
        await vitals.connected_app()  # the owner signs in again, for another app
        again = await ask(app)

    assert said["isError"]
    assert "Oura is not connected. The owner must sign in again at https://vitals.test/connections" in str(said)
    assert again["structuredContent"]["complete"] is True


async def test_a_redis_that_hangs_is_given_up_on_in_time_and_nothing_is_spent(
    tmp_path: Path, server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_ANSWER_S", 0.15)
    async with on_redis(tmp_path, server.url) as vitals:
        app = await vitals.connected_app()
        vitals.simulator.expire_access_tokens()
        assert server.process is not None
        with capture_logs() as written, anyio.fail_after(20):
            server.process.send_signal(signal.SIGSTOP)  # connections are still taken, and nothing is answered
            slow = await hear(vitals, app)
            page = await consent_page(vitals, app)
            server.process.send_signal(signal.SIGCONT)
            spent_meanwhile = vitals.simulator.counts.refreshes
            said = await ask(app)

    assert slow.mcp == (503, AWAY)
    assert slow.token == (503, AWAY)
    assert (slow.ready, slow.alive) == (503, 200)
    assert heading(page.page) == "The store does not answer"
    assert spent_meanwhile == 0
    assert said["structuredContent"]["complete"] is True
    assert [event for event, _ in outage_lines(written)] == ["store_unavailable", "store_available_again"]


async def test_a_full_redis_serves_who_is_connected_signs_in_nobody_and_spends_no_token_of_oura(
    tmp_path: Path, server: RedisServer
) -> None:
    async with on_redis(tmp_path, server.url) as vitals, told(server) as raw:
        app = await vitals.connected_app()
        before = await consent_page(vitals, app)
        with capture_logs() as written:
            await raw.config_set("maxmemory", 1)
            full = [await hear(vitals, app) for _ in range(3)]
            reading = await ask(app)
            await before.press("approve", {"timezone": "Europe/Berlin"})
            vitals.simulator.expire_access_tokens()
            renewing = await ask(app)
            spent_meanwhile = vitals.simulator.counts.refreshes

            await raw.config_set("maxmemory", 0)
            renewed = await ask(app)
            back = await hear(vitals, app)

    for each in full:
        assert each.mcp == (200, "")
        assert each.token == (503, FULL)
        assert (each.ready, each.alive) == (200, 200)
    assert reading["structuredContent"]["complete"] is True
    assert (before.status, heading(before.page)) == (503, "The store is full")
    assert "nobody can sign in and nothing was changed" in lead(before.page)
    assert renewing["isError"]
    assert "This connector could not use its own store, so nothing was read. The store is full" in str(renewing)
    assert spent_meanwhile == 0
    assert renewed["structuredContent"]["complete"] is True
    assert (back.token, vitals.simulator.counts.refreshes) == ((200, ""), 1)
    assert [event for event, _ in outage_lines(written)] == ["store_unavailable", "store_available_again"]
    assert "Redis is full (OOM)" in str(outage_lines(written))


async def test_a_redis_that_fills_up_while_the_owner_is_at_oura_gives_the_new_tokens_back_and_says_so(
    tmp_path: Path, server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with on_redis(tmp_path, server.url) as vitals, told(server) as raw:
        app = await vitals.connected_app()
        browser = await consent_page(vitals, app)
        await browser.press("approve", {"timezone": "Europe/Berlin"})
        connect = vitals.parts.connections.connect

        async def fill_and_connect(connection: object) -> object:
            await raw.config_set("maxmemory", 1)  # after the code was spent, before its tokens are stored
            return await connect(connection)  # type: ignore[arg-type]  # passed on as it came

        monkeypatch.setattr(vitals.parts.connections, "connect", fill_and_connect)
        await browser.press("owner")
        full = browser.page
        await raw.config_set("maxmemory", 0)
        families = [family.alive for family in vitals.simulator.grants.families]

    assert heading(full) == "The connection could not be kept"
    assert "Redis is full (OOM)" in full
    assert "Access was given back at Oura" in full
    assert "mends that first" in full
    assert families.count(True) == 1


async def test_a_redis_that_asks_for_another_password_is_the_operators_to_mend_and_no_apps(
    tmp_path: Path, server: RedisServer
) -> None:
    async with on_redis(tmp_path, server.url) as vitals, told(server) as raw:
        app = await vitals.connected_app()
        with capture_logs() as written:
            await raw.config_set("requirepass", "another")
            await raw.client_kill_filter(_type="normal", skipme=True)
            refused = [await hear(vitals, app) for _ in range(2)]
            page = await consent_page(vitals, app)
            await raw.config_set("requirepass", "")
            back = await hear(vitals, app)
            said = await ask(app)

    for each in refused:
        assert (each.mcp[0], each.token[0], each.connections[0]) == (503, 503, 503)
        assert (each.ready, each.alive) == (503, 200)
    assert page.status == 503
    assert "lets nobody in" in lead(page.page)
    assert (back.mcp, back.token, back.ready) == ((200, ""), (200, ""), 200)
    assert said["structuredContent"]["complete"] is True
    assert [event for event, _ in outage_lines(written)] == ["store_unavailable", "store_available_again"]


async def test_a_redis_that_is_down_at_the_start_is_waited_for_and_then_examined(
    tmp_path: Path, server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported, report = anyio.Event(), readiness._report

    async def report_and_tell(parts: Parts) -> None:
        await report(parts)
        reported.set()

    monkeypatch.setattr(readiness, "_report", report_and_tell)
    monkeypatch.setattr(readiness, "_FIRST_PAUSE_S", 0.01)
    server.stop()
    with capture_logs() as written:
        async with on_redis(tmp_path, server.url) as vitals:
            async with vitals.http() as http:
                down = await http.get("https://vitals.test/readyz")
                register = await http.post(
                    "https://vitals.test/register", json={"redirect_uris": ["https://app.test/callback"]}
                )
            server.options = ()  # comes back without persistence
            server.start()
            with anyio.fail_after(20):
                await reported.wait()
            app = await vitals.connected_app()
            said = await ask(app)

    assert down.status_code == 503
    assert (register.status_code, register.json()["error"]) == (503, "temporarily_unavailable")
    assert said["structuredContent"]["complete"] is True
    events = [event for event, _ in outage_lines(written)]
    assert events[:2] == ["store_unavailable", "started_without_store"]
    assert events.count("store_unavailable") == 1
    assert "neither appendonly nor save): a restart costs every sign-in and every app's access" in str(written)
