"""What a client or a model hears at the MCP address that sends something else than it should: words, no long echo."""

from typing import Any

import httpx2
import pytest
from starlette.types import Message

from app.demo.walk import App
from app.web.wording import reworded
from tests.app_under_test import Vitals, rpc

pytestmark = pytest.mark.anyio

LONG = "canary" * 1000
ERAS = ["2025-11-25", "2026-07-28"]
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
async def app(vitals: Vitals) -> App:
    return await vitals.connected_app()


async def post(vitals: Vitals, app: App, *, era: str = "2025-11-25", **body: Any) -> httpx2.Response:
    message = body.get("json")
    headers = {"authorization": f"Bearer {app.access_token}", "mcp-protocol-version": era, **body.pop("headers", {})}
    if era == "2026-07-28" and isinstance(message, dict):
        headers |= {"mcp-method": message["method"], "mcp-name": message["params"].get("name", "")}
        headers |= {"mcp-name": message["params"]["uri"]} if "uri" in message["params"] else {}
        message["params"] |= {"_meta": ENVELOPE}
    async with vitals.http() as http:
        return await http.post(vitals.mcp_url, headers=headers, **body)


@pytest.mark.parametrize("era", ERAS)
async def test_a_batch_is_refused_as_one(era: str, vitals: Vitals, app: App) -> None:
    answer = await post(vitals, app, era=era, json=[rpc("tools/list"), rpc("ping")])

    assert (answer.status_code, answer.json()["error"]["code"], answer.json()["id"]) == (400, -32600, None)
    assert "Send each request in a POST of its own" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "body",
    [b"5", b'"canary"', b'{"jsonrpc":"1.0","id":1,"method":"canary"}', b'{"jsonrpc":"2.0","id":1}', b'{"id":"canary"}'],
)
async def test_what_is_no_request_is_answered_without_the_parsers_report(body: bytes, vitals: Vitals, app: App) -> None:
    answer = await post(vitals, app, content=body, headers={"content-type": "application/json"})

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32600)
    assert "Send one object" in answer.json()["error"]["message"]
    for inside in ("canary", "pydantic", "Validation"):
        assert inside not in answer.text


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("media", ["text/plain", "", "application/x-www-form-urlencoded"])
async def test_another_media_type_is_told_the_right_one(media: str, era: str, vitals: Vitals, app: App) -> None:
    answer = await post(vitals, app, era=era, content=b'{"jsonrpc":"2.0"}', headers={"content-type": media})

    assert answer.status_code == 415
    assert "application/json" in answer.json()["error"]["message"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("media", ["APPLICATION/JSON", "Application/Json; charset=UTF-8"])
async def test_the_media_type_counts_in_any_case(media: str, era: str, vitals: Vitals, app: App) -> None:
    answer = await post(vitals, app, era=era, json=rpc("tools/list"), headers={"content-type": media})

    assert answer.json()["result"]["tools"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_misspelt_tool_is_guessed_and_all_are_named(era: str, vitals: Vitals, app: App) -> None:
    answer = await post(vitals, app, era=era, json=rpc("tools/call", {"name": "health_tday", "arguments": {}}))

    result = answer.json()["result"]
    assert result["isError"]
    assert "no tool 'health_tday' here. Did you mean health_today?" in result["content"][0]["text"]
    assert "health_query" in result["content"][0]["text"]


@pytest.mark.parametrize(
    "params",
    [
        {"name": "health_today", "arguments": "canary"},
        {"arguments": {}},
        {"name": 5},
        {"name": "health_check", "arguments": []},
    ],
)
async def test_a_malformed_call_is_told_what_a_call_is(params: dict[str, Any], vitals: Vitals, app: App) -> None:
    answer = await post(vitals, app, json=rpc("tools/call", params))

    assert answer.json()["error"]["code"] == -32602
    assert "needs a name" in answer.json()["error"]["message"]
    assert "canary" not in answer.text


@pytest.mark.parametrize("era", ERAS)
async def test_an_unknown_page_is_answered_with_those_there_are(era: str, vitals: Vitals, app: App) -> None:
    answer = await post(vitals, app, era=era, json=rpc("resources/read", {"uri": "vitals://nothing"}))

    error = answer.json()["error"]
    assert error["code"] == (-32002 if era == "2025-11-25" else -32602)
    assert error["data"] == {"uri": "vitals://nothing"}
    assert "There is no page 'vitals://nothing'. There are vitals://about, vitals://catalog" in error["message"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": LONG, "arguments": {}}),
        ("tools/call", {"name": "health_query", "arguments": {LONG: 1}}),
        ("resources/read", {"uri": f"vitals://{LONG}"}),
        ("resources/read", {"uri": f"vitals://collections/{LONG}"}),
        ("prompts/get", {"name": LONG}),
        (LONG, {}),
    ],
)
async def test_nothing_long_is_repeated(
    method: str, params: dict[str, Any], era: str, vitals: Vitals, app: App
) -> None:
    answer = await post(vitals, app, era=era, json=rpc(method, dict(params)))

    said = answer.json()
    assert "error" in said or said["result"]["isError"]
    assert answer.text.count("canary") < 80


async def through(*answer: Message, asked: bytes = b"{}") -> list[Message]:
    sent: list[Message] = []

    async def keep(message: Message) -> None:
        sent.append(message)

    send = reworded(keep, asked)
    for message in answer:
        await send(message)
    return sent


START: Message = {"type": "http.response.start", "status": 400, "headers": []}


@pytest.mark.parametrize(
    "body", [b"", b"no JSON", b'{"error":5}', b'{"error":{"message":5}}', b'{"error":{"message":"Parse error: x"}}']
)
async def test_any_other_refusal_passes_as_it_is(body: bytes) -> None:
    answer: list[Message] = [START, {"type": "http.response.body", "body": body}]

    assert await through(*answer) == answer


async def test_an_answer_in_pieces_passes_as_it_is() -> None:
    pieces = [
        {"type": "http.response.body", "body": b"Validation error: ", "more_body": more} for more in (True, False)
    ]

    assert await through(START, *pieces) == [START, *pieces]
