"""CASES.md, section A, through the whole connector: signing in at Oura, and what becomes of it later."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from app.errors import SettingsError
from app.settings import load_settings
from app.sources.oura.catalog import COLLECTIONS
from tests.app_under_test import OURA, URL, Vitals, running_app
from tests.cases.asking import TOOLS, heading, journey, refused, told

pytestmark = pytest.mark.anyio

LEGACY, NEW = "/oauth/token", "/oauth/v2/ext/oauth-token"
REQUIRED = {"OURA_CLIENT_ID": "c", "OURA_CLIENT_SECRET": "s", "OURA_OWNER_EMAIL": "owner@example.com"}


def token_requests(vitals: Vitals) -> list[tuple[str, int | None]]:
    return [(seen.path, seen.status) for seen in vitals.simulator.log if "token" in seen.path]


def data_requests(vitals: Vitals) -> list[str]:
    return [seen.path for seen in vitals.simulator.log if "/usercollection/" in seen.path]


@pytest.mark.parametrize(
    "name", ["OURA_PERSONAL_ACCESS_TOKEN", "OURA_ACCESS_TOKEN", "OURA_API_TOKEN", "OURA_TOKEN", "OURA_PAT"]
)
@pytest.mark.parametrize("others", [{}, REQUIRED], ids=["alone", "beside the application"])
def test_a1_a_personal_token_stops_the_start_and_names_the_way_in_that_exists(
    name: str, others: dict[str, str]
) -> None:
    for given in (name, f"{name}_FILE"):
        with pytest.raises(SettingsError) as caught:
            load_settings({**others, given: "CANARY-TOKEN"})

        said = str(caught.value)
        assert said.startswith(given)
        assert "OURA_CLIENT_ID" in said
        assert "CANARY" not in said


async def test_a1_a_personal_token_sent_by_an_app_gets_a_401_that_names_where_to_sign_in(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        answer = await vitals.http().post(vitals.mcp_url, headers={"authorization": "Bearer " + "A" * 32}, json={})

    assert answer.status_code == 401
    assert f'resource_metadata="{URL}/.well-known/oauth-protected-resource/mcp"' in answer.headers["www-authenticate"]


async def test_a2_what_the_legacy_endpoint_rejects_goes_to_the_new_one_and_stays_there(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        vitals.simulator.faults.add("status", LEGACY, status=400, body={"error": "invalid_request"}, times=None)
        app = await vitals.connected_app()
        signed_in = token_requests(vitals)
        for _ in range(2):
            vitals.simulator.expire_access_tokens()
            await told(app, "health_query", collection="sleep")

    assert signed_in == [(LEGACY, 400), (NEW, 200)]
    assert token_requests(vitals)[2:] == [(NEW, 200), (NEW, 200)]


async def test_a2_an_application_that_moves_later_is_followed_at_the_next_renewal(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        vitals.simulator.client.registered_at = "developer"
        for _ in range(2):
            vitals.simulator.expire_access_tokens()
            await told(app, "health_query", collection="sleep")

    assert token_requests(vitals) == [(LEGACY, 200), (LEGACY, 400), (NEW, 200), (NEW, 200)]


async def test_a3_a_401_at_the_first_exchange_sends_the_same_code_once_to_the_new_endpoint(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        vitals.simulator.client.registered_at = "developer"
        app = await vitals.connected_app()
        await told(app, "health_query", collection="sleep")

    assert token_requests(vitals) == [(LEGACY, 401), (NEW, 200)]


async def test_a3_a_code_that_both_endpoints_reject_is_not_tried_a_third_time_and_the_page_is_clear(
    tmp_path: Path,
) -> None:
    async with running_app(tmp_path) as vitals:
        for path in (LEGACY, NEW):
            vitals.simulator.faults.add("status", path, status=401, body={"error": "invalid_client"}, times=None)
        walk = await journey(vitals, "approve", "owner")
        first, page = walk.browser.status, walk.browser.page
        await walk.browser.open(walk.browser.address)

    assert first == 502
    assert heading(page) == "Oura did not accept this connector"
    assert f"{URL}/callback/oura/" in page
    assert "error=server_error" in page
    assert heading(walk.browser.page) == "This sign-in has ended"
    assert token_requests(vitals) == [(LEGACY, 401), (NEW, 401)]


async def test_a5_after_a_refused_renewal_every_tool_says_sign_in_and_no_number_goes_out(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        await told(app, "health_today")
        vitals.simulator.grants.families[0].end("revoked")
        asked_before = len(data_requests(vitals))
        first = await refused(app, "health_query", collection="daily_sleep")
        refreshes, asked = vitals.simulator.counts.refreshes, len(data_requests(vitals))
        later = [await refused(app, "health_query", collection=name) for name in COLLECTIONS]
        later += [await refused(app, "health_today")]
        catalog, check = await told(app, "health_catalog"), await told(app, "health_check")

        for said in (first, *later, str(catalog["notes"]), str(check["what_to_do"])):
            assert f"{URL}/connections" in said
        assert check["sources"][0]["state"] == "ended"
        assert 1 <= asked - asked_before <= 3  # those under way side by side, answered 401: nights, records, rings
        assert len(data_requests(vitals)) == asked
        assert vitals.simulator.counts.refreshes == refreshes == 1
        assert {"health_query", "health_today", "health_catalog", "health_check"} == set(TOOLS)


async def test_a5_an_app_keeps_its_own_tokens_when_the_sign_in_ended_and_is_told_where_to_sign_in(
    tmp_path: Path,
) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        vitals.simulator.grants.families[0].end("revoked")
        before = await refused(app, "health_query", collection="daily_sleep")
        old = app.access_token

        await app.token(grant_type="refresh_token", refresh_token=app.refresh_token)
        after = await refused(app, "health_query", collection="daily_sleep")

    assert app.access_token != old
    assert f"{URL}/connections" in before
    assert f"{URL}/connections" in after


async def test_a6_a_permanent_400_is_tried_at_most_once_a_call_and_all_collections_share_the_pause(
    tmp_path: Path,
) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        vitals.simulator.expire_access_tokens()
        for path in (LEGACY, NEW):
            vitals.simulator.faults.add("status", path, status=400, body={"error": "invalid_request"}, times=None)
        before = len(token_requests(vitals))
        said = [await refused(app, "health_query", collection=name) for name in COLLECTIONS]
        said += [await refused(app, "health_today")]
        at_once = len(token_requests(vitals)) - before
        vitals.clock.at += 16
        said += [await refused(app, "health_query", collection=name) for name in COLLECTIONS]
        after_the_pause = len(token_requests(vitals)) - before
        check = await told(app, "health_check")

    assert (at_once, after_the_pause) == (2, 4)  # each attempt asks either endpoint once
    assert all("OURA_CLIENT_ID" in text or "client id" in text for text in said)
    assert all("kept" in text for text in said)
    assert not any("sign in again" in text.lower() for text in said)
    assert check["sources"][0]["state"] == "live"
    assert "works" not in str(check["what_to_do"])


@pytest.mark.parametrize("where", ["in the token", "in the callback only", "with Oura's prefix and spelling"])
async def test_a7_what_the_owner_unticked_is_refused_by_name_and_never_asked_for(tmp_path: Path, where: str) -> None:
    async with running_app(tmp_path) as vitals:
        client = vitals.simulator.client
        client.scopes = frozenset({"daily", "email", "spo2"} if "prefix" in where else {"daily", "email"})
        client.scope_in_token = client.scope_in_refresh = where != "in the callback only"
        app = await vitals.connected_app()
        answered = len(data_requests(vitals))
        scopes = client.scopes
        barred = [c for c in COLLECTIONS.values() if not c.granted_by(scopes)]
        for collection in barred:
            said = await refused(app, "health_query", collection=collection.name)
            card = await told(app, "health_catalog", collection=collection.name)

            assert f"`{collection.scope}`" in said
            assert f"{URL}/connections" in said
            assert card["granted"] is False
        assert len(data_requests(vitals)) == answered
        for name in ("sleep", "daily_stress", "personal_info"):
            await told(app, "health_query", collection=name)
        check = await told(app, "health_check")

    assert {c.scope for c in barred} >= {"heartrate", "workout", "session", "tag", "heart_health", "stress"}
    assert "heartrate" in check["sources"][0]["scopes_missing"]


async def test_a9_one_redirect_uri_is_printed_and_that_very_one_is_sent(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        exact = vitals.parts.settings.redirect_uri
        vitals.simulator.client.redirect_uris = (exact,)  # as Oura compares it
        page = (await vitals.http().get(f"{URL}/")).text
        walk = await journey(vitals, "approve")
        sent = parse_qs(urlsplit(walk.browser.address).query)["redirect_uri"]
        await walk.browser.press("owner")
        vitals.simulator.client.redirect_uris = (exact.rstrip("/"),)
        other = await journey(vitals, "approve")

    assert exact == f"{URL}/callback/oura/"
    assert f'<p class="code">{exact}</p>' in page
    assert "character by character" in page
    assert sent == [exact]
    assert walk.answer["code"]
    assert heading(other.browser.page) == "The redirect_uri is not registered for this application"


async def test_a10_a_wrong_state_is_400_asks_oura_nothing_and_harms_nobody(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        before = len(vitals.simulator.log)
        browser = vitals.browser("nowhere:")
        for path in ("/callback/oura/", "/callback/oura"):
            for query in ("state=x", "state=x&code=y", "code=y", "state=", "error=access_denied", "state=x&state=x"):
                await browser.open(f"{URL}{path}?{query}")
                assert browser.status == 400, query
        assert len(vitals.simulator.log) == before
        await told(app, "health_query", collection="sleep")


async def test_a10_the_owner_is_sent_to_the_host_that_asks_people(tmp_path: Path) -> None:
    usual = load_settings(REQUIRED)
    async with running_app(tmp_path) as vitals:
        walk = await journey(vitals, "approve")

    assert urlsplit(usual.oura_authorize_url)[:3] == ("https", "cloud.ouraring.com", "/oauth/authorize")
    assert usual.oura_token_urls == (
        "https://api.ouraring.com/oauth/token",
        "https://moi.ouraring.com/oauth/v2/ext/oauth-token",
    )
    assert walk.browser.address.startswith(f"{OURA}/oauth/authorize?")


async def test_a11_a_stranger_is_refused_revoked_and_forgotten_and_the_owner_notices_nothing(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        owners = await vitals.connected_app()
        before = {key: value async for key, value in vitals.parts.store.scan("")}
        walk = await journey(vitals, "approve", "stranger")
        after = {key: value async for key, value in vitals.parts.store.scan("")}
        answer = await told(owners, "health_query", collection="personal_info")
        own, theirs = vitals.simulator.grants.families

    assert heading(walk.browser.page) == "This connector belongs to someone else"
    assert "error=access_denied" in walk.browser.page
    assert (own.alive, theirs.alive, theirs.ended_why) == (True, False, "revoked")
    kept = ("conn:", "pin:", "grant:", "code:", "access:", "refresh:", "session:")
    assert {k: v for k, v in after.items() if k.startswith(kept)} == {
        k: v for k, v in before.items() if k.startswith(kept)
    }
    assert answer["data"][0]["id"] == vitals.simulator.person.account_id


async def test_a11_a_stranger_gets_no_further_by_the_owners_own_page(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        browser = vitals.browser("nowhere:")
        await browser.open(f"{URL}/connections")
        await browser.press("", {"timezone": "Europe/Berlin"})
        await browser.press("stranger")
        refused_page = browser.page
        await browser.open(f"{URL}/connections")
        (family,) = vitals.simulator.grants.families

    assert heading(refused_page) == "This connector belongs to someone else"
    assert heading(browser.page) == "Your connections"
    assert "Sign in at Oura" in browser.page
    assert "Disconnect everything" not in browser.page
    assert family.alive is False
