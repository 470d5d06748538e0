"""What everybody is told by one connector: apps at `/mcp` and `/token`, the owner on the pages, a platform's probes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape
from typing import Any
from urllib.parse import urlencode

import httpx2

from app.demo.browser import Browser
from app.demo.walk import App
from tests.app_under_test import URL, Vitals

_REDIRECT_URI = "http://127.0.0.1:53682/callback"
_COOKIE = "a" * 43


@dataclass
class Said:
    """Status and words, by whom they are for."""

    mcp: tuple[int, str]
    token: tuple[int, str]
    connections: tuple[int, str]
    ready: int
    alive: int


async def hear(vitals: Vitals, app: App) -> Said:
    """Ask at every edge at this moment; the app keeps the tokens it has."""
    async with vitals.http() as http:
        called = await tool_call(http, app)
        asked = await http.post(
            f"{URL}/token",
            data={
                "grant_type": "refresh_token",
                "refresh_token": app.refresh_token,
                "client_id": app.client_id,
                "resource": app.mcp_url,
            },
        )
        # Any value: the cookie of a visit makes the page look its session up.
        visitor = {"cookie": f"__Host-vitals-owner={_COOKIE}; __Host-vitals-browser={_COOKIE}", "accept": "text/html"}
        page = await http.get(f"{URL}/connections", headers=visitor)
        ready, alive = await http.get(f"{URL}/readyz"), await http.get(f"{URL}/healthz")
    return Said(
        (called.status_code, words(called)),
        (asked.status_code, words(asked)),
        (page.status_code, heading(page.text)),
        ready.status_code,
        alive.status_code,
    )


async def consent_page(vitals: Vitals, app: App) -> Browser:
    """A browser that the app sent to `/authorize`."""
    browser = vitals.browser(stop_at=_REDIRECT_URI)
    query = {
        "response_type": "code",
        "client_id": app.client_id,
        "redirect_uri": _REDIRECT_URI,
        "scope": "health:read",
        "state": "s",
        "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeGrJTKeK1Yi8-8iNF5I",
        "code_challenge_method": "S256",
        "resource": app.mcp_url,
    }
    await browser.open(f"{URL}/authorize?{urlencode(query)}")
    return browser


async def tool_call(http: httpx2.AsyncClient, app: App) -> httpx2.Response:
    """Call a tool that needs no source."""
    return await http.post(
        app.mcp_url,
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "health_check", "arguments": {}}},
        headers={
            "accept": "application/json, text/event-stream",
            "authorization": f"Bearer {app.access_token}",
            "mcp-protocol-version": "2025-11-25",
        },
    )


async def ask(app: App, **arguments: object) -> Mapping[str, Any]:
    """Ask for data; return the result, a tool's error included."""
    given = {"collection": "daily_sleep", "start": "2026-03-01", "end": "2026-03-03", **arguments}
    return await app.call("tools/call", {"name": "health_query", "arguments": given})


def words(answer: httpx2.Response) -> str:
    """What a JSON answer says to the app; empty for a success."""
    if answer.status_code == 200:
        return ""
    body = answer.json()
    return f"{body['error']}: {body['error_description']}"


def heading(page: str) -> str:
    """The first heading of a page."""
    return _text(r"<h1>(.*?)</h1>", page)


def lead(page: str) -> str:
    """The sentence below it."""
    return _text(r'<p class="lead">(.*?)</p>', page)


def _text(pattern: str, page: str) -> str:
    found = re.search(pattern, page, re.DOTALL)
    return unescape(found[1]) if found else ""


def outage_lines(written: list[Any]) -> list[tuple[str, str]]:
    """What the log said of the store: event and reason."""
    events = {"store_unavailable", "store_available_again", "store_needs_attention", "started_without_store"}
    return [(line["event"], str(line.get("reason", ""))) for line in written if line["event"] in events]
