"""What a request must be before anything reads it: for our host, from no foreign page, of a bounded size."""

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.authserver.redirects import LOOPBACK_HOSTS
from app.web.headers import Answer
from app.web.replies import Refused, problem

_DEFAULT_PORTS = {"https": 443, "http": 80}

MCP_PATHS = frozenset({"/mcp", "/mcp/"})
ANY_HOST_PATHS = frozenset({"/healthz", "/readyz"})  # a platform's probe asks by the machine's own address
MCP_BODY_BYTES = 4 * 1024 * 1024
FORM_BODY_BYTES = 64 * 1024  # forms and registrations; the longest honest one is a few kB


def known_hosts(public_url: str) -> frozenset[str]:
    """Return every value of the Host header that means this service."""
    parts = urlsplit(public_url)
    default = _DEFAULT_PORTS[parts.scheme]
    host = parts.hostname or ""
    hosts = LOOPBACK_HOSTS if host in LOOPBACK_HOSTS else {host}
    names = {f"[{name}]" if ":" in name else name for name in hosts}
    known = {f"{name}:{parts.port or default}" for name in names}
    return frozenset(known | names if parts.port in {None, default} else known)


class HostCheck:
    """Refuses a request for another host with 421: a page that rebinds its name to us gets nothing.

    A browser is shown where to go and never sent there: behind a proxy that does not pass Host on, our own address
    arrives as another one too, and a redirect to it would go round in circles.

    Source: CVE-2025-66416; MCP 2025-11-25, Transports, security warning.
    """

    def __init__(self, app: ASGIApp, *, public_url: str, answer: Answer) -> None:
        self.app = app
        self.hosts = known_hosts(public_url)
        self.answer = answer
        self.text = (
            f"This server answers at {public_url} only. If that is where you asked, the proxy in front of it has to "
            "pass the Host header on."
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and scope["path"] not in ANY_HOST_PATHS:
            hosts = Headers(scope=scope).getlist("host")
            if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
                refused = Refused(421, "misdirected_request", self.text)
                response = await self.answer(Request(scope), refused)
                await response(scope, receive, send)
                return
        await self.app(scope, receive, send)


class OriginCheck:
    """Refuses a request that a foreign web page made: 403. Apps that are not web pages send no Origin.

    On loopback, pages on loopback are let through: they are the owner's own tools (the MCP Inspector).
    """

    def __init__(self, app: ASGIApp, *, public_url: str) -> None:
        self.app = app
        self.own = public_url
        self.local = urlsplit(public_url).hostname in LOOPBACK_HOSTS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        origins = Headers(scope=scope).getlist("origin")
        if origins and not (len(origins) == 1 and self._ours(origins[0].lower())):
            text = "A web page of another origin may not call this server. Use an app that is not a web page."
            await problem(403, "forbidden_origin", text)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _ours(self, origin: str) -> bool:
        if origin == self.own:
            return True
        if not self.local:
            return False
        try:
            parts = urlsplit(origin)
            return parts.scheme in _DEFAULT_PORTS and parts.hostname in LOOPBACK_HOSTS
        except ValueError:
            return False


class BodyLimit:
    """Ends a request whose body is larger than its path may take, with 413, before more of it is held in memory.

    It acts when the body is first read: a request that is refused earlier (401) is refused as such, whatever its size.
    """

    def __init__(self, app: ASGIApp, *, answer: Answer) -> None:
        self.app = app
        self.answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = MCP_BODY_BYTES if scope["path"] in MCP_PATHS else FORM_BODY_BYTES
        declared = Headers(scope=scope).get("content-length", "")
        received = limit + 1 if _exceeds(declared, limit) else 0
        started = False

        async def bounded() -> Message:
            nonlocal received
            if received > limit:
                raise BodyTooLarge(limit)
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise BodyTooLarge(limit)
            return message

        async def watch(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, bounded, watch)
        except BodyTooLarge as exc:
            if started:
                raise
            response = await self.answer(Request(scope), exc)
            await response(scope, receive, send)


def _exceeds(declared: str, limit: int) -> bool:
    """Say whether a Content-Length is over a limit. Digits are counted first: Python refuses to read 5,000 of them."""
    digits = declared.lstrip("0")
    return digits.isdecimal() and (len(digits) > len(str(limit)) or int(digits) > limit)


class BodyTooLarge(Refused):
    """More was sent than the path takes; where Starlette catches it first, it answers the same."""

    def __init__(self, limit: int) -> None:
        text = f"The request is larger than the {limit} bytes that are taken at this address."
        super().__init__(413, "request_too_large", text, {"connection": "close"})  # a client still sending is to stop
