"""Signing in at the simulated Oura: both address pairs, the page, codes, rotation, revocation."""

import base64
import hashlib
import re
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from app.simulator import SCOPES, App, Simulator
from app.simulator.oauth import ISS
from tests.simulator.conftest import Asker, Clock, Connect, Document

SECRET = App().client_secret
CALLBACK = "https://vitals.example/callback/oura/"
ASK = {"client_id": "demo-client", "redirect_uri": CALLBACK, "response_type": "code", "state": "st&te"}
FRONT, NEW_FRONT = "/oauth/authorize", "/oauth/v2/ext/oauth-authorize"
LEGACY, NEW = "/oauth/token", "/oauth/v2/ext/oauth-token"


async def _callback(
    http: httpx2.AsyncClient, decision: str = "owner", path: str = FRONT, **more: str
) -> dict[str, str]:
    answer = await http.get(path, params=ASK | {"sim_auto": decision} | more)
    assert answer.status_code == 302, answer.text
    location = urlsplit(answer.headers["location"])
    assert f"{location.scheme}://{location.netloc}{location.path}" == CALLBACK
    return {name: value for name, [value] in parse_qs(location.query).items()}


def _exchange(code: str, **more: str) -> dict[str, str]:
    return {
        "grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK, "client_id": "demo-client",
        "client_secret": SECRET,
    } | more  # fmt: skip


def _refresh(token: str, **more: str) -> dict[str, str]:
    return {
        "grant_type": "refresh_token", "refresh_token": token, "client_id": "demo-client", "client_secret": SECRET,
    } | more  # fmt: skip


async def _tokens(http: httpx2.AsyncClient, path: str = LEGACY, **more: str) -> Document:
    code = (await _callback(http, **more))["code"]
    answer = await http.post(path, data=_exchange(code))
    assert answer.status_code == 200, answer.text
    body: Document = answer.json()
    return body


async def _alive(http: httpx2.AsyncClient, token: str) -> bool:
    answer = await http.get("/v2/usercollection/personal_info", headers={"authorization": f"Bearer {token}"})
    return answer.status_code == 200


@pytest.mark.parametrize("token_path", [LEGACY, NEW])
@pytest.mark.parametrize("path", [FRONT, NEW_FRONT])
async def test_a_sign_in_ends_with_tokens_like_the_measured_ones(oura: Asker, path: str, token_path: str) -> None:
    back = await _callback(oura.http, path=path, scope="extapi:daily extapi:email")
    answer = await oura.http.post(token_path, data=_exchange(back["code"]))

    assert back["state"] == "st&te"
    assert back["iss"] == ISS
    assert back["scope"] == "email daily"
    body = answer.json()
    assert set(body) == {"token_type", "access_token", "expires_in", "refresh_token", "scope", "id_token"}
    assert body["scope"] == "extapi:email extapi:daily"
    assert len(body["access_token"]) == len(body["refresh_token"]) == 45
    assert body["expires_in"] == 2_592_000
    assert await _alive(oura.http, body["access_token"])


async def test_the_page_offers_owner_stranger_and_refusal_and_needs_no_script(oura: Asker) -> None:
    page = (await oura.http.get(FRONT, params=ASK | {"scope": 'daily "><script>'})).text

    assert re.findall(r'name="decision" value="(\w+)"', page) == ["owner", "stranger", "refuse"]
    assert re.findall(r'name="may_(\w+)" value="1" checked', page) == ["daily"]
    assert "<script" not in page


async def test_scopes_can_be_unticked_on_the_page(oura: Asker) -> None:
    form = ASK | {"scope": "daily heartrate tag", "shown": "1", "decision": "owner"}
    answer = await oura.http.post(FRONT, data=form | {"may_daily": "1", "may_tag": "1", "may_email": "1"})

    [scope] = parse_qs(urlsplit(answer.headers["location"]).query)["scope"]
    assert scope == "daily tag"  # `email` was never asked for


