"""A Redis of the bench's own, on loopback, ended by its own id; and what it says of its memory and of its commands."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.running import START_S, free_port

_PAUSE_S = 0.01


@dataclass(frozen=True)
class Redis:
    """A running server."""

    port: int

    @property
    def url(self) -> str:
        """What REDIS_URL takes."""
        return f"redis://127.0.0.1:{self.port}/0"

    def info(self, section: str) -> dict[str, str]:
        """Return one section of INFO."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as asked, asked.makefile("rwb") as stream:
            stream.write(f"INFO {section}\r\n".encode())
            stream.flush()
            length = int(stream.readline()[1:])
            lines = stream.read(length).decode().splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)


@contextmanager
def redis(folder: Path) -> Iterator[Redis]:
    """Start an empty server without persistence.

    Raises:
        RuntimeError: There is no `redis-server` or `valkey-server`, or it did not start.
    """
    binary = shutil.which("redis-server") or shutil.which("valkey-server")
    if binary is None:
        raise RuntimeError("this figure needs redis-server or valkey-server on the PATH")
    server = Redis(free_port())
    arguments = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder)]
    popen = subprocess.Popen(
        [binary, "--port", str(server.port), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait(popen, server)
        yield server
    finally:
        popen.kill()
        popen.wait(10)


def _wait(popen: subprocess.Popen[bytes], server: Redis) -> None:
    until = time.perf_counter() + START_S
    while time.perf_counter() < until and popen.poll() is None:
        try:
            server.info("server")
        except (OSError, ValueError):
            time.sleep(_PAUSE_S)
        else:
            return
    raise RuntimeError("redis-server did not start")
