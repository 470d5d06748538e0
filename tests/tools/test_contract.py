"""What others rely on: names, arguments, hints, and that the whole list stays small."""

import json

import pytest
from mcp.client import Client
from mcp_types import Tool

from tests.tools.fakes import Connector, FakeSource

pytestmark = pytest.mark.anyio

ARGUMENTS = {
    "health_catalog": ["collection"],
    "health_query": [
        "collection", "start", "end", "day", "fields", "latest", "format", "detail", "resolution", "timezone",
    ],
    "health_today": ["days", "timezone"],
    "health_check": [],
}  # fmt: skip


async def listed() -> tuple[list[Tool], str]:
    async with Client(Connector(FakeSource()).server()) as client:
        return (await client.list_tools()).tools, client.instructions or ""


async def test_the_tools_and_their_arguments_are_those_of_the_contract() -> None:
    tools, _ = await listed()

    assert {tool.name: list(tool.input_schema["properties"]) for tool in tools} == ARGUMENTS
    assert {tool.name: tool.input_schema.get("required", []) for tool in tools} == {
        "health_catalog": [],
        "health_query": ["collection"],
        "health_today": [],
        "health_check": [],
    }
    assert next(t for t in tools if t.name == "health_today").input_schema["properties"]["days"]["default"] == 7


async def test_every_tool_is_marked_read_only_and_has_a_title() -> None:
    tools, _ = await listed()

    for tool in tools:
        assert tool.title
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        assert tool.annotations.destructive_hint is False
        assert tool.annotations.idempotent_hint is True
        assert tool.annotations.open_world_hint is True


async def test_unknown_arguments_are_excluded_by_the_schema_too() -> None:
    tools, _ = await listed()

    assert all(tool.input_schema["additionalProperties"] is False for tool in tools)


async def test_the_list_and_the_instructions_are_short() -> None:
    tools, instructions = await listed()

    body = json.dumps(
        [t.model_dump(mode="json", by_alias=True, exclude_none=True) for t in tools], separators=(",", ":")
    )
    assert len(body) + len(instructions) < 6_000
