"""What every response carries, and what is answered when something below failed; outermost, so nothing is missed."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import logs

Answer = Callable[[Request, Exception], Awaitable[Response]]
log = logs.get(__name__)

# No Cross-Origin-Opener-Policy: hosts open the sign-in in a popup and wait for it through `window.opener`.
_ALWAYS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",  # pages set their own
    "cache-control": "no-store",  # metadata and static files set their own
}
_HSTS = "max-age=31536000"


class Outermost:
    """Adds the security headers a response does not set itself; turns what was not caught into a bare 500 or 503."""

    def __init__(self, app: ASGIApp, *, https: bool, answer: Answer) -> None:
        self.app = app
        self.answer = answer
        headers = {**_ALWAYS, **({"strict-transport-security": _HSTS} if https else {})}
        self.headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                set_already = {name.lower() for name, _ in message.get("headers", ())}
                more = [each for each in self.headers if each[0] not in set_already]
                message["headers"] = [*message.get("headers", ()), *more]
            await send(message)

        try:
            await self.app(scope, receive, send_with_headers)
        except Exception as exc:
            log.error("request_failed", error=logs.kind(exc), where=logs.place(exc), method=scope["method"])
            if started:  # half an answer must not look like a whole one: let the server cut the connection
                raise
            response = await self.answer(Request(scope, receive), exc)
            await response(scope, receive, send_with_headers)
