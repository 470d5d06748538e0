"""The MCP server as an ASGI app: the SDK's transport, as JSON where nobody waits for progress.

The SDK can answer a POST as one JSON body, which costs a good part less, or as an event stream, which alone can carry
progress. Which of the two is a constructor argument of its session manager, so there are two managers over one server,
and the request decides: an event stream if it carries a progress token and its sender reads streams, JSON otherwise.
Both are stateless. Host, Origin, size, token and method are judged before, for every address alike, in `app.web`.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

# A client that writes the name with JSON escapes gets no progress, which it must be able to live without.
_WANTS_STREAM = (b'"progressToken"', b'"subscriptions/listen"')
_JUDGED_BEFORE = TransportSecuritySettings(enable_dns_rebinding_protection=False)


class McpAsgi:
    """ASGI app for POSTs to the one MCP address. Who asks must already stand in the scope (`identity.CALLER`).

    Args:
        server: With all its tools.
        max_body_bytes: No longer body comes here; the SDK has a limit of its own, which must not be lower.
    """

    def __init__(self, server: MCPServer[Any], *, max_body_bytes: int) -> None:
        # The public way to a session manager; the Starlette app it also returns is not used.
        server.streamable_http_app(
            stateless_http=True,
            json_response=False,
            transport_security=_JUDGED_BEFORE,
            max_request_body_size=max_body_bytes,
        )
        self._streaming = server.session_manager
        self._plain = StreamableHTTPSessionManager(
            app=self._streaming.app,
            stateless=True,
            json_response=True,
            security_settings=_JUDGED_BEFORE,
            max_request_body_size=max_body_bytes,
        )

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serve requests while inside; can be entered once."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._streaming.run())
            await stack.enter_async_context(self._plain.run())
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        body = await _read(receive)
        if body is None:
            return  # the client left, so there is nobody to answer
        reads_streams = "text/event-stream" in Headers(scope=scope).get("accept", "")
        wants_stream = reads_streams and any(mark in body for mark in _WANTS_STREAM)
        manager = self._streaming if wants_stream else self._plain
        await manager.handle_request(scope, _again(body, receive), send)


async def _read(receive: Receive) -> bytes | None:
    """Return the whole body; None if the client left before its end."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body once more, then whatever comes next (a disconnect)."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
