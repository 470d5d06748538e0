"""The MCP address of the whole connector, in process: what the wire, the transport and the tools make together."""

import io
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.demo.walk import App
from app.simulator.faults import Kind
from app.sources.oura.source import OuraSource
from tests.app_under_test import Vitals, rpc, running_app

pytestmark = pytest.mark.anyio

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "openai-mcp", "version": "1.0.0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
TODAY = {"name": "health_today", "arguments": {"days": 0}, "_meta": {"progressToken": "p"}}


@pytest.fixture
async def app(vitals: Vitals) -> App:
    return await vitals.connected_app()


async def post(vitals: Vitals, app: App, message: object, **headers: str) -> httpx2.Response:
    sent = {"authorization": f"Bearer {app.access_token}", **{k.replace("_", "-"): v for k, v in headers.items()}}
    async with vitals.http() as http:
        http.headers.pop("accept", None)
        return await http.post(vitals.mcp_url, json=message, headers=sent)


@pytest.mark.parametrize("accept", ["", "*/*", "application/json", "text/event-stream", "text/html"])
async def test_any_accept_is_answered(accept: str, vitals: Vitals, app: App) -> None:
    answer = await post(vitals, app, rpc("tools/list"), accept=accept)

    assert answer.status_code == 200
    assert answer.json()["result"]["tools"]


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("application/json, text/event-stream", "text/event-stream"),
        ("", "text/event-stream"),
        ("application/json", "application/json"),
    ],
)
async def test_progress_comes_as_a_stream_unless_the_client_reads_json_alone(
    accept: str, kind: str, vitals: Vitals, app: App
) -> None:
    answer = await post(vitals, app, rpc("tools/call", TODAY), accept=accept)

    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(kind)
    assert ("notifications/progress" in answer.text) is (kind == "text/event-stream")


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"mcp_protocol_version": "2026-07-28", "mcp_method": "server/discover"}, id="whole"),
        pytest.param({"mcp_protocol_version": "2026-07-28"}, id="without Mcp-Method"),
    ],
)
async def test_discover_is_answered_with_what_the_server_speaks(
    headers: dict[str, str], vitals: Vitals, app: App
) -> None:
    answer = await post(vitals, app, rpc("server/discover", {"_meta": ENVELOPE}), **headers)

    assert answer.status_code == 200
    assert "2026-07-28" in answer.json()["result"]["supportedVersions"]


@pytest.mark.parametrize("params", [{"_meta": ENVELOPE}, {}])
async def test_discover_without_headers_gets_the_error_that_makes_a_client_fall_back(
    params: dict[str, Any], vitals: Vitals, app: App
) -> None:
    answer = await post(vitals, app, rpc("server/discover", params))

    assert answer.status_code == 200
    assert answer.json()["error"]["code"] == -32601


async def test_a_wrong_method_header_is_still_refused(vitals: Vitals, app: App) -> None:
    headers = {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/call"}

    answer = await post(vitals, app, rpc("server/discover", {"_meta": ENVELOPE}), **headers)

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == -32020


@pytest.mark.parametrize("version", ["1999-01-01", "2030-01-01"])
async def test_a_client_of_an_unknown_version_is_offered_the_newest_that_begins_so(
    version: str, vitals: Vitals, app: App
) -> None:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "app", "version": "1"}}

    answer = await post(vitals, app, rpc("initialize", params))

    assert answer.status_code == 200
    assert answer.json()["result"]["protocolVersion"] == "2025-11-25"


async def test_an_unknown_session_is_no_session_and_no_session_is_given(vitals: Vitals, app: App) -> None:
    answer = await post(vitals, app, rpc("tools/list"), mcp_session_id="another-users-session")

    assert answer.status_code == 200
    assert "mcp-session-id" not in answer.headers


@pytest.mark.parametrize(
    "arguments",
    [
        {"collection": "canary"},
        {"collection": "daily_sleep", "start": "canary"},
        {"collection": "daily_sleep", "canary": 1},
    ],
)
async def test_a_refused_question_is_not_in_the_log(
    arguments: dict[str, Any], vitals: Vitals, app: App, written: io.StringIO
) -> None:
    answer = await post(vitals, app, rpc("tools/call", {"name": "health_query", "arguments": arguments}))

    assert answer.json()["result"]["isError"]
    assert "health_query" in written.getvalue()
    assert "canary" not in written.getvalue()


