"""Making the connector call somebody, or wait for somebody, by naming an address as a client_id."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import anyio
import httpx2
import pytest

from app.authserver.clients.cimd import DocumentUnavailable
from app.authserver.clients.cimd_fetch import DocumentFetcher
from tests.app_under_test import running_app
from tests.attacks.attacker import REDIRECT, authorize

pytestmark = pytest.mark.anyio

INNER = (
    "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "0.0.0.0", "0",
    "127.0.0.1.", "localhost", "LOCALHOST", "localhost.", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]", "[fe80::1]", "[fc00::1]", "10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1",
    "169.254.169.254", "[fd00:ec2::254]", "198.18.0.1", "192.0.0.1", "224.0.0.1", "255.255.255.255",
    "240.0.0.1", "%31%32%37.0.0.1",
)  # fmt: skip


@pytest.fixture
def trap() -> Iterator[socket.socket]:
    """A listener on every address of this machine that must never be called."""
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
        listener.setblocking(False)
        yield listener


async def test_no_spelling_of_an_inner_address_is_called(tmp_path: Path, trap: socket.socket) -> None:
    port = trap.getsockname()[1]
    async with running_app(tmp_path) as vitals:
        http = vitals.http()
        for host in INNER:
            for address in (f"https://{host}:{port}/client.json", f"http://{host}:{port}/client.json"):
                answer = await http.get(authorize(address))
                assert answer.status_code == 400, address
                assert "location" not in answer.headers

    with pytest.raises(BlockingIOError):
        trap.accept()


async def test_name_servers_that_never_answer_keep_nobody_from_oura(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look-up cannot be stopped; its thread must be none of those that everyone shares."""
    answered = threading.Event()
    real = socket.getaddrinfo

    def silent(host: str, *more: object, **named: object) -> object:
        if host.endswith(".silent.example"):
            answered.wait(30)
            raise OSError
        return real(host, *more, **named)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(socket, "getaddrinfo", silent)
    fetch = DocumentFetcher(loopback_host=None, fetch_s=0.05)

    async def provoke(number: int) -> None:
        with pytest.raises(DocumentUnavailable):
            await fetch(f"https://n{number}.silent.example/client.json")

    try:
        for first in range(0, 40, 8):
            async with anyio.create_task_group() as group:
                for number in range(first, first + 8):
                    group.start_soon(provoke, number)
        with anyio.fail_after(10):
            await asyncio.get_running_loop().getaddrinfo("127.0.0.1", 443)
    finally:
        answered.set()


async def _drips() -> AsyncIterator[bytes]:
    while True:
        yield b" "
        await anyio.sleep(0.01)


PAPER = "https://paper.example/app.json"
JSON = {"content-type": "application/json"}
GENUINE = json.dumps({"client_id": PAPER, "client_name": "Paper", "redirect_uris": [REDIRECT]})
Answer = Callable[[], httpx2.Response]
BAD: dict[str, Answer] = {
    "redirect": lambda: httpx2.Response(
        302, headers={"location": "https://paper.example/b.json", **JSON}, text=GENUINE
    ),
    "6 kB": lambda: httpx2.Response(200, headers=JSON, text=GENUINE + " " * 6_000),
    "drip": lambda: httpx2.Response(200, headers=JSON, content=_drips()),
    "no JSON": lambda: httpx2.Response(200, headers={"content-type": "text/html"}, text=GENUINE),
    "500": lambda: httpx2.Response(500, headers=JSON, text=GENUINE),
}


class Publisher:
    """Publishes one document, at a public address."""

    def __init__(self) -> None:
        self.answer: Answer = lambda: httpx2.Response(200, headers=JSON, text=GENUINE)
        self.asked: list[str] = []

    def fetcher(self) -> DocumentFetcher:
        async def resolve(host: str, port: int) -> list[str]:
            return ["93.184.216.34"]

        return DocumentFetcher(
            loopback_host=None, resolve=resolve, transport=lambda: httpx2.MockTransport(self._say), fetch_s=0.2
        )

    def _say(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request.url.path)
        return self.answer()


@pytest.mark.parametrize("kind", BAD)
async def test_an_answer_that_is_no_document_leads_nowhere_and_spoils_no_older_copy(kind: str, tmp_path: Path) -> None:
    web = Publisher()
    genuine = web.answer
    async with running_app(tmp_path, fetch_document=web.fetcher()) as vitals:
        http = vitals.http()
        with anyio.fail_after(20):
            web.answer = BAD[kind]
            unknown = await http.get(authorize(PAPER))
            web.answer = genuine
            known = await http.get(authorize(PAPER))
            web.answer = BAD[kind]
            vitals.clock.at += 600  # older than it counts without asking
            older = await http.get(authorize(PAPER))
            vitals.clock.at += 25 * 3600  # older than it is kept for an app that nobody approved
            gone = await http.get(authorize(PAPER))

    assert [answer.status_code for answer in (unknown, known, older, gone)] == [400, 200, 200, 400]
    assert not any("location" in answer.headers for answer in (unknown, known, older, gone))
    assert web.asked == ["/app.json"] * 4
