"""Requests as bytes, handed to the application the way uvicorn does, and what every answer must be whatever was asked.

No HTTP client stands between, as one would refuse or repair the half of it.
"""

import time
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from itertools import count
from urllib.parse import unquote

import anyio
from starlette.types import ASGIApp, Message

from app.authserver.redirects import CURSOR_REDIRECT
from tests.app_under_test import OURA, URL
from tests.attacks.attacker import REDIRECT

DEADLINE_S = 10.0  # the slowest takes a tenth of a second; a machine may be loaded
HOST = URL.removeprefix("https://").encode()
# Whoever is sent on goes to our own pages, to Oura, or to a redirect URI that an app of these tests registered.
MAY_BE_SENT_TO = (f"{OURA}/oauth/authorize?", REDIRECT, CURSOR_REDIRECT, "/connections")
_ADDRESSES = (IPv4Address("198.18.0.0") + number for number in count())
GIVES_US_AWAY = (b"Traceback", b"site-packages", b"sqlite", b'.py"', b".py:", b"RecursionError")


@dataclass(frozen=True)
class Request:
    """One request. `hangs_up`: the client leaves where the body should go on."""

    method: str
    target: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: tuple[bytes, ...] = (b"",)
    hangs_up: bool = False
    # Each from somewhere else: how often one address may ask is the claim of other tests, and would end these early.
    address: str = field(default_factory=lambda: str(next(_ADDRESSES)), compare=False)

    def scope(self) -> dict[str, object]:
        raw_path, _, query = self.target.partition(b"?")
        path = raw_path.decode("ascii")
        named = {name for name, _ in self.headers}
        host = () if b"host" in named else ((b"host", HOST),)
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": self.method,
            "scheme": "http",
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw_path,
            "query_string": query,
            "root_path": "",
            "headers": [*host, *((name.lower(), value) for name, value in self.headers)],
            "client": (self.address, 50_000),
            "server": ("127.0.0.1", 8_000),
            "state": {},
        }


@dataclass
class Answer:
    """What came back; status 0 if nothing did."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    ended: bool = False

    @property
    def location(self) -> str | None:
        return self.headers.get("location")


async def ask(app: ASGIApp, request: Request) -> Answer:
    """Send a request and hold its answer against what every answer must be."""
    answer = Answer()
    waiting = [{"type": "http.request", "body": part, "more_body": True} for part in request.body]
    waiting[-1]["more_body"] = request.hangs_up
    over = anyio.Event()

    async def receive() -> Message:
        if waiting:
            return waiting.pop(0)
        if not request.hangs_up:
            await over.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            assert not answer.status, "two answers to one request"
            answer.status = int(message["status"])
            answer.headers = {name.decode("latin-1").lower(): v.decode("latin-1") for name, v in message["headers"]}
        else:
            assert answer.status, "a body without a head"
            assert not answer.ended, "a body that goes on after its end"
            answer.body += message.get("body", b"")
            answer.ended = not message.get("more_body", False)
            if answer.ended:
                over.set()

    began = time.perf_counter()
    with anyio.fail_after(DEADLINE_S):
        await app(request.scope(), receive, send)
    assert time.perf_counter() - began < DEADLINE_S, "the event loop stood still"
    judge(request, answer)
    return answer


def judge(request: Request, answer: Answer) -> None:
    """No fault of ours, nothing cut off, nobody sent astray, nothing given away."""
    if not answer.status:
        assert request.hangs_up, "no answer at all"
        return
    assert 200 <= answer.status < 500, (answer.status, answer.body[:200])
    assert answer.ended or request.hangs_up, "half an answer"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    if answer.status in range(300, 400) and answer.status != 304:
        assert answer.location is not None
        assert answer.location.startswith(MAY_BE_SENT_TO), answer.location
        assert "\r" not in answer.location
        assert "\n" not in answer.location
    else:
        assert answer.location is None
    if not request.target.startswith(b"/static/"):
        assert not [word for word in GIVES_US_AWAY if word in answer.body], answer.body[:500]
