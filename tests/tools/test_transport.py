"""Over real HTTP, with the SDK's own client, on both eras of the protocol."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import anyio
import httpx2
import pytest
from mcp.client import Client
from starlette.types import Message

from app.identity import Caller
from app.simulator import Simulator
from app.sources.base import Collection, DateRange, Fetched, Progress
from app.tools.transport import McpAsgi
from tests.tools.fakes import Connector, FakeSource, sleep, text_of
from tests.tools.served import served
from tests.tools.test_against_simulator import NOW, connected

pytestmark = pytest.mark.anyio

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28", "auto"])
TOOLS = {"health_today", "health_query", "health_catalog", "health_check"}
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


@dataclass
class PageByPage(FakeSource):
    """A source whose next page comes only when the client has heard of the one before."""

    heard: anyio.Event = field(default_factory=anyio.Event)

    async def fetch(self, caller: Caller, collection: Collection, days: DateRange | None, **more: Any) -> Fetched:
        progress: Progress | None = more["progress"]
        if progress is None:  # asked beside the question, for what is missing
            return Fetched(records=(), pages=1, complete=True)
        for page in range(1, self.pages + 1):
            self.heard = anyio.Event()
            await progress(page, self.pages, f"page {page}")
            await self.heard.wait()
        return Fetched(records=tuple(self.records["sleep"]), pages=self.pages, complete=True)


def connector() -> Connector:
    return Connector(FakeSource({"sleep": [sleep("2026-03-10")]}, pages=3))


@ERAS
async def test_a_client_lists_the_tools_and_calls_one(era: str) -> None:
    asked = connector()

    with anyio.fail_after(20):
        async with served(asked) as at, Client(at.url, mode=era) as client:
            tools = (await client.list_tools()).tools
            result = await client.call_tool("health_query", {"collection": "sleep", "day": "today"})

    assert {tool.name for tool in tools} == TOOLS
    assert not result.is_error
    assert json.loads(text_of(result)) == result.structured_content
    assert result.structured_content["data"][0]["day"] == "2026-03-10"


@ERAS
async def test_progress_reaches_the_client(era: str) -> None:
    told: list[tuple[float, float | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total))

    with anyio.fail_after(20):
        async with served(connector()) as at, Client(at.url, mode=era) as client:
            await client.call_tool("health_query", {"collection": "sleep"}, progress_callback=hear)

    assert told == [(1, 3), (2, 3), (3, 3)]
    assert "text/event-stream" in at.types


@ERAS
async def test_progress_is_told_while_pages_are_still_to_come(era: str) -> None:
    asked = Connector(PageByPage({"sleep": [sleep("2026-03-10")]}, pages=3))
    source = cast(PageByPage, asked.source)
    told: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)
        source.heard.set()

    with anyio.fail_after(20):  # the source would wait for ever for a client that is told only at the end
        async with served(asked) as at, Client(at.url, mode=era) as client:
            result = await client.call_tool("health_query", {"collection": "sleep"}, progress_callback=hear)

    assert not result.is_error
    assert told == [1, 2, 3]


@ERAS
async def test_the_pages_of_a_real_source_are_told_as_one_rising_count(era: str, tmp_path: Path) -> None:
    told: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    question = {"collection": "heartrate", "start": "2026-03-01", "end": "2026-03-08", "resolution": "hour"}
    with anyio.fail_after(30):
        async with (
            connected(Simulator(now=NOW.timestamp), tmp_path) as asked,
            served(asked) as at,
            Client(at.url, mode=era) as client,
        ):
            result = await client.call_tool("health_query", question, progress_callback=hear)

    assert result.structured_content is not None
    assert told == sorted(set(told))
    assert told[-1] == result.structured_content["pages"]
    assert len(told) > 3


@ERAS
async def test_who_does_not_wait_for_progress_is_answered_in_json(era: str) -> None:
    with anyio.fail_after(20):
        async with served(connector()) as at, Client(at.url, mode=era) as client:
            await client.call_tool("health_query", {"collection": "sleep"})

    assert "application/json" in at.types
    assert "text/event-stream" not in at.types


@ERAS
async def test_a_failure_is_a_result_that_says_so(era: str) -> None:
    with anyio.fail_after(20):
        async with served(connector()) as at, Client(at.url, mode=era) as client:
            result = await client.call_tool("health_query", {"collection": "slep"})

    assert result.is_error
    assert "oura.sleep" in text_of(result)


@pytest.mark.parametrize("era", ["legacy", "auto"])  # a client set to one revision asks for no introduction
async def test_the_server_introduces_itself(era: str) -> None:
    with anyio.fail_after(20):
        async with served(connector()) as at, Client(at.url, mode=era) as client:
            server, instructions = client.server_info, client.instructions

    assert server is not None
    assert (server.name, server.title, server.version) == ("vitals", "Vitals", "0.1.0")
    assert server.icons
    assert server.icons[0].src.startswith("data:image/svg+xml;base64,")
    assert instructions
    assert "health_today" in instructions


async def test_discovery_without_headers_gets_the_answer_that_chatgpt_falls_back_on() -> None:
    ask = {"jsonrpc": "2.0", "id": "openai-mcp-discover", "method": "server/discover", "params": {}}

    async with served(connector()) as at, httpx2.AsyncClient() as http:
        answer = await http.post(at.url, json=ask, headers=HEADERS)

    assert answer.status_code == 200
    assert answer.json()["error"]["code"] == -32601


async def test_a_client_that_left_before_the_end_of_its_body_is_not_answered() -> None:
    messages: list[Message] = [
        {"type": "http.request", "body": b'{"jsonrpc":', "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent: list[Message] = []

    async def receive() -> Message:
        return messages.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    mcp = McpAsgi(connector().server(), max_body_bytes=100)
    with anyio.fail_after(5):
        async with mcp.run():
            await mcp({"type": "http", "method": "POST", "path": "/mcp", "headers": []}, receive, send)

    assert sent == []
