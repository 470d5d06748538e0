"""Values of every wrong kind at every address: refused with 4xx, never a fault, never a hang."""

import base64
import json
import random
from urllib.parse import quote_from_bytes

import anyio
import pytest
from starlette.types import Message

from tests.app_under_test import URL, Vitals
from tests.attacks.attacker import CHALLENGE, REDIRECT, ask, authorize, client_id, connected, redeem, refresh

pytestmark = pytest.mark.anyio

NAMES = (
    "client_id", "redirect_uri", "response_type", "state", "scope", "code_challenge", "code_challenge_method",
    "resource", "response_mode", "prompt", "request", "request_uri", "code", "code_verifier", "grant_type",
    "refresh_token", "token", "token_type_hint", "client_secret", "csrf", "decision", "timezone", "iss",
    "error", "error_description", "grant",
)  # fmt: skip
VALUES = [
    b"", b"x", b"\0", b"\xff\xfe", b"\xed\xa0\x80", "💥".encode() * 50, b"a" * 20_000, b"http://", b"http://[",
    b"https://[::1", b"//", b"HTTPS://A/b", b"https:///b", b"https://a:99999/b", b"https://a/../b", b"https://a/%2e%2e/b",
    b"https://user@a/b", b"https://a/b#c", b"https://127.0.0.1/x", b"http://127.0.0.1:9/x", b"code", b"S256", b"plain",
    b"A" * 43, b"health:read", b"offline_access", b"1e400", b"-1", b"null", b"{}", b"refresh_token",
    b"authorization_code", b"vat_x", b"vrt_x", b"vco_x", b"approve", b"Europe/Berlin", b"../../etc/passwd",
    b"9" * 5_000, "١٢٣".encode(), b"%25%00", b"1.aa", "\uff11.aa".encode(), b".",
]  # fmt: skip
ADDRESSES = (
    "/authorize", "/token", "/revoke", "/register", "/callback/oura/", "/connections/signin", "/connections/signout",
    "/connections/end", "/connections/disconnect", "/mcp",
)  # fmt: skip
KINDS = [
    "application/x-www-form-urlencoded", "application/x-www-form-urlencoded", "application/x-www-form-urlencoded",
    "application/x-www-form-urlencoded; charset=utf-7", "application/json", "multipart/form-data; boundary=x",
    "text/plain; charset=utf-16", "",
]  # fmt: skip
CREDENTIALS = [
    "Basic", "Basic !!", "Basic " + base64.b64encode(b"\xff:\xff").decode(), "Basic " + base64.b64encode(b":").decode(),
    "Basic " + base64.b64encode(b"%00%ff:+").decode(), "Bearer", "Bearer \t", "bearer x y", "Bearer " + "a" * 9_000,
]  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
async def test_no_form_query_or_header_is_a_fault_of_ours(vitals: Vitals, seed: int) -> None:
    chance = random.Random(seed)
    http = vitals.http()
    sound = {
        "response_type": "code",
        "client_id": await client_id(http),
        "redirect_uri": REDIRECT,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
    }
    for _ in range(150):
        pairs = [(name, value.encode()) for name, value in sound.items()] if chance.random() < 0.5 else []
        pairs += [(chance.choice(NAMES), chance.choice(VALUES)) for _ in range(chance.randint(1, 6))]
        chance.shuffle(pairs)
        sent = "&".join(f"{name}={quote_from_bytes(value)}" for name, value in pairs)
        headers = {"content-type": chance.choice(KINDS)}
        if chance.random() < 0.3:
            headers["authorization"] = chance.choice(CREDENTIALS)
        if chance.random() < 0.3:
            headers["origin"] = chance.choice([URL, "null", "https://evil.example", "", "http://["])
        address = f"{URL}{chance.choice(ADDRESSES)}"
        body = sent.encode() if chance.random() < 0.8 else chance.randbytes(200)
        with anyio.fail_after(20):
            if chance.random() < 0.4:
                answer = await http.get(f"{address}?{sent[:60_000]}", headers=headers)
            else:
                answer = await http.post(address, content=body, headers=headers)
        assert answer.status_code < 500, (address, sent[:500], headers)


async def cut_off(vitals: Vitals, path: str, content_type: str) -> int:
    """Send a part of a body and hang up; return the status that nobody sees any more, for the log has it."""
    arriving: list[Message] = [{"type": "http.request", "body": b"csr", "more_body": True}, {"type": "http.disconnect"}]
    statuses: list[int] = []

    async def receive() -> Message:
        return arriving.pop(0) if len(arriving) > 1 else arriving[0]

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    headers = {"host": "vitals.test", "content-type": content_type, "content-length": "100"}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    where = {"path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "scheme": "https"}
    peer = {"client": ("127.0.0.1", 1), "server": ("vitals.test", 443)}
    with anyio.fail_after(20):
        await vitals.app({"type": "http", "method": "POST", "headers": raw, **where, **peer}, receive, send)
    return statuses[0]


@pytest.mark.parametrize("path", ADDRESSES)
@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "application/json"])
async def test_no_body_that_is_cut_off_is(vitals: Vitals, path: str, content_type: str) -> None:
    assert 400 <= await cut_off(vitals, path, content_type) < 500


