"""CASES.md, section C, through the whole connector: what claude.ai and ChatGPT stumble over.

A real Chromium goes the same way in `tests/journey/test_whole_way_in_a_browser.py` and `tests/signin/test_browser.py`.
"""

import json
import re
from pathlib import Path
from urllib.parse import urlencode

import httpx2
import pytest
from starlette.routing import Route

from app.authserver.clients.cimd import Fetched
from app.sources.oura.catalog import COLLECTIONS
from tests.app_under_test import URL, Vitals, rpc, running_app
from tests.cases.asking import REDIRECT, TOOLS, VERIFIER, heading, journey, told

pytestmark = pytest.mark.anyio

DAY_S = 86_400
METADATA = tuple(
    f"/.well-known/{name}{end}"
    for name in ("oauth-protected-resource", "oauth-authorization-server")
    for end in ("", "/mcp")
)
DOCUMENT = "https://app.example/oauth/client.json"


async def from_web(url: str) -> Fetched:
    """The one document that the web holds in these tests."""
    assert url == DOCUMENT
    body = {"client_id": url, "client_name": "Paper", "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"}
    return Fetched(json.dumps(body).encode(), "", "")


def refresh(vitals: Vitals, client_id: str, token: str, **more: str) -> dict[str, str]:
    return {
        "grant_type": "refresh_token",
        "refresh_token": token,
        "client_id": client_id,
        "resource": vitals.mcp_url,
        **more,
    }


