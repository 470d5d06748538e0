"""The way back from Oura: only the owner, only in the browser that approved, only once."""

import html
import re
from urllib.parse import parse_qsl, urlsplit

import anyio
import httpx2
import pytest

from app.errors import SealBroken, StoreUnavailable, VitalsError
from app.vault.connections import Connection
from tests.signin.oura import OWNER, SECRET_MARKS, STRANGER, TOKEN_URLS
from tests.signin.stage import OWNER_KEY, PUBLIC_URL, REDIRECT, START, Stage, answer

pytestmark = pytest.mark.anyio


def back(page: httpx2.Response) -> dict[str, str]:
    """Return what a page of refusal sends the app, by its link alone: anyone can register such an address."""
    (link,) = re.findall(r'<a class="button plain" href="([^"]+)">Back to app\.test</a>', page.text)
    assert "http-equiv" not in page.text
    address = html.unescape(link)
    assert address.startswith(REDIRECT + "?")
    return dict(parse_qsl(urlsplit(address).query))


async def nothing_stored(stage: Stage) -> None:
    """No connection, no pin, no token of anyone in any record."""
    records = await stage.records()
    assert not [key for key in records if key.startswith(("conn:", "pin:", "code:", "grant:"))]
    for value in records.values():
        assert not any(mark.encode() in value for mark in SECRET_MARKS)


async def test_the_owner_is_connected_and_the_app_gets_its_code_with_state_and_iss(stage: Stage) -> None:
    browser = stage.browser()
    state = await browser.approve(await stage.params(), timezone="europe/helsinki")
    page = await browser.come_back(state, stage.oura.code_for(OWNER))

    assert page.status_code == 303
    assert page.headers["location"].startswith(REDIRECT + "?")
    told = answer(page)
    assert told["code"]
    assert (told["state"], told["iss"]) == ("app-state", PUBLIC_URL)
    connection = await stage.connections.load(OWNER_KEY)
    assert connection is not None
    assert connection.account_id == "oura-owner"
    assert connection.timezone == "Europe/Helsinki"
    assert connection.scopes == frozenset({"personal", "email", "daily", "heartrate"})
    assert connection.token_url == TOKEN_URLS[0]
    assert (connection.obtained_at, connection.expires_at) == (START, START + 86400)
    assert stage.oura.revoked == []


async def test_the_address_without_its_last_slash_is_answered_too(stage: Stage) -> None:
    browser = stage.browser()
    state = await browser.approve(await stage.params())
    page = await browser.get("/callback/oura", {"code": stage.oura.code_for(OWNER), "state": state})

    assert page.headers["location"].startswith(REDIRECT)


@pytest.mark.parametrize(
    "query", ["state=x", "", "state=", "state=x&state=y", "state=%00", "code=a&state=" + "x" * 5000]
)
async def test_an_unknown_state_is_400_without_an_exchange_and_the_process_lives(stage: Stage, query: str) -> None:
    browser = stage.browser()
    page = await browser.get(f"/callback/oura/?{query}")

    assert page.status_code == 400
    assert stage.oura.exchanges == []
    assert (await browser.get("/privacy")).status_code == 200


async def test_a_state_older_than_ten_minutes_is_unknown(stage: Stage) -> None:
    browser = stage.browser()
    state = await browser.approve(await stage.params())
    stage.clock.at += 601
    page = await browser.come_back(state, stage.oura.code_for(OWNER))

    assert page.status_code == 400
    assert stage.oura.exchanges == []


async def test_another_browser_cannot_finish_and_what_it_shows_is_of_no_use_to_who_began(stage: Stage) -> None:
    attacker, victim = stage.browser(), stage.browser()
    state = await attacker.approve(await stage.params())
    await victim.get("/authorize", await stage.params())
    code = stage.oura.code_for(OWNER)

    for browser in (victim, stage.browser()):
        page = await browser.come_back(state, code)
        assert page.status_code == 403
        assert "another browser" in page.text
    passed_on = await attacker.come_back(state, code)
    assert passed_on.status_code == 400
    assert "This sign-in has ended" in passed_on.text
    assert stage.oura.exchanges == []


async def test_a_sign_in_that_is_being_finished_is_not_ended_by_another_browser(stage: Stage) -> None:
    browser = stage.browser()
    state = await browser.approve(await stage.params())
    code = stage.oura.code_for(OWNER)
    await browser.come_back(state, code)

    assert (await stage.browser().come_back(state, code)).status_code == 403
    assert "Already connected" in (await browser.come_back(state, code)).text


