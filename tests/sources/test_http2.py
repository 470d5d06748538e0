"""Questions share a connection where the other side offers HTTP/2; one that ends under way costs a repetition."""

import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.streams.tls
import httpx2
import pytest

from app.sources.oura.catalog import COLLECTIONS
from app.sources.oura.client import OuraClient
from app.sources.outgoing import outgoing
from app.sources.pages import Page
from tests.sources.certificates import pair
from tests.sources.fakes import ADA
from tests.sources.h2_oura import H2Oura, Line, h2_oura
from tests.sources.test_client import Tokens

pytestmark = pytest.mark.anyio
SLEEP = COLLECTIONS["daily_sleep"]
AT_ONCE = 8


async def at_once(_seconds: float) -> None:
    """Return."""


async def side_by_side(client: OuraClient, count: int = AT_ONCE) -> list[Page]:
    found: list[Page] = []

    async def one() -> None:
        found.append(await client.page(ADA, SLEEP, {}))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            for _ in range(count):
                group.start_soon(one)
    return found


async def test_windows_side_by_side_are_asked_over_one_connection(tmp_path: Path) -> None:
    certificate = pair(tmp_path)

    async def all_together(oura: H2Oura, line: Line, stream_id: int) -> None:
        if len(line.waiting) == AT_ONCE:  # nobody is answered before all have asked
            for waiting in list(line.waiting):
                await line.answer(waiting)

    async with h2_oura(certificate, all_together) as oura, outgoing(verify=certificate.trusting()) as http:
        client = OuraClient(http=http, api_url=oura.root, tokens=Tokens())
        found = await side_by_side(client)

    assert len(found) == AT_ONCE
    assert len(oura.lines) == 1


@pytest.mark.parametrize("polite", [True, False], ids=["GOAWAY", "cut"])
async def test_a_connection_that_ends_under_way_costs_its_questions_one_repetition(
    tmp_path: Path, polite: bool
) -> None:
    certificate = pair(tmp_path)

    async def end_the_first(oura: H2Oura, line: Line, stream_id: int) -> None:
        if line.number > 1:
            await line.answer(stream_id)
        elif len(line.waiting) == AT_ONCE:
            if polite:
                line.state.close_connection(last_stream_id=line.waiting[0])
                await line.flush()
            await line.stream.aclose()

    async with h2_oura(certificate, end_the_first) as oura, outgoing(verify=certificate.trusting()) as http:
        client = OuraClient(http=http, api_url=oura.root, tokens=Tokens(), sleep=at_once)
        found = await side_by_side(client)

    assert len(found) == AT_ONCE
    assert oura.asked == 2 * AT_ONCE
    assert len(oura.lines) == 2


async def test_the_next_question_after_a_connection_ended_is_not_held_against_it(tmp_path: Path) -> None:
    certificate = pair(tmp_path)

    async def answer_and_end(oura: H2Oura, line: Line, stream_id: int) -> None:
        await line.answer(stream_id)
        line.state.close_connection(last_stream_id=stream_id)
        await line.flush()
        await line.stream.aclose()

    async with h2_oura(certificate, answer_and_end) as oura, outgoing(verify=certificate.trusting()) as http:
        client = OuraClient(http=http, api_url=oura.root, tokens=Tokens(), sleep=at_once)
        with anyio.fail_after(10):
            for _ in range(3):
                await client.page(ADA, SLEEP, {})

    assert len(oura.lines) == 3


async def test_answers_left_half_read_do_not_bring_the_connection_to_a_standstill_for_others(tmp_path: Path) -> None:
    certificate = pair(tmp_path)
    piece = b"x" * 16_000

    async def a_megabyte(oura: H2Oura, line: Line, stream_id: int) -> None:
        line.waiting.remove(stream_id)
        line.state.send_headers(stream_id, [(":status", "200")])
        for _ in range(64):
            if line.state.local_flow_control_window(stream_id) < len(piece):
                return  # and so it stands still, as a server must
            line.state.send_data(stream_id, piece)
        line.state.end_stream(stream_id)

    async with h2_oura(certificate, a_megabyte) as oura, outgoing(verify=certificate.trusting()) as http:
        with anyio.fail_after(20):
            for _ in range(20):  # of which 16 are enough
                async with http.stream("GET", f"{oura.root}/x") as left:
                    await anext(left.aiter_raw())
            whole = await http.get(f"{oura.root}/x")

    assert len(whole.content) == 64 * len(piece)


