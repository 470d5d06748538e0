"""Tricks below HTTP libraries: bytes on a socket to a real process."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from starlette.responses import PlainTextResponse

from app.serving import configuration
from app.web.heads import PIPELINED, BoundedHeads
from tests.processes import Process, free_port, process_pause, vitals

CHUNKED = b"POST /token HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n"

pytestmark = [pytest.mark.process, pytest.mark.timeout(60)]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("connector")
    with vitals("serve", env={"OURA_SANDBOX": "1", "DATA_DIR": str(folder / "data")}, folder=folder) as process:
        yield process


def answer_to(process: Process, request: bytes) -> bytes:
    """Send bytes and return all that comes back until the connection is closed."""
    host, port = process.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        return _exchange(connection, request.replace(b"HOST", f"{host}:{port}".encode()))


def _exchange(connection: socket.socket, request: bytes) -> bytes:
    received = b""
    try:
        connection.sendall(request)
        while part := connection.recv(65_536):
            received += part
    except ConnectionError:
        pass  # cut while we were sending
    return received


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("host twice", b"GET / HTTP/1.1\r\nHost: HOST\r\nHost: evil.example\r\n"),
        ("host twice, ours last", b"GET / HTTP/1.1\r\nHost: evil.example\r\nHost: HOST\r\n"),
        ("no host", b"GET / HTTP/1.1\r\n"),
        ("no host, HTTP/1.0", b"GET / HTTP/1.0\r\n"),
        ("another host", b"GET /.well-known/oauth-authorization-server HTTP/1.1\r\nHost: evil.example\r\n"),
        ("userinfo in host", b"GET / HTTP/1.1\r\nHost: HOST@evil.example\r\n"),
        ("bytes in host", b"GET / HTTP/1.1\r\nHost: \xff\xfe\r\n"),
        ("folded header", b"GET / HTTP/1.1\r\nHost: HOST\r\nX: a\r\n b\r\n"),
        ("blank before the colon", b"GET / HTTP/1.1\r\nHost : evil.example\r\nHost: HOST\r\n"),
        ("NUL in a header", b"GET / HTTP/1.1\r\nHost: HOST\r\nX: a\0b\r\n"),
        (
            "length and chunked",
            b"POST /token HTTP/1.1\r\nHost: HOST\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        ),
        ("two lengths", b"POST /token HTTP/1.1\r\nHost: HOST\r\nContent-Length: 4\r\nContent-Length: 0\r\n"),
        ("negative length", b"POST /token HTTP/1.1\r\nHost: HOST\r\nContent-Length: -1\r\n"),
        ("signed length", b"POST /token HTTP/1.1\r\nHost: HOST\r\nContent-Length: +1\r\n"),
        ("length of 5,000 zeros", b"POST /token HTTP/1.1\r\nHost: HOST\r\nContent-Length: " + b"0" * 5_000 + b"\r\n"),
        ("length of 5,000 nines", b"POST /token HTTP/1.1\r\nHost: HOST\r\nContent-Length: " + b"9" * 5_000 + b"\r\n"),
        ("tunnel", b"CONNECT evil.example:443 HTTP/1.1\r\nHost: HOST\r\n"),
        ("trace", b"TRACE / HTTP/1.1\r\nHost: HOST\r\n"),
        ("bytes in the path", b"GET /\xff%ff%00 HTTP/1.1\r\nHost: HOST\r\n"),
        ("bytes in the query", b"GET /authorize?client_id=%ff%fe%00&state=\xff HTTP/1.1\r\nHost: HOST\r\n"),
    ],
)
def test_a_request_that_two_servers_could_read_differently_is_refused(running: Process, name: str, head: bytes) -> None:
    answer = answer_to(running, head + b"Connection: close\r\n\r\n")

    assert status(answer) in {400, 405, 421}, name
    assert b"evil" not in answer


@pytest.mark.parametrize(
    "path",
    [
        "/mcp", "/mcp/", "/mcp%2f", "/mcp%2F", "/%6dcp", "/mcp?access_token=x",
        "//mcp", "/mcp//", "/MCP", "/mcp%20", "/mcp%00", "/mcp;x", "/./mcp", "/x/../mcp", "/%2e/mcp", "/mcp/.",
        "/mcp\\", "/mcp/x", "/static/../mcp", "/static/%2e%2e/pages.py", "/static/..%2fpages.py", "/static//etc/passwd",
        "*", "http://evil.example/mcp", "/.well-known/../mcp", "/callback/oura/../../mcp",
    ],
)  # fmt: skip
def test_no_spelling_of_the_address_gets_past_the_401(running: Process, path: str) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    head = f"POST {path} HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    answer = answer_to(running, head.encode() + b"Connection: close\r\n\r\n" + body)

    assert status(answer) in {400, 401, 404, 405}
    assert b"location:" not in answer.lower()
    assert b"health_" not in answer


def test_names_that_a_proxy_could_pass_on_change_no_address(running: Process) -> None:
    claims = b"X-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: ftp\r\nForwarded: host=evil.example\r\n"
    for path in (b"/.well-known/oauth-authorization-server", b"/.well-known/oauth-protected-resource", b"/mcp", b"/"):
        head = b"GET " + path + b" HTTP/1.1\r\nHost: HOST\r\nX-Original-URL: /x\r\n"
        answer = answer_to(running, head + claims + b"Connection: close\r\n\r\n")
        assert status(answer) in {200, 401}
        assert b"evil" not in answer


@pytest.mark.parametrize(
    ("name", "opening", "more"),
    [
        ("one endless header", b"GET / HTTP/1.1\r\nHost: HOST\r\nX: ", b"a" * 65_536),
        ("endless headers", b"GET / HTTP/1.1\r\nHost: HOST\r\n", b"X: y\r\n" * 10_000),
        ("an endless address", b"GET /", b"a" * 65_536),
        ("an endless method", b"", b"G" * 65_536),
        ("endless trailers", CHUNKED + b"0\r\nX: ", b"a" * 65_536),
        ("an endless chunk extension", CHUNKED + b"1;", b"a" * 65_536),
        ("an endless body", CHUNKED, b"10000\r\n" + b"a" * 65_536 + b"\r\n"),
    ],
)  # fmt: skip
def test_what_has_no_end_is_cut_off(running: Process, name: str, opening: bytes, more: bytes) -> None:
    host, port = running.url.removeprefix("http://").split(":")
    sent = 0
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)
        try:
            connection.sendall(opening.replace(b"HOST", f"{host}:{port}".encode()))
            while sent < 64 * 1024 * 1024:
                connection.sendall(more)
                sent += len(more)
        except (ConnectionError, TimeoutError):
            pass

    assert sent < 16 * 1024 * 1024, name  # what the kernels hold on both sides is in it
    assert status(answer_to(running, b"GET /healthz HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n")) == 200


def test_a_large_but_honest_head_is_read(running: Process) -> None:
    head = b"GET /healthz HTTP/1.1\r\nHost: HOST\r\nCookie: " + b"a" * 16_000 + b"\r\nConnection: close\r\n\r\n"

    assert status(answer_to(running, head)) == 200


@pytest.mark.parametrize(
    "opening",
    [
        b"",
        b"GET /",
        b"GET / HTTP/1.1\r\nHost: x\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc",
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n",
    ],
)
def test_a_connection_that_never_says_what_it_wants_is_closed(monkeypatch: pytest.MonkeyPatch, opening: bytes) -> None:
    monkeypatch.setattr(BoundedHeads, "head_s", 0.2)
    monkeypatch.setattr(BoundedHeads, "body_s", 0.2)
    config = configuration(PlainTextResponse("hello"))
    config.port, config.lifespan = free_port(), "off"
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        process_pause()
    try:
        with socket.create_connection(("127.0.0.1", config.port), timeout=10) as connection:
            answer = _exchange(connection, opening)  # returns when the server closes
    finally:
        server.should_exit = server.force_exit = True
        thread.join(10)

    assert answer.count(b"HTTP/1.1 200") == opening.count(b"\r\n\r\n")


def test_afterwards_the_log_holds_nothing_that_was_sent(running: Process, tmp_path: Path) -> None:
    answer_to(
        running,
        b"POST /mcp?access_token=canary-query HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer canary-token\r\n"
        b"Cookie: canary-cookie\r\nX-Canary: canary-header\r\nContent-Length: 11\r\nConnection: close\r\n\r\n"
        b"canary-body",
    )
    answer_to(running, b"GET /canary-path HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n")
    answer_to(running, b"canary-method / HTTP/1.1\r\nHost: HOST\r\n\r\n")
    answer_to(running, b"POST /token HTTP/1.1\r\nHost: canary-host\r\nConnection: close\r\n\r\n")

    assert "canary" not in running.logged() + running.said()


def test_few_requests_behind_each_other_are_answered_and_thousands_end_the_connection(running: Process) -> None:
    one = b"GET /healthz HTTP/1.1\r\nHost: HOST\r\n\r\n"
    last = b"GET /healthz HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n"

    few = answer_to(running, one * 7 + last)
    thousands = answer_to(running, one * 5_000 + last)

    assert few.count(b"HTTP/1.1 200") == 8
    assert thousands.count(b"HTTP/1.1 200") <= PIPELINED
    assert status(answer_to(running, last)) == 200
