"""The whole way of an app, step by step, with nothing of the connector's own code but the stand-in browser."""

import base64
import hashlib
import re
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest

from app.demo.browser import Browser
from tests.journey.places import APP_REDIRECT, Place, a_demo, in_this_process

pytestmark = pytest.mark.anyio
TOOLS = {"health_today", "health_query", "health_catalog", "health_check"}
ACCEPT = {"accept": "application/json, text/event-stream"}
ERA_2026 = "2026-07-28"


@pytest.fixture(params=["in process", pytest.param("demo", marks=pytest.mark.process)])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    async with AsyncExitStack() as stack:
        if request.param == "demo":
            yield stack.enter_context(a_demo(tmp_path))
        else:
            yield await stack.enter_async_context(in_this_process(tmp_path))


@pytest.fixture
async def http(place: Place) -> AsyncIterator[httpx2.AsyncClient]:
    async with place.http() as client:
        yield client


def rpc(method: str, params: dict[str, Any] | None = None, era: str = "2025-11-25") -> dict[str, Any]:
    params = dict(params or {})
    if era == ERA_2026:
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": era,
            "io.modelcontextprotocol/clientInfo": {"name": "journey", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}


async def learn(place: Place, http: httpx2.AsyncClient) -> dict[str, Any]:
    """401 → protected-resource metadata → server metadata."""
    refused = await http.post(place.mcp_url, json=rpc("initialize"))
    assert refused.status_code == 401
    challenge = refused.headers["www-authenticate"]
    assert 'scope="health:read"' in challenge
    assert "error=" not in challenge
    found = re.search(r'resource_metadata="([^"]+)"', challenge)
    assert found is not None
    resource = (await http.get(found[1])).json()
    assert resource == (await http.get(f"{place.url}/.well-known/oauth-protected-resource")).json()
    assert resource["resource"] == place.mcp_url
    assert resource["authorization_servers"] == [place.url]
    root = await http.get(f"{place.url}/.well-known/oauth-authorization-server")
    assert root.json() == (await http.get(f"{place.url}/.well-known/oauth-authorization-server/mcp")).json()
    server: dict[str, Any] = root.json()
    assert server["issuer"] == place.url
    return server


async def client_of(kind: str, place: Place, server: dict[str, Any], http: httpx2.AsyncClient) -> str:
    if kind == "document":
        return place.document_url
    metadata = {"client_name": "Journey", "redirect_uris": [APP_REDIRECT], "token_endpoint_auth_method": "none"}
    registered = await http.post(server["registration_endpoint"], json=metadata)
    assert registered.status_code == 201
    assert registered.json()["token_endpoint_auth_method"] == "none"
    assert "client_secret" not in registered.json()
    return str(registered.json()["client_id"])


def pkce() -> tuple[str, str]:
    verifier = secrets.token_urlsafe(48)
    return verifier, base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


async def approve(place: Place, server: dict[str, Any], client_id: str, challenge: str) -> dict[str, list[str]]:
    """The owner's way, in a browser of their own; return what the app receives."""
    query = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": APP_REDIRECT,
        "state": "st/ate&1",
        "scope": "health:read offline_access",
        "prompt": "consent",
        "resource": place.mcp_url,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    async with place.http() as http:
        browser = Browser(http, stop_at=APP_REDIRECT)
        address = f"{server['authorization_endpoint']}?{urlencode(query)}"
        await browser.open(address)
        first = browser.page
        await browser.open(address)
        assert browser.status == 200
        assert "Journey" in first
        assert "127.0.0.1:53682" in first
        await browser.press("approve", {"timezone": "Europe/Berlin"})
        assert urlsplit(browser.address).path == "/oauth/authorize", "Oura comes after the consent"
        await browser.press("owner")
        assert browser.stopped
        return parse_qs(urlsplit(browser.address).query, strict_parsing=True)