REGISTRATIONS = (
    b"[" * 30_000,
    b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    b'{"redirect_uris":' + b"9" * 5_000 + b"}",
    b'{"redirect_uris":NaN}',
    b'{"redirect_uris":["\\ud800"]}',
    b'{"redirect_uris":[{}]}',
    b'{"redirect_uris":[null]}',
    b'{"redirect_uris":{"0":"https://a.example/"}}',
    b'{"redirect_uris":["https://a.example/"],"client_name":{"a":1}}',
    b'{"redirect_uris":["https://a.example/"],"token_endpoint_auth_method":["none"]}',
    b'{"redirect_uris":["https://a.example/"],"grant_types":"authorization_code"}',
    b'{"redirect_uris":["https://a.example/"],"response_types":[[]]}',
    json.dumps({"redirect_uris": ["https://a.example/"] * 21}).encode(),
    json.dumps({"redirect_uris": ["https://a.example/" + "a" * 1_024]}).encode(),
    b"\xff\xfe{\0}\0",
    b"null",
    b"",
    b'{"a":"' + b"x" * 70_000 + b'"}',
)


async def test_no_registration_is(vitals: Vitals) -> None:
    http = vitals.http()
    for body in REGISTRATIONS:
        answer = await http.post(f"{URL}/register", content=body, headers={"content-type": "application/json"})

        assert answer.status_code in {400, 413}, body[:100]


MESSAGES = (
    b"[" * 100_000,
    b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    b'{"jsonrpc":"2.0","id":' + b"9" * 5_000 + b',"method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/list"}',
    b"[" + b",".join([b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'] * 100) + b"]",
    b"null",
    b"\xef\xbb\xbf{}",
    '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'.encode("utf-16"),
    b"a" * 5_000_000,
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"../x","arguments":[]}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"health_query","arguments":'
    b'{"collection":"../../../v2/usercollection/sleep?x#y","timezone":"../../etc/passwd"}}}',
)


async def test_no_message_of_a_connected_app_is(vitals: Vitals) -> None:
    _, tokens = await connected(vitals)
    http = vitals.http()
    asked = len(vitals.simulator.log)
    headers = {
        "authorization": f"Bearer {tokens['access_token']}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25",
    }

    for body in MESSAGES:
        with anyio.fail_after(20):
            answer = await http.post(vitals.mcp_url, content=body, headers=headers)

        refused = answer.status_code in {400, 413} or "error" in answer.json() or answer.json()["result"]["isError"]
        assert refused, body[:200]
    assert len(vitals.simulator.log) == asked  # nothing of it was passed on to Oura


async def test_what_an_app_calls_a_field_never_becomes_part_of_an_address_at_oura(vitals: Vitals) -> None:
    _, tokens = await connected(vitals)
    asked = len(vitals.simulator.log)
    fields = ["a&access_token=b", "%2e%2e", "\0", "../x", "x#y", "x" * 100_000]

    answer = await ask(vitals, tokens["access_token"], collection="sleep", day="2026-03-01", fields=fields)

    assert answer.json()["result"]["structuredContent"]["ignored_fields"]
    assert len(answer.content) < 20_000  # nor is it repeated at length
    assert {seen.path for seen in vitals.simulator.log[asked:]} == {"/v2/usercollection/sleep"}
    assert {name for seen in vitals.simulator.log[asked:] for name in seen.query} <= {"start_date", "end_date"}


async def test_what_a_stranger_only_asks_leaves_nothing_in_the_store(vitals: Vitals) -> None:
    """Registering and approving do, for a bounded time; everything else must be free of traces.

    That it was asked is counted, in records whose number is bounded whoever asks
    (`tests/authserver/limits/test_rates.py`).
    """
    http = vitals.http()
    client = await client_id(http)
    before = await _kept(vitals)

    for number in range(10):
        await http.get(authorize(client, state=f"{number}"))
        await http.get(authorize(client, scope=f"none-{number}"))
        await http.get(authorize(f"https://{number}.invalid/client.json"))
        await http.get(f"{URL}/callback/oura/", params={"state": f"{number}", "code": "x"})
        await http.get(f"{URL}/connections", headers={"cookie": f"__Host-vitals-owner={number:043d}"})
        await ask(vitals, f"vat_{number}")
        await refresh(http, client, f"vrt_{number}")
        await redeem(http, client, f"vco_{number}")
        await http.post(f"{URL}/revoke", data={"client_id": client, "token": f"vrt_{number}"})

    assert await _kept(vitals) == before


async def _kept(vitals: Vitals) -> list[str]:
    return [key async for key, _ in vitals.parts.store.scan("") if not key.startswith("rate:")]
