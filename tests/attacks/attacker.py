"""What an attacker does over HTTP, with nothing but the connector's address."""

import base64
import hashlib
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2

from app.demo.browser import Browser, forms
from tests.app_under_test import URL, Vitals

REDIRECT = "http://127.0.0.1:53682/callback"
VERIFIER = secrets.token_urlsafe(48)
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()


async def register(http: httpx2.AsyncClient, *redirect_uris: str, **more: object) -> httpx2.Response:
    """Register an app, as anyone can."""
    body = {"client_name": "An app", "redirect_uris": list(redirect_uris or (REDIRECT,)), **more}
    return await http.post(f"{URL}/register", json=body)


async def client_id(http: httpx2.AsyncClient, *redirect_uris: str, **more: object) -> str:
    """Register an app and return its id."""
    answer = await register(http, *redirect_uris, **more)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["client_id"])


def authorize(client: str, redirect_uri: str = REDIRECT, **more: str) -> str:
    """Return the address that an app sends its owner to."""
    query = {
        "response_type": "code",
        "client_id": client,
        "redirect_uri": redirect_uri,
        "state": "the app's own",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        **more,
    }
    return f"{URL}/authorize?{urlencode(query)}"


async def sign_in(
    vitals: Vitals, client: str, *, who: str = "owner", http: httpx2.AsyncClient | None = None
) -> Browser:
    """Approve an app and sign in at Oura; return the browser where it ended."""
    browser = Browser(http or vitals.http(), stop_at=REDIRECT)
    await browser.open(authorize(client))
    await browser.press("approve", {"timezone": "Europe/Berlin"})
    await browser.press(who)
    return browser


def handed_over(browser: Browser) -> dict[str, str]:
    """Return what the app was sent; nothing if the browser did not get that far."""
    return dict(parse_qsl(urlsplit(browser.address).query)) if browser.stopped else {}


async def redeem(http: httpx2.AsyncClient, client: str, code: str, **more: str) -> httpx2.Response:
    """Ask for tokens with a code."""
    form = {
        "grant_type": "authorization_code",
        "client_id": client,
        "code": code,
        "redirect_uri": REDIRECT,
        "code_verifier": VERIFIER,
        **more,
    }
    return await http.post(f"{URL}/token", data=form)


async def refresh(http: httpx2.AsyncClient, client: str, token: str, **more: str) -> httpx2.Response:
    """Ask for tokens with a refresh token."""
    form = {"grant_type": "refresh_token", "client_id": client, "refresh_token": token, **more}
    return await http.post(f"{URL}/token", data=form)


async def connected(vitals: Vitals, *, who: str = "owner") -> tuple[str, dict[str, Any]]:
    """Register, be approved and redeem; return the client's id and its tokens."""
    http = vitals.http()
    client = await client_id(http)
    code = handed_over(await sign_in(vitals, client, who=who))["code"]
    return client, (await redeem(http, client, code)).json()


async def ask(vitals: Vitals, token: str, tool: str = "health_query", **arguments: object) -> httpx2.Response:
    """Call a tool with a bearer token."""
    params: dict[str, object] = {"name": tool, "arguments": arguments}
    return await vitals.http().post(
        vitals.mcp_url,
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
        headers={
            "authorization": f"Bearer {token}",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2025-11-25",
        },
    )


async def open_connections(vitals: Vitals, *, who: str = "owner", http: httpx2.AsyncClient | None = None) -> Browser:
    """Sign in to the owner's page."""
    browser = Browser(http or vitals.http(), stop_at="nowhere:")
    await browser.open(f"{URL}/connections")
    await submit(browser, "/connections/signin")
    await browser.press(who)
    return browser


async def submit(browser: Browser, action: str, fill: Mapping[str, str] | None = None) -> None:
    """Send a form of the page, found by where it goes; its buttons have no names."""
    form = next(form for form in forms(browser.page) if form.action == action)
    fields = [(name, (fill or {}).get(name, value)) for name, value in form.fields]
    await browser._go("POST", f"{URL}{action}", fields)
