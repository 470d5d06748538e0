"""One log line per request: method, which of our paths, status, duration. No address, query, header or body."""

import time
from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import logs

log = logs.get(__name__)


class AccessLog:
    """Logs each request under a known path; an unknown path is written as `other`, since it may hold anything."""

    def __init__(self, app: ASGIApp, *, paths: Iterable[str], quiet: Iterable[str] = ()) -> None:
        self.app = app
        self.paths = frozenset(paths)
        self.quiet = frozenset(quiet)  # asked every few seconds by a platform; logged only when they fail

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request and log how it went, also when it was cut off."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 0  # stays 0 if the client left before an answer began
        path = scope["path"]  # as asked for: the app below may rewrite it
        began = time.perf_counter()

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])  # an HTTPStatus would be written by its name
            await send(message)

        try:
            await self.app(scope, receive, watch)
        finally:
            if path not in self.quiet or status >= 400:
                log.info(
                    "request",
                    method=scope["method"] if scope["method"].isalpha() else "other",
                    path=path if path in self.paths else "/static" if path.startswith("/static/") else "other",
                    status=status,
                    duration_ms=round((time.perf_counter() - began) * 1000, 1),
                )
