"""Staying connected after the owner has ended it."""

from pathlib import Path

import pytest

from app.demo.browser import forms
from tests.app_under_test import URL, Vitals, running_app
from tests.attacks.attacker import (
    ask,
    client_id,
    connected,
    handed_over,
    open_connections,
    redeem,
    refresh,
    sign_in,
    submit,
)

pytestmark = pytest.mark.anyio


async def test_a_code_held_back_opens_nothing_after_disconnecting_everything(vitals: Vitals) -> None:
    http = vitals.http()
    page = await open_connections(vitals)
    held = await client_id(http)
    code = handed_over(await sign_in(vitals, held))["code"]

    await submit(page, "/connections/disconnect")

    assert page.status == 200
    late = await redeem(http, held, code)
    assert late.status_code == 400
    assert late.json()["error"] == "invalid_grant"


async def test_nor_after_the_command_that_ends_all(vitals: Vitals) -> None:
    http = vitals.http()
    client = await client_id(http)
    code = handed_over(await sign_in(vitals, client))["code"]

    await vitals.parts.authserver.grants.revoke_all()

    assert (await redeem(http, client, code)).json()["error"] == "invalid_grant"


async def test_one_owner_who_leaves_takes_no_code_of_another_along(tmp_path: Path) -> None:
    household = "owner@example.com,stranger@example.com"
    async with running_app(tmp_path, OURA_OWNER_EMAIL=household) as vitals:
        http = vitals.http()
        page = await open_connections(vitals)
        client = await client_id(http)
        code = handed_over(await sign_in(vitals, client, who="stranger"))["code"]

        await submit(page, "/connections/disconnect")

        assert (await redeem(http, client, code)).status_code == 200


async def test_an_ended_app_is_out_with_every_token_it_ever_held(vitals: Vitals) -> None:
    http = vitals.http()
    client, first = await connected(vitals)
    second = (await refresh(http, client, first["refresh_token"])).json()
    page = await open_connections(vitals)

    await submit(page, "/connections/end")

    for tokens in (first, second):
        assert (await ask(vitals, tokens["access_token"], "health_check")).status_code == 401
        answer = await refresh(http, client, tokens["refresh_token"])  # within the window, and after it
        assert answer.json()["error"] == "invalid_grant"
        vitals.clock.at += 121


async def test_the_page_of_a_session_that_is_over_does_nothing(vitals: Vitals) -> None:
    _, tokens = await connected(vitals)
    page = await open_connections(vitals)
    every = {form.action: form for form in forms(page.page)}
    await submit(page, "/connections/signout")

    for action in ("/connections/end", "/connections/disconnect"):
        await page._http.post(f"{URL}{action}", data=dict(every[action].fields), headers={"origin": URL})

    assert (await ask(vitals, tokens["access_token"], "health_check")).status_code == 200


async def test_a_stolen_session_cookie_opens_no_page_in_another_browser(vitals: Vitals) -> None:
    page = await open_connections(vitals)
    thief = vitals.http()
    await thief.get(f"{URL}/connections")  # now it has a cookie of ours, as every browser
    stolen = page._http.cookies.get("__Host-vitals-owner")
    assert stolen is not None
    thief.cookies.set("__Host-vitals-owner", stolen, domain="vitals.test", path="/")

    answer = await thief.get(f"{URL}/connections")

    assert answer.request.headers["cookie"].count("__Host-") == 2
    assert "/connections/disconnect" in page.page
    assert "/connections/disconnect" not in answer.text


async def test_a_session_ends_after_a_quarter_of_an_hour(vitals: Vitals) -> None:
    page = await open_connections(vitals)
    vitals.clock.at += 901

    await page.open(f"{URL}/connections")

    assert "/connections/disconnect" not in page.page