async def test_who_leaves_an_answer_half_read_does_not_cut_off_those_beside(tmp_path: Path) -> None:
    certificate = pair(tmp_path)
    answered = anyio.Event()
    found: list[Page] = []

    async def half_for_the_first(oura: H2Oura, line: Line, stream_id: int) -> None:
        if oura.asked == 1:
            line.state.send_headers(stream_id, [(":status", "200")])
            line.state.send_data(stream_id, b"{")
        elif oura.asked == 2:  # not before the other has left
            oura.late = (line, stream_id)
        else:
            await line.answer(stream_id)
            answered.set()

    async def another(client: OuraClient) -> None:
        found.append(await client.page(ADA, SLEEP, {}))

    async with h2_oura(certificate, half_for_the_first) as oura, outgoing(verify=certificate.trusting()) as http:
        client = OuraClient(http=http, api_url=oura.root, tokens=Tokens())
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                async with http.stream("GET", f"{oura.root}/x") as half:
                    await anext(half.aiter_raw())
                    group.start_soon(another, client)
                    while oura.late is None:
                        await anyio.lowlevel.checkpoint()
                group.start_soon(another, client)
                await answered.wait()
                line, stream_id = oura.late
                await line.answer(stream_id)

    assert len(found) == 2
    assert [len(line.waiting) for line in oura.lines] == [
        1,
        0,
    ]  # what was left, and a line of its own for who came after
    assert oura.asked == 3


async def test_what_is_single_use_goes_over_a_connection_of_its_own_without_http_2(tmp_path: Path) -> None:
    certificate = pair(tmp_path)

    async with (
        h2_oura(certificate) as oura,
        outgoing(keep_alive=False, verify=certificate.trusting()) as http,
    ):
        with anyio.fail_after(10), pytest.raises(httpx2.TransportError):
            await http.post(f"{oura.root}/oauth/token", data={"refresh_token": "r"})

    assert oura.asked == 0  # a server that speaks HTTP/2 alone is not spoken to: nothing was spent


def test_nothing_of_http_2_and_tls_is_loaded_before_the_first_question() -> None:
    script = (
        "import sys; from app.sources.outgoing import outgoing; outgoing(); outgoing(keep_alive=False);"
        "print([name for name in ('h2', 'hpack', 'httpcore2') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)

    assert ran.stdout.strip() == "[]"


@asynccontextmanager
async def client_of_http_1(
    folder: Path, serve: Callable[[anyio.abc.ByteStream], Awaitable[None]]
) -> AsyncIterator[OuraClient]:
    """A client of a server on loopback that offers HTTP/1.1 alone."""
    certificate = pair(folder)
    tcp = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = tcp.extra(anyio.abc.SocketAttribute.local_port)
    listener = anyio.streams.tls.TLSListener(tcp, certificate.server("http/1.1"), standard_compatible=False)
    async with listener, anyio.create_task_group() as group, outgoing(verify=certificate.trusting()) as http:
        group.start_soon(listener.serve, serve)
        yield OuraClient(http=http, api_url=f"https://127.0.0.1:{port}", tokens=Tokens())
        group.cancel_scope.cancel()


async def test_a_server_that_does_not_offer_http_2_is_asked_in_http_1(tmp_path: Path) -> None:
    seen: list[bytes] = []

    async def serve(stream: anyio.abc.ByteStream) -> None:
        async with stream:
            seen.append(await stream.receive())
            # It closes after each answer and says so, or a question may be sent on a connection that is ending.
            await stream.send(b'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 11\r\n\r\n{"data":[]}')

    async with client_of_http_1(tmp_path, serve) as client:
        found = await side_by_side(client)

    assert len(found) == AT_ONCE
    assert [head.split(b"\r\n")[0] for head in seen] == [b"GET /v2/usercollection/daily_sleep HTTP/1.1"] * AT_ONCE


async def test_in_http_1_too_one_question_after_the_other_shares_a_connection(tmp_path: Path) -> None:
    connections: list[int] = []

    async def serve(stream: anyio.abc.ByteStream) -> None:
        connections.append(0)
        async with stream:
            async for _question in stream:
                connections[-1] += 1
                await stream.send(b'HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n{"data":[]}')

    async with client_of_http_1(tmp_path, serve) as client:
        with anyio.fail_after(10):
            for _ in range(2):
                await client.page(ADA, SLEEP, {})

    assert connections == [2]
