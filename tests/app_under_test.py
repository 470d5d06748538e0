"""The whole connector against the simulated Oura, in this process: no sockets, a clock that stands still until moved.

    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        answer = await app.ask("health_query", collection="daily_sleep", start="2026-03-01", end="2026-03-03")

For real processes see `tests.processes`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette

from app.authserver.clients.cimd import FetchDocument
from app.demo.browser import Browser
from app.demo.walk import App, discover, sign_in
from app.main import assemble
from app.parts import Parts, build_parts
from app.settings import load_settings
from app.simulator import Simulator
from app.store.base import Store

URL = "https://vitals.test"
OURA = "https://oura.test"
NOON = datetime(2026, 3, 10, 12, 0, tzinfo=UTC).timestamp()


@dataclass
class Clock:
    """Unix seconds that stand still until a test moves them."""

    at: float = NOON

    def __call__(self) -> float:
        return self.at


@dataclass
class Vitals:
    """A running connector and everything around it."""

    app: Starlette
    parts: Parts
    simulator: Simulator
    clock: Clock
    folder: Path

    @property
    def mcp_url(self) -> str:
        return f"{URL}/mcp"

    def http(self) -> httpx2.AsyncClient:
        """A new client (and so a new cookie jar) that reaches the connector and the simulated Oura."""
        return httpx2.AsyncClient(
            mounts={
                URL: httpx2.ASGITransport(self.app, raise_app_exceptions=False),
                OURA: httpx2.ASGITransport(self.simulator.app),
            },
            trust_env=False,
        )

    def browser(self, stop_at: str) -> Browser:
        return Browser(self.http(), stop_at=stop_at)

    async def connected_app(self, *, who: str = "owner") -> App:
        """An app that registered, was approved, and holds tokens."""
        app = await discover(self.http(), self.mcp_url, _silently)
        await sign_in(app, self.http(), _silently, who=who)
        return app


@asynccontextmanager
async def running_app(
    folder: Path,
    *,
    simulator: Simulator | None = None,
    clock: Clock | None = None,
    store: Store | None = None,
    fetch_document: FetchDocument | None = None,
    upstream: httpx2.AsyncBaseTransport | None = None,
    **settings: str,
) -> AsyncIterator[Vitals]:
    """Run the connector.

    Args:
        folder: For the store and the key.
        simulator: Made on the same clock if left out; give `clock` too if you make one.
        clock: Stands at noon UTC of 2026-03-10 if left out.
        store: Used instead of the one in `folder`; a second connector on it is a second process.
        fetch_document: Stands in for the network where apps publish their metadata documents.
        upstream: The way to Oura; straight to the simulator if left out.
        settings: Any setting by name, over the ones used here.
    """
    clock = clock or Clock()
    simulator = simulator or Simulator(now=clock)
    environ = {
        "PUBLIC_URL": URL,
        "DATA_DIR": str(folder),
        "OURA_CLIENT_ID": simulator.client.client_id,
        "OURA_CLIENT_SECRET": simulator.client.client_secret,
        "OURA_OWNER_EMAIL": simulator.person.email,
        "OURA_API_URL": OURA,
        "OURA_AUTHORIZE_URL": f"{OURA}/oauth/authorize",
        "OURA_TOKEN_URLS": f"{OURA}/oauth/token,{OURA}/oauth/v2/ext/oauth-token",
        "OURA_REVOKE_URLS": f"{OURA}/oauth/revoke,{OURA}/oauth/v2/ext/oauth-revoke",
        **settings,
    }
    environ = {name: value for name, value in environ.items() if value}
    http = httpx2.AsyncClient(transport=upstream or httpx2.ASGITransport(simulator.app), trust_env=False)
    parts = build_parts(load_settings(environ), now=clock, http=http, store=store, fetch_document=fetch_document)
    app = assemble(parts)
    started, stop = asyncio.Event(), asyncio.Event()

    async def live() -> None:
        async with app.router.lifespan_context(app):
            started.set()
            await stop.wait()

    # In a task of its own, or what a test raises would come out wrapped by the SDK's task groups.
    life = asyncio.create_task(live())
    waiting = asyncio.create_task(started.wait())
    await asyncio.wait({life, waiting}, return_when=asyncio.FIRST_COMPLETED)
    try:
        if started.is_set():
            yield Vitals(app, parts, simulator, clock, folder)
    finally:
        waiting.cancel()
        stop.set()
        await life


def _silently(_line: str) -> None:
    """Say nothing."""


@pytest.fixture
async def vitals(tmp_path: Path) -> AsyncIterator[Vitals]:
    """One with the usual settings, for a test; the conftest of a room takes it in."""
    async with running_app(tmp_path) as running:
        yield running


def rpc(method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    """One JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
