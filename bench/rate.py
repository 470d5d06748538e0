"""Makes as many identical HTTP requests as a server answers, over a few kept connections; costs little itself."""

import asyncio
import json
import time
from collections.abc import Sequence

import uvloop

ERAS = ("2025-11-25", "2026-07-28")


def call(host: str | int, *, era: str, tool: str, token: str, arguments: dict[str, object] | None = None) -> bytes:
    """Write one authenticated `tools/call` as it stands on the wire.

    Args:
        host: What the Host header says; a number means that port of 127.0.0.1.
        era: One of `ERAS`.
        tool: Its name.
        token: The bearer token.
        arguments: Of the tool.
    """
    params: dict[str, object] = {"name": tool, "arguments": arguments or {}}
    headers = {
        "Host": f"127.0.0.1:{host}" if isinstance(host, int) else host,
        "Authorization": f"Bearer {token}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": era,
    }
    if era != ERAS[0]:
        headers |= {"Mcp-Method": "tools/call", "Mcp-Name": tool}
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": era,
            "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    headers["Content-Length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body


def requests_per_s(*ports: int, request: bytes, seconds: float, connections: int) -> float:
    """Return how many were answered in a second.

    Args:
        ports: Of the processes; connections are shared out among them in turn.
        request: As it stands on the wire.
        seconds: How long.
        connections: How many are kept, each with one request at a time.

    Raises:
        RuntimeError: An answer was no result of a tool.
    """
    return uvloop.run(_measure(ports, request, seconds=seconds, connections=connections))


async def _measure(ports: Sequence[int], request: bytes, *, seconds: float, connections: int) -> float:
    began = time.perf_counter()
    until = began + seconds
    counts = await asyncio.gather(
        *(_one_after_another(ports[number % len(ports)], request, until) for number in range(connections))
    )
    return sum(counts) / (time.perf_counter() - began)


async def _one_after_another(port: int, request: bytes, until: float) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    count = 0
    try:
        while time.perf_counter() < until:
            writer.write(request)
            _status, body = await answer(reader)
            if count == 0 and (b'"result"' not in body or b'"isError":true' in body):
                raise RuntimeError(f"no result: {body[:300]!r}")
            count += 1
    finally:
        writer.close()
    return count


async def answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Read one HTTP answer: its status and its body."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    status = int(head[9:12])
    if b"transfer-encoding: chunked" in head:
        return status, await _chunks(reader)
    length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
    return status, await reader.readexactly(length)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    return body
