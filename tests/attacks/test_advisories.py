"""Published holes in the sign-in of other connectors and of what we build on, each tried here.

A test is named after the hole; `tests/requirement_tables/advisories.py` lists them all.
"""

import base64
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import anyio
import httpx2
import pytest

from app.authserver.clients.cimd import DocumentUnavailable, Fetched
from app.demo.browser import Browser, forms
from tests.app_under_test import URL, Vitals, running_app
from tests.attacks.attacker import (
    REDIRECT,
    ask,
    authorize,
    client_id,
    connected,
    handed_over,
    redeem,
    refresh,
    register,
    sign_in,
)

pytestmark = pytest.mark.anyio

APP = "https://app.example/client.json"


class Published:
    """Metadata documents that apps publish, and what was asked for."""

    def __init__(self, **documents: dict[str, Any]) -> None:
        self.documents = {APP: {"client_id": APP, "client_name": "App", "redirect_uris": [REDIRECT], **documents}}
        self.asked: list[str] = []

    async def __call__(self, url: str) -> Fetched:
        self.asked.append(url)
        if url not in self.documents:
            raise DocumentUnavailable("its server answered 404.")
        return Fetched(json.dumps(self.documents[url]).encode())


async def test_cve_2025_4143_no_code_goes_to_an_address_that_was_not_registered(vitals: Vitals) -> None:
    """Also GHSA-wx5f-576r-gpcx and nutrition-mcp #148: /authorize without a look at the redirect URI."""
    http = vitals.http()
    client = await client_id(http)
    shown = dict(forms((await http.get(authorize(client))).text)[0].fields)

    looked = await http.get(authorize(client, "https://evil.example/cb"))
    forged = {**shown, "request": authorize(client, "https://evil.example/cb").partition("?")[2], "decision": "approve"}
    pressed = await http.post(f"{URL}/authorize", data=forged, headers={"origin": URL})

    for answer in (looked, pressed):
        assert answer.status_code in {400, 403}
        assert "location" not in answer.headers
        assert "evil.example" not in answer.text


async def test_cve_2025_4144_pkce_cannot_be_left_out_at_either_end(vitals: Vitals) -> None:
    http = vitals.http()
    client = await client_id(http)
    code = handed_over(await sign_in(vitals, client))["code"]

    for verifier in ("", "x" * 43):
        answer = await redeem(http, client, code, code_verifier=verifier)
        assert answer.json()["error"] in {"invalid_request", "invalid_grant"}
    answer = await http.get(authorize(client, code_challenge="", code_challenge_method=""))

    assert "error=invalid_request" in answer.headers["location"]
    assert (await redeem(http, client, code)).status_code == 200  # the honest app lost nothing by it


@pytest.mark.parametrize("uri", ["javascript:alert(1)", "data:text/html,x", "vbscript:x", "blob:https://a/b"])
async def test_workers_oauth_provider_97_no_app_registers_an_address_that_is_a_script(tmp_path: Path, uri: str) -> None:
    published = Published()
    published.documents[APP]["redirect_uris"] = [uri]
    async with running_app(tmp_path, fetch_document=published) as vitals:
        http = vitals.http()

        assert (await register(http, REDIRECT, uri)).json()["error"] == "invalid_redirect_uri"
        answer = await http.get(authorize(APP, uri))

        assert answer.status_code == 400
        assert "location" not in answer.headers


async def test_ghsa_c2jp_c369_7pvx_a_new_app_is_never_taken_to_oura_without_a_yes_of_its_own(vitals: Vitals) -> None:
    jar = vitals.http()
    assert "code" in handed_over(await sign_in(vitals, await client_id(jar), http=jar))
    asked = len(vitals.simulator.log)

    page = await jar.get(authorize(await client_id(jar)))

    assert page.status_code == 200
    assert ("decision", "approve") in forms(page.text)[0].buttons
    assert len(vitals.simulator.log) == asked


async def test_cve_2026_27124_ghsa_rww4_4w9c_7733_only_the_browser_that_said_yes_finishes(vitals: Vitals) -> None:
    attacker, victim = vitals.http(), vitals.http()
    browser = Browser(attacker, stop_at=f"{URL}/callback/oura/")
    await browser.open(authorize(await client_id(attacker)))
    await browser.press("approve")
    await browser.press("owner")
    await victim.get(authorize(await client_id(victim)))  # a cookie of ours, and not the one that said yes

    for jar in (victim, vitals.http()):
        answer = await jar.get(browser.address)
        assert answer.status_code == 403
        assert "location" not in answer.headers
    assert vitals.simulator.state()["families"] == []


