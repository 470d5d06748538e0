"""Two questions of a hosting platform: is the process alive (`/healthz`), can it work (`/readyz`)."""

from collections.abc import Awaitable, Callable

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.errors import StoreUnavailable
from app.web.replies import json_reply

_PING_S = 3  # shorter than the usual 5 s patience of a platform's probe


def health_routes(ping: Callable[[], Awaitable[None]], *, version: str) -> list[Route]:
    """Return the routes; `ping` is the store's. HEAD is answered like GET."""

    async def alive(_request: Request) -> Response:
        return json_reply(200, {"status": "alive", "version": version})

    async def ready(_request: Request) -> Response:
        try:
            with anyio.fail_after(_PING_S):
                await ping()
        except (StoreUnavailable, TimeoutError):
            return json_reply(503, {"status": "store unreachable"}, {"retry-after": "5"})
        return json_reply(200, {"status": "ready"})

    return [Route("/healthz", alive, methods=["GET"]), Route("/readyz", ready, methods=["GET"])]