async def test_a_refusal_and_a_stranger(oura: Asker) -> None:
    refused = await _callback(oura.http, "refuse")
    tokens = await _tokens(oura.http, decision="stranger")

    assert refused["error"] == "access_denied"
    assert refused["state"] == "st&te"
    profile = await oura.http.get(
        "/v2/usercollection/personal_info", headers={"authorization": f"Bearer {tokens['access_token']}"}
    )
    assert profile.json()["email"] == "stranger@example.com"


@pytest.mark.parametrize(
    ("path", "asked", "granted"),
    [
        pytest.param(FRONT, "daily extapi:tag made_up", "daily tag", id="front-door-takes-both"),
        pytest.param(NEW_FRONT, "daily extapi:tag", "tag", id="bare-names-are-silently-ungranted-at-the-new-one"),
        pytest.param(FRONT, "spo2Daily spo2", "spo2", id="the-documents-own-name-is-wrong"),
        pytest.param(FRONT, "", " ".join(SCOPES), id="none-means-all"),
    ],
)
async def test_unknown_scopes_are_dropped_without_a_word(oura: Asker, path: str, asked: str, granted: str) -> None:
    assert (await _callback(oura.http, path=path, scope=asked)).get("scope", "") == granted


@pytest.mark.parametrize(
    "wrong", [{"client_id": "someone-else"}, {"redirect_uri": "https://evil.example/"}, {"redirect_uri": CALLBACK[:-1]}]
)
async def test_an_unknown_client_or_redirect_stays_on_a_page(
    wrong: dict[str, str], clock: Clock, connect: Connect
) -> None:
    oura = connect(Simulator(now=clock, app=App(redirect_uris=(CALLBACK,), auto="owner")))

    assert (await oura.http.get(FRONT, params=ASK | wrong)).status_code == 400
    assert (await oura.http.get(FRONT, params=ASK)).status_code == 302


async def test_a_code_is_good_once_and_its_second_use_ends_what_it_gave(oura: Asker) -> None:
    code = (await _callback(oura.http))["code"]
    first = (await oura.http.post(LEGACY, data=_exchange(code))).json()
    second = await oura.http.post(LEGACY, data=_exchange(code))

    assert (second.status_code, second.json()["error"]) == (400, "invalid_grant")
    assert not await _alive(oura.http, first["access_token"])


async def test_a_code_lasts_ten_minutes_and_is_bound_to_its_redirect_uri(oura: Asker, clock: Clock) -> None:
    elsewhere = await _callback(oura.http)
    wrong = await oura.http.post(LEGACY, data=_exchange(elsewhere["code"], redirect_uri=CALLBACK[:-1]))
    late = await _callback(oura.http)
    clock.at_s += 600
    expired = await oura.http.post(LEGACY, data=_exchange(late["code"]))

    assert wrong.json()["error"] == expired.json()["error"] == "invalid_grant"


async def test_pkce_is_optional_and_checked_when_used(oura: Asker) -> None:
    verifier = "v" * 43
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    pkce = {"code_challenge": challenge, "code_challenge_method": "S256"}

    good = await oura.http.post(
        LEGACY, data=_exchange((await _callback(oura.http, **pkce))["code"], code_verifier=verifier)
    )
    bad = await oura.http.post(
        LEGACY, data=_exchange((await _callback(oura.http, **pkce))["code"], code_verifier="w" * 43)
    )

    assert (good.status_code, bad.status_code) == (200, 400)


async def test_a_refresh_token_is_good_once_and_rotates(oura: Asker) -> None:
    first = await _tokens(oura.http)
    second = (await oura.http.post(NEW, data=_refresh(first["refresh_token"]))).json()
    third = await oura.http.post(LEGACY, data=_refresh(second["refresh_token"]))

    assert third.status_code == 200
    assert len({first["refresh_token"], second["refresh_token"], third.json()["refresh_token"]}) == 3
    assert await _alive(oura.http, first["access_token"])  # its life is not over
    assert oura.sim.counts.refreshes == oura.sim.counts.refreshed == 2


