"""`/connections`: an owner signs in without an app, sees only what is theirs, and ends what they like."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from app.authserver.owner.browser import fingerprint
from app.identity import SANDBOX_OWNER, owner_key
from tests.signin.oura import AUTHORIZE, OWNER, STRANGER
from tests.signin.stage import OWNER_KEY, PUBLIC_URL, REDIRECT, Browser, Stage, answer, form, staged

pytestmark = pytest.mark.anyio
SIGN_IN = "/connections/signin"


async def sign_in(stage: Stage, browser: Browser, account: dict[str, str] = OWNER, zone: str = "") -> str:
    """Sign in at Oura from the owner's page; return where the browser ends up."""
    page = await browser.get("/connections")
    went = await browser.post(SIGN_IN, {**form(page, SIGN_IN), "timezone": zone})
    assert went.headers["location"].startswith(AUTHORIZE), went.text
    back = await browser.come_back(answer(went)["state"], stage.oura.code_for(account))
    return back.headers.get("location", f"status {back.status_code}")


async def connect_app(stage: Stage, browser: Browser, name: str) -> None:
    """Connect an app and redeem its code, so that it has a grant."""
    state = await browser.approve(await stage.params(name=name))
    page = await browser.come_back(state, stage.oura.code_for(OWNER))
    await stage.authserver.codes.redeem(answer(page)["code"])


async def test_nobody_signed_in_sees_a_button_and_nothing_else(stage: Stage) -> None:
    await connect_app(stage, stage.browser(), "Private App")
    page = await stage.browser().get("/connections")

    assert page.status_code == 200
    assert "Sign in at Oura" in page.text
    assert "Private App" not in page.text


async def test_an_owner_signs_in_without_an_app_and_sees_the_connection(stage: Stage) -> None:
    browser = stage.browser()
    assert await sign_in(stage, browser, zone="Europe/Helsinki") == "/connections"
    page = await browser.get("/connections")

    assert "Connected" in page.text
    assert "Europe/Helsinki" in page.text
    assert "<code>heartrate</code> Heart rate" in page.text
    assert "Not allowed" in page.text
    assert "<code>stress</code> Resilience" in page.text
    assert "No app is connected" in page.text


async def test_each_app_shows_where_it_is_when_it_was_approved_and_when_it_last_refreshed(stage: Stage) -> None:
    browser = stage.browser()
    await connect_app(stage, browser, "Assistant")
    await sign_in(stage, browser)
    page = await browser.get("/connections")

    assert "<bdi>Assistant</bdi>" in page.text
    assert "app.test" in page.text
    assert "approved 2 February 2026, 02:40 UTC" in page.text
    assert "not renewed yet" in page.text
    (grant,) = await stage.authserver.grants.list(OWNER_KEY)
    stage.clock.at += 3600 - 1
    await stage.authserver.grants.mark_refreshed(grant.id)
    await sign_in(stage, browser)
    assert "last renewed 2 February 2026, 03:39 UTC" in (await browser.get("/connections")).text


async def test_the_session_cookie_is_host_bound_and_ends_after_a_quarter_of_an_hour(stage: Stage) -> None:
    browser = stage.browser()
    page = await browser.get("/connections")
    went = await browser.post(SIGN_IN, form(page, SIGN_IN))
    back = await browser.come_back(answer(went)["state"], stage.oura.code_for(OWNER))

    cookie = back.headers["set-cookie"]
    assert cookie.startswith("__Host-vitals-owner=")
    for part in ("Secure", "HttpOnly", "Path=/", "SameSite=lax", "Max-Age=900"):
        assert part in cookie
    stage.clock.at += 899
    assert "Apps that may read" in (await browser.get("/connections")).text
    stage.clock.at += 2
    assert "Apps that may read" not in (await browser.get("/connections")).text


async def test_the_session_is_no_good_in_another_browser(stage: Stage) -> None:
    browser, other = stage.browser(), stage.browser()
    await sign_in(stage, browser)
    await other.get("/connections")
    other.http.cookies.set("__Host-vitals-owner", browser.http.cookies["__Host-vitals-owner"], domain="vitals.test")

    assert "Apps that may read" in (await browser.get("/connections")).text
    assert "Apps that may read" not in (await other.get("/connections")).text


async def test_the_store_shows_neither_cookie_nor_owner_of_a_session(stage: Stage) -> None:
    browser = stage.browser()
    await sign_in(stage, browser)
    ((key, record),) = (await stage.records("owner:")).items()

    value = browser.http.cookies["__Host-vitals-owner"]
    assert key == f"owner:{fingerprint(value)}"
    assert OWNER_KEY.encode() not in record


