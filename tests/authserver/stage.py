"""An authorization server on a real SQLite store, a clock that tests move, and an app that talks to it over HTTP."""

import base64
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import httpx2
from starlette.applications import Starlette

from app.authserver.clients.cimd import DocumentUnavailable, Fetched
from app.authserver.records import BadAuthorization
from app.authserver.server import AuthServer
from app.identity import owner_key
from app.store.base import Store
from app.store.crypto import Keys
from app.store.sqlite import SqliteStore

ISSUER = "https://vitals.example"
RESOURCE = ISSUER + "/mcp"
REDIRECT = "https://app.example/callback"
OWNER = owner_key("owner@example.com")
VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()


@dataclass
class Clock:
    """Unix time that stands still until a test moves it."""

    at: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.at

    def pass_s(self, seconds: float) -> None:
        self.at += seconds


@dataclass
class Web:
    """Documents that apps publish; what is not there cannot be fetched."""

    documents: dict[str, Fetched] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def fetch(self, url: str) -> Fetched:
        self.asked.append(url)
        if url not in self.documents:
            raise DocumentUnavailable("its server answered 503.")
        return self.documents[url]


@dataclass
class Stage:
    """What a test needs."""

    clock: Clock
    web: Web
    store: Store
    server: AuthServer
    http: httpx2.AsyncClient

    async def register(self, **metadata: object) -> dict[str, object]:
        answer = await self.http.post("/register", json={"redirect_uris": [REDIRECT], "client_name": "App", **metadata})
        assert answer.status_code == 201, answer.text
        found: dict[str, object] = answer.json()
        return found

    async def public_client(self) -> str:
        return str((await self.register())["client_id"])

    async def code(self, client_id: str, /, **changes: str) -> str:
        """What the sign-in does once the owner approved and proved who they are."""
        owner = changes.pop("owner", OWNER)
        request = await self.server.authorizations.validate(list(asked(client_id, **changes).items()))
        return await self.server.codes.issue(request, owner)

    async def token(self, **form: str) -> httpx2.Response:
        return await self.http.post("/token", data=form)

    async def redeem(self, client_id: str, code: str, /, **changes: str) -> httpx2.Response:
        return await self.token(**redemption(client_id, code, **changes))

    async def connect(self, client_id: str | None = None) -> dict[str, str]:
        """A fresh grant: the token response, with the client_id added."""
        client_id = client_id or await self.public_client()
        answer = await self.redeem(client_id, await self.code(client_id))
        assert answer.status_code == 200, answer.text
        return {**answer.json(), "client_id": client_id}

    async def refresh(self, held: dict[str, str], **changes: str) -> httpx2.Response:
        form = {"grant_type": "refresh_token", "refresh_token": held["refresh_token"], "client_id": held["client_id"]}
        return await self.token(**(form | changes))

    async def may(self, access_token: str) -> bool:
        """Say whether a token opens the resource."""
        from app.authserver.issued.verify import TokenInvalid  # noqa: PLC0415 - kept beside its only use

        try:
            await self.server.verifier.verify(access_token)
        except TokenInvalid:
            return False
        return True

    async def refused(self, params: dict[str, str] | list[tuple[str, str]]) -> BadAuthorization:
        """Validate a request that must not pass."""
        pairs = list(params.items()) if isinstance(params, dict) else params
        try:
            await self.server.authorizations.validate(pairs)
        except BadAuthorization as bad:
            return bad
        raise AssertionError("the request was accepted")


def asked(client_id: str, /, **changes: str) -> dict[str, str]:
    """Parameters of an authorization request as an app sends them."""
    return {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": REDIRECT,
        "state": "some state",
        "scope": "health:read",
        "resource": RESOURCE,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
    } | changes


def redemption(client_id: str, code: str, /, **changes: str) -> dict[str, str]:
    """A token request for a code."""
    return {
        "grant_type": "authorization_code",
        "client_id": client_id,
        "code": code,
        "redirect_uri": REDIRECT,
        "code_verifier": VERIFIER,
        "resource": RESOURCE,
    } | changes


def query(location: str) -> list[tuple[str, str]]:
    """The parameters of a redirect."""
    return parse_qsl(urlsplit(location).query, keep_blank_values=True)


@asynccontextmanager
async def staged(
    folder: Path,
    *,
    issuer: str = ISSUER,
    owners: frozenset[str] = frozenset({OWNER}),
    store: Store | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[Stage]:
    """Put it together; a store that is handed in stays open."""
    clock, web = clock or Clock(), Web()
    opened = store or SqliteStore(folder / "vitals.sqlite3", now=clock)
    server = AuthServer(
        store=opened,
        keys=Keys([b"k" * 32]),
        issuer=issuer,
        resource=f"{issuer}/mcp",
        owners=owners,
        now=clock,
        fetch_document=web.fetch,
    )
    app = Starlette(routes=server.routes())
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=issuer) as http:
        try:
            yield Stage(clock, web, opened, server, http)
        finally:
            if store is None:
                await opened.aclose()
