"""What OAuth's own documents demand of each answer at /token, /register and /revoke, asked from outside."""

import base64
import html
import json
import re
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2
import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.demo.browser import Browser
from app.simulator import Simulator
from tests.app_under_test import URL, Clock, Vitals, running_app
from tests.attacks.attacker import (
    REDIRECT,
    VERIFIER,
    ask,
    authorize,
    client_id,
    connected,
    handed_over,
    redeem,
    refresh,
    register,
    sign_in,
)

pytestmark = pytest.mark.anyio

OAUTH_TEXT = re.compile(r"[\x20-\x21\x23-\x5b\x5d-\x7e]+")  # RFC 6749 section 5.2
RANDOM = re.compile(r"[A-Za-z0-9_-]{43}")  # 256 bits


def basic(name: str, secret: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode()}


async def test_a_parameter_that_nobody_knows_or_without_a_value_changes_nothing(vitals: Vitals) -> None:
    http = vitals.http()
    client = await client_id(http)
    code = handed_over(await sign_in(vitals, client))["code"]
    more = {"nobody": "knows", "state": "x", "scope": "", "resource": "", "client_secret": ""}

    bought = await redeem(http, client, code, **more)
    renewed = await refresh(http, client, bought.json()["refresh_token"], **more)
    ended = await http.post(
        f"{URL}/revoke",
        data={"client_id": client, "token": renewed.json()["refresh_token"], "token_type_hint": "", **more},
    )

    assert [answer.status_code for answer in (bought, renewed, ended)] == [200, 200, 200]


async def test_no_answer_that_carries_or_refuses_a_secret_is_kept_by_anyone(vitals: Vitals) -> None:
    http = vitals.http()
    client, tokens = await connected(vitals)
    answers = [
        await register(http, REDIRECT, token_endpoint_auth_method="client_secret_basic"),
        await register(http, "javascript:x"),
        await refresh(http, client, tokens["refresh_token"]),
        await refresh(http, client, "vrt_x"),
        await redeem(http, client, "vco_x"),
        await redeem(http, "vc_nobody", "vco_x"),
        await http.post(f"{URL}/revoke", data={"client_id": client, "token": tokens["access_token"]}),
        await http.get(f"{URL}/token"),
    ]

    assert [answer.status_code for answer in answers] == [201, 400, 200, 400, 400, 401, 200, 405]
    for answer in answers:
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["pragma"] == "no-cache"
        assert answer.headers["content-type"] == "application/json"


async def test_the_words_of_every_error_are_of_the_characters_that_oauth_allows(vitals: Vitals) -> None:
    http = vitals.http()
    client, tokens = await connected(vitals)
    odd = 'ä"\\\n€'
    answers = [
        await redeem(http, client, odd),
        await redeem(http, client, "x", resource=odd),
        await redeem(http, client, "x", grant_type=odd),
        await redeem(http, client, "x", code_verifier=odd),
        await redeem(http, odd, "x"),
        await refresh(http, client, odd),
        await refresh(http, client, tokens["refresh_token"], scope=odd),
        await http.post(f"{URL}/revoke", data={"client_id": client}),
        await http.post(f"{URL}/token", content=b"\xff", headers={"content-type": "application/x-www-form-urlencoded"}),
        await register(http, odd),
        await register(http, client_name=[odd]),
        await register(http, token_endpoint_auth_method=odd),
        await http.post(f"{URL}/register", content=b"{"),
        await http.post(vitals.mcp_url),
        await http.post(vitals.mcp_url, headers={"authorization": "Bearer x"}),
    ]

    for answer in answers:
        assert answer.status_code in {400, 401}
        assert set(answer.json()) <= {"error", "error_description"}
        assert all(OAUTH_TEXT.fullmatch(words) for words in answer.json().values())


async def test_who_refuses_or_fails_at_oura_is_told_in_those_characters_too(vitals: Vitals) -> None:
    for who in ("refuse", "stranger"):
        browser = await sign_in(vitals, await client_id(vitals.http()), who=who)

        (link,) = re.findall(r'<a class="button" href="([^"]+)"', browser.page)
        found = dict(parse_qsl(urlsplit(html.unescape(link)).query, strict_parsing=True))
        assert found["error"] == "access_denied"
        assert OAUTH_TEXT.fullmatch(found["error_description"])