async def test_a_stranger_gets_no_session(stage: Stage) -> None:
    browser = stage.browser()
    assert await sign_in(stage, browser, STRANGER) == "status 403"

    assert "__Host-vitals-owner" not in browser.http.cookies
    assert await stage.records("owner:") == {}
    assert "access-0" in stage.oura.revoked


async def test_a_sign_in_for_the_pages_is_tied_to_the_browser_too(stage: Stage) -> None:
    attacker, victim = stage.browser(), stage.browser()
    went = await attacker.post(SIGN_IN, form(await attacker.get("/connections"), SIGN_IN))
    await victim.get("/connections")
    page = await victim.come_back(answer(went)["state"], stage.oura.code_for(OWNER))

    assert page.status_code == 403
    assert "__Host-vitals-owner" not in victim.http.cookies


async def test_one_app_is_ended_and_the_others_stay(stage: Stage) -> None:
    browser = stage.browser()
    await connect_app(stage, browser, "First")
    await connect_app(stage, browser, "Second")
    await sign_in(stage, browser)
    page = await browser.get("/connections")
    ended = await browser.post("/connections/end", form(page, "/connections/end"))

    assert "gets nothing any more" in ended.text
    assert len(await stage.authserver.grants.list(OWNER_KEY)) == 1
    assert await stage.connections.load(OWNER_KEY) is not None


async def test_an_app_of_another_owner_cannot_be_ended(stage: Stage) -> None:
    browser = stage.browser()
    await connect_app(stage, browser, "Mine")
    await sign_in(stage, browser)
    fields = form(await browser.get("/connections"), "/connections/end")
    asked = await stage.authserver.authorizations.validate(list((await stage.params()).items()))
    theirs = await stage.authserver.codes.issue(asked, OWNER_KEY)
    await stage.authserver.codes.redeem(theirs)
    other = next(g for g in await stage.authserver.grants.list(OWNER_KEY) if g.id != fields["grant"])

    refused = await browser.post("/connections/end", {**fields, "grant": other.id})

    assert refused.status_code == 403  # the token covers the grant it was made for
    assert len(await stage.authserver.grants.list(OWNER_KEY)) == 2


async def test_disconnecting_ends_every_app_revokes_at_oura_and_erases(stage: Stage) -> None:
    browser = stage.browser()
    await connect_app(stage, browser, "First")
    await connect_app(stage, browser, "Second")
    await sign_in(stage, browser)
    fields = form(await browser.get("/connections"), "/connections/disconnect")
    page = await browser.post("/connections/disconnect", fields)

    assert page.status_code == 200
    assert "2 apps have" in page.text
    assert "Oura confirmed" in page.text
    assert await stage.authserver.grants.list(OWNER_KEY) == []
    assert await stage.connections.load(OWNER_KEY) is None
    assert "access-2" in stage.oura.revoked
    assert "Apps that may read" not in (await browser.get("/connections")).text


async def test_disconnecting_says_so_when_oura_does_not_confirm(stage: Stage) -> None:
    browser = stage.browser()
    await sign_in(stage, browser)
    stage.oura.revokes = False
    page = await browser.post(
        "/connections/disconnect", form(await browser.get("/connections"), "/connections/disconnect")
    )

    assert "did not confirm" in page.text
    assert await stage.connections.load(OWNER_KEY) is None


@pytest.mark.parametrize("path", ["/connections/end", "/connections/disconnect", "/connections/signout", SIGN_IN])
@pytest.mark.parametrize(
    ("headers", "spoil"),
    [
        pytest.param({"origin": "https://evil.test"}, {}, id="foreign origin"),
        pytest.param({"origin": "null"}, {}, id="opaque origin"),
        pytest.param({"origin": PUBLIC_URL, "sec-fetch-site": "cross-site"}, {}, id="cross-site"),
        pytest.param({"origin": PUBLIC_URL}, {"csrf": ""}, id="no token"),
        pytest.param({"origin": PUBLIC_URL}, {"csrf": "1770000000.0"}, id="forged token"),
    ],
)
async def test_a_form_from_elsewhere_or_without_its_token_does_nothing(
    stage: Stage, path: str, headers: dict[str, str], spoil: dict[str, str]
) -> None:
    browser = stage.browser()
    await connect_app(stage, browser, "App")
    await sign_in(stage, browser)
    before = await stage.records()
    fields = form(await browser.get("/connections"), path)
    refused = await browser.post(path, {**fields, **spoil}, headers)

    assert refused.status_code == 403
    assert await stage.records() == before


async def test_the_token_of_one_form_is_no_good_on_another(stage: Stage) -> None:
    browser = stage.browser()
    await sign_in(stage, browser)
    page = await browser.get("/connections")
    refused = await browser.post("/connections/disconnect", {"csrf": form(page, "/connections/signout")["csrf"]})

    assert refused.status_code == 403
    assert await stage.connections.load(OWNER_KEY) is not None


