"""The whole connector on a way to the simulated Oura that a test can bend: something answers in Oura's place."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pytest

from app.demo.walk import App
from app.simulator import Simulator
from tests.app_under_test import Clock, Vitals, running_app

CANARY = "zanzibar-4711"  # stands in what Oura sends, and may stand in nothing that we say
Act = Callable[[httpx2.Request], Awaitable[httpx2.Response]]


class Bent(httpx2.AsyncBaseTransport):
    """The way to the simulated Oura, with something on it that answers in its place while a test says so."""

    def __init__(self, simulator: Simulator) -> None:
        self.straight = httpx2.ASGITransport(simulator.app)
        self.act: Act | None = None
        self.tokens: set[str] = set()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if "/usercollection/" in request.url.path:
            self.tokens.add(request.headers["authorization"].removeprefix("Bearer "))
            if self.act is not None:
                return await self.act(request)
        return await self.straight.handle_async_request(request)


@asynccontextmanager
async def bent_app(folder: Path) -> AsyncIterator[tuple[Vitals, App, Bent]]:
    """A connector, an app that is connected to it, and its way to Oura; given up on after half a minute."""
    clock = Clock()
    simulator = Simulator(now=clock)
    bent = Bent(simulator)
    with anyio.fail_after(30):
        async with running_app(folder, simulator=simulator, clock=clock, upstream=bent) as vitals:
            yield vitals, await vitals.connected_app(), bent


@pytest.fixture
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a second attempt follow the first at once."""
    monkeypatch.setattr("app.sources.oura.client._RETRY_WAIT_S", 0)
