"""CASES.md, section S, through the whole connector: the authorization server.

What a browser does with the pages is in `tests/signin/test_browser.py` (S5) and `tests/journey`.
"""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode

import httpx2
import pytest
from starlette.routing import Route

from app.demo.browser import forms
from tests.app_under_test import URL, Vitals, rpc, running_app
from tests.cases.asking import CHALLENGE, REDIRECT, VERIFIER, heading, journey, told

pytestmark = pytest.mark.anyio


async def opens(vitals: Vitals, token: str) -> int:
    headers = {"authorization": f"Bearer {token}", "accept": "application/json"}
    return (await vitals.http().post(vitals.mcp_url, json=rpc("tools/list"), headers=headers)).status_code


async def renew(vitals: Vitals, client_id: str, token: str) -> httpx2.Response:
    form = {"grant_type": "refresh_token", "refresh_token": token, "client_id": client_id}
    return await vitals.http().post(f"{URL}/token", data=form)


async def test_s1_a_public_app_is_expected_and_exchanges_without_a_secret(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        walk = await journey(vitals, "approve", "owner")
        await walk.tokens()
        server = walk.app.server
        await told(walk.app, "health_check")

    for endpoint in ("token", "revocation"):
        assert "none" in server[f"{endpoint}_endpoint_auth_methods_supported"]


async def test_s3_behind_a_proxy_the_public_name_is_answered_and_no_other_whatever_is_forwarded(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        http = vitals.http()
        forged = {"x-forwarded-host": "evil.example", "forwarded": "host=evil.example", "x-forwarded-proto": "http"}
        paths = {route.path for route in vitals.app.routes if isinstance(route, Route)} - {"/healthz", "/readyz"}
        for path in (path.replace("{rest:path}", "x") for path in paths):
            evil = await http.get(URL + path, headers={"host": "evil.example"})
            assert evil.status_code == 421, path
            plain = await http.get(URL + path, headers={"host": "vitals.test"})
            assert plain.status_code != 421, path
            through = await http.get(URL + path, headers={"host": "vitals.test", **forged})
            assert through.status_code == plain.status_code
            assert "evil.example" not in through.text + str(through.headers)


async def test_s4_the_same_answer_within_the_window_and_the_end_of_the_family_after_it(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        first = (await renew(vitals, app.client_id, app.refresh_token)).json()
        vitals.clock.at += 120
        within = (await renew(vitals, app.client_id, app.refresh_token)).json()
        vitals.clock.at += 0.5
        after = await renew(vitals, app.client_id, app.refresh_token)
        revoked = await renew(vitals, app.client_id, first["refresh_token"])
        open_still = await opens(vitals, first["access_token"])

    assert within == first
    for answer in (after, revoked):
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
    assert open_still == 401


async def test_s4_another_client_is_refused_and_nothing_is_revoked(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app, other = await vitals.connected_app(), await vitals.connected_app()
        stolen = await renew(vitals, other.client_id, app.refresh_token)
        good = await renew(vitals, app.client_id, app.refresh_token)
        vitals.clock.at += 300
        late = await renew(vitals, other.client_id, app.refresh_token)
        goes_on = await renew(vitals, app.client_id, good.json()["refresh_token"])

    assert (stolen.status_code, late.status_code) == (400, 400)
    assert (good.status_code, goes_on.status_code) == (200, 200)


async def test_s4_using_the_successor_closes_the_window(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        app = await vitals.connected_app()
        first = (await renew(vitals, app.client_id, app.refresh_token)).json()
        second = (await renew(vitals, app.client_id, first["refresh_token"])).json()
        again = await renew(vitals, app.client_id, app.refresh_token)

    assert second["refresh_token"] not in {first["refresh_token"], app.refresh_token}
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")


async def test_s5_no_page_names_where_a_form_may_lead(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        asked = {"redirect_uri": REDIRECT, "code_challenge": CHALLENGE, "code_challenge_method": "S256"}
        walk = await journey(vitals)
        query = urlencode({**asked, "client_id": walk.app.client_id, "response_type": "code"})
        for path in ("/", "/privacy", "/connections", f"/authorize?{query}", "/authorize", "/callback/oura/?state=x"):
            answer = await vitals.http().get(URL + path, headers={"accept": "text/html"})

            policy = answer.headers["content-security-policy"]
            assert "form-action" not in policy, path
            assert "frame-ancestors 'none'" in policy
            assert "<h1" in answer.text


async def test_s7_an_approval_counts_only_in_the_browser_that_gave_it(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        attacker = await journey(vitals, "approve")
        vitals.simulator.client.auto = "owner"
        callback = (await vitals.http().get(attacker.browser.address)).headers["location"]
        victims = [vitals.browser(REDIRECT), (await journey(vitals)).browser]
        for victim in victims:
            await victim.open(callback)
            assert victim.status == 403
            assert heading(victim.page) == "This sign-in was started in another browser"
        stored = [key async for key, _ in vitals.parts.store.scan("") if key.startswith(("conn:", "code:", "grant:"))]

    assert vitals.simulator.counts.exchanges == 0
    assert stored == []


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param([("origin", "https://evil.example")], id="foreign origin"),
        pytest.param([("origin", "null")], id="null origin"),
        pytest.param([("sec-fetch-site", "cross-site")], id="cross-site"),
        pytest.param([("sec-fetch-site", "same-site"), ("origin", URL)], id="same-site"),
        pytest.param([("origin", URL)], id="own origin, another browser's token"),
    ],
)
async def test_s7_a_post_from_another_site_with_the_attackers_token_is_refused(
    tmp_path: Path, headers: Sequence[tuple[str, str]]
) -> None:
    async with running_app(tmp_path) as vitals:
        attacker, victim = await journey(vitals), await journey(vitals)
        fields = dict(forms(attacker.browser.page)[0].fields)
        answer = await victim.browser._http.post(
            f"{URL}/authorize", data={**fields, "decision": "approve"}, headers=dict(headers)
        )
        started = [key async for key, _ in vitals.parts.store.scan("signin:")]

    assert answer.status_code == 403
    assert started == []


async def test_s11_what_is_advertised_is_how_long_it_lives_to_the_second(tmp_path: Path) -> None:
    async with running_app(tmp_path) as vitals:
        walk = await journey(vitals, "approve", "owner")
        form = {
            "grant_type": "authorization_code",
            "code": walk.answer["code"],
            "redirect_uri": REDIRECT,
            "code_verifier": VERIFIER,
            "client_id": walk.app.client_id,
        }
        first = (await vitals.http().post(f"{URL}/token", data=form)).json()
        renewed = (await renew(vitals, walk.app.client_id, first["refresh_token"])).json()
        vitals.clock.at += 100
        repeated = (await renew(vitals, walk.app.client_id, first["refresh_token"])).json()
        began = {first["access_token"]: -100.0, repeated["access_token"]: 0.0}
        now = vitals.clock.at
        for token, since in began.items():
            vitals.clock.at = now + since + first["expires_in"] - 1
            assert await opens(vitals, token) == 200
            vitals.clock.at = now + since + first["expires_in"] + 1
            assert await opens(vitals, token) == 401
            vitals.clock.at = now

    assert first["expires_in"] == renewed["expires_in"] == repeated["expires_in"] >= 3600


@pytest.mark.parametrize("method", ["none", None])
async def test_s13_a_public_app_is_given_no_secret_and_a_confidential_one_its_own(
    tmp_path: Path, method: str | None
) -> None:
    async with running_app(tmp_path) as vitals:
        asked = {"client_name": "App", "redirect_uris": [REDIRECT], "client_secret": "mine"}
        public = {**asked, **({"token_endpoint_auth_method": method} if method else {})}
        http = vitals.http()
        given = (await http.post(f"{URL}/register", json=public)).json()
        secrets = [
            (await http.post(f"{URL}/register", json={**asked, "token_endpoint_auth_method": kind})).json()
            for kind in ("client_secret_post", "client_secret_basic", "client_secret_post")
        ]

    assert given["token_endpoint_auth_method"] == "none"
    assert not [name for name in given if "secret" in name]
    assert None not in given.values()
    assert len({each["client_secret"] for each in secrets} - {"mine"}) == 3
    assert vitals.simulator.client.client_secret not in str([given, *secrets])
