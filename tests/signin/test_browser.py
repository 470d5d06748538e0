"""The consent page and the way back in a real Chromium, where Origin, cookies, frames and CSP are the browser's own.

Three servers on loopback, each an origin: ours, a pretended Oura, and the app with its callback.
"""

import shutil
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import anyio
import pytest
import uvicorn
from playwright.async_api import Browser, BrowserContext, Page, async_playwright
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.authserver.owner import callback
from tests.signin.oura import OWNER, STRANGER, Oura
from tests.signin.stage import OWNER_KEY, Stage, form, staged

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync", "--no-first-run"]
NO_ICON = '<link rel="icon" href="data:,">'
ZONE = "America/Argentina/Ushuaia"

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH"),
]


@asynccontextmanager
async def served(app: ASGIApp, listener: socket.socket) -> AsyncIterator[None]:
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1))
    async with anyio.create_task_group() as group:
        group.start_soon(server.serve, [listener])
        yield
        server.should_exit = True


def listening() -> tuple[socket.socket, int]:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    return listener, listener.getsockname()[1]


@dataclass
class World:
    """What one test sees."""

    stage: Stage
    chromium: Browser
    app_url: str
    posts: list[dict[str, str]] = field(default_factory=list)  # headers of each POST that reached us
    answers: list[tuple[str, int]] = field(default_factory=list)  # path and status of each answer of ours
    arrived: list[dict[str, str]] = field(default_factory=list)  # what the app's callback was told
    hop: str | None = None  # where the app's callback sends the browser on to
    bait: str = ""  # a page at the app's origin

    async def context(self, *, scripts: bool = True) -> BrowserContext:
        context = await self.chromium.new_context(timezone_id=ZONE, java_script_enabled=scripts)
        context.set_default_timeout(10_000)
        return context

    async def consent_url(self, redirect: str | None = None) -> str:
        params = await self.stage.params(redirect=redirect or f"{self.app_url}/callback")
        return f"{self.stage.public_url}/authorize?{urlencode(params)}"