async def test_the_scope_that_was_granted_is_said_with_the_tokens(vitals: Vitals) -> None:
    http = vitals.http()
    client = await client_id(http)
    browser = Browser(vitals.http(), stop_at=REDIRECT)
    await browser.open(authorize(client, scope="health:read email offline_access"))
    await browser.press("approve")
    await browser.press("owner")

    tokens = (await redeem(http, client, handed_over(browser)["code"])).json()

    assert tokens["scope"] == "health:read"
    assert tokens["token_type"] == "Bearer"
    assert (await refresh(http, client, tokens["refresh_token"], scope="email")).json()["error"] == "invalid_scope"


async def test_what_opens_something_is_256_random_bits_and_never_the_same(vitals: Vitals) -> None:
    http = vitals.http()
    seen: list[str] = []
    for _ in range(3):
        registered = (await register(http, REDIRECT, token_endpoint_auth_method="client_secret_post")).json()
        client = await client_id(http)
        jar = vitals.http()
        browser = Browser(jar, stop_at=f"{URL}/callback/oura/")
        await browser.open(authorize(client))
        await browser.press("approve")
        await browser.press("owner")
        state = dict(httpx2.URL(browser.address).params)["state"]
        finished = await jar.get(browser.address)
        code = dict(httpx2.URL(finished.headers["location"]).params)["code"]
        tokens = (await redeem(http, client, code)).json()
        cookie = jar.cookies["__Host-vitals-browser"]
        seen += [registered["client_secret"], code, tokens["access_token"], tokens["refresh_token"], state, cookie]

    assert len(set(seen)) == len(seen) == 18
    for value in seen:
        assert RANDOM.search(value), len(value)


async def test_a_secret_in_the_address_authenticates_nobody(vitals: Vitals) -> None:
    http = vitals.http()
    app = (await register(http, REDIRECT, token_endpoint_auth_method="client_secret_post")).json()
    query = {"client_id": app["client_id"], "client_secret": app["client_secret"]}
    form = {"client_id": app["client_id"], "token": "x"}

    for path in ("/token", "/revoke"):
        answer = await http.post(f"{URL}{path}?{urlencode(query)}", data={**form, "grant_type": "refresh_token"})

        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
    assert (await http.post(f"{URL}/revoke", data={**form, **query})).status_code == 200


async def test_who_authenticates_by_the_header_is_answered_by_the_scheme_of_the_header(vitals: Vitals) -> None:
    http = vitals.http()
    app = (await register(http, REDIRECT, token_endpoint_auth_method="client_secret_basic")).json()

    for secret in ("wrong", app["client_secret"][:-1], ""):
        answer = await http.post(f"{URL}/revoke", data={"token": "x"}, headers=basic(app["client_id"], secret))
        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
        assert answer.headers["www-authenticate"].lower().startswith("basic ")
    good = await http.post(f"{URL}/revoke", data={"token": "x"}, headers=basic(app["client_id"], app["client_secret"]))

    assert good.status_code == 200


@pytest.mark.parametrize(
    "grant_type", ["password", "client_credentials", "implicit", "urn:ietf:params:oauth:grant-type:jwt-bearer", "x", ""]
)
async def test_no_other_grant_is_served(vitals: Vitals, grant_type: str) -> None:
    http = vitals.http()
    form = {"grant_type": grant_type, "client_id": await client_id(http), "username": "owner", "password": "x"}

    answer = await http.post(f"{URL}/token", data=form)

    assert (answer.status_code, answer.json()["error"]) == (400, "unsupported_grant_type")


async def test_what_was_registered_comes_back_with_an_id_of_ours(vitals: Vitals) -> None:
    http = vitals.http()
    asked = {
        "client_name": "Assistant (work)",
        "redirect_uris": [REDIRECT, "https://app.example/cb?a=b"],
        "token_endpoint_auth_method": "none",
        "client_id": "vc_mine",
        "client_id_issued_at": 1,
        "software_statement": "a.b.c",
        "jwks_uri": "https://app.example/jwks.json",
        "jwks": {"keys": []},
        "nobody_knows": {"this": True},
    }

    first, second = [await http.post(f"{URL}/register", json=asked) for _ in range(2)]

    assert first.status_code == 201
    found = first.json()
    assert found["client_id"] not in {"vc_mine", second.json()["client_id"]}
    assert found["client_id_issued_at"] == int(vitals.clock.at)
    assert found["client_name"] == asked["client_name"]
    assert found["redirect_uris"] == asked["redirect_uris"]
    assert found["token_endpoint_auth_method"] == "none"
    assert found["grant_types"] == ["authorization_code", "refresh_token"]
    assert found["response_types"] == ["code"]
    assert not found.keys() & {"nobody_knows", "software_statement", "jwks", "jwks_uri"}


