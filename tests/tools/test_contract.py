"""What others rely on: names, arguments, hints, and that the whole list stays small."""

import json
import re

import pytest
from mcp.client import Client
from mcp_types import Tool

from app.sources.oura.catalog import COLLECTIONS
from app.tools.about.reference import ABOUT
from app.tools.caveats import evidence
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


async def listed(*, chatgpt: bool = False) -> tuple[list[Tool], str]:
    async with Client(Connector(FakeSource(), chatgpt=chatgpt).server()) as client:
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


@pytest.mark.parametrize("chatgpt", [False, True])
async def test_the_list_and_the_instructions_are_short(chatgpt: bool) -> None:
    tools, instructions = await listed(chatgpt=chatgpt)

    body = json.dumps(
        [t.model_dump(mode="json", by_alias=True, exclude_none=True) for t in tools], separators=(",", ":")
    )
    assert instructions
    assert len(body) + len(instructions) <= (12_000 if chatgpt else 7_000)


async def test_a_model_learns_the_usual_collections_without_asking() -> None:
    tools, _ = await listed()

    said = next(t for t in tools if t.name == "health_query").input_schema["properties"]["collection"]["description"]
    named = set(re.findall(r"\b[a-z]+(?:_[a-z0-9]+)*\b", said)) & set(COLLECTIONS)
    assert named >= {
        "sleep",
        "daily_sleep",
        "daily_readiness",
        "daily_activity",
        "heartrate",
        "workout",
        "enhanced_tag",
    }
    assert set(re.findall(r"\b[a-z]+_[a-z0-9_]+\b", said)) <= {*COLLECTIONS, "health_catalog"}


async def test_every_word_for_what_is_missing_is_explained_in_one_line() -> None:
    words = {value for name, value in vars(evidence).items() if name.isupper() and isinstance(value, str)}
    words = {word for word in words if re.fullmatch(r"[a-z]+(_[a-z]+)+|incomplete", word)}

    assert len(words) >= 12
    assert {word for word in {*words, "no_long_sleep", "in_progress"} if f"`{word}`" not in ABOUT} == set()
