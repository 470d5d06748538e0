"""The sign-in half on a stage of its own: real store, vault and protocol half, a pretended Oura, many browsers."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx2
from starlette.applications import Starlette
from starlette.responses import Response

from app.authserver.clients.registration import settle
from app.authserver.server import AuthServer
from app.authserver.signin import SignIn
from app.identity import SANDBOX_OWNER, owner_key
from app.sources.oura.account import Account, account
from app.sources.oura.oauth import OuraOAuth
from app.store.crypto import Keys
from app.store.sqlite import SqliteStore
from app.vault.connections import Connections
from app.web.app import build_web
from app.web.owner import OwnerPages
from app.web.pages import Pages, static_routes
from tests.signin.oura import API, AUTHORIZE, OWNER, REVOKE_URLS, TOKEN_URLS, Oura

PUBLIC_URL = "https://vitals.test"
REDIRECT = "https://app.test/callback"
OWNER_KEY = owner_key("owner@example.com")
SCOPES = ("personal", "email", "daily", "heartrate", "stress")
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeGrJTKeK1Yi8-8iNF5I"
START = 1_770_000_000.0


class Clock:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> float:
        return self.at


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: dict[str, dict[str, str]] = {}
        self._fields: dict[str, str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._fields = self.forms.setdefault(given["action"], {})
        elif tag == "input" and self._fields is not None:
            self._fields[given["name"]] = given.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._fields = None


def form(page: httpx2.Response, action: str = "/authorize") -> dict[str, str]:
    """Return the fields of the page's form that posts to `action`; of several alike, the last."""
    parser = _Forms()
    parser.feed(page.text)
    return parser.forms[action]


def answer(page: httpx2.Response) -> dict[str, str]:
    """Return the parameters a redirect carries."""
    query = parse_qs(urlsplit(page.headers["location"]).query, strict_parsing=True)
    assert all(len(values) == 1 for values in query.values()), query
    return {name: values[0] for name, values in query.items()}


@dataclass
class Browser:
    """One browser: a cookie jar, and the headers a browser sends with a form."""

    http: httpx2.AsyncClient
    origin: str

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> httpx2.Response:
        return await self.http.get(path, params=params)

    async def post(
        self, path: str, fields: Mapping[str, str], headers: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        sent = {"origin": self.origin, "sec-fetch-site": "same-origin"} if headers is None else headers
        return await self.http.post(path, data=dict(fields), headers=dict(sent))

    async def decide(self, params: Mapping[str, str], decision: str = "approve", **fields: str) -> httpx2.Response:
        """Open the consent page and press a button."""
        page = await self.get("/authorize", params)
        assert page.status_code == 200, page.text
        return await self.post("/authorize", {**form(page), **fields, "decision": decision})

    async def approve(self, params: Mapping[str, str], **fields: str) -> str:
        """Approve and return the `state` that Oura is sent."""
        page = await self.decide(params, **fields)
        assert page.headers.get("location", "").startswith(AUTHORIZE), page.text
        return answer(page)["state"]

    async def come_back(self, state: str, code: str, **more: str) -> httpx2.Response:
        """Return from Oura."""
        return await self.get("/callback/oura/", {"code": code, "state": state, **more})


@dataclass
class Stage:
    """Everything a test may look at."""

    app: Starlette
    store: SqliteStore
    connections: Connections
    authserver: AuthServer
    oura: Oura
    clock: Clock
    public_url: str = PUBLIC_URL
    _open: list[httpx2.AsyncClient] = field(default_factory=list)

    def browser(self) -> Browser:
        http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=self.app), base_url=self.public_url)
        self._open.append(http)
        return Browser(http, self.public_url)

    async def params(self, *, name: str = "Test App", redirect: str = REDIRECT, **more: str) -> dict[str, str]:
        """Register an app and return what it would ask with."""
        client, _ = await self.authserver.clients.register(settle({"client_name": name, "redirect_uris": [redirect]}))
        return {
            "response_type": "code",
            "client_id": client.client_id,
            "redirect_uri": redirect,
            "state": "app-state",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "resource": f"{self.public_url}/mcp",
            "scope": "health:read",
            **more,
        }

    async def records(self, prefix: str = "") -> dict[str, bytes]:
        """Return what the store holds."""
        return {key: value async for key, value in self.store.scan(prefix)}

    async def connect_owner(self) -> None:
        """Have the owner connect an app, start to end."""
        browser = self.browser()
        state = await browser.approve(await self.params(), timezone="Europe/Helsinki")
        page = await browser.come_back(state, self.oura.code_for(OWNER))
        assert page.headers["location"].startswith(REDIRECT), page.text


@asynccontextmanager
async def staged(
    folder: Path,
    *,
    sandbox: bool = False,
    public_url: str = PUBLIC_URL,
    timezone: str | None = None,
    owner: str = "owner@example.com",
    authorize: str = AUTHORIZE,
) -> AsyncIterator[Stage]:
    """Put it together the way `main` does."""
    clock, oura = Clock(), Oura()
    store = SqliteStore(folder / "vitals.sqlite3", now=clock)
    keys = Keys([b"k" * 32])
    owners = frozenset({SANDBOX_OWNER}) if sandbox else frozenset({owner_key(owner)})
    authserver = AuthServer(
        store=store, keys=keys, issuer=public_url, resource=f"{public_url}/mcp", owners=owners, now=clock
    )
    connections = Connections(store, keys)
    pages = Pages(public_url=public_url, sandbox=sandbox)
    async with oura.client() as http:
        oauth = OuraOAuth(
            http=http,
            client_id="oura-client",
            client_secret="oura-secret",
            authorize_url=authorize,
            token_urls=TOKEN_URLS,
            revoke_urls=REVOKE_URLS,
            scopes=SCOPES,
            redirect_uri=f"{public_url}/callback/oura/",
        )

        async def whose(access_token: str) -> Account:
            return await account(http, API, access_token)

        signin = SignIn(
            authserver=authserver,
            oauth=None if sandbox else oauth,
            account=whose,
            connections=connections,
            store=store,
            keys=keys,
            owners={owner_key(owner): owner},
            public_url=public_url,
            render=pages,
            now=clock,
            timezone=timezone,
        )
        owner_pages = OwnerPages(
            signin=signin,
            grants=authserver.grants,
            connections=connections,
            oauth=None if sandbox else oauth,
            pages=pages,
            public_url=public_url,
            scopes=SCOPES,
        )
        app = build_web(
            public_url=public_url,
            mcp=Response(status_code=204),  # no app asks anything here
            verify=authserver.verifier.verify,
            ping=store.ping,
            version="0",
            pages=pages,
            routes=[*authserver.routes(), *signin.routes(), *owner_pages.routes(), *static_routes()],
            lifespan=_no_lifespan,
        )
        stage = Stage(app, store, connections, authserver, oura, clock, public_url)
        try:
            yield stage
        finally:
            for browser in stage._open:
                await browser.aclose()
            await store.aclose()


@asynccontextmanager
async def _no_lifespan(_app: Starlette) -> AsyncIterator[None]:
    yield


def request_in(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the authorization request that a consent form carries."""
    return dict(parse_qsl(fields["request"], keep_blank_values=True))
