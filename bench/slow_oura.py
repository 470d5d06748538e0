"""The simulated Oura as a process with a fixed wait before each data request: `python -m bench.slow_oura PORT S`."""

import sys
import time
from datetime import date, timedelta

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.simulator import Simulator

LATENCY_S = 0.120
FIRST, LAST = date(2025, 10, 1), date(2026, 10, 31)  # the days that the figures ask for


class Remembering:
    """Waits before each data request, and answers one that it has answered before from memory.

    Making a page takes the simulated Oura as long as reading it takes the connector; on a machine with few processors
    eight at once would measure the simulator. The real one has processors of its own.
    """

    def __init__(self, app: ASGIApp, *, latency_s: float) -> None:
        self._app = app
        self._latency_s = latency_s
        self._known: dict[tuple[str, bytes], list[Message]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or not scope["path"].startswith("/v2/"):
            await self._app(scope, receive, send)
            return
        await anyio.sleep(self._latency_s)
        key = scope["path"], scope["query_string"]
        if key not in self._known:
            sent: list[Message] = []

            async def keep(message: Message) -> None:
                sent.append(message)

            await self._app(scope, receive, keep)
            self._known[key] = sent
        for message in self._known[key]:
            await send(message)


def build(*, latency_s: float) -> Starlette:
    """Return the application; the days are made beforehand, so that no figure measures the making."""
    simulator = Simulator(now=time.time, control=True)
    day = FIRST
    while day <= LAST:
        simulator.archive.samples("heartrate", day)
        day += timedelta(days=1)

    async def health(_request: Request) -> Response:
        return JSONResponse({"status": "alive"})

    async def token(_request: Request) -> Response:
        return JSONResponse(simulator.sign_in())

    remembering = Remembering(simulator.app, latency_s=latency_s)
    return Starlette(
        routes=[
            Route("/healthz", health),
            Route("/_bench/token", token),
            Mount("/", app=remembering),
        ],
    )


def main() -> None:
    """Serve on loopback; arguments: port, wait in seconds."""
    port, latency_s = int(sys.argv[1]), float(sys.argv[2])
    uvicorn.run(build(latency_s=latency_s), port=port, log_level="warning", access_log=False, ws="none", loop="uvloop")


if __name__ == "__main__":
    main()
