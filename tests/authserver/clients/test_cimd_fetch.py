"""Fetching a document: no address inside, no second look-up, no redirect, no more bytes or seconds than agreed."""

import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.abc
import httpx2
import pytest
from anyio.streams.tls import TLSStream

from app.authserver.clients.addresses import is_loopback, is_public
from app.authserver.clients.cimd import DocumentUnavailable
from app.authserver.clients.cimd_fetch import MAX_BYTES, DocumentFetcher
from tests.sources.certificates import pair

pytestmark = pytest.mark.anyio

URL = "https://app.example/client.json"
PUBLIC = "93.184.216.34"
JSON = {"content-type": "application/json"}


class Names:
    """Name resolution that answers what a test says, one answer per question."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        if not self.answers:
            raise socket.gaierror("no such name")
        return self.answers.pop(0)


class Wire:
    """Answers every request that gets out, and remembers it."""

    def __init__(self, answer: Callable[[httpx2.Request], httpx2.Response] | None = None) -> None:
        self.sent: list[httpx2.Request] = []
        self._answer = answer or (lambda _: httpx2.Response(200, headers=JSON, content=b"{}"))

    def __call__(self) -> httpx2.AsyncBaseTransport:
        return httpx2.MockTransport(self._take)

    def _take(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append(request)
        return self._answer(request)


def fetcher(names: Names, wire: Wire, *, loopback_host: str | None = None) -> DocumentFetcher:
    return DocumentFetcher(loopback_host=loopback_host, resolve=names, transport=wire, fetch_s=1)


async def refused(fetch: DocumentFetcher, url: str = URL) -> str:
    with anyio.fail_after(5), pytest.raises(DocumentUnavailable) as caught:
        await fetch(url)
    return str(caught.value)


async def test_the_connection_goes_to_the_address_that_was_checked_under_the_name_that_was_asked() -> None:
    wire, names = Wire(), Names([PUBLIC], ["127.0.0.1"])

    found = await fetcher(names, wire)("https://app.example:8443/a?b=c")

    (sent,) = wire.sent
    assert found.body == b"{}"
    assert names.asked == [("app.example", 8443)]
    assert str(sent.url) == f"https://{PUBLIC}:8443/a?b=c"
    assert sent.headers["host"] == "app.example:8443"
    assert sent.extensions["sni_hostname"] == "app.example"
    assert sent.headers["accept-encoding"] == "identity"
    assert not {"cookie", "authorization"} & sent.headers.keys()


async def test_a_name_that_is_rebound_after_the_check_changes_nothing() -> None:
    names = Names([PUBLIC], ["169.254.169.254"], ["169.254.169.254"])
    wire = Wire()

    await fetcher(names, wire)(URL)

    assert [each.url.host for each in wire.sent] == [PUBLIC]
    assert len(names.asked) == 1


INSIDE = [
    "127.0.0.1",
    "127.9.9.9",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "255.255.255.255",
    "224.0.0.1",
    "240.0.0.1",
    "198.18.0.1",
    "192.0.2.1",
    "192.0.0.9",
    "192.88.99.1",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2001:0:1::",
    "2001:db8::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "100::1",
    "5f00::1",
    "not an address",
]


@pytest.mark.parametrize("address", INSIDE)
@pytest.mark.parametrize("beside", [[], [PUBLIC]], ids=["alone", "beside a public one"])
async def test_a_name_that_leads_inside_is_not_called(address: str, beside: list[str]) -> None:
    wire = Wire()

    why = await refused(fetcher(Names([*beside, address]), wire))

    assert wire.sent == []
    assert address not in why
    assert not is_public(address)


@pytest.mark.parametrize("address", [PUBLIC, "8.8.8.8", "2606:4700::1111", "2a00:1450:4001::1"])
def test_the_public_internet_is_public(address: str) -> None:
    assert is_public(address)
    assert not is_loopback(address)


async def test_a_name_that_does_not_exist_is_not_called() -> None:
    wire = Wire()

    await refused(fetcher(Names(), wire))
    await refused(fetcher(Names([]), wire))

    assert wire.sent == []


@pytest.mark.parametrize(
    ("loopback_host", "url", "address", "good"),
    [
        pytest.param("127.0.0.1", "http://127.0.0.1:9/c", "127.0.0.1", True, id="the same loopback address"),
        pytest.param("localhost", "http://localhost:9/c", "::1", True, id="the same loopback name"),
        pytest.param("localhost", "http://localhost:9/c", PUBLIC, False, id="a loopback name that leads outside"),
        pytest.param("localhost", "https://app.example/c", "127.0.0.1", False, id="another name that leads inside"),
        pytest.param(None, "https://localhost:9/c", "127.0.0.1", False, id="a server that is not on loopback"),
    ],
)
async def test_loopback_is_called_only_from_loopback(
    loopback_host: str | None, url: str, address: str, good: bool
) -> None:
    wire = Wire()
    fetch = fetcher(Names([address]), wire, loopback_host=loopback_host)

    if good:
        assert (await fetch(url)).body == b"{}"
    else:
        await refused(fetch, url)
        assert wire.sent == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 201, 204, 206, 401, 403, 404, 410, 500, 503])
async def test_only_200_counts_and_redirects_are_not_followed(status: int) -> None:
    wire = Wire(
        lambda _: httpx2.Response(status, headers={**JSON, "location": "http://169.254.169.254/"}, content=b"{}")
    )

    why = await refused(fetcher(Names([PUBLIC], [PUBLIC]), wire))

    assert len(wire.sent) == 1
    assert str(status) in why
    assert "169.254" not in why


@pytest.mark.parametrize(
    ("media", "good"),
    [
        ("application/json", True),
        ("Application/JSON; charset=utf-8", True),
        ("application/oauth-client+json", True),
        ("text/html", False),
        ("text/plain", False),
        ("text/json", False),
        ("application/jsonp", False),
        ("image/svg+json", False),
        ("", False),
    ],
)
async def test_only_json_counts(media: str, good: bool) -> None:
    fetch = fetcher(
        Names([PUBLIC]), Wire(lambda _: httpx2.Response(200, headers={"content-type": media}, content=b"{}"))
    )

    if good:
        assert (await fetch(URL)).body == b"{}"
    else:
        assert "JSON" in await refused(fetch)


@pytest.mark.parametrize(("size", "good"), [(MAX_BYTES, True), (MAX_BYTES + 1, False), (1_000_000, False)])
async def test_more_than_five_kilobytes_are_not_read(size: int, good: bool) -> None:
    read = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal read
        while read < size:
            part = min(1024, size - read)
            read += part
            yield b"x" * part

    fetch = fetcher(Names([PUBLIC]), Wire(lambda _: httpx2.Response(200, headers=JSON, content=body())))

    if good:
        assert len((await fetch(URL)).body) == size
    else:
        assert "larger" in await refused(fetch)
        assert read <= MAX_BYTES + 1024


async def test_a_compressed_document_is_not_unpacked() -> None:
    wire = Wire(lambda _: httpx2.Response(200, headers={**JSON, "content-encoding": "gzip"}, content=b""))

    assert "compressed" in await refused(fetcher(Names([PUBLIC]), wire))


async def test_what_the_server_says_about_caching_is_passed_on() -> None:
    headers = {**JSON, "cache-control": "max-age=60", "age": "5"}

    found = await fetcher(Names([PUBLIC]), Wire(lambda _: httpx2.Response(200, headers=headers, content=b"{}")))(URL)

    assert (found.cache_control, found.age) == ("max-age=60", "5")


async def test_the_second_address_is_tried_when_the_first_does_not_listen() -> None:
    def one_family(request: httpx2.Request) -> httpx2.Response:
        if ":" in request.url.host:
            raise httpx2.ConnectError("no route", request=request)
        return httpx2.Response(200, headers=JSON, content=b"{}")

    wire = Wire(one_family)

    assert (await fetcher(Names(["2606:4700::1111", PUBLIC, "8.8.8.8"]), wire)(URL)).body == b"{}"
    assert [each.url.host for each in wire.sent] == ["2606:4700::1111", PUBLIC]


@pytest.mark.parametrize("error", [httpx2.ConnectError, httpx2.ReadError, httpx2.RemoteProtocolError])
async def test_a_broken_connection_is_told_in_fixed_words(error: type[httpx2.TransportError]) -> None:
    def broken(request: httpx2.Request) -> httpx2.Response:
        raise error("something about 10.0.0.1", request=request)

    assert "10.0.0.1" not in await refused(fetcher(Names([PUBLIC]), Wire(broken)))


async def test_a_name_server_that_hangs_is_given_up() -> None:
    async def hangs(host: str, port: int) -> Sequence[str]:
        await anyio.sleep_forever()
        raise AssertionError

    fetch = DocumentFetcher(loopback_host=None, resolve=hangs, transport=Wire(), fetch_s=0.05)

    assert "within 0.05 seconds" in await refused(fetch)


# From here on a real server on loopback, reached as the loopback exception allows.

Serve = Callable[[anyio.abc.ByteStream, bytes], Awaitable[None]]


async def served(
    handle: Serve,
    *,
    fetch_s: float = 2,
    tls: ssl.SSLContext | None = None,
    trusting: ssl.SSLContext | None = None,
) -> bytes | str:
    """Fetch one document from a server that does `handle`; return its body, or why it was refused."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)

    async def connection(raw: anyio.abc.ByteStream) -> None:
        async with raw:
            with suppress(anyio.BrokenResourceError, anyio.EndOfStream, ssl.SSLError):
                stream = raw
                if tls is not None:
                    stream = await TLSStream.wrap(raw, server_side=True, ssl_context=tls, standard_compatible=False)
                await handle(stream, await stream.receive())

    async def here(_: str, __: int) -> Sequence[str]:
        return ["127.0.0.1"]

    fetch = DocumentFetcher(
        loopback_host="localhost",
        resolve=here,
        fetch_s=fetch_s,
        transport=None if trusting is None else lambda: httpx2.AsyncHTTPTransport(verify=trusting, trust_env=False),
    )
    result: bytes | str
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, connection)
        with anyio.fail_after(5):
            try:
                result = (await fetch(f"{'https' if tls else 'http'}://localhost:{port}/client.json")).body
            except DocumentUnavailable as why:
                result = str(why)
        group.cancel_scope.cancel()
    return result


