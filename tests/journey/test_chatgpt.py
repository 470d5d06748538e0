"""`CHATGPT_TOOLS=1`, seen by an app: search and fetch are there and answer from Oura; without it they are not."""

import json
from pathlib import Path

import pytest

from tests.app_under_test import running_app

pytestmark = pytest.mark.anyio


async def test_with_chatgpt_tools_on_an_app_finds_a_day_and_reads_it(tmp_path: Path) -> None:
    async with running_app(tmp_path, CHATGPT_TOOLS="1") as vitals:
        app = await vitals.connected_app()
        listed = {tool["name"]: tool for tool in (await app.call("tools/list", {}))["tools"]}
        assert {"search", "fetch", "health_query"} <= set(listed)
        assert listed["fetch"]["annotations"]["readOnlyHint"] is True

        found = await app.call("tools/call", {"name": "search", "arguments": {"query": "2026-03-09"}})
        results = found["structuredContent"]["results"]
        assert json.loads(found["content"][0]["text"]) == found["structuredContent"]
        assert [set(result) for result in results] == [{"id", "title", "url"}] * len(results)
        assert results[0]["id"] == "day:2026-03-09"

        page = (await app.call("tools/call", {"name": "fetch", "arguments": {"id": results[0]["id"]}}))[
            "structuredContent"
        ]
        assert set(page) == {"id", "title", "text", "url", "metadata"}
        [night] = vitals.simulator.truth("daily_sleep", "2026-03-09", "2026-03-09")
        assert str(night["score"]) in page["text"]


async def test_without_the_setting_they_do_not_exist(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        names = {tool["name"] for tool in (await app.call("tools/list", {}))["tools"]}
        called = await app.http.post(
            app.mcp_url,
            json={
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": "search", "arguments": {"query": "hrv"}},
            },
            headers={"authorization": f"Bearer {app.access_token}", "accept": "application/json, text/event-stream"},
        )

    assert names.isdisjoint({"search", "fetch"})
    answer = called.json()
    assert "error" in answer or answer["result"]["isError"] is True