@pytest.mark.parametrize("kind", ["registered", "document"])
async def test_an_app_goes_from_401_to_an_answer_and_gives_its_access_back(
    kind: str, place: Place, http: httpx2.AsyncClient
) -> None:
    server = await learn(place, http)
    client_id = await client_of(kind, place, server, http)
    verifier, challenge = pkce()

    received = await approve(place, server, client_id, challenge)
    assert received["iss"] == [place.url]
    assert received["state"] == ["st/ate&1"]
    form = {
        "grant_type": "authorization_code",
        "code": received["code"][0],
        "client_id": client_id,
        "redirect_uri": APP_REDIRECT,
        "code_verifier": verifier,
        "resource": place.mcp_url,
    }
    first = await http.post(server["token_endpoint"], data=form)
    assert first.status_code == 200
    assert first.headers["cache-control"] == "no-store"
    assert first.json()["expires_in"] == 3600
    assert first.json()["scope"] == "health:read"

    bearer = {"authorization": f"Bearer {first.json()['access_token']}", **ACCEPT}
    await use(place, http, bearer)

    refresh = {
        "grant_type": "refresh_token",
        "refresh_token": first.json()["refresh_token"],
        "client_id": client_id,
        "resource": place.mcp_url,
    }
    second = (await http.post(server["token_endpoint"], data=refresh)).json()
    again = (await http.post(server["token_endpoint"], data=refresh)).json()
    assert second["refresh_token"] != first.json()["refresh_token"]
    assert again["access_token"] == second["access_token"]
    await use(place, http, bearer)  # the older access token lives out its hour
    renewed = {"authorization": f"Bearer {second['access_token']}", **ACCEPT}
    await use(place, http, renewed)

    gone = await http.post(
        server["revocation_endpoint"], data={"token": second["refresh_token"], "client_id": client_id}
    )
    assert gone.status_code == 200
    for held in (bearer, renewed):
        refused = await http.post(place.mcp_url, json=rpc("tools/list"), headers=held)
        assert refused.status_code == 401
        assert 'error="invalid_token"' in refused.headers["www-authenticate"]
    dead = await http.post(server["token_endpoint"], data=refresh | {"refresh_token": second["refresh_token"]})
    assert dead.json()["error"] == "invalid_grant"


async def use(place: Place, http: httpx2.AsyncClient, bearer: dict[str, str]) -> None:
    """List the tools and ask a question, in both eras of the protocol."""
    for era in ("2025-11-25", ERA_2026):
        headers = {**bearer, "mcp-protocol-version": era}
        listed = await http.post(
            place.mcp_url, json=rpc("tools/list", era=era), headers={**headers, "mcp-method": "tools/list"}
        )
        tools = {tool["name"]: tool for tool in listed.json()["result"]["tools"]}
        assert set(tools) >= TOOLS
        assert all(tool["title"] and tool["annotations"]["readOnlyHint"] is True for tool in tools.values())
        asked = {
            "name": "health_query",
            "arguments": {"collection": "daily_readiness", "start": "2026-02-02", "end": "2026-02-08"},
        }
        answered = await http.post(
            place.mcp_url,
            json=rpc("tools/call", asked, era),
            headers={**headers, "mcp-method": "tools/call", "mcp-name": "health_query"},
        )
        result = answered.json()["result"]
        assert not result.get("isError"), result
        assert result["structuredContent"]["complete"] is True
        assert result["structuredContent"]["n"] == len(result["structuredContent"]["data"]) > 0


async def asking_for_consent(place: Place, http: httpx2.AsyncClient) -> str:
    """The address to which a freshly registered app sends the person's browser."""
    server = await learn(place, http)
    query = {
        "response_type": "code",
        "client_id": await client_of("registered", place, server, http),
        "redirect_uri": APP_REDIRECT,
        "state": "s",
        "code_challenge": pkce()[1],
        "code_challenge_method": "S256",
    }
    return f"{server['authorization_endpoint']}?{urlencode(query)}"


async def test_a_denied_consent_never_reaches_oura(place: Place, http: httpx2.AsyncClient) -> None:
    address = await asking_for_consent(place, http)
    async with place.http() as person:
        browser = Browser(person, stop_at=APP_REDIRECT)
        await browser.open(address)
        await browser.press("deny")

    received = parse_qs(urlsplit(browser.address).query, strict_parsing=True)
    assert received["error"] == ["access_denied"]
    assert received["state"] == ["s"]
    assert received["iss"] == [place.url]
    assert {urlsplit(f"//{seen}").netloc for seen in browser.visited} == {urlsplit(place.url).netloc}


@pytest.mark.parametrize("who", ["stranger", "refuse"])
async def test_whoever_is_not_the_owner_or_refuses_at_oura_gives_the_app_nothing(
    who: str, place: Place, http: httpx2.AsyncClient
) -> None:
    address = await asking_for_consent(place, http)
    async with place.http() as person:
        browser = Browser(person, stop_at=APP_REDIRECT)
        await browser.open(address)
        await browser.press("approve")
        await browser.press(who)

        told = browser.address if browser.stopped else " ".join(re.findall(r'href="([^"]+)"', browser.page))
        assert "error=access_denied" in told.replace("&amp;", "&")
        assert "code=" not in told
