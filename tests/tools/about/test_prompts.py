"""The ready-made questions: over real HTTP on both eras, static, and naming only what exists."""

import re

import anyio
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent

from app.sources.oura.catalog import COLLECTIONS
from app.tools.about.prompts import LONGEST_ARGUMENT, PROMPTS, Written
from app.tools.server import TOOLS
from tests.tools.fakes import Connector, FakeSource, sleep
from tests.tools.served import served

pytestmark = pytest.mark.anyio

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
EACH = pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.name)
ARGUMENTS = {
    "daily_checkin": [],
    "weekly_review": ["until"],
    "training_day": ["plan"],
    "what_changed": ["what", "since"],
}
FIELDS = {part for c in COLLECTIONS.values() for field in c.fields for part in (field.name, field.name.split(".")[0])}


async def rendered(client: Client, name: str, arguments: dict[str, str] | None = None) -> str:
    (message,) = (await client.get_prompt(name, arguments)).messages
    assert message.role == "user"
    assert isinstance(message.content, TextContent)
    return message.content.text


@ERAS
async def test_the_prompts_are_listed_and_each_can_be_had_without_arguments(era: str) -> None:
    connector = Connector(FakeSource({"sleep": [sleep("2026-03-10")]}))

    with anyio.fail_after(20):
        async with served(connector) as at, Client(at.url, mode=era) as client:
            listed = (await client.list_prompts()).prompts
            texts = {prompt.name: await rendered(client, prompt.name) for prompt in listed}

    assert {prompt.name: [a.name for a in prompt.arguments or []] for prompt in listed} == ARGUMENTS
    for prompt in listed:
        assert prompt.title
        assert prompt.description
        assert all(argument.description and not argument.required for argument in prompt.arguments or [])
    for text in texts.values():
        assert not re.search(r"[{}]", text), "an argument was not filled in"
        assert "2026-03-10" not in text
    assert connector.source.asked == []


@ERAS
async def test_what_the_user_types_stands_in_the_text_on_one_line(era: str) -> None:
    with anyio.fail_after(20):
        async with served(Connector(FakeSource())) as at, Client(at.url, mode=era) as client:
            text = await rendered(client, "what_changed", {"what": "my\n\n{since} HRV", "since": "2026-02-01"})

    assert "whether something changed: my {since} HRV, since 2026-02-01.\n" in text


@ERAS
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("nope", {}),
        ("daily_checkin", {"day": "2026-03-10"}),
        ("what_changed", {"what": "x" * (LONGEST_ARGUMENT + 1)}),
        ("what_changed", {"__class__": "x"}),
    ],
)
async def test_what_is_unknown_or_too_long_is_refused_as_invalid(
    era: str, name: str, arguments: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with anyio.fail_after(20):
        async with served(Connector(FakeSource())) as at, Client(at.url, mode=era) as client:
            with pytest.raises(MCPError) as refused:
                await client.get_prompt(name, arguments)

    assert refused.value.error.code == -32602
    assert "Traceback" not in caplog.text


@EACH
def test_a_prompt_names_only_tools_collections_and_fields_that_exist(prompt: Written) -> None:
    tools = {tool.name for tool in TOOLS}
    named = set(re.findall(r"\bhealth_[a-z_]+", prompt.text))

    assert named
    assert named <= tools
    assert set(re.findall(r"`([^`]+)`", prompt.text)) <= set(COLLECTIONS)
    sleep_types = {"long_sleep", "late_nap"}
    words = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", prompt.text))
    assert words <= tools | set(COLLECTIONS) | FIELDS | sleep_types


def test_fields_named_after_a_collection_are_of_that_collection() -> None:
    named = [
        (prompt.name, name, fields)
        for prompt in PROMPTS
        for name, fields in re.findall(r"`(\w+)` \(([a-z_, ]+)\)", prompt.text)
        if fields != "long_sleep only"
    ]

    assert {prompt for prompt, _, _ in named} >= {"weekly_review", "training_day"}
    for prompt, name, fields in named:
        assert set(fields.split(", ")) <= {field.name for field in COLLECTIONS[name].fields}, (prompt, name)


@ERAS
async def test_every_prompt_asks_for_honesty_about_gaps_and_noise_and_gives_no_medical_advice(era: str) -> None:
    with anyio.fail_after(20):
        async with served(Connector(FakeSource())) as at, Client(at.url, mode=era) as client:
            for prompt in PROMPTS:
                text = await rendered(client, prompt.name)

                for said in ("missing is unknown", "not complete", "No diagnosis", "not measurements", "by themselves"):
                    assert said in text


def test_a_prompt_has_no_break_inside_a_sentence() -> None:
    broken = [f"{one.name}: {line}" for one in PROMPTS for line in one.text.split("\n") if line.startswith(" ")]

    assert broken == []