def recording(world: Callable[[], World], app: ASGIApp) -> ASGIApp:
    async def record(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            world().posts.append({name.decode(): value.decode() for name, value in scope["headers"]})

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start":
                world().answers.append((scope["path"], message["status"]))
            await send(message)

        await app(scope, receive, note)

    return record


def oura_site(oura: Callable[[], Oura]) -> Starlette:
    async def authorize(request: Request) -> Response:
        back, state = request.query_params["redirect_uri"], request.query_params["state"]
        links = "".join(
            f'<a id="{who}" href="{back}?{urlencode({"code": oura().code_for(account), "state": state})}">{who}</a> '
            for who, account in (("owner", OWNER), ("stranger", STRANGER))
        )
        return HTMLResponse(NO_ICON + links)

    return Starlette(routes=[Route("/oauth/authorize", authorize)])


def app_site(world: Callable[[], World]) -> Starlette:
    async def arrive(request: Request) -> Response:
        world().arrived.append(dict(request.query_params))
        return RedirectResponse(hop) if (hop := world().hop) else HTMLResponse(NO_ICON + "<h1>arrived</h1>")

    async def bait(_request: Request) -> Response:
        return HTMLResponse(world().bait)

    return Starlette(routes=[Route("/callback", arrive), Route("/bait", bait)])


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    (ours, our_port), (oura, oura_port), (app, app_port) = listening(), listening(), listening()
    public_url = f"http://127.0.0.1:{our_port}"
    built: list[World] = []
    async with AsyncExitStack() as stack:
        stage = await stack.enter_async_context(
            staged(tmp_path, public_url=public_url, authorize=f"http://localhost:{oura_port}/oauth/authorize")
        )
        await stack.enter_async_context(served(recording(lambda: built[0], stage.app), ours))
        await stack.enter_async_context(served(oura_site(lambda: stage.oura), oura))
        await stack.enter_async_context(served(app_site(lambda: built[0]), app))
        playwright = await stack.enter_async_context(async_playwright())
        chromium = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        stack.push_async_callback(chromium.close)
        built.append(World(stage, chromium, f"http://localhost:{app_port}"))
        yield built[0]


def watched(page: Page) -> tuple[list[str], list[str]]:
    """Collect what the page asks for and what it complains about."""
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    return asked, complaints


async def until(condition: Callable[[], bool], page: Page) -> None:
    """Wait for something that only Chromium decides the time of."""
    with anyio.fail_after(15):
        while not condition():
            await page.wait_for_timeout(50)


async def test_approving_reaches_the_apps_callback_with_the_browsers_zone_and_a_true_origin(world: World) -> None:
    page = await (await world.context()).new_page()
    _, complaints = watched(page)
    await page.goto(await world.consent_url())
    assert await page.input_value("#timezone") == ZONE
    await page.click("button[value=approve]")
    await page.click("#owner")
    await page.wait_for_url(f"{world.app_url}/callback**")

    assert world.arrived[0]["code"]
    assert world.arrived[0]["state"] == "app-state"
    assert world.arrived[0]["iss"] == world.stage.public_url
    assert world.posts[0]["origin"] == world.stage.public_url
    assert world.posts[0]["sec-fetch-site"] == "same-origin"
    connection = await world.stage.connections.load(OWNER_KEY)
    assert connection is not None
    assert connection.timezone == ZONE
    assert complaints == []


@pytest.mark.parametrize("decision", ["approve", "deny"])
async def test_a_callback_that_hops_to_a_custom_scheme_is_followed_there(world: World, decision: str) -> None:
    world.hop = "claude://done"
    page = await (await world.context()).new_page()
    asked, complaints = watched(page)
    await page.goto(await world.consent_url())
    await page.click(f"button[value={decision}]")
    if decision == "approve":
        await page.click("#owner")
    await until(lambda: "claude://done" in asked, page)

    assert world.arrived
    assert not [text for text in complaints if "Content Security Policy" in text]


@pytest.mark.parametrize("decision", ["approve", "deny"])
async def test_an_app_with_its_own_scheme_is_reached(world: World, decision: str) -> None:
    redirect = "cursor://anysphere.cursor-mcp/oauth/callback"
    page = await (await world.context()).new_page()
    asked, complaints = watched(page)
    await page.goto(await world.consent_url(redirect))
    await page.click(f"button[value={decision}]")
    if decision == "approve":
        await page.click("#owner")
    await until(lambda: any(url.startswith(redirect) for url in asked), page)

    assert not [text for text in complaints if "Content Security Policy" in text]


@pytest.mark.parametrize("own_scheme", [False, True], ids=["callback on http", "custom scheme"])
async def test_the_page_that_refuses_a_stranger_goes_back_to_the_app_by_itself(
    world: World, own_scheme: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callback, "BACK_AFTER_S", 1)
    redirect = "cursor://anysphere.cursor-mcp/oauth/callback" if own_scheme else f"{world.app_url}/callback"
    page = await (await world.context()).new_page()
    asked, _ = watched(page)
    await page.goto(await world.consent_url(redirect))
    await page.click("button[value=approve]")
    await page.click("#stranger")
    await page.wait_for_selector("text=belongs to someone else")
    await until(lambda: asked[-1].startswith(redirect), page)

    assert asked[-1].startswith(f"{redirect}?error=access_denied")


async def test_without_scripts_everything_works_and_the_zone_stays_unknown(world: World) -> None:
    page = await (await world.context(scripts=False)).new_page()
    await page.goto(await world.consent_url())
    await page.click("button[value=approve]")
    await page.click("#owner")
    await page.wait_for_url(f"{world.app_url}/callback**")

    connection = await world.stage.connections.load(OWNER_KEY)
    assert connection is not None
    assert connection.timezone is None


async def test_enter_in_the_zone_field_sends_nothing(world: World) -> None:
    page = await (await world.context()).new_page()
    await page.goto(await world.consent_url())
    await page.focus("#timezone")
    await page.keyboard.press("Enter")
    await page.click("button[value=deny]")
    await page.wait_for_url(f"{world.app_url}/callback**")

    assert len(world.posts) == 1
    assert world.arrived[0]["error"] == "access_denied"


async def test_another_site_cannot_frame_the_consent_page(world: World) -> None:
    address = await world.consent_url()
    world.bait = f'<iframe src="{address.replace("&", "&amp;")}"></iframe>'
    page = await (await world.context()).new_page()
    _, complaints = watched(page)
    await page.goto(f"{world.app_url}/bait")
    await until(lambda: any("frame" in text for text in complaints), page)

    assert not await page.frames[1].query_selector("button")


async def test_another_site_cannot_post_a_yes_even_with_a_token_it_fetched_itself(world: World) -> None:
    attacker = world.stage.browser()
    params = await world.stage.params(redirect=f"{world.app_url}/callback")
    fields = form(await attacker.get("/authorize", params)) | {"decision": "approve"}
    inputs = "".join(f'<input name="{name}" value="{value.replace("&", "&amp;")}">' for name, value in fields.items())
    action = f"{world.stage.public_url}/authorize"
    world.bait = f'<form method="post" action="{action}">{inputs}<button id="go">win</button></form>'
    page = await (await world.context()).new_page()
    await page.goto(await world.consent_url())
    await page.goto(f"{world.app_url}/bait")
    async with page.expect_response(action) as answered:
        await page.click("#go")

    assert (await answered.value).status == 403
    assert await world.stage.records("signin:") == {}


async def test_what_a_page_loads_as_a_part_of_itself_is_no_visit_and_a_link_on_it_is(world: World) -> None:
    url, token_url = await world.consent_url(), f"{world.stage.public_url}/token"
    world.bait = (
        f"{NO_ICON}<a id='link' href='{url}'>go</a><img src='{url}&img'><script src='{url}&script'></script>"
        f"<iframe src='{url}&frame'></iframe><script>window.asked = Promise.allSettled([fetch('{url}&fetch', "
        f"{{mode: 'no-cors'}}), fetch('{token_url}', {{mode: 'no-cors', method: 'POST', "
        "body: new URLSearchParams({client_id: 'https://x.example/y'})})])</script>"
    )
    context = await world.context()
    page = await context.new_page()
    with anyio.fail_after(20):
        await page.goto(f"{world.app_url}/bait")
        await page.evaluate("window.asked")
        parts = list(world.answers)
        async with page.expect_navigation() as visit:
            await page.click("#link")
        opened = await visit.value

    assert sorted(parts) == [("/authorize", 403)] * 4 + [("/token", 403)]
    assert opened is not None
    assert opened.status == 200


async def test_the_back_button_and_a_second_tab_leave_both_pages_good(world: World) -> None:
    context = await world.context()
    first, second = await context.new_page(), await context.new_page()
    await first.goto(await world.consent_url())
    await second.goto(await world.consent_url())
    await first.click("button[value=approve]")
    await first.wait_for_selector("#owner")
    await first.go_back()
    await first.click("button[value=approve]")
    await first.click("#owner")
    await first.wait_for_url(f"{world.app_url}/callback**")
    await second.click("button[value=approve]")
    await second.click("#owner")
    await second.wait_for_url(f"{world.app_url}/callback**")

    assert [bool(told.get("code")) for told in world.arrived] == [True, True]


async def test_reloading_the_callback_says_already_connected(world: World) -> None:
    page = await (await world.context()).new_page()
    asked, _ = watched(page)
    await page.goto(await world.consent_url())
    await page.click("button[value=approve]")
    await page.click("#owner")
    await page.wait_for_url(f"{world.app_url}/callback**")
    await page.goto(next(url for url in asked if "/callback/oura/" in url))

    assert "Already connected" in await page.inner_text("h1")
    assert len(world.stage.oura.exchanges) == 1


async def test_an_owner_signs_in_at_their_own_page_and_disconnects(world: World) -> None:
    page = await (await world.context()).new_page()
    _, complaints = watched(page)
    await page.goto(f"{world.stage.public_url}/connections")
    await page.click("button:has-text('Sign in at Oura')")
    await page.click("#owner")
    await page.wait_for_url(f"{world.stage.public_url}/connections")
    assert ZONE in await page.inner_text("main")
    await page.click("summary")
    await page.click("button:has-text('Disconnect everything')")
    await page.wait_for_selector("text=Everything is disconnected")

    assert await world.stage.connections.load(OWNER_KEY) is None
    assert complaints == []
