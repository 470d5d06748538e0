"""What an app writes into the arguments of a tool never becomes part of an address at Oura, and never a fault."""

from collections.abc import AsyncIterator
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.sources.oura.catalog import COLLECTIONS
from app.tools.server import TOOLS
from tests.fuzz.connected import Connected
from tests.fuzz.shapes import anything, as_json
from tests.fuzz.trying import examples

pytestmark = pytest.mark.anyio

PATHS = {f"/v2/usercollection/{name}".encode() for name in COLLECTIONS}
PARAMETERS = {"start_date", "end_date", "start_datetime", "end_datetime", "next_token", "latest", "fields"}
# What has broken out of the path of a URL, out of its query, or out of a header.
HOSTILE = (
    "../x", "..%2fx", "a?b", "a#b", "a&access_token=b", "%2e%2e", "%2e%2e%2f", "..\\x", "a;b", "a/b", "//evil.example",
    "@evil", "sleep/../../oauth/token", "sleep?start_date=2020-01-01", "sleep%3fx", "\0", "sleep\r\nHost: evil.example",
    "\u2024\u2024/x", "oura.sleep", "oura.../x", "SLEEP", "sleep ", "vitals://catalog", "file:///etc/passwd",
    "2026-03-01&fields=x", "2026-03-01/x", "2026-02-30", "0000-00-00", "9999-12-31", "2026-W99", "last millennium",
    "2026-03-01T00:00:00+99:99", "\ud800", "💥" * 300, "Europe/../../etc/passwd", "UTC\0", "/etc/localtime",
    "[" * 50_000, '["a', "a," * 50_000, "constructor", "__class__",
)  # fmt: skip
USUAL: dict[str, tuple[object, ...]] = {
    "collection": ("sleep", "daily_sleep", "heartrate", "personal_info", "workout"),
    "start": ("2026-03-01", "yesterday"),
    "end": ("2026-03-03", "today"),
    "day": ("2026-03-02", "last night"),
    "fields": (["score"], "score"),
    "latest": (True, "true"),
    "format": ("csv",),
    "detail": ("full",),
    "resolution": ("hour",),
    "timezone": ("Europe/Lisbon",),
    "days": (0, 7),
}


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, object]]:
    """A call with usual arguments, of which one or two are exchanged for something hostile."""
    tool = draw(st.sampled_from(TOOLS))
    known = [argument.name for argument in tool.arguments]
    arguments: dict[str, object] = {}
    for name in draw(st.lists(st.sampled_from(known), max_size=3, unique=True)) if known else []:
        arguments[name] = draw(st.sampled_from(USUAL.get(name, ("x",))))
    if "collection" in known:
        arguments.setdefault("collection", "daily_sleep")
    hostile = st.sampled_from(HOSTILE) | st.lists(st.sampled_from(HOSTILE), max_size=3) | anything
    for _ in range(draw(st.integers(0, 2))):
        arguments[draw(st.sampled_from([*known, "limit", "../x"]))] = draw(hostile)
    return tool.name, arguments


@pytest.fixture
async def questioned(understood: Connected) -> AsyncIterator[Connected]:
    yield understood
    assert len(understood.asked) > 50, "hardly an example got as far as Oura"


@given(call=calls())
@examples(300)
async def test_only_known_addresses_are_asked_for_with_known_parameters(
    questioned: Connected, call: tuple[str, dict[str, object]]
) -> None:
    name, arguments = call
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}

    before = len(questioned.asked)
    answer = await questioned.send((as_json(message),), (b"mcp-protocol-version", b"2025-11-25"))

    assert b"did not expect" not in answer.body, "`failures.explain` met an exception that is none of ours"
    for path, query in questioned.asked[before:]:
        assert path in PATHS, path
        assert {parameter for parameter, _ in parse_qsl(query.decode("ascii"), keep_blank_values=True)} <= PARAMETERS, (
            query
        )


@pytest.mark.parametrize("method", ["resources/read", "prompts/get", "tools/call", "completion/complete"])
async def test_no_hostile_name_of_a_resource_prompt_or_tool_is_found(connected: Connected, method: str) -> None:
    for name in HOSTILE:
        for params in (
            {"name": name, "uri": name},
            {"name": name, "uri": f"vitals://collections/{name}", "arguments": {}},
        ):
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            connected.asked.clear()
            answer = await connected.send((as_json(message),), (b"mcp-protocol-version", b"2025-11-25"))

            assert connected.asked == []
            if name.strip().lower() not in {"vitals://catalog", "oura.sleep", "sleep"}:
                assert b'"contents"' not in answer.body, name
                assert len(answer.body) < 5_000 + 12 * len(name), name
