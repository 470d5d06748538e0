import json

import pytest

from app.web.wire import acceptable
from tests.shell.web import Web

pytestmark = pytest.mark.anyio

BOTH = "application/json, text/event-stream"


@pytest.mark.parametrize(
    ("sent", "handed_on"),
    [
        pytest.param([], BOTH, id="none"),
        pytest.param([""], BOTH, id="empty"),
        pytest.param(["*/*"], BOTH, id="anything"),
        pytest.param(["application/json, text/event-stream"], BOTH, id="both"),
        pytest.param(["application/json", "text/event-stream"], BOTH, id="both, on two lines"),
        pytest.param(["text/event-stream"], BOTH, id="stream alone"),
        pytest.param(["application/json"], "application/json", id="json alone"),
        pytest.param(["Application/JSON; charset=utf-8"], "application/json", id="json alone, with a parameter"),
        pytest.param(["application/*"], "application/json", id="application alone"),
        pytest.param(["application/json, text/event-stream;q=0"], "application/json", id="stream declined"),
        pytest.param(["application/json, text/event-stream; q=0.0"], "application/json", id="stream declined, spaced"),
        pytest.param(["application/json, */*;q=0.1"], BOTH, id="json preferred"),
        pytest.param(["text/html"], BOTH, id="something else"),
        pytest.param([",;,"], BOTH, id="nonsense"),
    ],
)
def test_accept_is_made_what_the_sdk_insists_on(sent: list[str], handed_on: str) -> None:
    assert acceptable(sent) == handed_on


@pytest.mark.parametrize("accept", [None, "", "*/*", "application/json"])
async def test_a_request_with_any_accept_reaches_the_server(accept: str | None) -> None:
    web = Web()

    answer = await web.ask("POST", "/mcp", content=b'{"x":1}', headers={} if accept is None else {"accept": accept})

    assert answer.status_code == 200
    assert "application/json" in web.sdk.requests[0]["headers"]["accept"]


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_both_forms_of_the_address_are_answered_in_place(path: str) -> None:
    web = Web()

    answer = await web.ask("POST", path, content=b'{"x":1}')

    assert answer.status_code == 200
    assert web.sdk.requests[0]["path"] == "/mcp"
    assert web.sdk.requests[0]["body"] == b'{"x":1}'


@pytest.mark.parametrize("method", ["GET", "DELETE", "HEAD", "PUT", "OPTIONS"])
async def test_methods_other_than_post_are_405_and_name_post(method: str) -> None:
    web = Web()

    answer = await web.ask(method, "/mcp")

    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"
    assert web.sdk.requests == []


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b" {}\n"])
async def test_an_empty_probe_gets_a_json_rpc_error_that_breaks_no_client(body: bytes) -> None:
    answer = await Web().ask("POST", "/mcp", content=body)

    assert answer.status_code == 200
    assert answer.json()["error"]["code"] == -32600
    assert answer.json()["id"] is None


@pytest.mark.parametrize(
    ("headers", "message", "handed_on"),
    [
        pytest.param({"mcp-protocol-version": "2026-07-28"}, "server/discover", "server/discover", id="absent"),
        pytest.param(
            {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"},
            "server/discover",
            "tools/list",
            id="another: the SDK refuses the mismatch",
        ),
        pytest.param({"mcp-protocol-version": "2026-07-28"}, "tools/list", None, id="any other method"),
        pytest.param({}, "server/discover", None, id="without a version: the older era answers"),
    ],
)
async def test_only_a_discover_without_its_method_header_is_given_one(
    headers: dict[str, str], message: str, handed_on: str | None
) -> None:
    web = Web()

    await web.call({"jsonrpc": "2.0", "id": 1, "method": message}, headers=headers)

    assert web.sdk.requests[0]["headers"].get("mcp-method") == handed_on


@pytest.mark.parametrize("body", ['["server/discover"]', '{"method": "server/discover"', '"server/discover"'])
async def test_a_body_that_only_mentions_discover_is_left_alone(body: str) -> None:
    web = Web()

    await web.ask("POST", "/mcp", content=body, headers={"mcp-protocol-version": "2026-07-28"})

    assert "mcp-method" not in web.sdk.requests[0]["headers"]
    assert web.sdk.requests[0]["body"] == body.encode()


async def test_a_large_body_arrives_whole() -> None:
    web = Web()
    message = {"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"text": "y" * 1_000_000}}

    await web.call(message)

    assert json.loads(web.sdk.requests[0]["body"]) == message


async def test_blanks_around_a_header_are_no_part_of_its_value() -> None:
    web = Web()

    await web.ask("POST", "/mcp", content=b'{"x":1}', headers={"mcp-name": " \thealth_check\t ", "mcp-method": "a b "})

    headers = web.sdk.requests[0]["headers"]
    assert (headers["mcp-name"], headers["mcp-method"]) == ("health_check", "a b")