async def test_a_code_that_oura_takes_no_more_is_not_blamed_on_the_secret(stage: Stage) -> None:
    stage.oura.refuses_exchange = (400, {"error": "invalid_grant"})
    browser = stage.browser()
    page = await browser.come_back(await browser.approve(await stage.params()), stage.oura.code_for(OWNER))

    assert page.status_code == 400
    assert "expired, or was used before" in page.text
    assert "OURA_CLIENT_SECRET" not in page.text
    assert back(page)["error"] == "server_error"


async def test_a_reload_says_already_connected_and_exchanges_nothing(stage: Stage) -> None:
    browser = stage.browser()
    state = await browser.approve(await stage.params())
    code = stage.oura.code_for(OWNER)
    await browser.come_back(state, code)
    again = await browser.come_back(state, code)

    assert again.status_code == 200
    assert "Already connected" in again.text
    assert stage.oura.exchanges == [code]


async def test_a_tombstone_keeps_nothing_of_the_request(stage: Stage) -> None:
    browser = stage.browser()
    state = await browser.approve(await stage.params(state="s" * 2000))
    (before,) = (await stage.records("signin:")).values()
    await browser.come_back(state, stage.oura.code_for(OWNER))
    (after,) = (await stage.records("signin:")).values()

    assert len(before) > 2000
    assert len(after) < 300


async def test_two_visits_at_once_exchange_once(stage: Stage) -> None:
    browser = stage.browser()
    state = await browser.approve(await stage.params())
    code = stage.oura.code_for(OWNER)
    pages: list[httpx2.Response] = []

    async def visit() -> None:
        pages.append(await browser.come_back(state, code))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(visit)

    assert stage.oura.exchanges == [code]
    assert sum(page.status_code == 303 for page in pages) == 1
    assert {page.status_code for page in pages} <= {303, 200, 409}


async def test_a_head_request_does_not_spend_the_sign_in(stage: Stage) -> None:
    browser = stage.browser()
    state = await browser.approve(await stage.params())
    code = stage.oura.code_for(OWNER)
    head = await browser.http.head("/callback/oura/", params={"code": code, "state": state})

    assert head.status_code == 405
    assert (await browser.come_back(state, code)).status_code == 303


async def test_a_stranger_is_refused_revoked_and_forgotten_and_the_app_is_told(stage: Stage) -> None:
    browser = stage.browser()
    state = await browser.approve(await stage.params())
    page = await browser.come_back(state, stage.oura.code_for(STRANGER))

    assert page.status_code == 403
    assert "belongs to someone else" in page.text
    assert "Access was given back at Oura" in page.text
    told = back(page)
    assert (told["error"], told["state"], told["iss"]) == ("access_denied", "app-state", PUBLIC_URL)
    assert "access-0" in stage.oura.revoked
    await nothing_stored(stage)
    for value in (*STRANGER.values(), "owner@example.com", OWNER_KEY):
        assert value not in page.text
        assert not any(value.encode() in record for record in (await stage.records()).values())


async def test_a_stranger_changes_nothing_of_the_owner(stage: Stage) -> None:
    await stage.connect_owner()
    before = {k: v for k, v in (await stage.records()).items() if k.startswith(("conn:", "pin:", "grant:", "code:"))}
    browser = stage.browser()
    state = await browser.approve(await stage.params(), timezone="Asia/Tokyo")
    await browser.come_back(state, stage.oura.code_for(STRANGER))
    after = {k: v for k, v in (await stage.records()).items() if k.startswith(("conn:", "pin:", "grant:", "code:"))}

    assert after == before
    assert "access-0" not in stage.oura.revoked


async def test_the_owners_address_at_another_oura_account_is_refused(stage: Stage) -> None:
    await stage.connect_owner()
    browser = stage.browser()
    state = await browser.approve(await stage.params())
    page = await browser.come_back(state, stage.oura.code_for({"id": "another", "email": "owner@example.com"}))

    assert page.status_code == 403
    assert "Not the Oura account from before" in page.text
    assert back(page)["error"] == "access_denied"
    assert "access-1" in stage.oura.revoked
    connection = await stage.connections.load(OWNER_KEY)
    assert connection is not None
    assert (connection.account_id, connection.access_token) == ("oura-owner", "access-0")


async def test_without_the_email_scope_a_page_says_to_tick_it(stage: Stage) -> None:
    browser = stage.browser()
    state = await browser.approve(await stage.params())
    page = await browser.come_back(state, stage.oura.code_for({"id": "oura-owner"}))

    assert page.status_code == 403
    assert "leave “email” ticked" in page.text
    assert back(page)["error"] == "access_denied"
    assert "access-0" in stage.oura.revoked
    await nothing_stored(stage)


async def test_without_a_refresh_token_it_does_not_call_itself_connected(stage: Stage) -> None:
    stage.oura.gives_refresh_token = False
    browser = stage.browser()
    state = await browser.approve(await stage.params())
    page = await browser.come_back(state, stage.oura.code_for(OWNER))

    assert page.status_code == 502
    assert "no refresh token" in page.text
    assert "error" in back(page)
    assert "access-0" in stage.oura.revoked
    await nothing_stored(stage)