@pytest.mark.parametrize(
    "name",
    ["x" * 2_000, "\u202e" * 2_000, ["x"], {"en": "x"}, 7],
    ids=["long", "long and hidden", "list", "map", "number"],
)
async def test_a_name_of_2000_characters_or_of_no_text_is_refused(vitals: Vitals, name: object) -> None:
    answer = await register(vitals.http(), REDIRECT, client_name=name)

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_client_metadata")
    assert len(answer.text) < 300


IPV6 = (
    "http://[::ffff:127.0.0.1]/cb",
    "http://[::ffff:7f00:1]/cb",
    "http://[0:0:0:0:0:0:0:1]/cb",
    "http://[::1%25lo]/cb",
    "http://[::1%lo]/cb",
    "http://[::127.0.0.1]/cb",
    "http://[64:ff9b::7f00:1]/cb",
    "http://[::]/cb",
    "http://[fe80::1]/cb",
    "http://[::1].evil.example/cb",
    "http://[::1]@evil.example/cb",
    "http://[::1]:80:80/cb",
    "http://[::1/cb",
    "http://::1/cb",
    "http://[v1.x]/cb",
    "https://[::1%25x]/cb",
    "https://[::1]evil.example/cb",
)


async def test_no_spelling_of_an_ipv6_address_passes_for_this_computer(vitals: Vitals) -> None:
    http = vitals.http()
    client = await client_id(http, "http://[::1]/cb")

    for uri in IPV6:
        assert (await register(http, uri)).status_code == 400, uri
        answer = await http.get(authorize(client, uri))
        assert answer.status_code == 400, uri
        assert "location" not in answer.headers
    assert (await http.get(authorize(client, "http://[::1]:5000/cb"))).status_code == 200


async def test_metadata_names_nothing_empty_and_one_name_of_ours_everywhere(vitals: Vitals) -> None:
    http = vitals.http()
    server = (await http.get(f"{URL}/.well-known/oauth-authorization-server")).json()
    resource = (await http.get(f"{URL}/.well-known/oauth-protected-resource/mcp")).json()
    client = await client_id(http)
    told = handed_over(await sign_in(vitals, client))

    for document in (server, resource):
        assert all(value not in (None, "", [], {}) for value in document.values())
    for name, value in server.items():
        if name.endswith("_endpoint"):
            assert value.startswith(f"{URL}/")
            assert not set("?#") & set(value)
    assert server["issuer"] == told["iss"] == URL
    assert resource["authorization_servers"] == [URL]
    assert resource["resource"] == f"{URL}/mcp"
    assert server["authorization_response_iss_parameter_supported"] is True


class Overheard:
    """Everything that is sent to Oura, byte for byte."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.sent = b""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self.sent += scope["raw_path"] + scope["query_string"] + repr(scope["headers"]).encode()

        async def listen() -> Message:
            message = await receive()
            self.sent += message.get("body", b"")
            return message

        await self.app(scope, listen, send)


async def test_no_token_of_ours_reaches_oura_and_none_of_ouras_reaches_an_app(tmp_path: Path) -> None:
    clock = Clock()
    simulator = Simulator(now=clock)
    overheard = Overheard(simulator.app)
    simulator.app = overheard
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        client, tokens = await connected(vitals)
        answer = await ask(vitals, tokens["access_token"], collection="daily_sleep", day="2026-03-01")

    theirs = [token for family in simulator.grants.families for token in family.access] + list(
        simulator.grants._refresh
    )
    assert theirs[0].encode() in overheard.sent  # it was heard at all
    for value in (tokens["access_token"], tokens["refresh_token"], client, VERIFIER):
        assert value.encode() not in overheard.sent
    for value in theirs:
        assert value not in answer.text + json.dumps(tokens)
