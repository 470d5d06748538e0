"""Whatever Oura does to a question: the model reads what and what to do, the log nothing, and the next is answered."""

import io
import socket
import ssl
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import anyio.streams.tls
import httpx2
import pytest

from app.simulator import Simulator
from app.sources.oura import client, sending
from app.sources.outgoing import Lines
from app.sources.question import Terms
from app.tools import calling
from tests.app_under_test import OURA, Clock, Vitals, running_app
from tests.cases.asking import refused, told
from tests.log_reader import written
from tests.sources.bent import CANARY, Act, Bent, bent_app, without_pauses
from tests.sources.certificates import pair
from tests.sources.fakes import FakePages
from tests.sources.h2_oura import GONE

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("without_pauses")]
__all__ = ["without_pauses", "written"]
READING = f'{{"data":[{{"id":"{CANARY}","day":"2026-03-10","score":61}}],"next_token":null}}'.encode()
MEGABYTE = b" " * 2**20


class Body(httpx2.AsyncByteStream):
    """A body in pieces, and how much of it was taken."""

    def __init__(self, pieces: Iterator[bytes], then: Exception | None = None) -> None:
        self._pieces = pieces
        self._then = then
        self.taken = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            await anyio.lowlevel.checkpoint()
            self.taken += len(piece)
            yield piece
        if self._then is not None:
            raise self._then


def answering(status: int, body: bytes, kind: str = "application/json") -> Act:
    async def act(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, content=body, headers={"content-type": kind})

    return act


def raising(error: Callable[[], Exception]) -> Act:
    async def act(request: httpx2.Request) -> httpx2.Response:
        raise error()

    return act


def streaming(make: Callable[[], Body], **headers: str) -> Act:
    async def act(request: httpx2.Request) -> httpx2.Response:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx2.Response(200, stream=make(), headers={"content-type": "application/json"} | given)

    return act


def endless() -> Iterator[bytes]:
    yield READING[:-1]
    while True:
        yield MEGABYTE


def bomb() -> Iterator[bytes]:
    squeeze = zlib.compressobj(9, wbits=31)
    while True:
        yield squeeze.compress(MEGABYTE * 8)


def cut_in_the_body() -> Body:
    return Body(iter([READING[:60]]), httpx2.ReadError(f"GET {OURA}/?next_token={CANARY}"))


def in_words(value: object) -> Act:
    return answering(200, f'{{"data":[],"next_token":{value},"{CANARY}":1}}'.encode())


FAULTS = [
    pytest.param(answering(500, READING), "failing (HTTP 500)", "again in", id="500"),
    pytest.param(answering(503, b"<html>" + READING, "text/html"), "HTTP 503 with a web page", "again in", id="html"),
    pytest.param(answering(200, READING[:-9]), "not its documented JSON", "No data was taken", id="truncated JSON"),
    pytest.param(in_words("[1]"), "`next_token` that is no text", "No data was taken", id="wrong types"),
    pytest.param(raising(lambda: httpx2.ReadTimeout(CANARY)), "no whole answer in time", "again in", id="slow"),
    pytest.param(raising(lambda: httpx2.ConnectTimeout(CANARY)), "no connection in time", "again in", id="no SYN"),
    pytest.param(raising(lambda: httpx2.ConnectError(CANARY)), "no connection (", "again in", id="refused"),
    pytest.param(raising(lambda: httpx2.RemoteProtocolError(CANARY)), "was cut off", "again in", id="cut"),
    pytest.param(streaming(cut_in_the_body), "was cut off (ReadError)", "again in", id="cut in the body"),
    pytest.param(streaming(lambda: Body(endless())), "larger than 8 MB", "fewer days", id="gigantic"),
    pytest.param(
        streaming(lambda: Body(bomb()), content_encoding="gzip"), "larger than 8 MB", "fewer days", id="a bomb"
    ),
    pytest.param(
        streaming(lambda: Body(iter([b"no gzip"])), content_encoding="gzip"), "unpacked", "again in", id="no gzip"
    ),
    pytest.param(
        streaming(lambda: Body(bomb()), content_encoding=", ".join(["gzip"] * 20)), "unpacked", "again in", id="wraps"
    ),
]