async def test_pr_3519_a_pair_of_cookie_and_form_that_an_attacker_made_up_or_planted_is_worth_nothing(
    vitals: Vitals,
) -> None:
    http = vitals.http()
    client = await client_id(http)
    theirs = vitals.http()
    genuine = dict(forms((await theirs.get(authorize(client))).text)[0].fields)
    cookie = theirs.cookies["__Host-vitals-browser"]
    asked = authorize(client).partition("?")[2]

    made_up = [
        ("A" * 43, "A" * 43, {"origin": URL}),  # the same value twice, as a double submit would have it
        ("A" * 43, genuine["csrf"], {"origin": URL}),
        (cookie, genuine["csrf"].partition(".")[0] + "." + "0" * 64, {"origin": URL}),
        (cookie, "9999999999." + genuine["csrf"].partition(".")[2], {"origin": URL}),
        (cookie, genuine["csrf"], {"origin": "https://evil.example"}),  # planted, and sent from a page of theirs
        (cookie, genuine["csrf"], {"origin": "null"}),
    ]
    for value, token, headers in made_up:
        form = {"request": asked, "csrf": token, "decision": "approve"}
        sent = {**headers, "cookie": f"__Host-vitals-browser={value}"}
        answer = await vitals.http().post(f"{URL}/authorize", data=form, headers=sent)

        assert answer.status_code == 403, (value, token, headers)
    assert not [key async for key, _ in vitals.parts.store.scan("signin:")]


async def test_ghsa_6x8h_498w_gv8c_no_yes_is_remembered_whatever_asks_again(tmp_path: Path) -> None:
    async with running_app(tmp_path, fetch_document=Published()) as vitals:
        jar = vitals.http()
        browser = Browser(jar, stop_at=REDIRECT)
        await browser.open(authorize(APP))
        await browser.press("approve")
        await browser.press("owner")
        assert "code" in handed_over(browser)
        asked = len(vitals.simulator.log)

        for site in ("none", "cross-site", "same-origin"):
            for more in ({}, {"prompt": "none"}, {"scope": "health:read offline_access"}):
                page = await jar.get(authorize(APP, **more), headers={"sec-fetch-site": site})
                assert page.status_code == 200
                assert ("decision", "approve") in forms(page.text)[0].buttons
        assert len(vitals.simulator.log) == asked


async def test_cve_2025_69196_a_token_is_for_the_resource_that_was_asked_for_or_there_is_none(vitals: Vitals) -> None:
    http = vitals.http()
    client = await client_id(http)
    other = "https://other.example/mcp"

    refused = await http.get(authorize(client, resource=other))
    code = handed_over(await sign_in(vitals, client))["code"]
    spent = await redeem(http, client, code, resource=other)
    tokens = (await redeem(http, client, code, resource=f"{URL}/mcp")).json()
    renewed = await refresh(http, client, tokens["refresh_token"], resource=other)

    assert "error=invalid_target" in refused.headers["location"]
    assert spent.json()["error"] == "invalid_target"
    assert renewed.json()["error"] == "invalid_target"
    assert (await ask(vitals, tokens["access_token"], "health_check")).status_code == 200


async def test_fastmcp_4265_two_refreshes_at_once_and_two_tabs_at_once_all_get_through(vitals: Vitals) -> None:
    http = vitals.http()
    client, tokens = await connected(vitals)
    answers: list[httpx2.Response] = []

    async def renew() -> None:
        answers.append(await refresh(http, client, tokens["refresh_token"]))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(renew)
            group.start_soon(renew)
    one, two = await http.get(authorize(client)), await http.get(authorize(client))
    pressed = [
        await http.post(
            f"{URL}/authorize",
            data={**dict(forms(page.text)[0].fields), "decision": "approve"},
            headers={"origin": URL},
        )
        for page in (one, two)
    ]

    assert answers[0].json() == answers[1].json()
    assert (await ask(vitals, answers[0].json()["access_token"], "health_check")).status_code == 200
    assert [answer.status_code for answer in pressed] == [303, 303]


async def test_cve_2025_6514_what_apps_open_is_named_by_our_settings_alone(vitals: Vitals) -> None:
    forged = {"x-forwarded-host": "evil.example", "x-forwarded-proto": "javascript", "forwarded": "host=evil.example"}
    paths = ("/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource", "/mcp")

    for path in paths:
        answer = await vitals.http().get(f"{URL}{path}", headers=forged)
        elsewhere = await vitals.http().get(f"{URL}{path}", headers={"host": "evil.example$(id)"})

        named = re.findall(r'"([a-z]+:/[^"]*)"', answer.text + answer.headers.get("www-authenticate", ""))
        assert named
        assert {address[: len(URL)] for address in named} == {URL}
        assert "evil" not in answer.text + elsewhere.text + str(answer.headers) + str(elsewhere.headers)


