"""Runs the connector and the simulated Oura in one process, with a data folder that is gone afterwards."""

import asyncio
import contextlib
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import httpx2
import uvicorn
from starlette.types import ASGIApp

from app import logs
from app.demo.walk import WalkFailed, walk
from app.errors import SettingsError
from app.main import build_app
from app.serving import bind, configuration
from app.settings import Settings, load_settings
from app.simulator import App, Simulator

HOST = "127.0.0.1"
_PORTS_TRIED = 50


def run_demo(*, port: int, once: bool) -> int:
    """Run until a signal ends it, or until the one walk is done; return the exit code.

    Raises:
        SettingsError: No port is free.
    """
    logs.configure(level="warning" if once else "info")
    return anyio.run(_run, port, once, backend_options={"use_uvloop": True})


async def _run(port: int, once: bool) -> int:
    with TemporaryDirectory(prefix="vitals-demo-") as folder:
        own, taken = _first_free(port)
        oura = bind(HOST, 0)
        simulator = Simulator(now=time.time, app=App())
        settings = demo_settings(own.getsockname()[1], oura.getsockname()[1], simulator, Path(folder))
        upstream, server = _Server(simulator.app), _Server(build_app(settings))
        async with anyio.create_task_group() as group:
            group.start_soon(upstream.until_ended, oura)
            await upstream.ready.wait()
            group.start_soon(server.until_ended, own)
            await server.ready.wait()
            if once:
                code = await _walk(settings.public_url)
            else:
                if taken:
                    print(f"Port {port} is in use, so this is on the next free one.")
                print(_welcome(settings.public_url, f"http://{HOST}:{oura.getsockname()[1]}"), flush=True)
                await _until_told_to_stop()
                code = 0
            # The connector first: what it has under way may still need the other.
            server.should_exit = True
            await server.ended.wait()
            upstream.should_exit = True
        return code


def demo_settings(port: int, oura_port: int, simulator: Simulator, folder: Path) -> Settings:
    """Return the settings of a connector that knows only the simulated Oura."""
    oura = f"http://{HOST}:{oura_port}"
    return load_settings(
        {
            "PORT": str(port),
            "DATA_DIR": str(folder),
            "OURA_CLIENT_ID": simulator.client.client_id,
            "OURA_CLIENT_SECRET": simulator.client.client_secret,
            "OURA_OWNER_EMAIL": simulator.person.email,
            "OURA_API_URL": oura,
            "OURA_AUTHORIZE_URL": f"{oura}/oauth/authorize",
            "OURA_TOKEN_URLS": f"{oura}/oauth/token,{oura}/oauth/v2/ext/oauth-token",
            "OURA_REVOKE_URLS": f"{oura}/oauth/revoke,{oura}/oauth/v2/ext/oauth-revoke",
        }
    )


class _Server(uvicorn.Server):
    """A server that says when it is ready and when it has ended, and leaves signals to whoever runs two of them."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(configuration(app))
        self.ready = anyio.Event()
        self.ended = anyio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Say when requests are answered."""
        await super().startup(sockets)
        self.ready.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them alone."""
        yield

    async def until_ended(self, listener: socket.socket) -> None:
        """Serve, and say when that is over."""
        try:
            await self.serve(sockets=[listener])
        finally:
            self.ended.set()


def _first_free(port: int) -> tuple[socket.socket, bool]:
    """Take `port` or the next free one; say whether it was another."""
    for candidate in range(port, min(port + _PORTS_TRIED, 65_536)):
        with contextlib.suppress(SettingsError):
            return bind(HOST, candidate), candidate != port
    raise SettingsError(f"No port from {port} on is free. Choose another, for example --port 18000.")


async def _walk(public_url: str) -> int:
    try:
        await walk(public_url, say=lambda line: print(line, flush=True))
    except WalkFailed as exc:
        print(f"vitals demo: {exc}", file=sys.stderr)
        return 1
    except httpx2.HTTPError as exc:
        print(f"vitals demo: no answer to a request on loopback ({type(exc).__name__}).", file=sys.stderr)
        return 1
    return 0


async def _until_told_to_stop() -> None:
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told.set)
    await told.wait()


def _welcome(public_url: str, oura: str) -> str:
    return f"""
vitals demo: the real connector, a simulated Oura, nobody's data. Everything is gone when you stop it (Ctrl+C).

  MCP address    {public_url}/mcp
  Claude Code    claude mcp add --transport http vitals {public_url}/mcp
                 then /mcp in Claude Code, choose vitals, and sign in
  Other apps     add {public_url}/mcp as a remote MCP server over HTTP, on this computer
  Your pages     {public_url}/

What to try
  Sign in as the owner. Then once as a stranger, on the simulated Oura's page: you are turned away.
  Ask: "How did I sleep last night?"
       "Show my readiness of the last two weeks as a table."
       "What was my lowest heart rate each night this month?"
  End the app's access at {public_url}/connections, and ask again.

The simulated Oura, where signing in leads you, is at {oura}. It has no start page.
"""
