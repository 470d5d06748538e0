"""The connector on loopback for a tool that cannot sign in: each request is given a live token.

Nothing else of it is touched: Host, Origin, headers and body meet what they meet in production.
"""

import contextlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from app.demo.walk import discover, sign_in
from app.serving import bind, configuration
from tests.app_under_test import OURA, running_app


class Bearing:
    """Adds the Authorization header to a request that has none."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app = app
        self.token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not any(name == b"authorization" for name, _ in scope["headers"]):
            bearer = (b"authorization", f"Bearer {self.token}".encode())
            scope = {**scope, "headers": [*scope["headers"], bearer]}
        await self.app(scope, receive, send)


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them to pytest."""
        yield


@asynccontextmanager
async def open_to_all(folder: Path) -> AsyncIterator[str]:
    """Serve a connector that an owner has signed in to; yields the address of its MCP endpoint."""
    listener = bind("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with listener:
        async with running_app(folder, PUBLIC_URL=url) as vitals:
            transports = {
                url: httpx2.ASGITransport(vitals.app, raise_app_exceptions=False),
                OURA: httpx2.ASGITransport(vitals.simulator.app),
            }
            async with (
                httpx2.AsyncClient(mounts=transports, trust_env=False) as http,
                httpx2.AsyncClient(mounts=transports, trust_env=False) as browser,
            ):
                app = await discover(http, f"{url}/mcp", _silently)
                await sign_in(app, browser, _silently)
            config = configuration(Bearing(vitals.app, app.access_token))
            config.lifespan = "off"  # it runs already
            server = _Server(config)
            async with anyio.create_task_group() as group:
                group.start_soon(server.serve, [listener])
                with anyio.fail_after(20):
                    while not server.started:
                        await anyio.lowlevel.checkpoint()
                try:
                    yield f"{url}/mcp"
                finally:
                    server.should_exit = True


def _silently(_line: str) -> None:
    """Say nothing."""
