"""Thousands of connections by one stranger to a real process that may have few descriptors."""

import resource
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from app.demo.walk import App
from app.serving import configuration
from app.web.crowd import Crowd
from app.web.heads import BoundedHeads
from tests.processes import Oura, Process, app_at, free_port, simulated_oura, until, vitals
from tests.system.apps import ask_once, signed_in, until_held

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(120),
    pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts descriptors, as Linux shows them"),
]

DESCRIPTORS = 256
FOR_OTHERS = 96  # to Redis 32, to Oura 64
STRANGERS = 1_000
HEAD = b"GET / HTTP/1.1\r\nHost: HOST\r\nX: " + b"a" * 2_000
BODY = b"POST /token HTTP/1.1\r\nHost: HOST\r\nContent-Length: 4000\r\n\r\n" + b"a" * 2_000
ANSWERED = b"GET /healthz HTTP/1.1\r\nHost: HOST\r\n\r\n"
LONG = 16 * 1024 * 1024  # more than the kernels hold for both ends


@contextmanager
def descriptors(number: int) -> Iterator[None]:
    """Let this process, and what it starts, have so many."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(number, before[1]), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Oura, Process]]:
    folder = tmp_path_factory.mktemp("connector")
    with ExitStack() as scene:
        oura = scene.enter_context(simulated_oura())
        with descriptors(DESCRIPTORS):
            process = scene.enter_context(vitals("serve", env=oura.settings(folder), folder=folder))
        scene.enter_context(descriptors(4 * STRANGERS))  # for our own ends
        yield oura, process


def dial(process: Process, sends: bytes = b"", *, receives: int = 0) -> socket.socket:
    """Connect, and send; `receives`: how many bytes this end takes before anyone reads them."""
    connection = dial_port(process.url, receives)
    with suppress(ConnectionError):  # it may have lost its place already
        connection.sendall(sends.replace(b"HOST", urlsplit(process.url).netloc.encode()))
    return connection


def dial_port(url: str, receives: int = 0) -> socket.socket:
    connection = socket.socket()
    connection.settimeout(10)
    if receives:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
    address = urlsplit(url)
    connection.connect((address.hostname, address.port))
    return connection


def held_by(process: Process) -> int:
    return sum(1 for _ in Path(f"/proc/{process.popen.pid}/fd").iterdir())


def whole_answer(connection: socket.socket) -> bytes:
    """Return what comes until the other end closes; nothing, where it cuts."""
    try:
        return b"".join(iter(partial(connection.recv, 65_536), b""))
    except ConnectionError:
        return b""


async def flood(process: Process, held: App, kinds: Sequence[bytes]) -> tuple[list[str], list[int]]:
    """Open the strangers' connections, and ask all the while: over one kept connection and over new ones."""
    said, counted = [], []
    with ExitStack() as strangers:
        async with app_at(process, held) as kept:
            await kept.ask("health_check")
            for number in range(STRANGERS):
                strangers.enter_context(dial(process, kinds[number % len(kinds)]))
                if number % 100 == 99:
                    counted.append(held_by(process))
                    said.append(await ask_once(process, held))
                    answer = await kept.ask("health_query", collection="daily_sleep", day="2026-03-08")
                    said.append(f"answered, complete: {answer['complete']}")
    return said, counted


@pytest.mark.parametrize(
    "kinds",
    [
        pytest.param([b""], id="idle"),
        pytest.param([HEAD], id="slow heads"),
        pytest.param([BODY], id="slow bodies"),
        pytest.param([b"", HEAD, BODY, ANSWERED], id="all kinds"),
    ],
)
def test_a_thousand_connections_of_a_stranger_keep_no_app_out_and_leave_descriptors_for_store_and_oura(
    scene: tuple[Oura, Process], kinds: list[bytes]
) -> None:
    _, process = scene
    app = anyio.run(signed_in, process)

    said, counted = anyio.run(flood, process, app, kinds)

    assert said == ["answered, complete: True"] * (2 * STRANGERS // 100)
    assert max(counted) <= DESCRIPTORS - FOR_OTHERS
    assert process.logged().count('"connections_full"') == 1


def asking(app: App, day: str) -> tuple[bytes, bytes, bytes]:
    """A question as bytes: the head, and two parts of the body."""
    start = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"health_query","arguments":'
    end = f'{{"collection":"daily_sleep","day":"{day}"}}}}}}'.encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer {app.access_token}\r\n"
        "Accept: application/json\r\nContent-Type: application/json\r\nConnection: close\r\n"
        f"Content-Length: {len(start + end)}\r\n\r\n"
    )
    return head.encode(), start, end


