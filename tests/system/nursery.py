"""Real `vitals` processes, each forked from one that has imported everything: `python -m tests.system.nursery`.

Imports take most of a start, so a process that lives to be killed costs a tenth of a whole one. It serves the real
application over HTTP. Around its store, its calls to Oura's token endpoint and the checkpoints of a renewal it counts
the steps that a request takes, and kills itself at the one it was told.

Orders come as JSON, one on a line, and each is answered by one: see `tests.system.kills`.
"""

import json
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx2
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from app import logs
from app.main import assemble
from app.parts import build_parts
from app.serving import bind, configuration
from app.settings import Settings, load_settings
from app.store.base import Store
from app.store.opening import choose_store
from app.store.redis import RedisStore

START_S = 60.0


class Steps:
    """Writes down each step since the first request; kills this process at one of them."""

    def __init__(self, path: str, die_at: int | None) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        self._die_at = die_at
        self._count = 0
        self.armed = False

    def reach(self, name: str) -> None:
        if not self.armed:
            return
        os.write(self._file, f"{name}\n".encode())
        if self._count == self._die_at:
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)  # the signal may take another thread first: nothing may follow on this one
        self._count += 1


class WatchedStore:
    """A store that tells before and after each call that can change something, and before each that cannot."""

    def __init__(self, inner: Store, steps: Steps) -> None:
        self._inner = inner
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def get(self, key: str) -> bytes | None:
        self._steps.reach(f"before get {_kind(key)}")
        return await self._inner.get(key)

    async def put(self, key: str, value: bytes, *, ttl_s: float | None = None) -> None:
        self._steps.reach(f"before put {_kind(key)}")
        await self._inner.put(key, value, ttl_s=ttl_s)
        self._steps.reach(f"after put {_kind(key)}")

    async def compare_and_set(
        self, key: str, expected: bytes | None, value: bytes, *, ttl_s: float | None = None
    ) -> bool:
        self._steps.reach(f"before compare_and_set {_kind(key)}")
        done = await self._inner.compare_and_set(key, expected, value, ttl_s=ttl_s)
        self._steps.reach(f"after compare_and_set {_kind(key)}")
        return done

    async def take(self, key: str) -> bytes | None:
        self._steps.reach(f"before take {_kind(key)}")
        taken = await self._inner.take(key)
        self._steps.reach(f"after take {_kind(key)}")
        return taken

    async def delete(self, key: str) -> bool:
        self._steps.reach(f"before delete {_kind(key)}")
        deleted = await self._inner.delete(key)
        self._steps.reach(f"after delete {_kind(key)}")
        return deleted

    @asynccontextmanager
    async def lease(self, name: str, *, ttl_s: float, wait_s: float) -> AsyncIterator[int]:
        self._steps.reach(f"before lease {_kind(name)}")
        async with self._inner.lease(name, ttl_s=ttl_s, wait_s=wait_s) as fence:
            self._steps.reach(f"after lease {_kind(name)}")
            yield fence
            self._steps.reach(f"before release {_kind(name)}")
        self._steps.reach(f"after release {_kind(name)}")


class Armed:
    """The application; its first request begins the count."""

    def __init__(self, app: ASGIApp, steps: Steps) -> None:
        self._app = app
        self._steps = steps

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self._steps.armed = True
        await self._app(scope, receive, send)


def _kind(key: str) -> str:
    return key.partition(":")[0]


def _store(settings: Settings, now: Callable[[], float], *, travels: bool) -> Store:
    url = settings.redis_url.get_secret_value()
    if url and travels:  # else Redis would put a clock right that a test has moved
        return RedisStore(url, now=now)
    return choose_store(data_dir=settings.data_dir, redis_url=url or None, now=now)


def live(order: dict[str, Any]) -> None:
    """Be a `vitals` process until killed."""
    log = os.open(order["log"], os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    for stream in (1, 2):
        os.dup2(log, stream)
    settings = load_settings(order["env"])
    logs.configure(level="info", style="json")
    steps = Steps(order["steps"], order["die_at"])
    offset_s = order["offset_s"]

    def now() -> float:
        return time.time() + float(offset_s)

    store = WatchedStore(_store(settings, now, travels=order["travels"]), steps)
    parts = build_parts(settings, now=now, store=cast("Store", store))

    async def checkpoint(step: str) -> None:
        steps.reach(f"checkpoint {step}")

    async def sends(request: httpx2.Request) -> None:
        steps.reach(f"before {request.method} {request.url.path}")

    async def answered(response: httpx2.Response) -> None:
        steps.reach(f"after {response.request.method} {response.request.url.path}")

    parts.rotation._renewal._checkpoint = checkpoint
    parts.token_http.event_hooks = {"request": [sends], "response": [answered]}
    listener = bind("127.0.0.1", order["port"])
    server = uvicorn.Server(configuration(Armed(assemble(parts), steps)))
    server.run(sockets=[listener])


def _start(order: dict[str, Any]) -> dict[str, object]:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            live(order)
            code = 0
        finally:
            os._exit(code)
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", order["port"])) == 0:
                return {"pid": pid, "up": True}
        if os.waitpid(pid, os.WNOHANG)[0]:
            break
        time.sleep(0.005)
    return {"pid": pid, "up": False}


def _wait(order: dict[str, Any]) -> dict[str, object]:
    deadline = time.monotonic() + float(order["seconds"])
    while time.monotonic() < deadline:
        pid, status = os.waitpid(order["pid"], os.WNOHANG)
        if pid:
            return {"ended": os.waitstatus_to_exitcode(status)}
        time.sleep(0.002)
    return {"ended": None}


def main() -> None:
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        print(json.dumps((_start if order["do"] == "start" else _wait)(order)), flush=True)


if __name__ == "__main__":
    main()
