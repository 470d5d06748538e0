"""A Redis of the bench's own, on loopback, ended by its own id; and what it says of its memory and of its commands."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis import Redis as Client
from redis.exceptions import RedisError

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

    def commands(self) -> dict[str, int]:
        """Return how often each command was asked for so far, this one and the client's own greetings left out."""
        said = self._info("commandstats")
        greetings = {"info", "hello", "client|setinfo", "ping"}
        counted = {name.removeprefix("cmdstat_"): int(stats["calls"]) for name, stats in said.items()}
        return {name: calls for name, calls in counted.items() if name not in greetings}

    def used_bytes(self) -> int:
        """Return the memory in use."""
        return int(self._info("memory")["used_memory"])

    def bytes_of(self, pattern: str) -> int:
        """Return the memory of all keys that match, keys included."""
        with Client(port=self.port) as client:
            return sum(int(client.memory_usage(key) or 0) for key in client.scan_iter(pattern))

    def _info(self, section: str) -> dict[str, Any]:
        with Client(port=self.port) as client:
            said: dict[str, Any] = client.info(section)
            return said


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
            server.used_bytes()
        except RedisError:
            time.sleep(_PAUSE_S)
        else:
            return
    raise RuntimeError("redis-server did not start")
