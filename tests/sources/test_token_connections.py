"""A refresh token never travels on a connection that was kept from an earlier request."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.abc
import pytest

from app.parts import Parts, build_parts
from app.settings import load_settings

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