async def test_what_a_host_tells_of_its_user_is_not_in_the_log(vitals: Vitals, app: App, written: io.StringIO) -> None:
    told = {"openai/userLocation": {"city": "canary"}, "openai/subject": "canary", "progressToken": "canary"}

    answer = await post(vitals, app, rpc("tools/call", {**TODAY, "_meta": told}), accept="application/json")

    assert answer.json()["result"]["structuredContent"]["today"]
    assert '"status":200' in written.getvalue()
    assert "canary" not in written.getvalue()


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": "canary", "method": "canary", "params": {"canary": 1}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "canary", "arguments": "canary"}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"_meta": "canary"}},
        {"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": "canary"}},
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "prompts/get",
            "params": {"name": "training_day", "arguments": {"plan": "canary"}},
        },
        {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "vitals://collections/canary"}},
        {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "canary"}},
        {"jsonrpc": "1.0", "canary": "canary"},
        {"jsonrpc": "2.0", "method": "notifications/canary", "params": {"canary": "canary"}},
        ["canary"],
    ],
)
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28", "canary"])
async def test_a_malformed_message_is_answered_and_not_in_the_log(
    version: str, message: object, vitals: Vitals, app: App, written: io.StringIO
) -> None:
    answer = await post(vitals, app, message, mcp_protocol_version=version, mcp_method="canary")

    assert answer.status_code < 500
    assert "canary" not in written.getvalue()


async def test_a_tool_that_fails_unexpectedly_shows_and_logs_nothing_of_what_it_held(
    vitals: Vitals, app: App, written: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_args: object, **_more: object) -> None:
        canary = "canary: 62 bpm"
        raise RuntimeError(canary)

    monkeypatch.setattr(OuraSource, "fetch", broken)
    answer = await post(vitals, app, rpc("tools/call", TODAY))

    assert answer.status_code == 200
    assert "canary" not in answer.text
    assert "RuntimeError" in written.getvalue()
    assert "canary" not in written.getvalue()
    assert "Traceback" not in written.getvalue()


KINDS: list[Kind] = ["truncate", "wrong_types", "html", "cut", "status"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_source_that_fails_leaves_none_of_its_content_in_the_log(
    kind: Kind, vitals: Vitals, app: App, written: io.StringIO
) -> None:
    body = {"body": {"detail": "canary"}} if kind == "status" else {}
    vitals.simulator.faults.add(kind, "/v2/*", times=None, **body)
    question = {
        "name": "health_query",
        "arguments": {"collection": "daily_sleep", "start": "2026-03-01", "end": "2026-03-02"},
    }
    await post(vitals, app, rpc("tools/call", question))

    assert written.getvalue()
    for leak in ("canary", "score", "contributors", app.access_token, "Bearer", "?", "Just a moment"):
        assert leak not in written.getvalue()


@pytest.mark.parametrize("value", ["", "1"])
async def test_the_tools_for_chatgpt_come_with_their_setting(value: str, tmp_path: Path, written: io.StringIO) -> None:
    async with running_app(tmp_path, CHATGPT_TOOLS=value) as vitals:
        app = await vitals.connected_app()
        listed = (await post(vitals, app, rpc("tools/list"))).json()["result"]["tools"]
        page = (
            await post(vitals, app, rpc("tools/call", {"name": "fetch", "arguments": {"id": "day:2026-03-09"}}))
        ).json()
        await post(vitals, app, rpc("tools/call", {"name": "search", "arguments": {"query": "canary sleep"}}))

    assert ({"search", "fetch"} <= {tool["name"] for tool in listed}) is bool(value)
    if value:
        assert "## oura.daily_sleep" in page["result"]["structuredContent"]["text"]
    else:
        assert page["result"]["isError"]
    assert "canary" not in written.getvalue()
