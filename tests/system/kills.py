"""Processes to be killed, and the world they leave behind: one store, one simulated Oura, a clock that jumps."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from app.identity import owner_key
from app.parts import Parts, build_parts
from app.settings import load_settings
from app.store.base import Store
from app.store.opening import FILE_NAME
from app.store.redis import RedisStore
from app.store.sqlite import SqliteStore
from app.vault.connections import Connection
from tests.processes import Oura, free_port, simulated_oura
from tests.store.conftest import end_leases
from tests.system.conftest import Backend

AFTER_A_LEASE_S = 31.0  # past the lease of a killed process, and past the moment until which its intent bars others
ROOT = Path(__file__).parents[2]


class Nursery:
    """Forks processes on demand."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count()
        self._popen = subprocess.Popen(
            [sys.executable, "-m", "tests.system.nursery"],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._read()

    def start(
        self,
        env: dict[str, str],
        *,
        port: int,
        die_at: int | None = None,
        offset_s: float = 0,
        travels: bool = True,
    ) -> "Forked":
        """Start a process and wait until it listens.

        Args:
            env: Its settings.
            port: Where it listens.
            die_at: The number of the step at which it kills itself.
            offset_s: How far its clock is ahead of this machine's.
            travels: Its clock was moved by a test on purpose, and so was everybody's; else it is simply wrong.
        """
        number = next(self._numbers)
        forked = Forked(self, 0, port, self._folder / f"{number}.steps", self._folder / f"{number}.log")
        answer = self.order(
            do="start",
            env=env,
            port=port,
            die_at=die_at,
            offset_s=offset_s,
            travels=travels,
            steps=str(forked.steps_file),
            log=str(forked.log),
        )
        assert answer["up"], forked.log.read_text()
        forked.pid = answer["pid"]
        return forked

    def order(self, **order: Any) -> dict[str, Any]:
        assert self._popen.stdin is not None
        self._popen.stdin.write(json.dumps(order) + "\n")
        self._popen.stdin.flush()
        return self._read()

    def close(self) -> None:
        self._popen.communicate(timeout=10)  # its input ends, and so does it

    def _read(self) -> dict[str, Any]:
        assert self._popen.stdout is not None
        line = self._popen.stdout.readline()
        assert line, "the nursery ended"
        answer: dict[str, Any] = json.loads(line)
        return answer


@dataclass
class Forked:
    """One process of a nursery."""

    nursery: Nursery
    pid: int
    port: int
    steps_file: Path
    log: Path
    ended: int | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def steps(self) -> list[str]:
        """What it went through since its first request."""
        return self.steps_file.read_text().splitlines()

    def wait(self, seconds: float = 30) -> int | None:
        """Return its exit code, negative for a signal; None if it goes on living."""
        if self.ended is None:
            self.ended = self.nursery.order(do="wait", pid=self.pid, seconds=seconds)["ended"]
        return self.ended

    def kill(self) -> None:
        if self.ended is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()


@contextmanager
def nursery(folder: Path) -> Iterator[Nursery]:
    opened = Nursery(folder)
    try:
        yield opened
    finally:
        opened.close()


@dataclass
class World:
    """What processes share, and what a test may look at from outside."""

    oura: Oura
    nursery: Nursery
    env: dict[str, str]
    port: int
    parts: Parts  # of this process, which is one more on the same store
    travelled: list[float] = field(default_factory=lambda: [0.0])

    @property
    def owner(self) -> str:
        return owner_key(self.oura.simulator.person.email)

    def start(self, *, die_at: int | None = None) -> Forked:
        return self.nursery.start(self.env, port=self.port, die_at=die_at, offset_s=self.travelled[0])

    async def later(self) -> None:
        """Let time pass until nothing of a killed process stands in the way."""
        self.travelled[0] += AFTER_A_LEASE_S
        url = self.env.get("REDIS_URL")  # leases run in real time; that they end is shown in tests/store
        await end_leases(redis=url, sqlite=None if url else self.parts.settings.data_dir / FILE_NAME)

    async def connect(self) -> None:
        """Let the owner sign in at Oura, without a browser."""
        tokens = self.oura.simulator.sign_in()
        now = self.parts.now()
        await self.parts.connections.connect(
            Connection(
                source="oura",
                owner=self.owner,
                account_id=self.oura.simulator.person.account_id,
                access_token=str(tokens["access_token"]),
                refresh_token=str(tokens["refresh_token"]),
                expires_at=now + float(str(tokens["expires_in"])),
                obtained_at=now,
                scopes=None,
                token_url=self.parts.settings.oura_token_urls[0],
                timezone="Europe/Berlin",
            )
        )

    def families_alive(self) -> int:
        return sum(family.alive for family in self.oura.simulator.grants.families)


@asynccontextmanager
async def world(backend: Backend, folder: Path) -> AsyncIterator[World]:
    """A store with nothing in it, and everything around it."""
    travelled = [0.0]

    def now() -> float:
        return time.time() + travelled[0]

    port = free_port()
    with simulated_oura() as oura, nursery(folder) as forks:
        env = {**oura.settings(backend.folder, **backend.settings), "PORT": str(port)}
        settings = load_settings(env)
        url = settings.redis_url.get_secret_value()
        store: Store = RedisStore(url, now=now) if url else SqliteStore(settings.data_dir / FILE_NAME, now=now)
        parts = build_parts(settings, now=now, store=store)
        try:
            yield World(oura, forks, env, port, parts, travelled)
        finally:
            await parts.aclose()


def http() -> httpx2.AsyncClient:
    """A client that keeps nothing of the processes before."""
    return httpx2.AsyncClient(trust_env=False, timeout=40)