async def test_reuse_of_a_refresh_token_kills_the_family_and_no_other(oura: Asker) -> None:
    first, other = await _tokens(oura.http), await _tokens(oura.http)
    second = (await oura.http.post(LEGACY, data=_refresh(first["refresh_token"]))).json()

    reuse = await oura.http.post(LEGACY, data=_refresh(first["refresh_token"]))
    after = await oura.http.post(LEGACY, data=_refresh(second["refresh_token"]))

    assert reuse.json() == {"error": "invalid_grant", "error_description": "Refresh token already used."}
    assert after.json() == {"error": "invalid_grant", "error_description": "Token Already Used Or Revoked"}
    assert not await _alive(oura.http, first["access_token"])
    assert not await _alive(oura.http, second["access_token"])
    assert await _alive(oura.http, other["access_token"])


async def test_access_tokens_live_as_long_as_they_say(clock: Clock, connect: Connect) -> None:
    oura = connect(Simulator(now=clock, expires_in_s=3_600))
    tokens = await _tokens(oura.http)

    assert tokens["expires_in"] == 3_600
    clock.at_s += 3_599
    assert await _alive(oura.http, tokens["access_token"])
    clock.at_s += 1
    assert not await _alive(oura.http, tokens["access_token"])


async def test_expiry_on_demand_ends_access_and_not_refresh(oura: Asker) -> None:
    tokens = await _tokens(oura.http)

    assert oura.sim.expire_access_tokens() == 2  # the asker has one of its own
    assert not await _alive(oura.http, tokens["access_token"])
    assert (await oura.http.post(LEGACY, data=_refresh(tokens["refresh_token"]))).status_code == 200


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        (LEGACY, 400, {"error": "invalid_client", "error_description": "Invalid client_id."}),
        (NEW, 401, {"error": "invalid_client"}),
    ],
)
async def test_a_wrong_client_is_refused_as_measured_and_spends_nothing(
    oura: Asker, path: str, status: int, body: dict[str, str]
) -> None:
    tokens = await _tokens(oura.http)
    answer = await oura.http.post(path, data=_refresh(tokens["refresh_token"], client_secret="wrong"))

    assert (answer.status_code, answer.json()) == (status, body)
    assert (await oura.http.post(path, data=_refresh(tokens["refresh_token"]))).status_code == 200


@pytest.mark.parametrize("path", [LEGACY, NEW])
async def test_the_client_may_authenticate_by_basic(oura: Asker, path: str) -> None:
    form = {"grant_type": "authorization_code", "code": (await _callback(oura.http))["code"], "redirect_uri": CALLBACK}

    assert (await oura.http.post(path, data=form, auth=("demo-client", "wrong"))).status_code in {400, 401}
    assert (await oura.http.post(path, data=form, auth=("demo-client", SECRET))).status_code == 200


async def test_an_application_of_the_new_portal_is_refused_by_the_legacy_endpoint_and_loses_nothing(
    clock: Clock, connect: Connect
) -> None:
    oura = connect(Simulator(now=clock, app=App(registered_at="developer")))
    code = (await _callback(oura.http))["code"]
    exchange = await oura.http.post(LEGACY, data=_exchange(code))
    tokens = (await oura.http.post(NEW, data=_exchange(code))).json()
    refresh = await oura.http.post(LEGACY, data=_refresh(tokens["refresh_token"]))

    assert exchange.status_code == 401
    assert (refresh.status_code, refresh.json()["error"]) == (400, "invalid_request")
    assert (await oura.http.post(NEW, data=_refresh(tokens["refresh_token"]))).status_code == 200


async def test_an_application_of_the_old_portal_may_be_unknown_to_the_new_endpoint(
    clock: Clock, connect: Connect
) -> None:
    oura = connect(Simulator(now=clock, app=App(registered_at="cloud")))
    code = (await _callback(oura.http))["code"]

    assert (await oura.http.post(NEW, data=_exchange(code))).status_code == 401
    assert (await oura.http.post(LEGACY, data=_exchange(code))).status_code == 200


