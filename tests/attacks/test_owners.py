"""Being taken for the owner, or for another one of the household."""

import json
from pathlib import Path

import pytest

from app.demo.browser import Browser, forms
from app.identity import owner_key
from app.simulator import Simulator
from tests.app_under_test import URL, Clock, running_app
from tests.attacks.attacker import (
    REDIRECT,
    ask,
    authorize,
    client_id,
    connected,
    handed_over,
    open_connections,
    redeem,
    refresh,
    sign_in,
)
from tests.cases.shelf import shelf

pytestmark = pytest.mark.anyio
HOUSEHOLD = "owner@example.com, stranger@example.com"


@pytest.mark.parametrize(
    ("owner", "theirs"),
    [
        ("strasse@example.com", "straße@example.com"),
        ("owner@gauss.example", "owner@gauß.example"),
        ("kate@example.com", "\u212aate@example.com"),
        ("sam@example.com", "\u017fam@example.com"),
        ("fine@example.com", "ﬁne@example.com"),
        ("owner@example.com", "\uff4fwner@example.com"),
        ("owner@example.com", "\u043ewner@example.com"),
        ("owner@example.com", "owner+me@example.com"),
        ("owner@example.com", "owner@example.com,stranger@example.com"),
        ("owner@example.com", "owner@example.com\u0000"),
        ("owner@example.com", "owner@example.com.evil.example"),
        ("i@example.com", "\u0131@example.com"),
    ],
)
async def test_an_address_that_only_resembles_the_owners_is_a_strangers(
    tmp_path: Path, owner: str, theirs: str
) -> None:
    clock = Clock()
    simulator = Simulator(now=clock)
    body = json.dumps({"id": "another-account", "email": theirs}).encode()
    shelf(simulator).answers["personal_info"] = (200, "application/json", body)
    async with running_app(tmp_path, simulator=simulator, clock=clock, OURA_OWNER_EMAIL=owner) as vitals:
        browser = await sign_in(vitals, await client_id(vitals.http()))

        assert browser.status == 403
        assert not browser.stopped
        assert await vitals.parts.connections.load(owner_key(owner)) is None
        assert not any(family.alive for family in simulator.grants.families)  # given back


@pytest.mark.parametrize("written", ["OWNER@EXAMPLE.COM", "  Owner@Example.com\n", "owner@example.com\u00a0"])
async def test_capitals_and_blanks_do_not_keep_the_owner_out(tmp_path: Path, written: str) -> None:
    clock = Clock()
    simulator = Simulator(now=clock)
    body = json.dumps({"id": "the-owner", "email": written}).encode()
    shelf(simulator).answers["personal_info"] = (200, "application/json", body)
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        assert "code" in handed_over(await sign_in(vitals, await client_id(vitals.http())))


def test_letters_outside_ascii_compare_without_their_case_too() -> None:
    assert owner_key("Ärger@example.com") == owner_key("ärger@example.com")


@pytest.mark.parametrize(
    "body",
    [
        b'{"email": "owner@example.com"}',
        b'{"id": null, "email": "owner@example.com"}',
        b'{"id": "", "email": "owner@example.com"}',
        b'{"id": 7, "email": "owner@example.com"}',
        b'{"id": ["a"], "email": "owner@example.com"}',
        b'{"id": "a", "email": null}',
        b'{"id": "a", "email": ""}',
        b'{"id": "a", "email": ["owner@example.com"]}',
        b'{"id": "a", "email": {"a": "owner@example.com"}}',
        b'{"id": "a", "email": true}',
        b'{"id": "a"}',
        b'["owner@example.com"]',
        b'"owner@example.com"',
        b"null",
        b"",
        b"<html>owner@example.com</html>",
        b'{"id": "a", "email": "owner@example.com"',
        b'{"id": "a", "email": "\xff"}',
        b"[" * 5_000,
    ],
)
async def test_an_odd_answer_about_the_account_lets_nobody_in(tmp_path: Path, body: bytes) -> None:
    clock = Clock()
    simulator = Simulator(now=clock)
    shelf(simulator).answers["personal_info"] = (200, "application/json", body)
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        browser = await sign_in(vitals, await client_id(vitals.http()))

        assert browser.status in {403, 502}
        assert not browser.stopped
        assert await vitals.parts.connections.owners() == []
        assert not any(family.alive for family in simulator.grants.families)


