"""Strangers in numbers: a flood is refused or leaves nothing behind, and whoever is honest still gets in.

Addresses are what a trusted proxy says: requests come from loopback, which is believed, with X-Forwarded-For. The same
with 100,000 is `python -m bench flood`.
"""

import io
import re
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest

from app.authserver.limits.allowances import (
    CLIENT_RECORDS,
    FAILED_AUTHENTICATION,
    REGISTRATION,
    SIGN_IN,
    WINDOW_S,
)
from app.demo.browser import Browser
from app.demo.walk import App, discover, sign_in
from app.store.redis import RedisStore
from tests.app_under_test import URL, Clock, Vitals, running_app
from tests.attacks.attacker import (
    REDIRECT,
    authorize,
    client_id,
    handed_over,
    redeem,
    refresh,
    register,
    submit,
)
from tests.attacks.attacker import sign_in as approve_and_sign_in
from tests.attacks.strangers import OWNER, STRANGER, address, coming_from, records
from tests.log_reader import written

__all__ = ["written"]

pytestmark = pytest.mark.anyio


async def flood(vitals: Vitals, addresses: range, *, asks: int = 1) -> list[int]:
    """Register from each of these addresses; return the statuses."""
    http = vitals.http()
    statuses = []
    for number in addresses:
        for _ in range(asks):
            body = {"client_name": "Flood", "redirect_uris": [REDIRECT]}
            answer = await http.post(f"{URL}/register", json=body, headers={"x-forwarded-for": address(number)})
            statuses.append(answer.status_code)
    return statuses


async def an_honest_one(vitals: Vitals, number: int) -> App:
    """Someone new: register, consent, sign in at Oura, tokens, a question."""
    app = await discover(coming_from(vitals, f"203.0.113.{number}"), vitals.mcp_url, _silently)
    await sign_in(app, coming_from(vitals, f"203.0.113.{100 + number}"), _silently)
    return app


async def answered(app: App) -> bool:
    answer = await app.ask("health_query", collection="daily_sleep", start="2026-03-01", end="2026-03-03")
    return bool(answer["complete"])


def _silently(_line: str) -> None:
    """Say nothing."""