async def test_a_page_that_lay_open_too_long_does_nothing_and_asks_again(stage: Stage) -> None:
    browser = stage.browser()
    await sign_in(stage, browser)
    fields = form(await browser.get("/connections"), "/connections/disconnect")
    stage.clock.at += 700
    page = await browser.post("/connections/disconnect", fields)

    assert page.status_code == 400
    assert "nothing was done" in page.text
    assert await stage.connections.load(OWNER_KEY) is not None


@pytest.mark.parametrize("path", ["/connections/end", "/connections/disconnect", "/connections/signout"])
async def test_without_a_session_a_form_does_nothing_says_so_and_leads_to_the_sign_in(stage: Stage, path: str) -> None:
    await stage.connect_owner()
    before = await stage.records()
    page = await stage.browser().post(path, {"csrf": "x", "grant": "x"})

    assert page.status_code == 403
    assert "your 15 minutes were over" in page.text
    assert "Sign in at Oura" in page.text
    assert await stage.records() == before


async def test_disconnecting_in_one_browser_signs_the_owner_out_in_every_other(stage: Stage) -> None:
    here, there = stage.browser(), stage.browser()
    await sign_in(stage, here)
    await sign_in(stage, there)
    await here.post("/connections/disconnect", form(await here.get("/connections"), "/connections/disconnect"))

    assert "Apps that may read" not in (await there.get("/connections")).text
    assert await stage.records("owner:") == {}


async def test_signing_out_ends_the_session_and_touches_nothing_else(stage: Stage) -> None:
    browser = stage.browser()
    await sign_in(stage, browser)
    fields = form(await browser.get("/connections"), "/connections/signout")
    await browser.post("/connections/signout", fields)

    assert await stage.records("owner:") == {}
    assert await stage.connections.load(OWNER_KEY) is not None
    assert "Apps that may read" not in (await browser.get("/connections")).text


@pytest.mark.parametrize(
    ("why", "words"),
    [("interrupted", "A renewal was interrupted"), ("refused", "no longer accepts")],
)
async def test_an_ended_connection_says_why_and_signing_in_again_brings_it_back_with_its_apps(
    stage: Stage, why: Literal["interrupted", "refused"], words: str
) -> None:
    browser = stage.browser()
    await connect_app(stage, browser, "App")
    await sign_in(stage, browser)
    held = await stage.connections.read(OWNER_KEY)
    assert held is not None
    await stage.connections.update(held, lambda before: replace(before, state="ended", ended_why=why))

    page = await browser.get("/connections")
    assert "Ended" in page.text
    assert words in page.text

    await sign_in(stage, browser)
    connection = await stage.connections.load(OWNER_KEY)
    assert connection is not None
    assert connection.state == "live"
    assert len(await stage.authserver.grants.list(OWNER_KEY)) == 1


async def test_an_owner_taken_off_the_list_has_no_session_any_more(stage: Stage, tmp_path: Path) -> None:
    browser = stage.browser()
    await sign_in(stage, browser)
    async with staged(tmp_path, owner="someone.else@example.com") as later:  # the same store and secret
        same = later.browser()
        same.http.cookies.update(browser.http.cookies)
        page = await same.get("/connections")

    assert "Apps that may read" not in page.text


async def test_a_zone_typed_wrong_is_asked_for_again(stage: Stage) -> None:
    browser = stage.browser()
    page = await browser.post(SIGN_IN, {**form(await browser.get("/connections"), SIGN_IN), "timezone": "Mars/Base"})

    assert page.status_code == 400
    assert "is not the name of a time zone" in page.text


async def test_in_the_sandbox_the_apps_can_be_seen_and_ended_without_oura(tmp_path: Path) -> None:
    async with staged(tmp_path, sandbox=True) as stage:
        browser = stage.browser()
        went = await browser.decide(await stage.params(name="Trial"))
        assert went.headers["location"].startswith(REDIRECT)
        await stage.authserver.codes.redeem(answer(went)["code"])
        signed = await browser.post(SIGN_IN, form(await browser.get("/connections"), SIGN_IN))
        assert signed.headers["location"] == "/connections"
        page = await browser.get("/connections")
        assert "Trial" in page.text
        assert "sample data" in page.text
        await browser.post("/connections/end", form(page, "/connections/end"))

        assert await stage.authserver.grants.list(SANDBOX_OWNER) == []


async def test_every_form_on_the_page_carries_a_token(stage: Stage) -> None:
    browser = stage.browser()
    await connect_app(stage, browser, "App")
    await sign_in(stage, browser)
    page = await browser.get("/connections")

    assert len(re.findall(r"<form", page.text)) == len(re.findall(r'name="csrf"', page.text)) == 4


def test_the_owner_key_does_not_show_the_address() -> None:
    assert "owner" not in owner_key("owner@example.com")
