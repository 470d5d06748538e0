"""Bounds what a connection may send, and how long it may take, before there is a request for anyone to judge.

It also ends connections politely when the server stops, so that no request is lost between two of them. How many
connections there may be, and which one has to leave, is for `crowd`; here is told what each of them does.

The parser that uvicorn uses has no limit of its own on the size and the number of headers and trailers, keeps every
byte of them, and joins the pieces anew for each that arrives; and it waits for ever. Without a bound a stranger fills
the memory, stops the event loop, or holds connections at no cost.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from app.identity import CALLER
from app.web.crowd import Crowd, Standing, household

HEAD_BYTES = 64 * 1024  # an authorization request with the longest `state` is about 20 kB; proxies stop at 8 to 32 kB
FIELDS = 200  # headers and trailers of one request; each costs some 100 bytes more than it has. A browser sends 30
HEAD_S = 30.0
UNREAD_BYTES = (
    4 * 1024 * 1024
)  # of a body behind an early answer (401): closing sooner could cost the client the answer
STOPPING = "stopping"  # in the lifespan's state: what to call when the server begins to stop
_STOPS = "stops"  # beside it, once that has been called
LINGER_S = 0.5  # an idle connection is kept so long then: a request may be on its way, and would be lost unanswered
PIPELINED = 16  # requests under way on one connection; clients and proxies send the next one after an answer
BODY_S = 60.0  # 4 MiB, the largest body taken, at 0.6 Mbit/s


class BoundedHeads(HttpToolsProtocol):
    """uvicorn's protocol, which answers 400 or closes where a head or a body has no end."""

    head_bytes = HEAD_BYTES
    unread_bytes = UNREAD_BYTES
    head_s = HEAD_S
    body_s = BODY_S
    pipelined = PIPELINED

    def __init__(self, *args: Any, crowd: Crowd, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.address = ""  # of the peer, be it a proxy; see `crowd.household`
        self._crowd = crowd
        self._fields = 0  # headers and trailers of the request that is being read
        self._in_head = True  # of it, so that what comes is no trailer
        self._pending = 0  # bytes since the last piece of a body or the last whole head
        self._unread = 0  # bytes of a body that came after its answer
        self._timer: asyncio.TimerHandle | None = None
        self._unanswered: deque[RequestResponseCycle] = deque()
        self._last = False  # no request after the one that is under way or expected
        self._known = False  # a request of it came with a live token

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self.address = household(self.client[0] if self.client else "")
        self._wait(self.head_s, self._head_is_late)
        self._crowd.joins(self)
        if self.app_state.get(_STOPS):  # taken in the moment in which the server stopped listening
            self._end_politely()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting, and tell every request that is being answered.

        uvicorn tells the last one only: an earlier one would write into a connection that is gone, which looks like a
        fault of ours in the log, for anyone to bring about.
        """
        self._crowd.left(self)
        self._stop_waiting()
        for cycle in self._unanswered:
            if not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless what came so far is more than any request needs."""
        self._pending += len(data)
        super().data_received(data)
        self._wait_on()
        if self._pending > self.head_bytes and not self.transport.is_closing():
            if self.cycle is None or self.cycle.response_complete:
                self.send_400_response("The head of the request is too large.")
            else:  # endless trailers, or a head behind a request that is still being answered
                self.transport.close()

    def on_message_begin(self) -> None:
        """Begin to wait for a head."""
        super().on_message_begin()
        self._fields, self._in_head = 0, True
        self._wait(self.head_s, self._head_is_late)
        self._crowd.moved(self)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. A trailer is none: what checks and counts requests has looked at the headers before it came.

        Raises:
            ValueError: There are too many; uvicorn answers 400.

        Source: RFC 9110 section 6.5.1 (trailers are not merged into the headers).
        """
        self._fields += 1
        if self._fields > FIELDS:
            raise ValueError("too many headers")
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to wait for the end of the body. What comes behind the end of a connection is no request."""
        self._in_head = False
        if self.transport.is_closing():
            return
        self._pending = self._unread = 0
        self._wait(self.body_s, self.transport.close)
        super().on_headers_complete()
        if self.cycle is not None:
            while self._unanswered and self._unanswered[0].response_complete:  # they are answered in order
                self._unanswered.popleft()
            self._unanswered.append(self.cycle)
            if len(self._unanswered) > self.pipelined:
                self.transport.close()
            if self._last:
                self.cycle.keep_alive = False
        self._crowd.moved(self)

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body; how much of it is taken is for `guard.BodyLimit`."""
        self._pending = 0
        super().on_body(body)
        if self.cycle.response_complete:
            self._unread += len(body)
            if self._unread > self.unread_bytes:
                self.transport.close()

    def on_message_complete(self) -> None:
        """Stop waiting; how long the next request may take to begin is for uvicorn's keep-alive."""
        self._stop_waiting()
        super().on_message_complete()
        self._crowd.moved(self)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._crowd.moved(self)

    def pause_writing(self) -> None:
        """Stop sending: what was sent is not taken."""
        super().pause_writing()
        self._crowd.moved(self)

    def resume_writing(self) -> None:
        """Go on sending."""
        super().resume_writing()
        self._crowd.moved(self)

    def standing(self) -> Standing | None:
        """Say what this connection does; see `crowd.Member`. Only a live token keeps a place for one who is slow."""
        answering = [cycle for cycle in self._unanswered if not cycle.response_complete]
        self._known = self._known or any(CALLER in cycle.scope for cycle in self._unanswered)
        if any(CALLER in cycle.scope for cycle in answering):
            return None
        paused = self.flow.write_paused
        if answering and not answering[-1].more_body and not paused:
            return None
        if self._known:
            return Standing.KNOWN
        if self._timer is not None:
            return Standing.SENDING
        return Standing.UNREAD if answering else Standing.IDLE

    def cut(self) -> None:
        """End it at once: what it has not taken yet, it may never take."""
        self.transport.abort()

    def shutdown(self) -> None:
        """Answer what is under way or on its way, and then close."""
        stopping = self.app_state.get(STOPPING)
        if stopping is not None:
            stopping()
        self.app_state[_STOPS] = True
        self._end_politely()

    def _end_politely(self) -> None:
        self._last = True
        if self.cycle is None or self.cycle.response_complete:
            self.loop.call_later(LINGER_S, self._close_if_idle)
        else:
            super().shutdown()

    def _close_if_idle(self) -> None:
        if not self.transport.is_closing():
            super().shutdown()

    def _wait_on(self) -> None:
        """Have uvicorn wait for the next request again: it stops at any byte, also at one that begins none."""
        idle = self.cycle is None or self.cycle.response_complete
        waits = self._timer is not None or self.timeout_keep_alive_task is not None
        if idle and not waits and not self.transport.is_closing():
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _head_is_late(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
        else:  # it waits behind an answer that is still being made
            self._wait(self.head_s, self._head_is_late)

    def _wait(self, seconds: float, then: Callable[[], None]) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(seconds, then)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
