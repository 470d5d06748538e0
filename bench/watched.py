"""The connector as it is served, with a heartbeat on its event loop: `python -m bench.watched`; port in PORT.

`GET /_bench/since` tells what happened since it was asked last: the longest time the loop did not come round, and the
most memory.
"""

import asyncio
import contextlib
import json
import os
import time
from collections.abc import AsyncIterator

import psutil
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from app.main import from_environment
from app.serving import configuration

BEAT_S = 0.005


class Heartbeat:
    """Measures how late the loop is, and the memory at each beat."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self.late_s = 0.0
        self.rss = 0

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            before = time.perf_counter()
            await asyncio.sleep(BEAT_S)
            self.late_s = max(self.late_s, time.perf_counter() - before - BEAT_S)
            self.rss = max(self.rss, self._process.memory_info().rss)

    def since(self) -> dict[str, float]:
        """Tell, and begin anew."""
        told = {"late_ms": self.late_s * 1000, "rss_mb": self.rss / 2**20}
        self.late_s, self.rss = 0.0, 0
        return told


class Watched:
    """The connector's application and one address more."""

    def __init__(self, app: ASGIApp, heart: Heartbeat) -> None:
        self._app = app
        self._heart = heart

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["path"] != "/_bench/since":
            await self._app(scope, receive, send)
            return
        body = json.dumps(self._heart.since()).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": body})


@contextlib.asynccontextmanager
async def beating(heart: Heartbeat) -> AsyncIterator[None]:
    """Let the heart beat while inside."""
    task = asyncio.create_task(heart.run())
    try:
        yield
    finally:
        task.cancel()


async def _serve() -> None:
    heart = Heartbeat()
    config = configuration(Watched(from_environment(), heart))
    config.port = int(os.environ["PORT"])
    async with beating(heart):
        await uvicorn.Server(config).serve()


def main() -> None:
    """Serve on loopback."""
    import uvloop  # noqa: PLC0415 -- only where it is served

    uvloop.run(_serve())


if __name__ == "__main__":
    main()
