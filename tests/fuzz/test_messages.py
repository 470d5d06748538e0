"""What a connected app sends to `/mcp`: JSON-RPC of both eras, nearly right, wrong, and huge."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.connected import Connected
from tests.fuzz.shapes import NOT_JSON, anything, as_json, headers, in_pieces, nested
from tests.fuzz.trying import examples

pytestmark = pytest.mark.anyio
ERAS = ("2025-11-25", "2026-07-28")
METHODS = (
    "initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/read", "resources/templates/list",
    "prompts/list", "prompts/get", "server/discover", "subscriptions/listen", "completion/complete", "logging/setLevel",
    "notifications/initialized", "notifications/cancelled", "tasks/get", "", "../x", "tools/\0", "__class__",
)  # fmt: skip
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "fuzz", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
PARAMS: dict[str, dict[str, object]] = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "f", "version": "1"}},
    "tools/call": {"name": "health_catalog", "arguments": {}},
    "resources/read": {"uri": "vitals://catalog"},
    "prompts/get": {"name": "daily_checkin", "arguments": {}},
}
LARGE = (
    *nested(500), *nested(100_000), b"[" * 4_000_000, b'{"a":' * 700_000, b"a" * 4_194_304, b"9" * 4_000_000,
    b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":"' + b"x" * 4_000_000 + b'"}}',
    b'{"jsonrpc":"2.0","id":"' + b"x" * 1_000_000 + b'","method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * 1_000_000 + b'"}',
    b"[" + b",".join([b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'] * 50_000) + b"]",
    b"{" + b",".join(b'"%d":1' % n for n in range(300_000)) + b"}",
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"health_query","arguments":{'
    + b",".join(b'"a%d":1' % n for n in range(200_000)) + b"}}}",
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"' + b"x" * 1_000_000 + b'","arguments":{}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"vitals://x/' + b"x" * 1_000_000 + b'"}}',
    "\ud800".encode("utf-8", "surrogatepass") * 100_000, "💥".encode("utf-16"), b"\0" * 1_000_000,
)  # fmt: skip


@st.composite
def messages(draw: st.DrawFn) -> tuple[tuple[bytes, ...], tuple[tuple[bytes, bytes], ...]]:
    """A message and the headers that belong to it, with a few members exchanged for anything."""
    era = draw(st.sampled_from(ERAS))
    method = draw(st.sampled_from(METHODS))
    params: dict[str, object] = dict(PARAMS.get(method, {}))
    if era == ERAS[1]:
        params["_meta"] = META
    message: dict[str, object] = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.sampled_from([message, params]))
        place[draw(st.sampled_from(sorted(place) or ["x"]) | st.sampled_from(["_meta", "x", "name", "arguments"]))] = (
            draw(anything)
        )
    if draw(st.integers(0, 4)) == 0:
        message.pop(draw(st.sampled_from(sorted(message))))
    whole = draw(st.sampled_from([message, message, message, [message, message], [message, 1], [[message]]]))
    sent: list[tuple[bytes, bytes]] = []
    if draw(st.integers(0, 3)):
        sent += [(b"mcp-protocol-version", era.encode()), (b"mcp-method", method.replace("\0", "").encode())]
        if "name" in params or "uri" in params:
            sent.append((b"mcp-name", b"health_catalog"))
    if draw(st.integers(0, 3)) == 0:
        sent += draw(headers)
    mine = {b"authorization", b"origin", b"host", b"content-type"}
    return draw(in_pieces(as_json(whole))), tuple(each for each in sent if each[0] not in mine)


@given(message=messages())
@examples(400)
async def test_no_message_is_a_fault_of_ours(
    understood: Connected, message: tuple[tuple[bytes, ...], tuple[tuple[bytes, bytes], ...]]
) -> None:
    body, sent = message

    answer = await understood.send(body, *sent)

    assert answer.status < 500


@given(body=st.sampled_from(NOT_JSON) | st.binary(max_size=200), sent=headers, hangs_up=st.booleans())
@examples(100)
async def test_nor_is_anything_that_is_no_message(
    connected: Connected, body: bytes, sent: tuple[tuple[bytes, bytes], ...], hangs_up: bool
) -> None:
    others = tuple(each for each in sent if each[0] != b"authorization")

    answer = await connected.send((body,), *others, hangs_up=hangs_up)

    assert answer.status != 401


@pytest.mark.parametrize("era", ERAS)
async def test_nor_is_what_is_huge_or_deep(connected: Connected, era: str) -> None:
    for body in LARGE:
        for name in (b"", b"health_query"):
            named = ((b"mcp-method", b"tools/call"), (b"mcp-name", name)) if name else ()
            answer = await connected.send((body,), (b"mcp-protocol-version", era.encode()), *named)

            refused = answer.status in {400, 413} or b'"error":' in answer.body or b'"isError":true' in answer.body
            assert refused or b'"method":"tools/list"' in body, body[:100]
            # What names a request comes back with its answer, once as text and once as data; nothing grows beyond that.
            assert len(answer.body) < 5_000 + 2 * len(body), body[:100]
