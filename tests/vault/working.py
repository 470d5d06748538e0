"""Workers on a shared store, and what they find there: an owner whose access token has run out."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from app.vault.connections import Connections
from tests.store.conftest import Clock, Place
from tests.vault.ada import KEYS
from tests.vault.conftest import connection
from tests.vault.loopback import TokenServer, token_server


@pytest.fixture
def server() -> Iterator[TokenServer]:
    with token_server() as server:
        yield server


@pytest.fixture
def clock() -> Clock:
    return Clock(at=time.time())  # the processes have the machine's clock


@pytest.fixture
async def linked(place: Place, server: TokenServer, clock: Clock) -> Place:
    """A store with an owner whose access token has run out."""
    store = place.open()
    await Connections(store, KEYS).connect(replace(connection(clock), token_url=server.url))
    await store.aclose()
    return place


class Process:
    """A worker, started and ready.

    Args:
        place: Its store.
        later_s: How far its clock is ahead.
        callers: How many ask at once.
        step: The checkpoint at which it does what `end` says.
        end: See `worker`.
        timing: Arguments of its `Rotation`.
    """

    def __init__(
        self,
        place: Place,
        *,
        later_s: float = 0,
        callers: int = 1,
        step: str = "",
        end: str = "",
        timing: Mapping[str, float] | None = None,
    ) -> None:
        order = {"later_s": later_s, "callers": callers, "step": step, "end": end, "timing": dict(timing or {})}
        self._worker = subprocess.Popen(
            [sys.executable, "-m", "tests.vault.worker", *place.arguments, json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self._worker.pid
        assert self._worker.stdout is not None
        if self._worker.stdout.readline() != "ready\n":
            self._worker.communicate()
            raise RuntimeError("the worker did not start")

    def go(self) -> None:
        assert self._worker.stdin is not None
        self._worker.stdin.write("go\n")
        self._worker.stdin.flush()

    def until_it_stands_still(self) -> None:
        """Return when it has stopped itself."""
        _, status = os.waitpid(self.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def end(self) -> tuple[int, list[str]]:
        """Return its exit code and what it printed."""
        printed, _ = self._worker.communicate(timeout=60)
        return self._worker.returncode, printed.splitlines()
