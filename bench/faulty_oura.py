"""The simulated Oura as a process that can be steered through `/_sim`: `python -m bench.faulty_oura PORT`."""

import sys
import time

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from app.simulator import Simulator


def build() -> Starlette:
    """Return the application: two accounts, and whatever faults it is told."""
    simulator = Simulator(now=time.time, control=True)

    async def health(_request: Request) -> Response:
        return JSONResponse({"status": "alive"})

    return Starlette(routes=[Route("/healthz", health), Mount("/", app=simulator.app)])


if __name__ == "__main__":
    uvicorn.run(build(), port=int(sys.argv[1]), log_level="warning", access_log=False, ws="none", loop="uvloop")