async def test_the_owners_address_on_another_account_is_not_the_owner(tmp_path: Path) -> None:
    clock = Clock()
    simulator = Simulator(now=clock)
    between = shelf(simulator)
    async with running_app(tmp_path, simulator=simulator, clock=clock) as vitals:
        _, tokens = await connected(vitals)
        body = json.dumps({"id": "reused-address", "email": simulator.person.email}).encode()
        between.answers["personal_info"] = (200, "application/json", body)

        browser = await sign_in(vitals, await client_id(vitals.http()), who="stranger")

        assert browser.status == 403
        del between.answers["personal_info"]
        assert (
            simulator.person.account_id in (await ask(vitals, tokens["access_token"], collection="personal_info")).text
        )


async def test_of_two_owners_each_gets_their_own_data_and_sees_their_own_apps(tmp_path: Path) -> None:
    async with running_app(tmp_path, OURA_OWNER_EMAIL=HOUSEHOLD) as vitals:
        _, one = await connected(vitals)
        _, two = await connected(vitals, who="stranger")

        ones = (await ask(vitals, one["access_token"], collection="personal_info")).text
        twos = (await ask(vitals, two["access_token"], collection="personal_info")).text
        assert "owner@example.com" in ones
        assert "stranger@example.com" not in ones
        assert "stranger@example.com" in twos
        assert "owner@example.com" not in twos

        page = await open_connections(vitals)
        others = await open_connections(vitals, who="stranger")
        assert [form.action for form in forms(page.page)].count("/connections/end") == 1
        theirs = next(form for form in forms(others.page) if form.action == "/connections/end")
        mine = next(form for form in forms(page.page) if form.action == "/connections/end")
        for form in (theirs.fields, [("csrf", dict(mine.fields)["csrf"]), ("grant", dict(theirs.fields)["grant"])]):
            answer = await page._http.post(f"{URL}/connections/end", data=dict(form), headers={"origin": URL})
            assert answer.status_code == 403
        assert (await ask(vitals, two["access_token"], "health_check")).status_code == 200


async def test_an_owner_who_is_no_longer_named_is_out_at_once_and_everywhere(tmp_path: Path) -> None:
    async with running_app(tmp_path, OURA_OWNER_EMAIL=HOUSEHOLD) as vitals:
        client, tokens = await connected(vitals, who="stranger")
        page = await open_connections(vitals, who="stranger")
        waiting = handed_over(await sign_in(vitals, client, who="stranger"))["code"]

    async with running_app(tmp_path, simulator=vitals.simulator, clock=vitals.clock) as vitals:
        assert (await ask(vitals, tokens["access_token"], "health_check")).status_code == 401
        again = await refresh(vitals.http(), client, tokens["refresh_token"])
        assert again.json()["error"] == "invalid_grant"
        assert (await redeem(vitals.http(), client, waiting)).json()["error"] == "invalid_grant"
        jar = vitals.http()
        jar.cookies = page._http.cookies
        assert "/connections/disconnect" not in (await jar.get(f"{URL}/connections")).text
        assert (await sign_in(vitals, client, who="stranger")).status == 403


async def test_the_sandbox_and_the_real_thing_share_a_store_and_nothing_else(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        real_client, real = await connected(vitals)
        page = await open_connections(vitals)

    async with running_app(tmp_path, simulator=vitals.simulator, clock=vitals.clock, OURA_SANDBOX="1") as sandbox:
        assert (await ask(sandbox, real["access_token"], "health_check")).status_code == 401
        assert (await refresh(sandbox.http(), real_client, real["refresh_token"])).status_code == 400
        jar = sandbox.http()
        jar.cookies = page._http.cookies
        assert "/connections/disconnect" not in (await jar.get(f"{URL}/connections")).text
        http = sandbox.http()
        client = await client_id(http)
        browser = await _approve_in_the_sandbox(sandbox.browser(REDIRECT), client)
        sample = (await redeem(http, client, browser["code"])).json()
        assert (await ask(sandbox, sample["access_token"], "health_check")).status_code == 200

    async with running_app(tmp_path, simulator=vitals.simulator, clock=vitals.clock) as vitals:
        assert (await ask(vitals, sample["access_token"], "health_check")).status_code == 401
        assert (await refresh(vitals.http(), client, sample["refresh_token"])).status_code == 400
        assert (await ask(vitals, real["access_token"], "health_check")).status_code == 200


async def _approve_in_the_sandbox(browser: Browser, client: str) -> dict[str, str]:
    await browser.open(authorize(client))
    await browser.press("approve")
    return handed_over(browser)