async def test_c3_s2_the_issuer_is_one_string_wherever_it_stands(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        http = vitals.http()
        server = (await http.get(URL + METADATA[2])).json()
        resource = (await http.get(URL + METADATA[0])).json()
        good = await journey(vitals, "approve", "owner")
        denied = await journey(vitals, "deny")
        wrong = await journey(vitals, code_challenge_method="plain")
        stranger = await journey(vitals, "approve", "stranger")
        told_stranger = re.findall(r'href="(http://127[^"]+)"', stranger.browser.page)[0]
        await good.tokens()

    assert server["issuer"] == resource["authorization_servers"][0] == vitals.parts.settings.public_url == URL
    assert not server["issuer"].endswith("/")
    for walk in (good, denied, wrong):
        assert walk.answer["iss"] == URL
        assert walk.browser.address.count("iss=") == 1
        assert walk.answer["state"] == "app-state"
    assert denied.answer["error"] == "access_denied"
    assert told_stranger.count("iss=") == 1
    assert urlencode({"iss": URL}) in told_stranger
    assert good.app.access_token


async def test_s2_a_slash_that_the_operator_typed_is_nowhere_to_be_seen(tmp_path: Path) -> None:
    async with running_app(tmp_path, PUBLIC_URL=f"{URL}/") as vitals:
        walk = await journey(vitals, "deny")
        texts = [(await vitals.http().get(URL + path)).text for path in METADATA]

    assert walk.answer["iss"] == URL
    assert not any(f"{URL}//" in text or f'"{URL}/"' in text for text in texts)


async def test_c4_only_what_is_granted_is_listed_and_a_refresh_token_comes_unasked(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        http = vitals.http()
        server, resource = [(await http.get(URL + path)).json() for path in (METADATA[2], METADATA[0])]
        challenge = (await http.post(vitals.mcp_url, json=rpc("initialize"))).headers["www-authenticate"]
        walk = await journey(vitals, "approve", "owner")
        form = {
            "grant_type": "authorization_code",
            "code": walk.answer["code"],
            "redirect_uri": REDIRECT,
            "code_verifier": VERIFIER,
            "client_id": walk.app.client_id,
        }
        answer = (await http.post(f"{URL}/token", data=form)).json()

    assert server["scopes_supported"] == ["health:read", "offline_access"]
    assert resource["scopes_supported"] == ["health:read"]
    assert answer["scope"] == "health:read"
    assert answer["refresh_token"]
    assert answer["expires_in"] >= 3600
    assert challenge == (
        f'Bearer resource_metadata="{URL}/.well-known/oauth-protected-resource/mcp", scope="health:read"'
    )


async def test_c5_one_refresh_token_six_times_from_two_addresses_leaves_one_live_family(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        addresses = [httpx2.ASGITransport(vitals.app, client=(f"203.0.113.{n}", 4000 + n)) for n in (1, 2)]
        answers = []
        for number in range(6):
            async with httpx2.AsyncClient(transport=addresses[number % 2]) as http:
                form = refresh(vitals, app.client_id, app.refresh_token)
                answers.append((await http.post(f"{URL}/token", data=form)).json())
            vitals.clock.at += 23  # 115 s from first to last
        (owner,) = vitals.parts.settings.owners
        grants = await vitals.parts.authserver.grants.list(owner)
        app.access_token = answers[-1]["access_token"]
        await told(app, "health_check")
        after = await vitals.http().post(
            f"{URL}/token", data=refresh(vitals, app.client_id, answers[0]["refresh_token"])
        )

    assert len({answer["refresh_token"] for answer in answers}) == 1
    assert len({answer["access_token"] for answer in answers}) == 1
    assert len(grants) == 1
    assert after.status_code == 200


async def test_c6_discovery_is_found_at_the_root_and_with_the_path_and_the_rest_is_json(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        http = vitals.http()
        found = [await http.get(URL + path) for path in METADATA]
        absent = [
            await http.get(f"{URL}/.well-known/{path}", headers={"accept": "text/html"})
            for path in ("openid-configuration", "openid-configuration/mcp", "jwks.json", "x/y")
        ]

    for answer in found:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("application/json")
        assert None not in answer.json().values()
    assert found[0].content == found[1].content
    assert found[2].content == found[3].content
    for answer in absent:
        assert answer.status_code == 404
        assert answer.headers["content-type"].startswith("application/json")
        assert answer.json()["error"] == "not_found"


async def test_c7_both_spellings_of_the_resource_are_answered_in_place(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        for path in ("/mcp", "/mcp/"):
            app.mcp_url = URL + path
            assert (await told(app, "health_check"))["today"] == "2026-03-10"
            bare = await vitals.http().post(URL + path)
            assert bare.status_code == 401
            assert not bare.is_redirect
        for path in ("/authorize/", "/token/", "/register/", "/revoke/", "/connections/", "/privacy/", "//mcp"):
            answer = await vitals.http().get(URL + path)
            assert answer.status_code in {400, 404, 405, 421}, path
            assert "location" not in answer.headers
        async with running_app(tmp_path / "slash") as other:
            walk = await journey(other, "approve", "owner", resource=f"{URL}/mcp/")
            await walk.tokens(resource=f"{URL}/mcp/")
            await told(walk.app, "health_check")


async def test_c8_an_app_that_is_known_by_its_document_connects_and_its_host_is_shown(tmp_path: Path) -> None:
    async with running_app(tmp_path, fetch_document=from_web) as vitals:
        server = (await vitals.http().get(URL + METADATA[2])).json()
        walk = await journey(vitals, client_id=DOCUMENT)
        page = walk.browser.page
        walk.app.client_id = DOCUMENT
        await walk.browser.press("approve")
        await walk.browser.press("owner")
        await walk.tokens()
        await told(walk.app, "health_check")
        await walk.app.token(grant_type="refresh_token", refresh_token=walk.app.refresh_token)
        registered = await journey(vitals)

    assert server["client_id_metadata_document_supported"] is True
    assert "none" in server["token_endpoint_auth_methods_supported"]
    assert server["registration_endpoint"] == f"{URL}/register"
    assert "described at <strong>app.example</strong>" in page
    assert "Not verified" not in page
    assert "Not verified" in registered.browser.page


async def test_c13_every_tool_is_marked_so_that_no_host_takes_it_for_a_write(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        tools = (await app.call("tools/list", {}))["tools"]

    assert {tool["name"] for tool in tools} == set(TOOLS)
    for tool in tools:
        marks = tool["annotations"]
        assert (marks["readOnlyHint"], marks["destructiveHint"]) == (True, False), tool["name"]
        assert isinstance(marks["openWorldHint"], bool)
        assert tool["title"]
        assert len(tool["name"]) <= 64


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_c14_without_a_token_it_is_401_whatever_is_sent(tmp_path: Path, path: str) -> None:
    bodies: list[bytes] = [
        b"",
        b"{}",
        b"[]",
        b"{",
        b"\xff\xfe",
        b"x" * 5_000_000,
        json.dumps(rpc("tools/list")).encode(),
    ]
    async with running_app(tmp_path) as vitals:
        http = vitals.http()
        for body in bodies:
            for accept in ("", "text/html", "application/json", "text/event-stream", "*/*"):
                for kind in ("application/json", "text/plain"):
                    answer = await http.post(URL + path, content=body, headers={"accept": accept, "content-type": kind})
                    assert answer.status_code == 401, (body[:9], accept)
                    assert "resource_metadata" in answer.headers["www-authenticate"]
        for method in ("GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"):
            assert (await http.request(method, URL + path)).status_code == 401, method
        foreign = await http.post(URL + path, headers={"origin": "https://evil.example"})

    assert foreign.status_code == 401


async def test_c15_the_text_of_every_answer_carries_every_number_of_its_structure(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        questions: list[tuple[str, dict[str, str]]] = [(tool, {}) for tool in TOOLS if tool != "health_query"]
        for name in COLLECTIONS:
            questions += [("health_query", {"collection": name, "format": form}) for form in ("json", "csv")]
        for tool, arguments in questions:
            result = await app.call("tools/call", {"name": tool, "arguments": arguments})

            assert [block["type"] for block in result["content"]] == ["text"]
            assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


async def test_c16_an_app_that_was_away_for_29_days_comes_back_and_the_page_shows_when(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        walk = await journey(vitals, "approve", "owner")
        await walk.tokens()
        for _ in range(3):
            vitals.clock.at += 29 * DAY_S
            await walk.app.token(grant_type="refresh_token", refresh_token=walk.app.refresh_token)
        browser = vitals.browser("nowhere:")
        await browser.open(f"{URL}/connections")
        await browser.press("")
        await browser.press("owner")

    assert heading(browser.page) == "Your connections"
    assert "approved 10 March 2026, 13:00" in browser.page
    assert "last renewed 5 June 2026, 14:00" in browser.page


async def test_c17_only_post_is_answered_and_cors_is_for_metadata_alone(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        http = vitals.http()
        for path in ("/mcp", "/mcp/"):
            for method in ("GET", "HEAD", "DELETE", "PUT", "OPTIONS"):
                answer = await http.request(method, URL + path, headers={"authorization": f"Bearer {app.access_token}"})
                assert (answer.status_code, answer.headers["allow"]) == (405, "POST"), method
                assert "access-control-allow-origin" not in answer.headers
        preflight = {"origin": "https://a.example", "access-control-request-method": "GET"}
        for path in METADATA:
            answer = await http.options(URL + path, headers=preflight)
            assert answer.status_code == 204
            assert answer.headers["access-control-allow-origin"] == "*"
        for path in ("/token", "/register", "/revoke", "/authorize", "/connections", "/", "/callback/oura/", "/mcp"):
            answer = await http.options(URL + path, headers=preflight)
            assert answer.status_code >= 400, path
            assert "access-control-allow-origin" not in answer.headers


async def test_c18_no_route_takes_a_secret_in_its_address(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        http = vitals.http()
        paths = [route.path for route in vitals.app.routes if isinstance(route, Route)]
        parameters = {name for path in paths for name in re.findall(r"{(.*?)}", path)}
        for name in ("access_token", "token", "authorization", "bearer", "api_key"):
            answer = await http.post(f"{vitals.mcp_url}?{name}={app.access_token}", json=rpc("tools/list"))
            assert answer.status_code == 401, name
        form = refresh(vitals, app.client_id, app.refresh_token)
        in_query = urlencode({"refresh_token": form.pop("refresh_token")})
        answers = [
            await http.post(f"{URL}/token?{in_query}", data=form),
            await http.post(f"{URL}/token?{in_query}&{urlencode(form)}", data={"client_id": app.client_id}),
            await http.post(f"{URL}/revoke?token={app.refresh_token}", data={"client_id": app.client_id}),
        ]
        await told(app, "health_check")

    assert parameters == {"rest:path"}  # what is not there under /.well-known
    assert all(400 <= answer.status_code < 500 for answer in answers)


async def test_c19_tokens_are_for_the_resource_that_was_named_and_stay_so_after_refreshes(tmp_path: Path) -> None:
    other = "https://other.example/mcp"
    async with running_app(tmp_path) as vitals:
        http = vitals.http()
        asked_wrongly = await journey(vitals, resource=other)
        walk = await journey(vitals, "approve", "owner")
        form = {
            "grant_type": "authorization_code",
            "code": walk.answer["code"],
            "redirect_uri": REDIRECT,
            "code_verifier": VERIFIER,
            "client_id": walk.app.client_id,
        }
        wrong_code = await http.post(f"{URL}/token", data={**form, "resource": other})
        await walk.tokens()
        bound = []
        for _ in range(3):
            wrong = await http.post(
                f"{URL}/token", data=refresh(vitals, walk.app.client_id, walk.app.refresh_token, resource=other)
            )
            assert wrong.json()["error"] == "invalid_target"
            record = await vitals.parts.authserver.tokens.find_access(walk.app.access_token)
            bound.append(record.resource if record else None)
            await told(walk.app, "health_check")
            await walk.app.token(grant_type="refresh_token", refresh_token=walk.app.refresh_token)
        held = walk.app.access_token
    # The same store under another address: the audience is another one, so the token opens nothing there.
    async with running_app(tmp_path, PUBLIC_URL="https://moved.test") as moved:
        transport = httpx2.ASGITransport(moved.app)
        async with httpx2.AsyncClient(transport=transport, base_url="https://moved.test") as http:
            refused_there = await http.post("/mcp", headers={"authorization": f"Bearer {held}"})

    assert asked_wrongly.answer["error"] == "invalid_target"
    assert wrong_code.json()["error"] == "invalid_target"
    assert bound == [f"{URL}/mcp"] * 3
    assert refused_there.status_code == 401
