"""What answers a call in place of the SDK sends what the SDK would have sent, in both eras."""

import json
from typing import Any

import anyio
import httpx2
import pytest
from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY
from starlette.types import Receive, Scope, Send

from app.identity import CALLER
from app.tools.direct import ToolCalls
from app.tools.transport import McpAsgi
from app.web.guard import MCP_BODY_BYTES
from tests.tools.fakes import OWNER, Connector, FakeSource, sleep

pytestmark = pytest.mark.anyio

ERAS = pytest.mark.parametrize("era", ["2025-06-18", "2025-11-25", "2026-07-28"])
CALLS: dict[str, dict[str, Any]] = {
    "an answer": {"name": "health_query", "arguments": {"collection": "sleep", "day": "today"}},
    "no arguments": {"name": "health_check"},
    "null for arguments": {"name": "health_catalog", "arguments": None},
    "nothing found": {"name": "health_today", "arguments": {}},
    "a refusal": {"name": "health_query", "arguments": {"collection": "slep"}},
    "an argument too many": {"name": "health_check", "arguments": {"é": [None, 1.5]}},
    "an unknown tool": {"name": "health_cheque", "arguments": {}},
    "no name": {"arguments": {}},
    "a number for a name": {"name": 7, "arguments": {}},
    "a list of arguments": {"name": "health_check", "arguments": []},
    "more than is asked for": {"name": "health_check", "arguments": {}, "task": {"ttl": 1}, "x": None},
}


async def sent(params: dict[str, Any], era: str, *, by_the_sdk: bool) -> tuple[int, Any]:
    """Return status and body of the answer to one call."""
    server = Connector(FakeSource({"sleep": [sleep("2026-03-10")]})).server()
    if by_the_sdk:
        server.middleware[:] = [each for each in server.middleware if not isinstance(each, ToolCalls)]
    mcp = McpAsgi(server, max_body_bytes=MCP_BODY_BYTES)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await mcp({**scope, CALLER: OWNER}, receive, send)

    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": era}
    if era.startswith("2026"):
        headers |= {"mcp-method": "tools/call", "mcp-name": str(params.get("name", ""))}
        params = {**params, "_meta": {PROTOCOL_VERSION_META_KEY: era, CLIENT_CAPABILITIES_META_KEY: {}}}
    with anyio.fail_after(10):
        async with mcp.run(), httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app)) as http:
            message = {"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params}
            answer = await http.post("https://vitals.example/mcp", json=message, headers=headers)
    return answer.status_code, answer.json()


@ERAS
@pytest.mark.parametrize("call", CALLS)
async def test_a_call_is_answered_as_the_sdk_would_answer_it(era: str, call: str) -> None:
    direct = await sent(CALLS[call], era, by_the_sdk=False)

    assert direct == await sent(CALLS[call], era, by_the_sdk=True)


@ERAS
async def test_an_answer_is_text_and_the_same_object(era: str) -> None:
    _, body = await sent(CALLS["an answer"], era, by_the_sdk=False)

    result = body["result"]
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert result["structuredContent"]["data"][0]["day"] == "2026-03-10"
    assert ("_meta" in result) == era.startswith("2026")
