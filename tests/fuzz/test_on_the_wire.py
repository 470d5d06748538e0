"""Bytes on a socket to a real process: what no HTTP library would send, and what only the server's own parser judges.

How long a head or a body may take, and how large it may be, is in `tests.attacks.test_connections`.
"""

import contextlib
import re
import socket
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.trying import examples
from tests.processes import Process, vitals

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

WAIT_S = 10.0  # less than the 30 s that a half head may take: an end of what is sent must be enough to be answered
INNER = b"GET /healthz HTTP/1.1\r\nHost: HOST\r\n\r\n"  # hidden in the body of another request
POST = b"POST /token HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/x-www-form-urlencoded\r\n"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A connector that must be the same process when all is over, with no fault in its log."""
    folder = tmp_path_factory.mktemp("connector")
    with vitals("serve", env={"OURA_SANDBOX": "1", "DATA_DIR": str(folder / "data")}, folder=folder) as process:
        yield process
        assert alive(process)
        assert process.popen.poll() is None
        assert "Traceback" not in process.logged()
        assert '"error"' not in process.logged()
        assert "request_failed" not in process.logged()


def exchange(process: Process, sent: bytes, *, ends: bool = True) -> bytes:
    """Send bytes, say that no more will come if it `ends`, and return all that comes back."""
    host, port = process.url.removeprefix("http://").split(":")
    received = b""
    with socket.create_connection((host, int(port)), timeout=WAIT_S) as connection:
        try:
            connection.sendall(sent.replace(b"HOST", f"{host}:{port}".encode()))
            if ends:
                with contextlib.suppress(OSError):  # it was closed already
                    connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(65_536):
                received += part
        except ConnectionError:
            pass  # cut while we were sending
    return received


def statuses(received: bytes) -> list[int]:
    return [int(found) for found in re.findall(rb"HTTP/1\.[01] (\d{3})", received)]


def alive(process: Process) -> bool:
    return statuses(exchange(process, b"GET /healthz HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n")) == [200]


def chunked(*chunks: bytes) -> bytes:
    return b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in chunks)


# Each is read one way by one server and another way by the next: none may be taken for two requests.
SMUGGLED = {
    "length and chunks": POST + b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + INNER,
    "chunks and length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 200\r\n\r\n0\r\n\r\n" + INNER,
    "two lengths": POST + b"Content-Length: 0\r\nContent-Length: %d\r\n\r\n" % len(INNER) + INNER,
    "lengths in a list": POST + b"Content-Length: 0, %d\r\n\r\n" % len(INNER) + INNER,
    "length with a sign": POST + b"Content-Length: +0\r\n\r\n" + INNER,
    "length in hex": POST + b"Content-Length: 0x0\r\n\r\n" + INNER,
    "length with a blank": POST + b"Content-Length : 0\r\n\r\n" + INNER,
    "no chunks, by a prefix": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + INNER,
    "chunks, then another coding": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + INNER,
    "chunks in two lines": POST
    + b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n" + INNER,
    "coding on a folded line": POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + INNER,
    "coding after a form feed": POST + b"Transfer-Encoding: \x0cchunked\r\n\r\n0\r\n\r\n" + INNER,
    "coding after NUL": POST + b"Transfer-Encoding: \0chunked\r\n\r\n0\r\n\r\n" + INNER,
    "chunk size with a sign": POST + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n" + INNER,
    "chunk size in words": POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n" + INNER,
    "chunk size that overflows": POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 17 + b"\r\n\r\n" + INNER,
    "chunk size 0x0": POST + b"Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n" + INNER,
    "chunk longer than it says": POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n" + INNER,
    "bare line feeds": b"GET / HTTP/1.1\nHost: HOST\nContent-Length: 5\n\n" + INNER,
    "bare carriage returns": b"GET / HTTP/1.1\rHost: HOST\r\r" + INNER,
    "a head in a header": b"GET / HTTP/1.1\r\nHost: HOST\r\nX: y\rGET /healthz HTTP/1.1\r\n\r\n",
    "a blank before the first header": b"GET / HTTP/1.1\r\n Host: HOST\r\n\r\n" + INNER,
    "a header without a name": b"GET / HTTP/1.1\r\nHost: HOST\r\n: x\r\n\r\n" + INNER,
    "a header without a colon": b"GET / HTTP/1.1\r\nHost: HOST\r\nContent-Length\r\n\r\n" + INNER,
    "a tunnel": b"CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: HOST\r\n\r\n" + INNER,
    "an upgrade": b"GET /mcp HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
    b"HTTP2-Settings: AA\r\n\r\n" + INNER,
}  # fmt: skip
NOT_HTTP = {
    "HTTP/0.9": b"GET /\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0",
    "HTTP/9.9": b"GET /healthz HTTP/9.9\r\nHost: HOST\r\n\r\n",
    "a number that is none": b"GET /healthz HTTP/1.x\r\nHost: HOST\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(512),
    "SSH": b"SSH-2.0-OpenSSH_9.9\r\n",
    "SOCKS": b"\x05\x01\x00",
    "a PROXY line": b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n" + INNER,
    "only NUL": bytes(4_096),
    "only ends of lines": b"\r\n" * 4_096,
    "only 0xff": b"\xff" * 4_096,
    "NUL in the address": b"GET /health\0z HTTP/1.1\r\nHost: HOST\r\n\r\n",
    "bytes in the query": b"GET /nothing?\xff\xfe HTTP/1.1\r\nHost: HOST\r\n\r\n",
    "a blank in the address": b"GET /health z HTTP/1.1\r\nHost: HOST\r\n\r\n",
    "no address": b"GET  HTTP/1.1\r\nHost: HOST\r\n\r\n",
    "no method": b" /healthz HTTP/1.1\r\nHost: HOST\r\n\r\n",
    "an unknown method": b"BREW /healthz HTTP/1.1\r\nHost: HOST\r\n\r\n",
    "a websocket": b"GET /mcp HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
    "20,000 headers": b"GET /healthz HTTP/1.1\r\nHost: HOST\r\n"
    + b"".join(b"X-%d: y\r\n" % n for n in range(20_000)) + b"\r\n",
    "one header of 1 MB": b"GET /healthz HTTP/1.1\r\nHost: HOST\r\nX: " + b"a" * 1_000_000 + b"\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("name", SMUGGLED)
def test_no_request_hides_another(running: Process, name: str) -> None:
    received = exchange(running, SMUGGLED[name])

    assert b'"alive"' not in received
    assert len(statuses(received)) <= 1
    assert not [status for status in statuses(received) if status not in range(200, 500)]
    assert alive(running)


@pytest.mark.parametrize("name", NOT_HTTP)
def test_what_is_no_http_1_1_is_refused_or_cut_off(running: Process, name: str) -> None:
    received = exchange(running, NOT_HTTP[name])

    assert b'"alive"' not in received
    assert {status for status in statuses(received) if status not in range(400, 500)} == set()
    assert alive(running)


def ahead() -> list[bytes]:
    form = b"grant_type=nothing"
    return [
        INNER,
        POST + b"Content-Length: %d\r\n\r\n" % len(form) + form,
        b"GET /nothing HTTP/1.1\r\nHost: HOST\r\n\r\n",
        POST + chunked(form[:5], form[5:], b""),
    ] * 3  # fewer than `heads.PIPELINED`


def test_requests_sent_ahead_are_answered_one_by_one_in_their_order(running: Process) -> None:
    last = b"GET / HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n"

    received = exchange(running, b"".join([*ahead(), last]), ends=False)

    assert statuses(received) == [*[200, 400, 404, 400] * 3, 200]


def test_whoever_sends_ahead_and_leaves_makes_no_line_of_the_log_look_like_a_fault(running: Process) -> None:
    for count in range(2, 12):
        exchange(running, b"".join(ahead()[:count]))

    assert alive(running)
    assert "request_failed" not in running.logged()


def test_a_body_behind_its_401_is_not_read_as_a_request(running: Process) -> None:
    body = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    head = b"POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n"
    last = b"GET /nothing HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n"

    received = exchange(running, head + b"Content-Length: %d\r\n\r\n" % len(body) + body + last, ends=False)

    assert statuses(received) == [401, 404]


LINES = (
    b"GET / HTTP/1.1\r\n", b"POST /token HTTP/1.1\r\n", b"POST /mcp HTTP/1.1\r\n", b"Host: HOST\r\n", b"\r\n",
    b"Host: evil.example\r\n", b"Content-Length: 5\r\n", b"Content-Length: 0\r\n", b"Transfer-Encoding: chunked\r\n",
    b"Content-Type: application/json\r\n", b"Expect: 100-continue\r\n", b"Connection: close\r\n", b"hello", b" x\r\n",
    b"Connection: keep-alive\r\n", b"Upgrade: websocket\r\n", b"5\r\nhello\r\n", b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n",
    b"\0", b"\xff", b"\n", b"\r", b": \r\n", b"Authorization: Bearer x\r\n", b"Cookie: a=b\r\n",
    b"GET /static/../x HTTP/1.1\r\n", b"GET http://[ HTTP/1.1\r\n",
)  # fmt: skip


@given(sent=st.lists(st.sampled_from(LINES) | st.binary(max_size=8), min_size=1, max_size=14).map(b"".join))
@examples(250)
def test_no_row_of_lines_is_a_fault_of_ours_or_hangs(running: Process, sent: bytes) -> None:
    received = exchange(running, sent)

    assert [status for status in statuses(received) if status >= 500] == []


FRAMES = (b"\r\n", b"Content-Length: 5\r\n\r\nhello", b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
ODD = (
    b"Host: evil.example\r\n", b"Content-Type: application/json\r\n", b"Cookie: a=b\r\n", b"Accept: \xff\r\n",
    b"Authorization: Bearer x\r\n", b"Authorization: \r\n", b"X-Forwarded-For: [\r\n", b"Range: bytes=9-0\r\n",
)  # fmt: skip
WHOLE = st.tuples(
    st.sampled_from([b"GET", b"HEAD", b"POST", b"OPTIONS", b"BREW"]),
    st.sampled_from([b"/", b"/token", b"/mcp", b"/authorize?%00", b"/healthz", b"/static/../x", b"//x", b"*"]),
    st.lists(st.sampled_from(ODD), max_size=3).map(b"".join),
    st.sampled_from(FRAMES),
).map(lambda part: b"%b %b HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n%b%b" % part)


@pytest.fixture
def answered() -> Iterator[set[int]]:
    seen: set[int] = set()
    yield seen
    assert seen >= {200, 400, 401, 404, 405}, f"hardly a request got as far as the application: {seen}"


@given(sent=WHOLE)
@examples(150)
def test_no_whole_request_with_odd_lines_is_a_fault_of_ours_or_unanswered(
    running: Process, answered: set[int], sent: bytes
) -> None:
    received = exchange(running, sent, ends=False)

    (status,) = statuses(received)
    answered.add(status)
    assert status < 500