async def test_a_revocation_that_fails_is_said(stage: Stage) -> None:
    stage.oura.revokes = False
    browser = stage.browser()
    state = await browser.approve(await stage.params())
    page = await browser.come_back(state, stage.oura.code_for(STRANGER))

    assert "did not confirm" in page.text
    assert "was given back at Oura" not in page.text
    await nothing_stored(stage)


async def test_a_no_at_oura_has_its_page_and_the_app_gets_access_denied(stage: Stage) -> None:
    browser = stage.browser()
    state = await browser.approve(await stage.params())
    page = await browser.get("/callback/oura/", {"error": "access_denied", "state": state})

    assert page.status_code == 403
    assert "did not allow it at Oura" in page.text
    assert back(page)["error"] == "access_denied"
    assert stage.oura.exchanges == []
    again = await browser.come_back(state, stage.oura.code_for(OWNER))
    assert again.status_code == 400
    assert stage.oura.exchanges == []


async def test_another_error_of_oura_is_quoted_bounded_and_escaped(stage: Stage) -> None:
    browser = stage.browser()
    state = await browser.approve(await stage.params())
    page = await browser.get(
        "/callback/oura/",
        {"error": "invalid_scope", "error_description": "<script>x</script>" + "y" * 5000, "state": state},
    )

    assert page.status_code == 502
    assert "invalid_scope &lt;script&gt;" in page.text
    assert "y" * 500 not in page.text
    assert back(page)["error"] == "server_error"


async def test_neither_code_nor_error_is_its_own_page(stage: Stage) -> None:
    browser = stage.browser()
    state = await browser.approve(await stage.params())
    page = await browser.get("/callback/oura/", {"state": state})

    assert page.status_code == 400
    assert "no code" in page.text


async def test_a_refused_exchange_shows_the_exact_redirect_uri_and_what_to_check(stage: Stage) -> None:
    stage.oura.refuses_exchange = (401, {"error": "invalid_client", "error_description": "<b>Invalid client_id.</b>"})
    browser = stage.browser()
    state = await browser.approve(await stage.params())
    page = await browser.come_back(state, stage.oura.code_for(OWNER))

    assert page.status_code == 502
    assert f"{PUBLIC_URL}/callback/oura/" in page.text
    assert "OURA_CLIENT_SECRET" in page.text
    assert "invalid_client" in page.text
    assert "<b>" not in page.text
    assert "oura-secret" not in page.text
    assert len(stage.oura.exchanges) == 2  # each endpoint once, with the same code
    assert back(page)["error"] == "server_error"
    await nothing_stored(stage)


async def test_an_account_that_cannot_be_asked_is_nobody_and_its_tokens_are_given_back(stage: Stage) -> None:
    stage.oura.account_status = 400
    browser = stage.browser()
    state = await browser.approve(await stage.params())
    page = await browser.come_back(state, stage.oura.code_for(OWNER))

    assert page.status_code == 502
    assert back(page)["error"] == "temporarily_unavailable"
    assert "access-0" in stage.oura.revoked
    await nothing_stored(stage)


@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        (StoreUnavailable("Redis is away."), "temporarily_unavailable", ["Redis is away.", "again from your app in a"]),
        (
            StoreUnavailable("Redis is full.", outage="full"),
            "temporarily_unavailable",
            ["Redis is full.", "mends that"],
        ),
        (SealBroken("", missing="3fa2c1"), "server_error", ["its key (3fa2c1)", "Nothing was erased", "left as it is"]),
    ],
)
async def test_a_connection_that_cannot_be_kept_is_given_back(
    stage: Stage, fault: VitalsError, error: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_connection: Connection) -> Connection:
        raise fault

    monkeypatch.setattr(stage.connections, "connect", broken)
    browser = stage.browser()
    state = await browser.approve(await stage.params())
    page = await browser.come_back(state, stage.oura.code_for(OWNER))

    assert page.status_code == 503
    assert [each for each in words if each not in page.text] == []
    assert back(page)["error"] == error
    assert "access-0" in stage.oura.revoked
    await nothing_stored(stage)


async def test_a_fault_of_ours_after_the_exchange_gives_the_tokens_back_too(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_connection: Connection) -> Connection:
        raise RuntimeError("SECRET")

    monkeypatch.setattr(stage.connections, "connect", broken)
    browser = stage.browser()
    state = await browser.approve(await stage.params())
    page = await browser.come_back(state, stage.oura.code_for(OWNER))

    assert page.status_code == 500
    assert "SECRET" not in page.text
    assert "access-0" in stage.oura.revoked
