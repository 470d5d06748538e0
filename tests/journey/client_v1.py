"""The MCP client of the 1.x SDK, run by a Python that has it: prints the address to sign in at, reads where that ended.

Usage: client_v1.py MCP_URL. Runs on its own, in another environment: it imports nothing of this project.
"""

import asyncio
import json
import sys
from urllib.parse import parse_qs, urlsplit

import httpx
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

REDIRECT = "http://127.0.0.1:53683/callback"


class Memory:
    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def show(address: str) -> None:
    print(address, flush=True)


async def wait() -> tuple[str, str | None]:
    line = await asyncio.to_thread(sys.stdin.readline)
    query = parse_qs(urlsplit(line.strip()).query)
    return query["code"][0], query["state"][0]


async def main(url: str) -> None:
    metadata = OAuthClientMetadata(
        client_name="Client of 2025",
        redirect_uris=[REDIRECT],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
    )
    auth = OAuthClientProvider(url, metadata, Memory(), redirect_handler=show, callback_handler=wait)
    told = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append(done)

    async with (
        httpx.AsyncClient(auth=auth, trust_env=False, timeout=30) as http,
        streamable_http_client(url, http_client=http) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        opened = await session.initialize()
        tools = await session.list_tools()
        question = {"collection": "daily_sleep", "start": "2026-02-02", "end": "2026-02-08"}
        answer = await session.call_tool("health_query", question, progress_callback=progress)
    facts = {
        "server": opened.serverInfo.name,
        "tools": [tool.name for tool in tools.tools],
        "error": answer.isError,
        "complete": answer.structuredContent["complete"],
        "progress": len(told),
    }
    print(json.dumps(facts), flush=True)


asyncio.run(main(sys.argv[1]))