@pytest.mark.parametrize(("kind", "many"), [("sqlite", 3000), ("redis", 1200)])
async def test_a_flood_from_many_addresses_leaves_next_to_nothing_and_keeps_no_honest_one_out(
    tmp_path: Path, kind: str, many: int, request: pytest.FixtureRequest
) -> None:
    clock = Clock()
    store = None
    if kind == "redis":
        store = RedisStore(request.getfixturevalue("redis_url"), now=clock, prefix=f"flood:{tmp_path.name}:")
    async with running_app(tmp_path, clock=clock, store=store) as vitals:
        early = await an_honest_one(vitals, 1)
        statuses = await flood(vitals, range(many // 3))
        middle = await an_honest_one(vitals, 2)
        before = await records(vitals, "client:")
        statuses += await flood(vitals, range(many // 3, many))
        late = await an_honest_one(vitals, 3)
        after = await records(vitals, "client:")

        assert set(statuses) == {201}
        assert len(before) <= CLIENT_RECORDS.amount + 3  # three became records by being used
        assert len(after) == len(before) + 1  # the late one
        assert len(await records(vitals, "rate:")) < many  # some met in one slot; there are 4,096 at most
        for app in (early, middle, late):
            await app.token(grant_type="refresh_token", refresh_token=app.refresh_token)
            assert await answered(app)


async def test_one_address_is_refused_after_its_allowance_and_heard_again_later(vitals: Vitals) -> None:
    http = coming_from(vitals, STRANGER)
    answers = [await register(http) for _ in range(REGISTRATION.each + 20)]
    refused = answers[-1]
    vitals.clock.at += int(refused.headers["retry-after"])
    later = await register(http)

    assert [each.status_code for each in answers] == [201] * REGISTRATION.each + [429] * 20
    assert refused.json()["error"] == "temporarily_unavailable"
    assert "10 minutes" in refused.json()["error_description"]
    assert refused.headers["cache-control"] == "no-store"
    assert int(refused.headers["retry-after"]) <= WINDOW_S
    assert later.status_code == 201


async def test_the_address_is_the_one_that_the_proxy_saw_whatever_was_sent_along(vitals: Vitals) -> None:
    http = vitals.http()
    statuses = [
        (
            await http.post(
                f"{URL}/register",
                json={"redirect_uris": [REDIRECT]},
                headers={"x-forwarded-for": f"{address(number)}, {STRANGER}", "forwarded": f"for={address(number)}"},
            )
        ).status_code
        for number in range(REGISTRATION.each + 5)
    ]

    assert statuses[-5:] == [429] * 5


async def test_in_a_crowd_an_address_that_registered_before_is_refused_and_a_new_one_is_not(vitals: Vitals) -> None:
    await flood(vitals, range(REGISTRATION.crowd))

    assert await flood(vitals, range(5000, 5003), asks=4) == [201, 201, 429, 429] * 3


async def test_a_connected_app_goes_on_from_the_very_address_of_the_flood(vitals: Vitals) -> None:
    app = await discover(coming_from(vitals, STRANGER), vitals.mcp_url, _silently)
    await sign_in(app, coming_from(vitals, OWNER), _silently)
    http = coming_from(vitals, STRANGER)
    for _ in range(REGISTRATION.each + 5):
        await register(http)
    secretive = (await register(vitals.http(), token_endpoint_auth_method="client_secret_post")).json()["client_id"]
    for _ in range(FAILED_AUTHENTICATION.each + 5):
        guessed = await refresh(http, secretive, "vrt_wrong", client_secret="vcs_wrong")
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(_renew, app, app.refresh_token)

    assert guessed.status_code == 429
    assert (await register(http)).status_code == 429
    assert await answered(app)


async def _renew(app: App, token: str) -> None:
    await app.token(grant_type="refresh_token", refresh_token=token)


@pytest.mark.parametrize(
    ("peer", "redirect"),
    [
        pytest.param("160.79.105.6", REDIRECT, id="claude.ai's network"),
        pytest.param("20.97.189.97", "https://chatgpt.com/connector_platform_oauth_redirect", id="ChatGPT's redirect"),
    ],
)
async def test_addresses_that_many_people_share_have_more(vitals: Vitals, peer: str, redirect: str) -> None:
    http = coming_from(vitals, peer)

    assert {(await register(http, redirect)).status_code for _ in range(3 * REGISTRATION.each)} == {201}


async def test_wrong_secrets_are_told_to_wait_after_thirty_and_the_right_one_never(vitals: Vitals) -> None:
    http = coming_from(vitals, STRANGER)
    held = (await register(http, token_endpoint_auth_method="client_secret_post")).json()
    code = handed_over(await approve_and_sign_in(vitals, held["client_id"]))["code"]
    wrong = [await redeem(http, held["client_id"], code, client_secret="vcs_x") for _ in range(35)]
    right = await redeem(http, held["client_id"], code, client_secret=held["client_secret"])

    assert [each.status_code for each in wrong] == [401] * FAILED_AUTHENTICATION.each + [429] * 5
    assert "retry-after" in wrong[-1].headers
    assert right.status_code == 200


async def test_an_app_that_is_forgotten_learns_it_though_a_stranger_guessed_secrets_at_its_address(
    vitals: Vitals,
) -> None:
    http = coming_from(vitals, STRANGER)
    guessed = (await register(http, token_endpoint_auth_method="client_secret_post")).json()["client_id"]
    public = await client_id(http)
    for _ in range(FAILED_AUTHENTICATION.each):
        await refresh(http, guessed, "vrt_wrong", client_secret="vcs_wrong")
    forgotten = [await refresh(http, "vc_forgotten", "vrt_old") for _ in range(3)]
    with_a_secret = await refresh(http, "vc_forgotten", "vrt_old", client_secret="vcs_old")
    basic = await http.post(f"{URL}/token", data={"grant_type": "refresh_token"}, auth=("vc_forgotten", "vcs_old"))
    no_secret_of_its_own = await refresh(http, public, "vrt_old", client_secret="vcs_odd")
    nobody = await http.post(f"{URL}/revoke", data={"token": "vrt_old"})

    for answer in (*forgotten, with_a_secret, basic, no_secret_of_its_own, nobody):
        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
    assert (await refresh(http, guessed, "vrt_wrong", client_secret="vcs_wrong")).status_code == 429


async def test_apps_that_are_forgotten_use_up_nothing(vitals: Vitals) -> None:
    http = coming_from(vitals, STRANGER)
    for _ in range(FAILED_AUTHENTICATION.each + 5):
        last = await refresh(http, "vc_forgotten", "vrt_old")

    assert last.status_code == 401
    assert await records(vitals, "rate:") == {}


async def test_sign_ins_begun_from_one_address_are_bounded_and_a_person_reads_why(vitals: Vitals) -> None:
    stranger = Browser(coming_from(vitals, STRANGER), stop_at="https://oura.test")
    app = await client_id(vitals.http())
    for _ in range(SIGN_IN.each):
        await stranger.open(authorize(app))
        await stranger.press("approve", {"timezone": "Europe/Berlin"})
        assert stranger.stopped
    await stranger.open(authorize(app))
    await stranger.press("approve", {"timezone": "Europe/Berlin"})
    refused = (stranger.status, stranger.page)
    owner = await approve_and_sign_in(vitals, app, http=coming_from(vitals, OWNER))

    assert refused[0] == 429
    assert "Wait 10 minutes" in refused[1]
    assert "<html" in refused[1]
    assert len(await records(vitals, "signin:")) == SIGN_IN.each + 1
    assert "code" in handed_over(owner)


async def test_so_are_those_of_the_owners_page_and_no_refusal_is_logged_as_a_fault(
    written: io.StringIO, vitals: Vitals
) -> None:
    stranger = Browser(coming_from(vitals, STRANGER), stop_at="https://oura.test")
    statuses = []
    for _ in range(SIGN_IN.each + 1):
        await stranger.open(f"{URL}/connections")
        await submit(stranger, "/connections/signin")
        statuses.append(303 if stranger.stopped else stranger.status)

    assert statuses == [303] * SIGN_IN.each + [429]
    assert '"status":429' in written.getvalue()
    assert "request_failed" not in written.getvalue()


async def test_a_sign_in_keeps_of_the_apps_request_only_what_counts(vitals: Vitals) -> None:
    app = await client_id(vitals.http())
    browser = Browser(vitals.http(), stop_at="https://oura.test")
    scope = "health:read " + " ".join(f"x{n}" for n in range(2000))
    await browser.open(authorize(app, junk="j" * 20_000, scope=scope, state="s" * 4096))
    await browser.press("approve", {"timezone": "Europe/Berlin"})
    (record,) = (await records(vitals, "signin:")).values()
    await browser.open(browser.address)

    assert len(record) < 5_500  # the state alone is 4,096


async def test_behind_a_proxy_that_is_not_named_nobody_is_locked_out_and_the_log_names_the_setting(
    tmp_path: Path, written: io.StringIO
) -> None:
    async with running_app(tmp_path, FORWARDED_ALLOW_IPS="203.0.113.1") as vitals:
        statuses = await flood(vitals, range(400))
        await an_honest_one(vitals, 1)
    said = written.getvalue()

    assert set(statuses) == {201}
    assert said.count("forwarded_address_not_believed") == 1
    assert "FORWARDED_ALLOW_IPS" in said


async def test_no_address_is_written_down_or_logged(written: io.StringIO, vitals: Vitals) -> None:
    http = coming_from(vitals, STRANGER)
    for _ in range(REGISTRATION.each + 1):
        await register(http)
    await http.get(authorize("https://app.example/client"))
    await refresh(http, "vc_unknown", "vrt_wrong")
    kept = b"".join(key.encode() + value for key, value in (await records(vitals)).items())
    packed = bytes(int(part) for part in STRANGER.split("."))

    for form in (STRANGER.encode(), packed, packed.hex().encode()):
        assert form not in kept
    assert STRANGER not in written.getvalue()
    assert "/register" in written.getvalue()


async def test_no_forwarded_header_changes_what_is_answered(vitals: Vitals) -> None:
    plain, forged = vitals.http(), vitals.http()
    forged.headers.update(_forged())
    paths = (
        "/",
        "/connections",
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-protected-resource/mcp",
    )

    for path in paths:
        one, other = [await http.get(f"{URL}{path}", headers={"accept": "text/html"}) for http in (plain, forged)]
        assert _same(one.text) == _same(other.text), path
    refused = await forged.post(vitals.mcp_url)
    assert refused.headers["www-authenticate"] == (await plain.post(vitals.mcp_url)).headers["www-authenticate"]


def _forged() -> Mapping[str, str]:
    return {
        "x-forwarded-for": "203.0.113.1",
        "x-forwarded-proto": "http",
        "x-forwarded-host": "evil.example",
        "x-forwarded-port": "81",
        "forwarded": "for=203.0.113.1;host=evil.example;proto=http",
    }


def _same(page: str) -> str:
    """Take out what differs at each look."""
    return re.sub(r'value="\d+\.[0-9a-f]{64}"', "", page)


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"content-type": "text/plain"}, id="what a page may post without asking"),
        pytest.param({"content-type": "application/json", "origin": "https://evil.example"}, id="foreign origin"),
        pytest.param({"content-type": "application/json", "origin": "null"}, id="opaque origin"),
        pytest.param({"content-type": "application/json", "sec-fetch-site": "cross-site"}, id="cross-site"),
    ],
)
async def test_a_web_page_cannot_use_up_what_its_readers_address_may_register(
    vitals: Vitals, headers: dict[str, str]
) -> None:
    http = coming_from(vitals, OWNER)
    body = b'{"client_name": "x", "redirect_uris": ["https://evil.example/cb"]}'
    for _ in range(REGISTRATION.each + 1):
        answer = await http.post(f"{URL}/register", content=body, headers=headers)
        assert answer.status_code in {400, 403}

    assert (await register(http)).status_code == 201