def test_an_upload_with_a_live_token_keeps_its_place_and_so_does_what_is_being_answered(
    scene: tuple[Oura, Process],
) -> None:
    oura, process = scene
    app = anyio.run(signed_in, process)
    head, start, end = asking(app, "2026-03-08")
    with ExitStack() as opened:
        upload = opened.enter_context(dial(process, head + start))
        oura.simulator.faults.add("hold", "/v2/usercollection/*")
        asked = opened.enter_context(dial(process, b"".join(asking(app, "2026-03-07"))))
        anyio.run(until_held, oura)
        for _ in range(STRANGERS // 2):
            opened.enter_context(dial(process))
        oura.simulator.faults.clear()
        upload.sendall(end)
        answers = [whole_answer(upload), whole_answer(asked)]

    for answer in answers:
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b'"complete":true' in answer


def test_a_sign_in_that_waits_for_oura_keeps_its_place(scene: tuple[Oura, Process]) -> None:
    oura, process = scene
    oura.simulator.faults.add("hold", "/oauth/token")

    async def sign_in_during_a_flood() -> list[str]:
        said: list[str] = []

        async def sign_in() -> None:
            said.append(await ask_once(process, await signed_in(process)))

        with ExitStack() as strangers:
            async with anyio.create_task_group() as group:
                group.start_soon(sign_in)
                await until_held(oura)
                for _ in range(STRANGERS // 2):
                    strangers.enter_context(dial(process))
                oura.simulator.faults.clear()
                dial_port(oura.url).close()  # wakes the thread that holds the answer
        return said

    assert anyio.run(sign_in_during_a_flood) == ["answered, complete: True"]


@contextmanager
def serving(app: Starlette, *, places: int) -> Iterator[tuple[uvicorn.Server, str]]:
    config = configuration(app)
    config.port, config.lifespan = free_port(), "off"
    config.http = partial(BoundedHeads, crowd=Crowd(places))  # type: ignore[assignment]
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    anyio.run(until, lambda: server.started)
    try:
        yield server, f"http://127.0.0.1:{config.port}"
    finally:
        server.should_exit = server.force_exit = True
        thread.join(10)


async def in_one_piece(_: Request) -> Response:
    return Response(b"a" * LONG)


async def in_pieces(_: Request) -> Response:
    return StreamingResponse(iter([b"a" * (LONG // 64)] * 64))


@pytest.mark.parametrize("answer", [in_one_piece, in_pieces])
def test_an_answer_that_is_not_taken_keeps_no_place(answer: Callable[[Request], Awaitable[Response]]) -> None:
    app = Starlette(routes=[Route("/long", answer), Route("/", lambda _: Response(b"short"))])
    with serving(app, places=2) as (server, url), ExitStack() as opened:
        for _ in range(2):
            stranger = opened.enter_context(dial_port(url, 4_096))
            stranger.sendall(b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
        anyio.run(until, lambda: sum(bool(each.transport.get_write_buffer_size()) for each in connections(server)) == 2)
        honest = opened.enter_context(dial_port(url))
        honest.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answered = whole_answer(honest)
        anyio.run(until, lambda: len(connections(server)) <= 1)

    assert answered.endswith(b"short")


def connections(server: uvicorn.Server) -> list[BoundedHeads]:
    return [each for each in tuple(server.server_state.connections) if isinstance(each, BoundedHeads)]
