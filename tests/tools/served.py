"""The MCP app behind a real HTTP server on loopback, with a caller put into the scope as the bearer middleware does."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import uvicorn
from starlette.types import Message, Receive, Scope, Send

from app.identity import CALLER
from app.tools.transport import McpAsgi
from app.web.guard import MCP_BODY_BYTES
from tests.tools.fakes import Connector


@dataclass
class Served:
    """Where it answers, and what content types it answered with."""

    url: str
    types: list[str] = field(default_factory=list)


@asynccontextmanager
async def served(connector: Connector) -> AsyncIterator[Served]:
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    found = Served(f"http://127.0.0.1:{port}/mcp")
    inner = McpAsgi(connector.server(), max_body_bytes=MCP_BODY_BYTES)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if connector.caller is not None:
            scope[CALLER] = connector.caller

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start":
                found.types += [value.decode() for name, value in message["headers"] if name.lower() == b"content-type"]
            await send(message)

        await inner(scope, receive, watch)

    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
    async with inner.run(), anyio.create_task_group() as group:
        group.start_soon(server.serve, [listening])
        with anyio.fail_after(5):
            while not server.started:
                await anyio.lowlevel.checkpoint()
        try:
            yield found
        finally:
            server.should_exit = True