async def say_json(stream: anyio.abc.ByteStream, _: bytes) -> None:
    await stream.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}")


async def test_a_real_server_sees_the_name_and_no_proxy_stands_between(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    seen: list[bytes] = []

    async def answer(stream: anyio.abc.ByteStream, request: bytes) -> None:
        seen.append(request)
        await say_json(stream, request)

    assert await served(answer) == b"{}"
    assert seen[0].startswith(b"GET /client.json HTTP/1.1\r\nHost: localhost:")


async def test_a_server_that_drips_is_given_up_after_the_whole_time() -> None:
    async def drip(stream: anyio.abc.ByteStream, _: bytes) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4000\r\n\r\n")
        while True:
            await stream.send(b" ")
            await anyio.sleep(0.02)

    assert "within 0.2 seconds" in str(await served(drip, fetch_s=0.2))


@pytest.mark.parametrize(
    ("host", "good"),
    [
        pytest.param("localhost", True, id="the name"),
        pytest.param("other.example", False, id="another name"),
        pytest.param("127.0.0.1", False, id="only the address that was called"),
    ],
)
async def test_the_certificate_must_be_for_the_name_that_was_asked(tmp_path: Path, host: str, good: bool) -> None:
    made = pair(tmp_path, host)
    tls = made.server()
    asked_for: list[str] = []
    tls.sni_callback = lambda _, name, __: asked_for.append(name)

    result = await served(say_json, tls=tls, trusting=made.trusting())

    assert result == (b"{}" if good else "its server could not be reached.")
    assert asked_for == ["localhost"]
