"""Real `vitals` processes on loopback, and a simulated Oura for them on a thread of this one.

with simulated_oura() as oura, vitals("serve", env=oura.settings(tmp_path)) as process:
    process.url
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import uvicorn

from app.demo.walk import App, discover, sign_in
from app.simulator import Simulator

START_S = 30  # a loaded machine; a start takes about one second
STOP_S = 30


def free_port() -> int:
    """A port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Process:
    """A running `vitals`."""

    popen: subprocess.Popen[str]
    url: str
    log: Path  # standard error
    out: Path  # standard output

    @property
    def mcp_url(self) -> str:
        return f"{self.url}/mcp"

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        self.popen.send_signal(number)
        return self.popen.wait(STOP_S)

    def logged(self) -> str:
        return self.log.read_text()

    def said(self) -> str:
        return self.out.read_text()


@contextmanager
def vitals(
    *arguments: str, env: Mapping[str, str], folder: Path, port: int | None = None, ready: bool = True
) -> Iterator[Process]:
    """Start `vitals ARGUMENTS --port PORT` and wait until it is ready; it is gone afterwards.

    Args:
        arguments: Like `serve`, or `serve --workers 2`.
        env: The whole environment but for PATH.
        folder: Where its output is written, and its working folder.
        port: A free one if left out.
        ready: Whether to wait.
    """
    port = port or free_port()
    folder.mkdir(parents=True, exist_ok=True)
    log, out = folder / "stderr.log", folder / "stdout.log"
    command = [sys.executable, "-m", "app", *arguments, "--port", str(port)]
    root = Path(__file__).parents[1]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1", **env}
    with log.open("w") as errors, out.open("w") as lines:
        popen = subprocess.Popen(command, env=environment, cwd=folder, stdout=lines, stderr=errors, text=True)
        process = Process(popen, f"http://127.0.0.1:{port}", log, out)
        try:
            if ready:
                wait_ready(process)
            yield process
        finally:
            if popen.poll() is None:
                popen.kill()
            popen.wait(STOP_S)


def wait_ready(process: Process) -> None:
    """Return when `/readyz` is answered with 200."""
    deadline = time.monotonic() + START_S
    with httpx2.Client(trust_env=False, timeout=5) as http:
        while time.monotonic() < deadline:
            if process.popen.poll() is not None:
                raise AssertionError(f"it ended with {process.popen.returncode}: {process.logged()}{process.said()}")
            try:
                if http.get(f"{process.url}/readyz").status_code == 200:
                    return
            except httpx2.TransportError:
                pass
            process_pause()
    raise AssertionError(f"not ready after {START_S} s: {process.logged()}")


@asynccontextmanager
async def app_at(process: Process, held: App | None = None) -> AsyncIterator[App]:
    """An app that talks to a process: with the tokens of another app, or after its own sign-in as the owner."""
    async with httpx2.AsyncClient(trust_env=False, timeout=30) as http:
        if held is None:
            app = await discover(http, process.mcp_url, _silently)
            async with httpx2.AsyncClient(trust_env=False, timeout=30) as browser:
                await sign_in(app, browser, _silently)
        else:
            app = replace(held, http=http, mcp_url=process.mcp_url)
        yield app


def _silently(_line: str) -> None:
    """Say nothing."""


def process_pause() -> None:
    """Let another process work; there is no event to wait for across processes."""
    threading.Event().wait(0.02)


async def until(look: Callable[[], object], *, is_: object = True) -> None:
    """Return when another process is as far as `look` finds, which may have to be awaited."""
    with anyio.fail_after(START_S):
        while True:
            found = look()
            if (await found if isinstance(found, Awaitable) else found) == is_:
                return
            await anyio.to_thread.run_sync(process_pause)


def run(
    *arguments: str, env: Mapping[str, str], folder: Path, timeout_s: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run a `vitals` command to its end."""
    root = Path(__file__).parents[1]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1", **env}
    return subprocess.run(
        [sys.executable, "-m", "app", *arguments],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


@dataclass
class Oura:
    """A simulated Oura that processes can reach."""

    simulator: Simulator
    url: str

    def settings(self, folder: Path, **more: str) -> dict[str, str]:
        """What a connector against it needs in its environment."""
        return {
            "DATA_DIR": str(folder / "data"),
            "OURA_CLIENT_ID": self.simulator.client.client_id,
            "OURA_CLIENT_SECRET": self.simulator.client.client_secret,
            "OURA_OWNER_EMAIL": self.simulator.person.email,
            "OURA_API_URL": self.url,
            "OURA_AUTHORIZE_URL": f"{self.url}/oauth/authorize",
            "OURA_TOKEN_URLS": f"{self.url}/oauth/token,{self.url}/oauth/v2/ext/oauth-token",
            "OURA_REVOKE_URLS": f"{self.url}/oauth/revoke,{self.url}/oauth/v2/ext/oauth-revoke",
            **more,
        }


@contextmanager
def simulated_oura(**options: Any) -> Iterator[Oura]:
    """Serve a simulated Oura on the real clock; steer it through `.simulator` or its `/_sim` routes."""
    simulator = Simulator(now=time.time, control=True, **options)
    port = free_port()
    config = uvicorn.Config(simulator.app, port=port, log_config=None, access_log=False, ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + START_S
    while not server.started and time.monotonic() < deadline:
        process_pause()
    try:
        yield Oura(simulator, f"http://127.0.0.1:{port}")
    finally:
        server.should_exit = server.force_exit = True
        thread.join(STOP_S)
