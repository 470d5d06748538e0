"""A running connector with one app connected, for whoever throws things at it."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from app.authserver.clients.cimd import DocumentUnavailable, Fetched
from tests.app_under_test import NOON, Vitals, running_app
from tests.fuzz.asking import Request, ask
from tests.fuzz.connected import Connected


async def nobody_publishes(_url: str) -> Fetched:
    raise DocumentUnavailable("its server answered 404.")


@pytest.fixture
async def vitals(tmp_path: Path) -> AsyncIterator[Vitals]:
    """A connector that must still answer an honest question when the test is over."""
    async with running_app(tmp_path, fetch_document=nobody_publishes) as running:
        app = await running.connected_app()
        yield running
        alive = await ask(running.app, Request("GET", b"/healthz"))
        assert alive.status == 200
        running.clock.at = NOON
        answer = await app.ask("health_query", collection="daily_sleep", day="2026-03-01")
        assert answer["complete"]


@pytest.fixture
async def connected(vitals: Vitals, monkeypatch: pytest.MonkeyPatch) -> Connected:
    asked: list[tuple[bytes, bytes]] = []
    send = httpx2.ASGITransport.handle_async_request

    async def listening(self: httpx2.ASGITransport, request: httpx2.Request) -> httpx2.Response:
        if request.url.host == "oura.test":
            path, _, query = request.url.raw_path.partition(b"?")
            asked.append((path, query))
        return await send(self, request)

    app = await vitals.connected_app()
    monkeypatch.setattr(httpx2.ASGITransport, "handle_async_request", listening)
    return Connected(vitals, app, asked)


@pytest.fixture
async def understood(connected: Connected) -> AsyncIterator[Connected]:
    yield connected
    assert connected.seen >= {"200", "400", "result"}, "no example got as far as an answer"
