"""What the transport of 2026-07-28 demands of a server, asked with a live token."""

import re
from typing import Any

import httpx2
import pytest

from tests.app_under_test import URL, Vitals, rpc
from tests.attacks.attacker import connected

pytestmark = pytest.mark.anyio

NOW, BEFORE = "2026-07-28", "2025-11-25"


def envelope(version: str = NOW) -> dict[str, Any]:
    said = {"protocolVersion": version, "clientInfo": {"name": "x", "version": "1"}, "clientCapabilities": {}}
    return {"_meta": {f"io.modelcontextprotocol/{name}": value for name, value in said.items()}}


CALL = {"name": "health_check", "arguments": {}, **envelope()}
LATER = rpc("tools/list", envelope("2099-01-01"))
RULES = [
    pytest.param(LATER, {"mcp-protocol-version": "2099-01-01"}, 400, -32022, id="unknown version"),
    pytest.param(rpc("nobody/knows", envelope()), {"mcp-method": "nobody/knows"}, 404, -32601, id="unknown method"),
    pytest.param(rpc("tools/list", envelope()), {"mcp-method": "tools/call"}, 400, -32020, id="another method"),
    pytest.param(rpc("tools/call", CALL), {"mcp-name": "health_query"}, 400, -32020, id="another name"),
    pytest.param(rpc("tools/call", CALL), {}, 400, -32020, id="no name"),
    pytest.param(rpc("tools/list", envelope(BEFORE)), {}, 400, -32020, id="another version"),
    pytest.param(rpc("tools/call", CALL), {"mcp-name": "health_check"}, 200, None, id="as it should be"),
]


@pytest.mark.parametrize(("message", "headers", "status", "code"), RULES)
async def test_a_header_that_says_other_than_the_message_is_refused_by_its_number(
    vitals: Vitals, message: dict[str, Any], headers: dict[str, str], status: int, code: int | None
) -> None:
    _, tokens = await connected(vitals)
    sent = {
        "authorization": f"Bearer {tokens['access_token']}",
        "MCP-Protocol-Version": NOW,
        "MCP-METHOD": message["method"],
    }

    answer = await vitals.http().post(
        vitals.mcp_url, json=message, headers={name.lower(): value for name, value in sent.items()} | headers
    )

    assert answer.status_code == status
    assert answer.json().get("error", {}).get("code") == code
    assert answer.headers["content-type"] == "application/json"


async def test_a_notification_is_taken_with_202_and_nothing_else(vitals: Vitals) -> None:
    _, tokens = await connected(vitals)
    headers = {"authorization": f"Bearer {tokens['access_token']}", "mcp-protocol-version": BEFORE}
    message = {"jsonrpc": "2.0", "method": "notifications/initialized"}

    answer = await vitals.http().post(vitals.mcp_url, json=message, headers=headers)

    assert (answer.status_code, answer.content) == (202, b"")


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_with_a_live_token_too_only_post_is_answered(vitals: Vitals, method: str) -> None:
    _, tokens = await connected(vitals)
    headers = {"authorization": f"Bearer {tokens['access_token']}"}

    answer: httpx2.Response = await vitals.http().request(method, vitals.mcp_url, headers=headers)

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


# RFC 9110, 11.6.1: a scheme, then name=value pairs with a comma between; here each value is quoted and holds no quote.
CHALLENGE = re.compile(r'Bearer (\w+="[\x21\x23-\x5b\x5d-\x7e ]*")(, \w+="[\x21\x23-\x5b\x5d-\x7e ]*")*')


@pytest.mark.parametrize("token", [None, "x", "a" * 5_000, 'quo"te'])
async def test_the_challenge_reads_by_the_grammar_of_http(vitals: Vitals, token: str | None) -> None:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}

    answer = await vitals.http().post(vitals.mcp_url, headers=headers)

    (challenge,) = answer.headers.get_list("www-authenticate")
    assert CHALLENGE.fullmatch(challenge)
    said = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
    assert said["scope"] == "health:read"
    assert said["resource_metadata"] == f"{URL}/.well-known/oauth-protected-resource/mcp"
    assert said.get("error") == (None if token is None else "invalid_token")
    assert token is None or token not in str(answer.headers) + answer.text or token == "x"