async def test_cve_2025_58444_cve_2025_49596_nothing_that_we_emit_is_a_script(vitals: Vitals) -> None:
    http = vitals.http()
    script = "javascript:alert(1)"
    links = dict.fromkeys(("client_uri", "logo_uri", "tos_uri", "policy_uri", "jwks_uri", "initiate_login_uri"), script)
    answer = await register(http, REDIRECT, client_name=script, **links)
    client = answer.json()["client_id"]
    asked = authorize(client, state=script, prompt=script)

    page = (await http.get(asked)).text
    told = await http.get(f"{asked}&{urlencode({'scope': script})}")

    assert not answer.json().keys() & links.keys()
    assert not re.findall(r"""(?:href|src|action|url)\s*=\s*["']?\s*javascript:""", page, re.IGNORECASE)
    assert told.headers["location"].startswith(REDIRECT + "?")


def _jwt(header: dict[str, object], payload: dict[str, object]) -> str:
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in (header, payload)]
    return ".".join([*parts, "c2lnbmF0dXJl"])


CLAIMS: dict[str, object] = {
    "iss": URL,
    "aud": f"{URL}/mcp",
    "sub": "owner",
    "scope": "health:read",
    "exp": 9_999_999_999,
}


@pytest.mark.parametrize(
    "header",
    [
        pytest.param({"alg": "none"}, id="CVE-2026-28802: no signature"),
        pytest.param({"alg": "HS256", "typ": "at+jwt"}, id="CVE-2026-28802: a public key as a secret"),
        pytest.param({"alg": "RS256", "jwk": {"kty": "RSA", "n": "AQAB", "e": "AQAB"}}, id="CVE-2026-27962: own key"),
        pytest.param({"alg": "RS256", "jku": "https://evil.example/jwks.json"}, id="own key at an address"),
        pytest.param({"alg": "HS256", "kid": "../../dev/null"}, id="key by path"),
    ],
)
async def test_cve_2026_27962_cve_2026_28802_a_token_that_vouches_for_itself_opens_nothing(
    vitals: Vitals, header: dict[str, object]
) -> None:
    await connected(vitals)
    token = _jwt(header, CLAIMS)
    asked = len(vitals.simulator.log)

    assert (await ask(vitals, token, "health_check")).status_code == 401
    assertion = {
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "client_assertion": token,
    }
    for form in (assertion, {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": token}):
        answer = await vitals.http().post(f"{URL}/token", data={"grant_type": "authorization_code", **form})
        assert answer.status_code in {400, 401}
        assert "access_token" not in answer.json()
    assert len(vitals.simulator.log) == asked


async def test_cve_2025_61920_a_huge_assertion_is_refused_before_it_is_read(vitals: Vitals) -> None:
    huge = "A" * 1_000_000

    with anyio.fail_after(10):
        bearer = await ask(vitals, f"{huge}.{huge}.{huge}", "health_check")
        posted = await vitals.http().post(
            f"{URL}/token", data={"grant_type": "authorization_code", "client_assertion": huge}
        )
        registered = await register(vitals.http(), REDIRECT, software_statement=huge)

    assert bearer.status_code == 401
    assert posted.status_code == 413
    assert registered.status_code == 413


@pytest.mark.parametrize(
    "wrong",
    [
        {"response_type": "token"},
        {"response_type": ""},
        {"scope": "x"},
        {"code_challenge": ""},
        {"resource": "x"},
        {"prompt": "none"},
    ],
    ids=str,
)
async def test_cve_2026_41479_cve_2026_44681_no_error_goes_to_an_address_that_nobody_registered(
    vitals: Vitals, wrong: dict[str, str]
) -> None:
    http = vitals.http()
    client = await client_id(http)

    for uri in (
        "https://evil.example/cb",
        "//evil.example",
        "https://evil.example@127.0.0.1:53682/callback",
        REDIRECT + "/../x",
    ):
        answer = await http.get(authorize(client, uri, **wrong))

        assert answer.status_code == 400
        assert "location" not in answer.headers
        assert "evil" not in answer.text


async def test_keycloak_50529_50748_no_other_address_of_a_document_is_called_or_believed(tmp_path: Path) -> None:
    elsewhere = "http://169.254.169.254/latest/meta-data/"
    members = ("sector_identifier_uri", "jwks_uri", "logo_uri", "client_uri", "policy_uri", "tos_uri", "request_uris")
    published = Published()
    published.documents[APP] |= dict.fromkeys(members, elsewhere)
    published.documents[APP] |= {"post_logout_redirect_uris": ["https://app.example/cb2"]}
    async with running_app(tmp_path, fetch_document=published) as vitals:
        http = vitals.http()
        asked = len(vitals.simulator.log)

        page = await http.get(authorize(APP))
        same_host = await http.get(authorize(APP, "https://app.example/cb2"))

        assert page.status_code == 200
        assert elsewhere not in page.text
        assert same_host.status_code == 400
        assert published.asked == [APP]
        assert len(vitals.simulator.log) == asked
