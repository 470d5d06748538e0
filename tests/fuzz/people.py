"""Two browsers, two apps and an owner, and what each of them may hold: the model that the connector is held against."""

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

import httpx2

from app.demo.browser import Browser, Form, forms
from tests.app_under_test import URL, Vitals
from tests.attacks.attacker import CHALLENGE, VERIFIER

CALLBACK = f"{URL}/callback/oura/"


@dataclass
class Family:
    """What came of one approval: everything that an app holds stands on it."""

    app: int
    alive: bool = True


@dataclass
class Code:
    value: str
    app: int
    made_at: float
    family: Family | None = None  # once redeemed


@dataclass
class Access:
    value: str
    family: Family
    expires_at: float
    revoked: bool = False


@dataclass
class Refresh:
    value: str
    family: Family
    rotated_at: float | None = None
    successor: "Refresh | None" = None
    access: Access | None = None  # that its rotation brought


@dataclass
class Page:
    """A consent page as one browser was shown it."""

    browser: int
    app: int
    form: Form
    at: float


@dataclass
class Attempt:
    """A yes, after which the browser was sent to Oura."""

    browser: int
    app: int
    at_oura: str
    at: float
    ended: bool = False


@dataclass
class World:
    """Everything that exists, and who may use what."""

    vitals: Vitals
    http: httpx2.AsyncClient  # of programs, and of whoever signs in at Oura
    apps: list[str] = field(default_factory=list)
    browsers: list[httpx2.AsyncClient] = field(default_factory=list)
    pages: list[Page] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    codes: list[Code] = field(default_factory=list)
    access: list[Access] = field(default_factory=list)
    refresh: list[Refresh] = field(default_factory=list)

    @property
    def now(self) -> float:
        return self.vitals.clock.at

    def redirect(self, app: int) -> str:
        return f"https://app{app}.example/callback"

    def families(self) -> set[int]:
        return {id(each.family) for each in self.access if each.family.alive}


async def begin(vitals: Vitals) -> World:
    """Two apps that registered, and two browsers that know nothing."""
    world = World(vitals, vitals.http())
    for app in range(2):
        metadata = {"client_name": f"App {app}", "redirect_uris": [world.redirect(app)]}
        answer = await world.http.post(f"{URL}/register", json=metadata)
        assert answer.status_code == 201
        world.apps.append(str(answer.json()["client_id"]))
        world.browsers.append(vitals.http())
    return world


async def look(world: World, browser: int, app: int, redirect: int) -> httpx2.Response:
    """Open an app's consent page, perhaps with the redirect URI of another."""
    query = {
        "response_type": "code",
        "client_id": world.apps[app],
        "redirect_uri": world.redirect(redirect),
        "state": f"state of {app}",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
    }
    answer = await world.browsers[browser].get(f"{URL}/authorize", params=query)
    if answer.status_code == 200:
        (form,) = forms(answer.text)
        world.pages.append(Page(browser, app, form, world.now))
    return answer


async def press(world: World, browser: int, page: Page, decision: str) -> httpx2.Response:
    """Send a consent form from a browser, which may be another than the one that was shown it."""
    fields = {**dict(page.form.fields), "decision": decision, "timezone": "Europe/Berlin"}
    return await world.browsers[browser].post(f"{URL}/authorize", data=fields, headers={"origin": URL})


async def at_oura(world: World, attempt: Attempt, who: str) -> str:
    """Sign in at Oura; return the address that it sends the browser back to."""
    anyone = Browser(world.http, stop_at=CALLBACK)
    await anyone.open(attempt.at_oura)
    await anyone.press(who)
    return anyone.address


async def token(world: World, app: int, **form: str) -> httpx2.Response:
    """Ask for tokens as an app."""
    return await world.http.post(f"{URL}/token", data={"client_id": world.apps[app], **form})


async def redeem(world: World, app: int, code: Code, *, sound: bool) -> httpx2.Response:
    """Redeem a code, rightly or with the verifier of somebody else."""
    verifier = VERIFIER if sound else VERIFIER[::-1]
    form = {"code": code.value, "redirect_uri": world.redirect(code.app), "code_verifier": verifier}
    return await token(world, app, grant_type="authorization_code", **form)


async def revoke(world: World, app: int, value: str) -> httpx2.Response:
    """Give a token back as an app."""
    return await world.http.post(f"{URL}/revoke", data={"client_id": world.apps[app], "token": value})


async def admitted(world: World, access: Access) -> bool:
    """Whether the resource lets a token in; an empty probe gets no further than that."""
    headers = {"authorization": f"Bearer {access.value}"}
    answer = await world.http.post(world.vitals.mcp_url, content=b"{}", headers=headers)
    assert answer.status_code in {200, 401}
    return answer.status_code == 200


def answered(location: str) -> dict[str, str]:
    """Return what a redirect tells an app."""
    return dict(parse_qsl(urlsplit(location).query))


async def grants(world: World) -> int:
    """How many apps the owner has let in, by the store."""
    found = 0
    async for key, raw in world.vitals.parts.store.scan("grant:"):
        found += bool(key) and b'"ended"' not in raw
    return found
