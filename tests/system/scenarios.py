"""What a process is killed at, and what must hold afterwards: one request each, prepared, made, and looked back at.

`verify` meets a new process on the same store. The app there does what apps do: it sends the same request again.
"""

import base64
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

import httpx2

from app.authserver.clients.registration import Registration
from app.authserver.owner.attempts import Attempts
from app.authserver.owner.browser import BrowserCookie, fingerprint
from app.authserver.records import AccessToken, RefreshToken, from_json
from app.simulator.grants import SCOPES, Family
from app.vault.connections import Connection
from tests.system.kills import World, http

REDIRECT = "http://127.0.0.1:53682/callback"
Tokens = Mapping[str, str]


@dataclass
class Client:
    """An app, as far as HTTP goes."""

    world: World
    http: httpx2.AsyncClient
    client_id: str
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.world.port}"

    @property
    def request(self) -> list[tuple[str, str]]:
        """Its authorization request."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()
        return [
            ("response_type", "code"),
            ("client_id", self.client_id),
            ("redirect_uri", REDIRECT),
            ("scope", "health:read"),
            ("state", "s"),
            ("code_challenge", challenge),
            ("code_challenge_method", "S256"),
            ("resource", f"{self.url}/mcp"),
        ]

    async def code(self) -> str:
        """A code that the owner has approved, fresh."""
        authserver = self.world.parts.authserver
        return await authserver.codes.issue(await authserver.authorizations.validate(self.request), self.world.owner)

    async def tokens(self) -> Tokens:
        """Tokens of a new grant."""
        answer = await self.world.parts.authserver.codes.redeem(await self.code())
        return {name: str(value) for name, value in answer.items()}

    async def redeem(self, code: str) -> httpx2.Response:
        return await self._form(
            "/token", grant_type="authorization_code", code=code, redirect_uri=REDIRECT, code_verifier=self.verifier
        )

    async def refresh(self, token: str) -> httpx2.Response:
        return await self._form("/token", grant_type="refresh_token", refresh_token=token)

    async def revoke(self, token: str) -> httpx2.Response:
        return await self._form("/revoke", token=token)

    async def ask(self, access_token: str, *, at: str = "", day: str = "2026-03-10") -> httpx2.Response:
        """Ask something for which Oura has to be asked; `at` is another process than the one that bears the name."""
        arguments = {"collection": "daily_activity", "day": day}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        return await self.http.post(
            f"{at or self.url}/mcp",
            json={**call, "params": {"name": "health_query", "arguments": arguments}},
            headers={
                "host": f"127.0.0.1:{self.world.port}",
                "accept": "application/json, text/event-stream",
                "authorization": f"Bearer {access_token}",
                "mcp-protocol-version": "2025-11-25",
            },
        )

    async def said(self, access_token: str, *, at: str = "", day: str = "2026-03-10") -> str:
        """What a tool answers: "answered", or its error."""
        answer = await self.ask(access_token, at=at, day=day)
        assert answer.status_code == 200, answer.status_code
        result = answer.json()["result"]
        return str(result["content"][0]["text"]) if result.get("isError") else "answered"

    async def may(self, access_token: str) -> bool:
        """Whether an access token opens anything."""
        return (await self.ask(access_token)).status_code != 401

    async def _form(self, path: str, **form: str) -> httpx2.Response:
        data = {"client_id": self.client_id, "resource": f"{self.url}/mcp", **form}
        return await self.http.post(f"{self.url}{path}", data=data)

    async def grants(self) -> set[str]:
        """The ids of what the owner sees as connected apps."""
        return {grant.id for grant in await self.world.parts.authserver.grants.list(self.world.owner)}

    async def stands(self, grant_id: str) -> bool:
        """Whether a grant has tokens to stand on."""
        store = self.world.parts.store
        access = [from_json(AccessToken, raw).grant_id async for _, raw in store.scan("access:")]
        refresh = [from_json(RefreshToken, raw).grant_id async for _, raw in store.scan("refresh:")]
        return grant_id in access and grant_id in refresh


async def client_of(world: World) -> Client:
    """An app that has registered."""
    client, _ = await world.parts.authserver.clients.register(Registration("app", (REDIRECT,), "none"))
    return Client(world, http(), client.client_id)


class Scenario(Protocol):
    """One request that a process may die of."""

    async def prepare(self, client: Client) -> None: ...

    async def act(self, client: Client) -> None:
        """Make the request; raises `httpx2.TransportError` if the process dies."""

    async def verify(self, client: Client, restart: "Restart") -> bool:
        """Look at all that must hold; return whether the same request, sent again, brought what it was sent for."""


class Restart(Protocol):
    """Starts the next process."""

    async def __call__(self) -> None: ...


async def connected(world: World) -> Connection:
    """Let the owner be signed in at Oura; one whose credential was lost signs in again, as they were told."""
    held = await world.parts.connections.load(world.owner)
    if held is None or held.state == "ended":
        await world.connect()
        held = await world.parts.connections.load(world.owner)
    assert held is not None
    return held


class Rotation:
    """A question that finds the access token of Oura expired."""

    async def prepare(self, client: Client) -> None:
        world = client.world
        held = await connected(world)
        self.generation = held.generation
        self.family: Family = world.oura.simulator.grants.families[-1]
        self.renewals, self.asked = self.family.renewals, world.oura.simulator.counts.refreshes
        self.access = (await client.tokens())["access_token"]
        self.others = world.families_alive() - 1  # left by sign-ins before this one
        world.oura.simulator.expire_access_tokens()

    async def act(self, client: Client) -> None:
        assert await client.said(self.access) == "answered"

    async def verify(self, client: Client, restart: Restart) -> bool:
        world = client.world
        held = await world.parts.connections.load(world.owner)
        assert held is not None
        spent, stored = self.family.renewals > self.renewals, held.generation > self.generation
        await restart()
        first, second = await client.said(self.access), await client.said(self.access)

        counts = world.oura.simulator.counts
        if spent and not stored:  # the one window in which nobody can know
            assert "interrupted" in first, first
            assert "interrupted" not in second, second
            assert "sign in again" in second, second
            assert counts.refreshes - self.asked == 2  # the attempt that had to show it, and no other
            assert world.families_alive() == self.others
            return False
        assert (first, second) == ("answered", "answered")
        assert counts.refreshes - self.asked == 1
        assert self.family.renewals - self.renewals == 1
        assert world.families_alive() == self.others + 1
        kept = await world.parts.connections.load(world.owner)
        assert kept is not None
        assert (kept.generation, kept.state) == (self.generation + 1, "live")
        assert kept.refresh_token == self.family.refresh  # what is stored is what works
        return True


class Redemption:
    """An app exchanges its code."""

    async def prepare(self, client: Client) -> None:
        await connected(client.world)
        self.before = await client.grants()
        self.code = await client.code()

    async def act(self, client: Client) -> None:
        assert (await client.redeem(self.code)).status_code == 200

    async def verify(self, client: Client, restart: Restart) -> bool:
        for grant in await client.grants() - self.before:
            assert await client.stands(grant), "a grant is shown that has no tokens"
        await restart()
        again = await client.redeem(self.code)
        if again.status_code == 200:
            assert len(await client.grants() - self.before) == 1
            assert await client.said(again.json()["access_token"]) == "answered"
            renewed = await client.refresh(again.json()["refresh_token"])
            assert renewed.status_code == 200
            assert (await client.redeem(self.code)).json()["error"] == "invalid_grant"
            assert not await client.may(renewed.json()["access_token"])  # used twice: whoever has tokens loses them
        assert (await client.redeem(self.code)).json()["error"] == "invalid_grant"
        assert await client.grants() == self.before
        return again.status_code == 200


class Refresh:
    """An app exchanges its refresh token."""

    async def prepare(self, client: Client) -> None:
        await connected(client.world)
        self.before = await client.grants()
        self.held = await client.tokens()

    async def act(self, client: Client) -> None:
        assert (await client.refresh(self.held["refresh_token"])).status_code == 200

    async def verify(self, client: Client, restart: Restart) -> bool:
        assert await client.world.parts.authserver.tokens.find_refresh(self.held["refresh_token"]) is not None
        await restart()
        again = await client.refresh(self.held["refresh_token"])

        assert again.status_code == 200
        assert await client.said(again.json()["access_token"]) == "answered"
        assert len(await client.grants() - self.before) == 1
        next_one = await client.refresh(again.json()["refresh_token"])
        assert next_one.status_code == 200
        # One family: the token of before is not good beside its successors, and its return ends them.
        assert (await client.refresh(self.held["refresh_token"])).json()["error"] == "invalid_grant"
        assert not await client.may(next_one.json()["access_token"])
        assert await client.grants() == self.before
        return True


class Revocation:
    """An app gives its access back."""

    async def prepare(self, client: Client) -> None:
        await connected(client.world)
        self.before = await client.grants()
        self.held = await client.tokens()

    async def act(self, client: Client) -> None:
        assert (await client.revoke(self.held["refresh_token"])).status_code == 200

    async def verify(self, client: Client, restart: Restart) -> bool:
        await restart()
        shown = await client.grants() != self.before
        assert await client.may(self.held["access_token"]) is shown  # all of it or nothing
        assert (await client.revoke(self.held["refresh_token"])).status_code == 200

        assert not await client.may(self.held["access_token"])
        assert (await client.refresh(self.held["refresh_token"])).json()["error"] == "invalid_grant"
        assert await client.grants() == self.before
        return True


class SignIn:
    """The browser comes back from Oura for the first time."""

    async def prepare(self, client: Client) -> None:
        world = client.world
        await world.parts.connections.erase(world.owner)
        self.before = await client.grants()
        self.exchanges = world.oura.simulator.counts.exchanges
        self.query, self.cookies = await self._come_back(client)

    async def act(self, client: Client) -> None:
        assert _code(await self._visit(client, self.query, self.cookies)) is not None

    async def verify(self, client: Client, restart: Restart) -> bool:
        world = client.world
        families = world.oura.simulator.grants.families
        kept = await world.parts.connections.load(world.owner)
        assert await client.grants() == self.before
        await restart()
        again = await self._visit(client, self.query, self.cookies)  # the person reloads the page

        assert world.oura.simulator.counts.exchanges - self.exchanges <= 1  # Oura's code is sent once
        if (code := _code(again)) is not None:
            assert (await client.redeem(code)).status_code == 200
        else:
            assert again.status_code in {200, 409}
            assert "Start again" in again.text or "start again" in again.text or "Already connected" in again.text
        if kept is not None:  # what was stored is the whole of a sign-in that works
            assert any(kept.refresh_token == family.refresh for family in families)
        begun_anew, cookies = await self._come_back(client)
        code = _code(await self._visit(client, begun_anew, cookies))
        assert code is not None
        redeemed = await client.redeem(code)
        assert redeemed.status_code == 200
        assert await client.said(redeemed.json()["access_token"]) == "answered"
        now_kept = await world.parts.connections.load(world.owner)
        assert now_kept is not None
        assert now_kept.refresh_token == families[-1].refresh
        await world.parts.authserver.grants.revoke_all(world.owner)
        return _code(again) is not None

    async def _come_back(self, client: Client) -> tuple[dict[str, str], dict[str, str]]:
        """What a browser brings that was approved here and has signed in at Oura."""
        world = client.world
        cookie, secret = BrowserCookie("vitals-browser", public_url=client.url), secrets.token_urlsafe(32)
        attempts = Attempts(world.parts.store, world.parts.keys, now=world.parts.now)
        begun = await attempts.begin("app", browser=fingerprint(secret), zone="Europe/Berlin", params=client.request)
        simulator = world.oura.simulator
        code = simulator.grants.code(
            simulator.person, frozenset(SCOPES), f"{client.url}/callback/oura/", begun.challenge, "S256"
        )
        return {"state": begun.state, "code": code}, {cookie.name: secret}

    async def _visit(self, client: Client, query: dict[str, str], cookies: dict[str, str]) -> httpx2.Response:
        headers = {"cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
        return await client.http.get(f"{client.url}/callback/oura/", params=query, headers=headers)


def _code(answer: httpx2.Response) -> str | None:
    """The code that a redirect to the app carries."""
    location = answer.headers.get("location", "")
    return parse_qs(urlsplit(location).query).get("code", [None])[0] if location.startswith(REDIRECT) else None


SCENARIOS: dict[str, type[Scenario]] = {
    "rotation": Rotation,
    "code exchange": Redemption,
    "refresh exchange": Refresh,
    "sign-in": SignIn,
    "revocation": Revocation,
}
