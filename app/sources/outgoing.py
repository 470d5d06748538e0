"""The clients that go out to sources: no proxy from the environment, no redirects, HTTP/2 where it is offered."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import anyio
import httpx2

from app import __version__


@dataclass(slots=True)
class _Line:
    """One set of connections."""

    transport: httpx2.AsyncBaseTransport
    under_way: int = 0
    shared: bool = False  # it speaks HTTP/2
    retired: bool = False


class Lines(httpx2.AsyncBaseTransport):
    """A transport that is made when it is first used, and made anew when an answer over HTTP/2 was left half read.

    The first, because TLS, certificates and HTTP/2 take time that no start needs. The second, because httpcore2 neither
    ends the stream of an abandoned answer nor gives its bytes back to the connection's flow control: after 16 MB of
    such answers (one endless page, or a few hang-ups) the connection stands still, for everyone who shares it. Those
    who are under way on it go on.

    Args:
        make: Makes a transport.
    """

    def __init__(self, make: Callable[[], httpx2.AsyncBaseTransport]) -> None:
        self._make = make
        self._line: _Line | None = None
        self._retired: list[_Line] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        if self._line is None:
            self._line = _Line(self._make())
        line = self._line
        line.under_way += 1
        try:
            response = await line.transport.handle_async_request(request)
        except BaseException:
            await self._over(line, whole=False)
            raise
        line.shared |= response.http_version == "HTTP/2"
        if not isinstance(response.stream, httpx2.AsyncByteStream):
            raise TypeError("an asynchronous transport answers with an asynchronous stream")
        response.stream = _Body(response.stream, lambda whole: self._over(line, whole=whole))
        return response

    async def aclose(self) -> None:
        """Close what was made."""
        lines = [*self._retired, *([self._line] if self._line else [])]
        self._line, self._retired = None, []
        for line in lines:
            await line.transport.aclose()

    async def _over(self, line: _Line, *, whole: bool) -> None:
        """Know that a request on a line is over, and whether its answer was read to the end."""
        line.under_way -= 1
        if line.shared and not whole and self._line is line:
            self._line, line.retired = None, True
            self._retired.append(line)
        if line.retired and not line.under_way and line in self._retired:
            self._retired.remove(line)
            with anyio.CancelScope(shield=True):
                await line.transport.aclose()


class _Body(httpx2.AsyncByteStream):
    """The body of an answer, which tells when it is over."""

    def __init__(self, body: httpx2.AsyncByteStream, over: Callable[[bool], Awaitable[None]]) -> None:
        self._body = body
        self._over = over
        self._whole = False
        self._closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._body:
            yield piece
        self._whole = True

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            await self._body.aclose()
        finally:
            await self._over(self._whole)


def outgoing(*, keep_alive: bool = True, verify: ssl.SSLContext | None = None) -> httpx2.AsyncClient:
    """Return a client for calls to sources.

    Args:
        keep_alive: Keep connections for the next call, which saves a GET its round trips, and share them where the
            other side speaks HTTP/2. Not for what is single-use: a kept connection that the other side is just closing
            cannot be told from an answer that was lost.
        verify: Whom to trust; None asks the machine.
    """

    def make() -> httpx2.AsyncBaseTransport:
        return httpx2.AsyncHTTPTransport(
            verify=verify or True,
            trust_env=False,
            http2=keep_alive,
            limits=httpx2.Limits(
                max_connections=32, max_keepalive_connections=16 if keep_alive else 0, keepalive_expiry=60
            ),
        )

    return httpx2.AsyncClient(
        transport=Lines(make),
        trust_env=False,
        follow_redirects=False,
        timeout=httpx2.Timeout(20, connect=5, pool=15),
        headers={"user-agent": f"vitals/{__version__}"},
    )
