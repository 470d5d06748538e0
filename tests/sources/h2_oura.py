"""An Oura that speaks HTTP/2 alone, on loopback: it answers when told, and can end a connection in between."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import anyio.abc
import h2.config
import h2.connection
import h2.events
import h2.exceptions
from anyio.streams.tls import TLSListener

from tests.sources.certificates import Pair

GONE = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError)
PAGE = json.dumps({"data": [{"id": "a", "day": "2026-03-10"}], "next_token": None}).encode()


@dataclass
class Line:
    """One connection."""

    number: int
    stream: anyio.abc.ByteStream
    state: h2.connection.H2Connection
    waiting: list[int] = field(default_factory=list)  # requests without an answer

    async def answer(self, stream_id: int, body: bytes = PAGE) -> None:
        self.waiting.remove(stream_id)
        self.state.send_headers(stream_id, [(":status", "200"), ("content-type", "application/json")])
        self.state.send_data(stream_id, body, end_stream=True)
        await self.flush()

    async def flush(self) -> None:
        await self.stream.send(self.state.data_to_send())


Act = Callable[["H2Oura", Line, int], Awaitable[None]]


async def at_once(oura: "H2Oura", line: Line, stream_id: int) -> None:
    """Answer."""
    await line.answer(stream_id)


@dataclass
class H2Oura:
    """What has happened."""

    root: str
    act: Act  # upon each request
    lines: list[Line] = field(default_factory=list)
    asked: int = 0
    late: tuple[Line, int] | None = None  # a request that is answered from outside

    async def serve(self, stream: anyio.abc.ByteStream) -> None:
        state = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        state.initiate_connection()
        line = Line(len(self.lines) + 1, stream, state)
        self.lines.append(line)
        async with stream:
            await line.flush()
            try:
                while True:
                    for event in state.receive_data(await stream.receive()):
                        if isinstance(event, h2.events.RequestReceived):
                            self.asked += 1
                            line.waiting.append(event.stream_id)
                            await self.act(self, line, event.stream_id)
                    await line.flush()
            except (*GONE, h2.exceptions.ProtocolError):  # the last: what arrives after it was ended
                return


@asynccontextmanager
async def h2_oura(certificate: Pair, act: Act = at_once) -> AsyncIterator[H2Oura]:
    tcp = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = tcp.extra(anyio.abc.SocketAttribute.local_port)
    listener = TLSListener(tcp, certificate.server("h2"), standard_compatible=False)
    oura = H2Oura(f"https://127.0.0.1:{port}", act)
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, oura.serve)
        yield oura
        group.cancel_scope.cancel()
