"""Asking the running connector as an app does, and reading what came the way a model does."""

import base64
import hashlib
import html
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from app.demo.browser import Browser
from app.demo.walk import App, discover
from app.simulator import Simulator
from app.sources.oura.catalog import COLLECTIONS
from tests.app_under_test import Clock, Vitals, running_app
from tests.cases.shelf import Shelf, shelf

EVERY = tuple(COLLECTIONS)
TOOLS = ("health_today", "health_query", "health_catalog", "health_check")


async def told(app: App, tool: str, **arguments: object) -> dict[str, Any]:
    """Insist on an answer; its text is the same object as its structured content."""
    result = await app.call("tools/call", {"name": tool, "arguments": arguments})
    text = result["content"][0]["text"]
    assert not result.get("isError"), text
    answer: dict[str, Any] = json.loads(text)
    assert answer == result["structuredContent"]
    return answer


async def refused(app: App, tool: str, **arguments: object) -> str:
    """Insist on a tool error; return its one text."""
    result = await app.call("tools/call", {"name": tool, "arguments": arguments})
    text: str = result["content"][0]["text"]
    assert result.get("isError") is True, text
    assert "structuredContent" not in result
    assert len(result["content"]) == 1
    for mark in ("Traceback", 'File "', "httpx", "pydantic"):
        assert mark not in text
    return text


@asynccontextmanager
async def asking(
    folder: Path, *, at: datetime, zone: str = "", cap: str = "", chatgpt: str = ""
) -> AsyncIterator[tuple[App, Shelf]]:
    """A signed-in app, and the shelf it is answered from; empty, until records are put on it.

    Args:
        folder: For the store.
        at: The moment at which the clock stands.
        zone: The setting TIMEZONE; left out, what the browser said (Europe/Berlin).
        cap: The setting ANSWER_MAX_CHARS.
        chatgpt: The setting CHATGPT_TOOLS.
    """
    clock = Clock(at.timestamp())
    simulator = Simulator(now=clock)
    held = shelf(simulator)
    running = running_app(
        folder, simulator=simulator, clock=clock, TIMEZONE=zone, ANSWER_MAX_CHARS=cap, CHATGPT_TOOLS=chatgpt
    )
    async with running as vitals:
        yield await vitals.connected_app(), held


REDIRECT = "http://127.0.0.1:53682/callback"  # where the walking app waits for its answer
VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()


@dataclass
class Journey:
    """A sign-in under way: the app that asked for it, and the person's browser."""

    app: App
    browser: Browser

    @property
    def answer(self) -> dict[str, str]:
        """What the browser brought the app."""
        assert self.browser.stopped, f"{self.browser.status} {self.browser.address}: {self.browser.page}"
        return dict(parse_qsl(urlsplit(self.browser.address).query))

    async def tokens(self, **form: str) -> None:
        """Let the app exchange its code."""
        given = {"redirect_uri": REDIRECT, "code_verifier": VERIFIER, "code": self.answer["code"], **form}
        await self.app.token(grant_type="authorization_code", **given)


async def journey(vitals: Vitals, *presses: str, **query: str) -> Journey:
    """Register an app, open its request in a new browser, and press buttons by their values."""
    app = await discover(vitals.http(), vitals.mcp_url, lambda _: None)
    asked = {
        "response_type": "code",
        "client_id": app.client_id,
        "redirect_uri": REDIRECT,
        "scope": "health:read",
        "state": "app-state",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "resource": vitals.mcp_url,
        **query,
    }
    browser = vitals.browser(REDIRECT)
    await browser.open(f"{app.server['authorization_endpoint']}?{urlencode(asked)}")
    for value in presses:
        await browser.press(value, {"timezone": "Europe/Berlin"})
    return Journey(app, browser)


def heading(page: str) -> str:
    """Return the first heading of one of our pages."""
    return html.unescape(re.findall(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL)[0])
