"""Puts requests of real clients right before the SDK sees them, for authenticated requests on `/mcp` and `/mcp/`.

- only POST is answered (the server is stateless: there is no stream to GET and no session to DELETE);
- a missing, narrow or odd Accept becomes what the SDK insists on, or JSON alone if the client reads nothing else;
- blanks around a header's value are taken off, as the parser of the server leaves those behind it (RFC 9110, 5.5);
- a Content-Type counts in any case (RFC 9110, 8.3.1);
- an empty probe gets the JSON-RPC error that it is, with 200, as a 400 makes one client give up;
- a `server/discover` without `Mcp-Method` is given it, as a 400 makes the same client show no tools.

Source: `clients/FACTS.md` of the project's research, sections 2, 3 and 7.
"""

from collections import deque
from functools import lru_cache

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.web.replies import json_reply, problem
from app.web.wording import reworded

JSON, STREAM = "application/json", "text/event-stream"

_VERSION, _METHOD, _MEDIA = b"mcp-protocol-version", b"mcp-method", b"content-type"
_DISCOVER = "server/discover"
_LARGEST_PROBE_BYTES = 8
_LARGEST_DISCOVER_BYTES = 16 * 1024
_NOT_A_REQUEST = {
    "jsonrpc": "2.0",
    "id": None,
    "error": {"code": -32600, "message": "Send one JSON-RPC request, for example initialize."},
}


class Wire:
    """See the module."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["method"] != "POST":
            await problem(
                405,
                "method_not_allowed",
                "Only POST is answered here: it carries one JSON-RPC request.",
                {"allow": "POST"},
            )(scope, receive, send)
            return
        body, cut = await _read(receive)
        if not cut and len(body) <= _LARGEST_PROBE_BYTES and body.strip() in {b"", b"{}", b"[]"}:
            await json_reply(200, _NOT_A_REQUEST)(scope, receive, send)
            return
        headers, accepts = [], []
        named = versioned = False
        for name, value in scope["headers"]:
            if name == b"accept":
                accepts.append(value.decode("latin-1"))
                continue
            bare = value.strip(b" \t")
            headers.append((name, bare.lower() if name == _MEDIA else bare))
            named = named or name == _METHOD
            versioned = versioned or name == _VERSION
        headers.append((b"accept", acceptable(accepts).encode()))
        if versioned and not named and _is_discover(body):
            headers.append((_METHOD, _DISCOVER.encode()))
        inner = {**scope, "path": "/mcp", "raw_path": b"/mcp", "headers": headers}
        await self.app(inner, _replay(body, cut, receive), reworded(send, body))


def acceptable(values: list[str]) -> str:
    """Return the Accept value to hand to the SDK: both kinds, or JSON alone for a client that reads only that.

    A client that names neither kind gets both: it posted JSON-RPC, so it reads its answers.
    """
    return _acceptable(",".join(values))


@lru_cache(maxsize=64)  # apps send a handful of them, over and over
def _acceptable(value: str) -> str:
    ranges = {}
    for part in value.split(","):
        media, *parameters = (piece.strip().lower() for piece in part.split(";"))
        if media:
            ranges[media] = not any(p.replace(" ", "") in {"q=0", "q=0.0", "q=0.00", "q=0.000"} for p in parameters)

    def reads(kind: str) -> bool:
        return next((ranges[r] for r in (kind, kind.replace(kind.partition("/")[2], "*"), "*/*") if r in ranges), False)

    return JSON if reads(JSON) and not reads(STREAM) else f"{JSON}, {STREAM}"


def _is_discover(body: bytes) -> bool:
    if len(body) > _LARGEST_DISCOVER_BYTES or _DISCOVER.encode() not in body:
        return False
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    return isinstance(message, dict) and message.get("method") == _DISCOVER


async def _read(receive: Receive) -> tuple[bytes, bool]:
    """Return the body and whether the client left before its end. Its size was bounded by `guard.BodyLimit`."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b"".join(parts), True
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts), False


def _replay(body: bytes, cut: bool, receive: Receive) -> Receive:
    waiting: deque[Message] = deque([{"type": "http.request", "body": body, "more_body": cut}])
    if cut:
        waiting.append({"type": "http.disconnect"})

    async def replay() -> Message:
        return waiting.popleft() if waiting else await receive()

    return replay
