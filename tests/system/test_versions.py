"""While versions change over, each reads what the other wrote, and neither wipes out what it does not know."""

from collections.abc import AsyncIterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import anyio
import httpx2
import orjson
import pytest

from app.authserver.clients.cimd import Document
from app.authserver.owner.attempts import Attempt, Attempts
from app.authserver.owner.browser import fingerprint
from app.authserver.records import AccessToken, Client, Code, Grant, RefreshToken
from app.demo.browser import Browser
from app.demo.walk import App
from app.simulator import SCOPES
from app.vault.connections import Connection
from app.vault.intents import Intent, Intents
from tests.app_under_test import URL, Vitals, running_app
from tests.attacks.attacker import REDIRECT, authorize, client_id

pytestmark = pytest.mark.anyio

NEWER = {"added_by_a_newer_version": {"n": 1}}

# What the first version wrote. A member that is added later is missing in records written before it, so it has to have
# a default and does not belong here.
FIRST: dict[type[Any], set[str]] = {
    Client: {"client_id", "name", "redirect_uris", "auth_method", "secret_hash", "document", "created_at"},
    Code: {
        "client_id", "client_name", "redirect_uri", "scopes", "resource", "code_challenge", "owner", "grant_id",
        "expires_at",
    },
    Grant: {"id", "owner", "client_id", "client_name", "redirect_uri", "scopes", "resource", "created_at"},
    AccessToken: {"grant_id", "client_id", "scopes", "resource", "expires_at"},
    RefreshToken: {"grant_id", "client_id", "expires_at"},
    Document: {"client_id", "name", "redirect_uris", "fetched_at", "fresh_until", "kept"},
    Attempt: {"kind", "params", "browser", "zone", "created_at"},
    Intent: {"generation", "fence"},
    Connection: {
        "source", "owner", "account_id", "access_token", "refresh_token", "expires_at", "obtained_at", "scopes",
        "token_url", "timezone",
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", FIRST, ids=lambda kind: kind.__name__)
def test_what_a_record_needs_is_what_the_first_version_wrote(kind: type[Any]) -> None:
    needed = {each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING}

    assert needed <= FIRST[kind]


@pytest.fixture
async def vitals(tmp_path: Path) -> AsyncIterator[Vitals]:
    async with running_app(tmp_path) as vitals:
        yield vitals


async def one(vitals: Vitals, prefix: str) -> tuple[str, bytes]:
    (found,) = [pair async for pair in vitals.parts.store.scan(prefix)]
    return found


async def amend(vitals: Vitals, prefix: str) -> str:
    """Let a newer version have written each record under a prefix; return the key of the last."""
    key = ""
    async for key, raw in vitals.parts.store.scan(prefix):
        await vitals.parts.store.put(key, orjson.dumps({**orjson.loads(raw), **NEWER}))
    assert key
    return key


async def kept(vitals: Vitals, key: str) -> bool:
    raw = await vitals.parts.store.get(key)
    assert raw is not None
    return bool(NEWER.items() <= orjson.loads(raw).items())


async def test_a_refresh_goes_by_records_of_a_newer_version_and_leaves_them_whole(vitals: Vitals) -> None:
    app = await vitals.connected_app()
    used = app.refresh_token
    keys = [await amend(vitals, prefix) for prefix in ("client:", "grant:", "refresh:", "access:")]

    await app.token(grant_type="refresh_token", refresh_token=used)
    again = App(app.http, app.mcp_url, app.server, app.client_id)
    await again.token(grant_type="refresh_token", refresh_token=used)  # the answer is repeated, its access prolonged

    assert [await kept(vitals, key) for key in keys] == [True] * 4
    assert again.access_token == app.access_token
    assert await app.ask("health_check")


async def test_a_code_of_a_newer_version_is_redeemed_and_remembered_whole(vitals: Vitals) -> None:
    app = await vitals.connected_app()
    (owner,) = vitals.parts.settings.owners
    authserver = vitals.parts.authserver
    client = await authserver.clients.find(app.client_id)
    assert client is not None
    asked = await authserver.authorizations.validate(
        [
            ("response_type", "code"),
            ("client_id", app.client_id),
            ("redirect_uri", client.redirect_uris[0]),
            ("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeGrJTKeK1Yi8-8iNF5I"),
            ("code_challenge_method", "S256"),
        ]
    )
    code = await authserver.codes.issue(asked, owner)
    key = await amend(vitals, "code:")

    assert (await authserver.codes.redeem(code))["access_token"]

    assert await kept(vitals, key)


async def test_a_renewal_goes_on_from_a_connection_and_an_intent_of_a_newer_version(vitals: Vitals) -> None:
    app = await vitals.connected_app()
    (owner,) = vitals.parts.settings.owners
    parts, sealer = vitals.parts, vitals.parts.keys.sealer("connection")
    vitals.simulator.faults.add("status", "/oauth/*", status=429)  # an attempt that leaves an intent
    vitals.simulator.expire_access_tokens()
    await app.call("tools/call", {"name": "health_query", "arguments": {"collection": "sleep"}})
    await amend(vitals, "intent:")
    key, raw = await one(vitals, "conn:")
    plain = orjson.loads(sealer.open(raw, bound_to=key))
    await parts.store.put(key, sealer.seal(orjson.dumps({**plain, **NEWER}), bound_to=key))

    with anyio.fail_after(20):
        answer = await app.ask("health_query", collection="sleep")

    _, raw = await one(vitals, "conn:")
    renewed = orjson.loads(sealer.open(raw, bound_to=key))
    assert answer["complete"] is True
    assert renewed["generation"] == plain["generation"] + 1
    assert NEWER.items() <= renewed.items()
    noted = await Intents(parts.store, "oura").read(owner)
    assert noted is not None
    assert noted.intent.attempts == 2  # it counted on


async def test_an_intent_that_says_little_is_read_with_caution(vitals: Vitals) -> None:
    await vitals.parts.store.put("intent:oura:o1", orjson.dumps({"generation": 7, "fence": 3}))

    noted = await Intents(vitals.parts.store, "oura").read("o1")

    assert noted is not None
    assert (noted.intent.doubt, noted.intent.outcome) == (True, "unknown")


async def test_a_sign_in_begun_on_a_newer_version_is_found(vitals: Vitals) -> None:
    parts, sealer = vitals.parts, vitals.parts.keys.sealer("signin")
    attempts = Attempts(parts.store, parts.keys, now=parts.now)
    state = (await attempts.begin("owner", browser=fingerprint("b"), zone=None)).state
    key, raw = await one(vitals, "signin:")
    begun = orjson.loads(sealer.open(raw, bound_to=key))
    await parts.store.put(key, sealer.seal(orjson.dumps({**begun, **NEWER}), bound_to=key))

    found = await attempts.find(state)

    assert found is not None
    assert await attempts.claim(found) is not None


async def test_a_sign_in_begun_before_pkce_was_sent_to_oura_is_finished_without_it(vitals: Vitals) -> None:
    http, sealer, simulator = vitals.http(), vitals.parts.keys.sealer("signin"), vitals.simulator
    browser = Browser(http, stop_at=f"{URL}/callback/oura/")
    await browser.open(authorize(await client_id(http)))
    await browser.press("approve", {"timezone": "Europe/Berlin"})
    await browser.press("owner")
    key, raw = await one(vitals, "signin:")
    begun = orjson.loads(sealer.open(raw, bound_to=key))
    del begun["verifier"]
    await vitals.parts.store.put(key, sealer.seal(orjson.dumps(begun), bound_to=key))
    code = simulator.grants.code(simulator.person, frozenset(SCOPES), f"{URL}/callback/oura/", None, "plain")

    back = {"state": httpx2.URL(browser.address).params["state"], "code": code}
    answer = await http.get(f"{URL}/callback/oura/", params=back)

    assert answer.headers["location"].startswith(REDIRECT)
    assert "code" in httpx2.URL(answer.headers["location"]).params
