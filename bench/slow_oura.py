"""The simulated Oura as a process with a fixed wait before each data request: `python -m bench.slow_oura PORT S`."""

import sys
import time
from datetime import date, timedelta

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from app.simulator import Simulator

LATENCY_S = 0.120
FIRST, LAST = date(2025, 10, 1), date(2026, 10, 31)  # the days that the figures ask for


def build(*, latency_s: float) -> Starlette:
    """Return the application; the days are made beforehand, so that no figure measures the making."""
    simulator = Simulator(now=time.time, control=True)
    if latency_s:
        simulator.faults.add("latency", "/v2/*", times=None, seconds=latency_s)
    day = FIRST
    while day <= LAST:
        simulator.archive.samples("heartrate", day)
        day += timedelta(days=1)

    async def health(_request: Request) -> Response:
        return JSONResponse({"status": "alive"})

    async def token(_request: Request) -> Response:
        return JSONResponse(simulator.sign_in())

    return Starlette(
        routes=[Route("/healthz", health), Route("/_bench/token", token), Mount("/", app=simulator.app)],
    )


def main() -> None:
    """Serve on loopback; arguments: port, wait in seconds."""
    port, latency_s = int(sys.argv[1]), float(sys.argv[2])
    uvicorn.run(build(latency_s=latency_s), port=port, log_level="warning", access_log=False, ws="none", loop="uvloop")


if __name__ == "__main__":
    main()