async def after(vitals: Vitals, bent: Bent, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What is answered when the fault is over, by the same process."""
    bent.act = None
    monkeypatch.setattr("app.sources.oura.breaker.Breaker.refuse_while_down", lambda *_: None)  # its pause is over
    return await told(await vitals.connected_app(), "health_query", collection="daily_sleep", day="2026-03-08")


@pytest.mark.parametrize(("act", "words", "then"), FAULTS)
async def test_each_fault_is_named_to_the_model_and_neither_kept_nor_written(
    tmp_path: Path, act: Act, words: str, then: str, written: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bent_app(tmp_path) as (vitals, app, bent):
        bent.act = act
        query = await refused(app, "health_query", collection="daily_sleep", day="2026-03-08")
        today = await refused(app, "health_today")
        whole = await after(vitals, bent, monkeypatch)

    assert words in query
    assert then in query
    assert words in today or "has been failing" in today
    assert (whole["complete"], whole["n"]) == (True, 1)
    secrets = {CANARY, app.access_token, app.refresh_token, *bent.tokens}
    assert len(secrets) >= 4
    for text in (query, today, written.getvalue()):
        assert [secret[:6] for secret in secrets if secret in text] == []
        assert "oura.test" not in text
        assert "start_date" not in text
    assert '"tool_refused"' in written.getvalue()
    assert '"level": "error"' not in written.getvalue()


@pytest.mark.parametrize(
    ("body", "headers"),
    [pytest.param(endless, {}, id="gigantic"), pytest.param(bomb, {"content_encoding": "gzip"}, id="a bomb")],
)
async def test_of_a_gigantic_page_little_is_ever_held(
    tmp_path: Path, body: Callable[[], Iterator[bytes]], headers: dict[str, str]
) -> None:
    clock = Clock()
    simulator = Simulator(now=clock)
    bent, bodies = Bent(simulator), []

    def one() -> Body:
        bodies.append(Body(body()))
        return bodies[-1]

    with anyio.fail_after(30):
        async with running_app(tmp_path, simulator=simulator, clock=clock, upstream=bent) as vitals:
            app = await vitals.connected_app()
            bent.act = streaming(one, **headers)
            tracemalloc.start()
            try:
                await refused(app, "health_query", collection="daily_sleep", day="2026-03-08")
                _, most = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()

    assert len(bodies) == 1  # such an answer is not asked for twice
    assert bodies[0].taken <= 10 * 2**20
    assert most < 40 * 2**20


async def a_server(certificate: ssl.SSLContext, ask: Callable[[str], Awaitable[None]]) -> None:
    """Let something be asked of a TLS server on loopback that answers everything."""

    async def serve(stream: anyio.abc.ByteStream) -> None:
        async with stream:
            try:
                await stream.receive()
                await stream.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(READING), READING))
            except GONE:
                return

    tcp = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = tcp.extra(anyio.abc.SocketAttribute.local_port)
    listener = anyio.streams.tls.TLSListener(tcp, certificate, standard_compatible=False, handshake_timeout=5)
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        await ask(f"https://127.0.0.1:{port}")
        group.cancel_scope.cancel()


def elsewhere(root: str, transport: httpx2.AsyncBaseTransport) -> Act:
    async def act(request: httpx2.Request) -> httpx2.Response:
        moved = httpx2.Request("GET", root + request.url.path, headers=request.headers)
        return await transport.handle_async_request(moved)

    return act


async def test_a_certificate_that_is_not_to_be_trusted_is_named_and_nothing_is_sent(
    tmp_path: Path, written: io.StringIO
) -> None:
    certificate = pair(tmp_path)
    real = Lines(lambda: httpx2.AsyncHTTPTransport(http2=True, trust_env=False))
    said: list[str] = []

    async def ask(root: str) -> None:
        async with bent_app(tmp_path / "data") as (_, app, bent):
            bent.act = elsewhere(root, real)
            said.append(await refused(app, "health_query", collection="daily_sleep", day="2026-03-08"))
            said.append(await refused(app, "health_today"))

    with anyio.fail_after(20):
        await a_server(certificate.server("h2", "http/1.1"), ask)
        await real.aclose()

    assert "its certificate is not to be trusted: self-signed certificate (ConnectError)" in said[0]
    assert "clock and certificates" in said[0]
    assert "certificate" in said[1]
    assert CANARY not in "".join(said) + written.getvalue()


async def test_a_name_that_cannot_be_resolved_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(host: str, *_: object, **__: object) -> list[object]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    real = Lines(lambda: httpx2.AsyncHTTPTransport(trust_env=False))
    async with bent_app(tmp_path) as (_, app, bent):
        bent.act = elsewhere("https://api.oura.invalid", real)
        with monkeypatch.context() as patched:
            patched.setattr(socket, "getaddrinfo", unknown)
            said = await refused(app, "health_query", collection="daily_sleep", day="2026-03-08")
        await real.aclose()

    assert "its name cannot be resolved, DNS (ConnectError)" in said
    assert "name server" in said
    assert "oura.invalid" not in said


def dripping() -> Body:
    class Drip(Body):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            while True:
                await anyio.sleep(0.001)
                yield b" "

    return Drip(iter([]))


async def test_an_answer_that_comes_by_the_byte_is_given_up_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.sources.oura.sending._DEADLINE_S", 0.05)
    async with bent_app(tmp_path) as (_, app, bent):
        bent.act = streaming(dripping)
        query = await refused(app, "health_query", collection="daily_sleep", day="2026-03-08")
        today = await refused(app, "health_today")

    assert "no whole answer in time (TimeoutError)" in query
    assert "no whole answer in time" in today


def test_two_attempts_end_before_the_time_of_a_call_and_that_before_hosts_give_up() -> None:
    attempts_s = 2 * sending._DEADLINE_S + client._RETRY_WAIT_S

    assert attempts_s < calling.ASK_S < calling.CALL_S < 45
    assert Terms(FakePages([])).question_s <= calling.ASK_S


async def test_what_came_before_the_time_was_up_is_answered_with_where_to_go_on(tmp_path: Path) -> None:
    asked = 0
    alarm = anyio.Event()

    async def slower_and_slower(request: httpx2.Request) -> httpx2.Response:
        nonlocal asked
        if request.url.path.endswith("/heartrate"):
            asked += 1
            if asked > 3:
                alarm.set()
                await anyio.sleep_forever()
        return await bent.straight.handle_async_request(request)

    async def time_is_up(seconds: float) -> None:
        await alarm.wait()
        await anyio.wait_all_tasks_blocked()

    async with bent_app(tmp_path) as (vitals, app, bent):
        engine = next(iter(vitals.parts.sources))._engine  # type: ignore[attr-defined]  # to hold its clock
        engine._terms = replace(engine._terms, parallel=1, sleep=time_is_up)
        bent.act = slower_and_slower
        part = await told(
            app, "health_query", collection="heartrate", start="2026-02-01", end="2026-02-28", resolution="hour"
        )

    assert part["complete"] is False
    assert part["n"] > 0
    assert "2026-02-01" <= part["continue_from"] < "2026-02-08"
    assert any("time for one answer was up" in failure for failure in part["failures"])
    assert "ask again with start=" in " ".join(part["notes"])


@pytest.mark.parametrize("tool", ["health_query", "health_today"])
async def test_a_call_that_nothing_else_ends_ends_itself(
    tmp_path: Path, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object) -> None:
        await anyio.sleep_forever()

    arguments = {"collection": "sleep", "day": "2026-03-08"} if tool == "health_query" else {}
    with anyio.fail_after(20):
        async with running_app(tmp_path) as vitals:
            app = await vitals.connected_app()
            monkeypatch.setattr("app.tools.calling.CALL_S", 0.05)
            monkeypatch.setattr("app.sources.oura.source.OuraSource.timezone", never)
            said = await refused(app, tool, **arguments)

    assert "no answer came about within" in said
    assert "Ask for fewer days, or again in a minute" in said
