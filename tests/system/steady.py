"""Clients that ask without a pause over kept connections, and notice each request that got no whole answer."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from app.demo.walk import App


@dataclass
class Steady:
    """What the clients saw."""

    answered: int = 0
    wrong: list[str] = field(default_factory=list)  # answers other than a tool's result
    errors: list[str] = field(default_factory=list)  # results in which the tool says what went wrong
    cut: list[str] = field(default_factory=list)  # sent, and not answered
    not_taken: int = 0  # reset while nobody had taken the connection: it waited in the kernel when listening ended


async def ask_steadily(app: App, *, connections: int, tool: str, arguments: Mapping[str, object]) -> Steady:
    """Ask over so many connections until nobody listens any more."""
    seen = Steady()
    host = urlsplit(app.mcp_url)
    request = _request(app, host.netloc, tool, arguments)
    async with asyncio.TaskGroup() as group:
        for _ in range(connections):
            group.create_task(_one(seen, host.hostname or "", host.port or 0, request))
    return seen


async def _one(seen: Steady, host: str, port: int, request: bytes) -> None:
    while True:
        try:
            reader, writer = await asyncio.open_connection(host, port)
        except ConnectionError:
            return  # the server has gone; nothing was sent
        try:
            again = await _answered(seen, reader, writer, request, fresh=True)
            while again:
                again = await _answered(seen, reader, writer, request)
        finally:
            writer.close()


async def _answered(
    seen: Steady, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes, *, fresh: bool = False
) -> bool:
    """Ask once; True if the connection may be used again."""
    if reader.at_eof():
        return False  # closed between two requests, as a server may
    try:
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length:")[2].partition("\r\n")[0])
        body = await reader.readexactly(length)
    except (ConnectionError, asyncio.IncompleteReadError) as exc:
        if fresh and isinstance(exc, ConnectionResetError):
            seen.not_taken += 1
        else:
            seen.cut.append(repr(exc))
        return False
    seen.answered += 1
    result = json.loads(body).get("result") if " 200 " in head.partition("\r\n")[0] else None
    if result is None:
        seen.wrong.append(head.partition("\r\n")[0])
    elif result.get("isError"):
        seen.errors.append(result["content"][0]["text"])
    return "connection: close" not in head


def _request(app: App, host: str, tool: str, arguments: Mapping[str, object]) -> bytes:
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    ).encode()
    headers = {
        "Host": host,
        "Authorization": f"Bearer {app.access_token}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": "2025-11-25",
        "Content-Length": str(len(body)),
    }
    lines = ["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body
