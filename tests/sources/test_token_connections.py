"""A refresh token never travels on a connection that was kept from an earlier request, and its answer is bounded."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.abc
import httpx2
import pytest

from app.parts import Parts, build_parts
from app.settings import load_settings
from app.sources.oura.oauth import OuraOAuth
from app.vault.outcomes import OutcomeUnknown

pytestmark = pytest.mark.anyio

TOKENS = {"access_token": "_0XAT", "refresh_token": "_1XRT", "expires_in": 86_400, "token_type": "bearer"}


class Impatient:
    """Answers the first request of each connection and hangs up at the second, as one does whose idle time is up."""

    def __init__(self) -> None:
        self.connections = 0
        self.requests = 0
        self.hung_up = 0

    async def __call__(self, stream: anyio.abc.SocketStream) -> None:
        self.connections += 1
        body = json.dumps(TOKENS).encode()
        async with stream:
            await stream.receive()
            self.requests += 1
            head = f"HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-length: {len(body)}\r\n\r\n"
            await stream.send(head.encode() + body)
            try:
                await stream.receive()
            except anyio.EndOfStream:
                return
            self.hung_up += 1


@asynccontextmanager
async def connector(folder: Path) -> AsyncIterator[tuple[Parts, Impatient, str]]:
    """Everything as `vitals serve` builds it, with an impatient Oura on loopback."""
    oura = Impatient()
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as group:
        root = f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"
        group.start_soon(listener.serve, oura)
        settings = load_settings(
            {
                "DATA_DIR": str(folder),
                "OURA_CLIENT_ID": "client",
                "OURA_CLIENT_SECRET": "secret",
                "OURA_OWNER_EMAIL": "owner@example.com",
                "OURA_API_URL": root,
                "OURA_TOKEN_URLS": f"{root}/oauth/token",
            }
        )
        parts = build_parts(settings, now=lambda: 0.0)
        yield parts, oura, root
        await parts.aclose()
        group.cancel_scope.cancel()


async def test_each_renewal_opens_a_connection_so_none_is_lost_to_an_old_one_that_dies(tmp_path: Path) -> None:
    async with connector(tmp_path) as (parts, oura, root):
        with anyio.fail_after(5):
            await parts.http.get(f"{root}/v2/usercollection/sleep")  # leaves a connection to the same host behind
            for _ in range(3):
                answer = await parts.oauth.refresh("rt", token_url=f"{root}/oauth/token")
                assert answer.refresh_token == "_1XRT"

    assert (oura.connections, oura.requests, oura.hung_up) == (4, 4, 0)


async def test_questions_keep_their_connection(tmp_path: Path) -> None:
    async with connector(tmp_path) as (parts, oura, root):
        with anyio.fail_after(5):
            await parts.http.get(f"{root}/v2/usercollection/sleep")
            with pytest.raises(Exception, match="disconnected"):  # `OuraClient` asks once more
                await parts.http.get(f"{root}/v2/usercollection/sleep")

    assert (oura.connections, oura.hung_up) == (1, 1)


class Endless(httpx2.AsyncByteStream):
    """A body that goes on: at once, or by a byte now and then, so that no single wait is long."""

    def __init__(self, pause_s: float, chunk: bytes) -> None:
        self._pause_s = pause_s
        self._chunk = chunk

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            await anyio.sleep(self._pause_s)
            yield self._chunk


@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param(Endless(0, b"x" * 4096), "endless answer", id="without end"),
        pytest.param(Endless(0.001, b"x"), "TimeoutError", id="by the byte"),
    ],
)
async def test_an_answer_that_does_not_end_is_given_up_on_and_its_outcome_unknown(
    body: Endless, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.sources.oura.oauth._DEADLINE_S", 0.1)
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, stream=body))
    async with httpx2.AsyncClient(transport=transport) as http:
        oauth = OuraOAuth(
            http=http,
            client_id="client",
            client_secret="secret",
            authorize_url="https://oura.example/oauth/authorize",
            token_urls=("https://oura.example/oauth/token",),
            revoke_urls=(),
            scopes=("daily",),
            redirect_uri="https://vitals.example/callback/oura/",
        )
        with anyio.fail_after(5), pytest.raises(OutcomeUnknown, match=says):
            await oauth.refresh("rt", token_url="https://oura.example/oauth/token")
