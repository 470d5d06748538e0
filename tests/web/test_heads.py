"""What one connection may send, and that no state of it lasts for ever: the protocol alone, on a clock of our own."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from app.serving import configuration
from app.web.crowd import Crowd
from app.web.heads import FIELDS, BoundedHeads

ASK = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
UPLOAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"


class Timer:
    def __init__(self, due: float, then: Callable[[], None]) -> None:
        self.due, self.then, self.waits = due, then, True

    def cancel(self) -> None:
        self.waits = False


class Task:
    def add_done_callback(self, _: object) -> None:
        pass


class Loop:
    """Runs a request as far as it goes without waiting, and timers when they are due."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[Timer] = []
        self.unfinished: list[Coroutine[Any, Any, None]] = []

    def call_later(self, seconds: float, then: Callable[[], None]) -> Timer:
        self.timers.append(Timer(self.now + seconds, then))
        return self.timers[-1]

    def create_task(self, work: Coroutine[Any, Any, None], **_: object) -> Task:
        try:
            work.send(None)
        except StopIteration:
            pass
        else:
            self.unfinished.append(work)
        return Task()

    def pass_s(self, seconds: float) -> None:
        self.now += seconds
        for timer in self.timers:
            if timer.waits and timer.due <= self.now:
                timer.waits = False
                timer.then()


class Transport:
    def __init__(self) -> None:
        self.sent = b""
        self.closed = False

    def get_extra_info(self, name: str) -> object:
        return ("127.0.0.1", 1) if name in {"peername", "sockname"} else None

    def write(self, data: bytes) -> None:
        self.sent += data

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    abort = close

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


class Connection:
    """One connection to an application that answers every request at once, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Scope] = []
        self.loop, self.transport = Loop(), Transport()

        async def answer(scope: Scope, _: Receive, send: Send) -> None:
            self.asked.append(scope)
            await send({"type": "http.response.start", "status": 401, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body"})

        config = configuration(answer)
        config.load()
        self.keep_alive_s = config.timeout_keep_alive
        make = partial(BoundedHeads, crowd=Crowd(2))
        self.protocol = make(config=config, server_state=ServerState(), app_state={}, _loop=self.loop)
        self.protocol.connection_made(self.transport)  # type: ignore[arg-type]

    def sends(self, *pieces: bytes) -> None:
        for each in pieces:
            self.protocol.data_received(each)


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([ASK, b"\r\n"], id="a line end after an answer"),
        pytest.param([ASK, b"\r\n", b"\r\n"], id="two"),
        pytest.param([UPLOAD, b"body"], id="a body after its answer"),
        pytest.param([UPLOAD, b"bo", b"dy\r\n"], id="and a line end"),
        pytest.param([CHUNKED + b"\r\n", b"4\r\nbody\r\n0\r\n\r\n"], id="chunks after their answer"),
        pytest.param([ASK], id="nothing"),
    ],
)
def test_whatever_comes_after_an_answer_an_idle_connection_is_closed(pieces: list[bytes]) -> None:
    held = Connection()
    held.sends(*pieces)

    held.loop.pass_s(held.keep_alive_s - 1)
    assert not held.transport.is_closing()
    held.loop.pass_s(1)

    assert held.transport.is_closing()
    assert len(held.asked) == 1


def test_the_next_request_is_answered_after_a_line_end_too() -> None:
    held = Connection()
    held.sends(ASK, b"\r\n")
    held.loop.pass_s(held.keep_alive_s - 1)
    held.sends(ASK)
    held.loop.pass_s(held.keep_alive_s - 1)

    assert not held.transport.is_closing()
    assert len(held.asked) == 2


def test_a_head_takes_so_many_fields_and_no_more_on_each_request() -> None:
    most = ASK[:-2] + b"a:\r\n" * (FIELDS - 1) + b"\r\n"
    held = Connection()
    held.sends(most, most)
    assert len(held.asked) == 2
    assert len(held.asked[1]["headers"]) == FIELDS

    held.sends(most[:-2] + b"a:\r\n" + b"b")  # refused before the head is whole; a field ends where the next begins

    assert held.transport.is_closing()
    assert held.transport.sent.count(b"HTTP/1.1 400 ") == 1


def test_trailers_are_bounded_too_and_none_is_a_header() -> None:
    held = Connection()
    body = CHUNKED + b"\r\n1\r\na\r\n0\r\n"
    held.sends(body, b"Authorization: Bearer x\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n")
    assert [name for name, _ in held.asked[0]["headers"]] == [b"host", b"transfer-encoding"]
    assert not held.transport.is_closing()

    held.sends(body, b"a:\r\n" * FIELDS)

    assert held.transport.is_closing()
