"""What an app does from the first 401 to giving its access back, over real HTTP, told line by line.

It uses nothing of the connector's own code, only its address: what works here works for an app.
"""

import base64
import hashlib
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2

from app import __version__
from app.demo import telling
from app.demo.browser import Browser

_REDIRECT_URI = "http://127.0.0.1:53682/callback"  # nobody listens: the browser stops in front of it
_ZONE = "Europe/Berlin"  # where the simulated owner lives; a browser would say it
_PROTOCOL = "2025-11-25"


class WalkFailed(Exception):
    """A step did not go as it must; the text says which."""


@dataclass
class App:
    """One app and what it holds."""

    http: httpx2.AsyncClient
    mcp_url: str
    server: Mapping[str, Any]
    client_id: str = ""
    access_token: str = ""
    refresh_token: str = ""

    async def token(self, **form: str) -> None:
        """Ask for tokens and keep them."""
        answer = await self.http.post(
            self.server["token_endpoint"], data={"client_id": self.client_id, "resource": self.mcp_url, **form}
        )
        _expect(answer, 200, "token")
        self.access_token, self.refresh_token = answer.json()["access_token"], answer.json()["refresh_token"]

    async def call(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Make one MCP request and return its result."""
        answer = await self.http.post(
            self.mcp_url,
            json={"jsonrpc": "2.0", "id": secrets.token_hex(4), "method": method, "params": params},
            headers={
                "accept": "application/json, text/event-stream",
                "authorization": f"Bearer {self.access_token}",
                "mcp-protocol-version": _PROTOCOL,
            },
        )
        _expect(answer, 200, method)
        message = answer.json()
        if "result" not in message:
            raise WalkFailed(f"{method} was answered with an error.")
        result: Mapping[str, Any] = message["result"]
        return result

    async def ask(self, tool: str, **arguments: object) -> Mapping[str, Any]:
        """Call a tool and return its structured answer."""
        result = await self.call("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise WalkFailed(f"{tool} failed: {result['content'][0]['text']}")
        answer: Mapping[str, Any] = result["structuredContent"]
        return answer


async def walk(public_url: str, *, say: Callable[[str], None]) -> None:
    """Sign in, ask, renew, give back.

    Args:
        public_url: The connector's origin, on loopback.
        say: Takes each line for the person who watches.

    Raises:
        WalkFailed: A step did not go as it must.
    """
    async with httpx2.AsyncClient(trust_env=False, timeout=20) as http:
        app = await discover(http, f"{public_url}/mcp", say)
        async with httpx2.AsyncClient(trust_env=False, timeout=20) as browser:  # it shares no cookie with the app
            await sign_in(app, browser, say)
        await ask(app, say)
        await app.token(grant_type="refresh_token", refresh_token=app.refresh_token)
        say("renew      the app got new tokens for its old refresh token")
        await give_back(app, say)


async def discover(http: httpx2.AsyncClient, mcp_url: str, say: Callable[[str], None]) -> App:
    """Learn from a 401 where to sign in, and register."""
    refused = await http.post(mcp_url, json={"jsonrpc": "2.0", "id": 1, "method": "initialize"})
    _expect(refused, 401, "unauthenticated request")
    found = re.search(r'resource_metadata="([^"]+)"', refused.headers.get("www-authenticate", ""))
    if not found:
        raise WalkFailed("The 401 does not name the metadata.")
    say(f"ask        {mcp_url} without a token: 401, see {urlsplit(found[1]).path}")
    resource = await http.get(found[1])
    _expect(resource, 200, "resource metadata")
    issuer = resource.json()["authorization_servers"][0]
    server = await http.get(f"{issuer}/.well-known/oauth-authorization-server")
    _expect(server, 200, "server metadata")
    app = App(http, mcp_url, server.json())
    registered = await http.post(
        app.server["registration_endpoint"],
        json={
            "client_name": "vitals demo",
            "redirect_uris": [_REDIRECT_URI],
            "grant_types": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_method": "none",
        },
    )
    _expect(registered, 201, "registration")
    app.client_id = registered.json()["client_id"]
    say("register   done, as `vitals demo`")
    return app


async def sign_in(app: App, http: httpx2.AsyncClient, say: Callable[[str], None], *, who: str = "owner") -> None:
    """Go a person's way: consent here, sign-in at the simulated Oura, and back with a code.

    Args:
        app: The app that asks.
        http: The person's browser.
        say: Takes lines.
        who: The button to press at the simulated Oura: `owner`, `stranger` or `refuse`.

    Raises:
        WalkFailed: It did not end with a code.
    """
    verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(16)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    query = {
        "response_type": "code",
        "client_id": app.client_id,
        "redirect_uri": _REDIRECT_URI,
        "scope": "health:read",
        "state": state,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        "resource": app.mcp_url,
    }
    browser = Browser(http, stop_at=_REDIRECT_URI)
    try:
        await browser.open(f"{app.server['authorization_endpoint']}?{urlencode(query)}")
        await browser.press("approve", {"timezone": _ZONE})
        say("consent    the page names the app, what it may read and where the result goes; approved")
        await browser.press(who)
        say(f"Oura       signed in as the {who} at the simulated Oura")
    except LookupError as exc:
        raise WalkFailed(str(exc)) from exc
    answer = dict(parse_qsl(urlsplit(browser.address).query))
    if not browser.stopped or answer.get("state") != state or answer.get("iss") != app.server["issuer"]:
        raise WalkFailed(f"The sign-in ended at {urlsplit(browser.address).path} with status {browser.status}.")
    if "code" not in answer:
        raise WalkFailed(f"The sign-in was refused: {answer.get('error')}.")
    await app.token(
        grant_type="authorization_code", code=answer["code"], redirect_uri=_REDIRECT_URI, code_verifier=verifier
    )
    say("token      the app exchanged its code for tokens of the connector")


async def ask(app: App, say: Callable[[str], None]) -> None:
    """Look at the tools and put two questions."""
    client = {"name": "vitals demo", "version": __version__}
    opened = await app.call("initialize", {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": client})
    tools = [tool["name"] for tool in (await app.call("tools/list", {}))["tools"]]
    say(f"connect    to {opened['serverInfo']['name']} {opened['serverInfo']['version']}; tools: {', '.join(tools)}")
    now = await app.ask("health_today", days=0)
    for line in telling.today(now):
        say(line)
    last = date.fromisoformat(now["today"])
    week = await app.ask("health_query", collection="daily_sleep", start=str(last - timedelta(days=6)), end=str(last))
    for line in telling.scores(week):
        say(line)


async def give_back(app: App, say: Callable[[str], None]) -> None:
    """Revoke, and see that the access is over."""
    form = {"client_id": app.client_id, "token": app.refresh_token, "token_type_hint": "refresh_token"}
    _expect(await app.http.post(app.server["revocation_endpoint"], data=form), 200, "revocation")
    refused = await app.http.post(app.mcp_url, headers={"authorization": f"Bearer {app.access_token}"})
    _expect(refused, 401, "request after revocation")
    say("leave      the app gave its access back; the next request got 401")


def _expect(answer: httpx2.Response, status: int, what: str) -> None:
    if answer.status_code != status:
        raise WalkFailed(f"{what}: expected {status}, got {answer.status_code}.")
