"""The connector as a process against the simulated Oura, and an app that signed in to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import httpx2

from app.demo.walk import App, discover, sign_in
from app.simulator import App as Registered
from app.simulator import Person
from bench.running import Child, child, free_port, silently


@contextmanager
def slow_oura(folder: Path, *, latency_s: float) -> Iterator[Child]:
    """Serve the simulated Oura."""
    port = free_port()
    command = ("-m", "bench.slow_oura", str(port), str(latency_s))
    with child(*command, port=port, env={}, folder=folder) as running:
        yield running


@contextmanager
def vitals(folder: Path, oura_url: str, *command: str, **more: str) -> Iterator[Child]:
    """Serve the connector with a SQLite store in `folder`.

    Args:
        folder: Its data and its log.
        oura_url: Origin of the simulated Oura.
        command: What to run instead of `-m app serve`; its port stands in PORT.
        more: Further settings; PORT is a free one if left out.
    """
    port = int(more.get("PORT") or free_port())
    client = Registered()
    env = {
        "PORT": str(port),
        "DATA_DIR": str(folder / "data"),
        "OURA_CLIENT_ID": client.client_id,
        "OURA_CLIENT_SECRET": client.client_secret,
        "OURA_OWNER_EMAIL": Person.traveller().email,
        "OURA_API_URL": oura_url,
        "OURA_AUTHORIZE_URL": f"{oura_url}/oauth/authorize",
        "OURA_TOKEN_URLS": f"{oura_url}/oauth/token",
        "OURA_REVOKE_URLS": f"{oura_url}/oauth/revoke",
        **more,
    }
    with child(*(command or ("-m", "app", "serve")), port=port, env=env, folder=folder) as running:
        yield running


def connected(running: Child) -> App:
    """Return an app that signed in as the owner; its HTTP client is closed."""
    return anyio.run(_connect, running)


async def _connect(running: Child) -> App:
    async with httpx2.AsyncClient(trust_env=False, timeout=30) as http:
        app = await discover(http, f"{running.url}/mcp", silently)
        async with httpx2.AsyncClient(trust_env=False, timeout=30) as browser:
            await sign_in(app, browser, silently)
        return app
