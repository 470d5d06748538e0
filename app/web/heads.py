"""Bounds what a connection may send, and how long it may take, before there is a request for anyone to judge.

The parser that uvicorn uses has no limit of its own on the size of headers and trailers, keeps every byte of them, and
joins the pieces anew for each that arrives: without a bound a stranger fills the memory and stops the event loop.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 64 * 1024  # an authorization request with the longest `state` is about 20 kB; proxies stop at 8 to 32 kB
HEAD_S = 30.0


class BoundedHeads(HttpToolsProtocol):
    """uvicorn's protocol, which answers 400 or closes where a head has no end."""

    head_bytes = HEAD_BYTES
    head_s = HEAD_S

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._pending = 0  # bytes since the last piece of a body or the last whole head
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless what came so far is more than any request needs."""
        self._pending += len(data)
        super().data_received(data)
        if self._pending > self.head_bytes and not self.transport.is_closing():
            if self.cycle is None or self.cycle.response_complete:
                self.send_400_response("The head of the request is too large.")
            else:  # endless trailers, or a head behind a request that is still being answered
                self.transport.close()

    def on_message_begin(self) -> None:
        """Begin to wait for a head."""
        super().on_message_begin()
        self._wait()

    def on_headers_complete(self) -> None:
        """A head is whole."""
        self._pending = 0
        self._stop_waiting()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a body; how much of that is taken is for `guard.BodyLimit`."""
        self._pending = 0
        super().on_body(body)

    def _wait(self) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(self.head_s, self._late)

    def _late(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
        else:  # the next request's head waits behind an answer that is still being made
            self._wait()

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