async def test_scope_may_be_missing_everywhere(clock: Clock, connect: Connect) -> None:
    silent = App(scope_in_callback=False, scope_in_token=False, scope_in_refresh=False)
    oura = connect(Simulator(now=clock, app=silent))
    back = await _callback(oura.http)
    tokens = (await oura.http.post(LEGACY, data=_exchange(back["code"]))).json()
    renewed = (await oura.http.post(LEGACY, data=_refresh(tokens["refresh_token"]))).json()

    assert "scope" not in back
    assert "scope" not in tokens
    assert "scope" not in renewed


async def test_refresh_tokens_can_be_withheld(clock: Clock, connect: Connect) -> None:
    assert "refresh_token" not in await _tokens(connect(Simulator(now=clock, issue_refresh=False)).http)


async def test_a_refresh_can_end_the_access_tokens_before_it(clock: Clock, connect: Connect) -> None:
    oura = connect(Simulator(now=clock, refresh_ends_access=True))
    tokens = await _tokens(oura.http)
    renewed = (await oura.http.post(LEGACY, data=_refresh(tokens["refresh_token"]))).json()

    assert not await _alive(oura.http, tokens["access_token"])
    assert await _alive(oura.http, renewed["access_token"])


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
@pytest.mark.parametrize("path", ["/oauth/revoke", "/oauth/v2/ext/oauth-revoke"])
async def test_revocation_ends_the_family(oura: Asker, path: str, kind: str) -> None:
    tokens = await _tokens(oura.http)
    if path == "/oauth/revoke":
        answer = await oura.http.post(path, params={"access_token": tokens[kind]})
    else:
        answer = await oura.http.post(
            path, data={"token": tokens[kind], "client_id": "demo-client", "client_secret": SECRET}
        )

    assert answer.status_code == 200
    assert not await _alive(oura.http, tokens["access_token"])
    assert (await oura.http.post(LEGACY, data=_refresh(tokens["refresh_token"]))).json()["error"] == "invalid_grant"
    assert oura.sim.counts.revocations == 1


async def test_revocation_at_the_new_address_needs_the_client(oura: Asker) -> None:
    tokens = await _tokens(oura.http)
    answer = await oura.http.post("/oauth/v2/ext/oauth-revoke", data={"token": tokens["access_token"]})

    assert answer.status_code == 401
    assert await _alive(oura.http, tokens["access_token"])


async def test_an_earlier_grant_is_given_again_without_the_page_until_it_is_revoked(
    clock: Clock, connect: Connect
) -> None:
    oura = connect(Simulator(now=clock, app=App(remembers_consent=True)))
    await oura.http.post("/oauth/revoke", params={"access_token": oura.token})
    first = await _tokens(oura.http, scope="daily")

    again = await oura.http.get(FRONT, params=ASK | {"scope": "daily email"})
    await oura.http.post("/oauth/revoke", params={"access_token": first["access_token"]})
    after = await oura.http.get(FRONT, params=ASK | {"scope": "daily email"})

    assert parse_qs(urlsplit(again.headers["location"]).query)["scope"] == ["daily"]
    assert after.status_code == 200


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
        ({"grant_type": "authorization_code"}, "invalid_request"),
        ({"grant_type": "refresh_token"}, "invalid_request"),
        ({"grant_type": "authorization_code", "code": "made-up", "redirect_uri": CALLBACK}, "invalid_grant"),
        ({"grant_type": "refresh_token", "refresh_token": "made-up"}, "invalid_grant"),
    ],
)
async def test_other_token_requests_are_refused_with_400(oura: Asker, form: dict[str, str], error: str) -> None:
    answer = await oura.http.post(LEGACY, data=form | {"client_id": "demo-client", "client_secret": SECRET})

    assert (answer.status_code, answer.json()["error"]) == (400, error)
    assert answer.headers["cache-control"] == "no-store"
