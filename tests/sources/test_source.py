"""Oura as the tools see it: what is granted is known before asking, and sample data is neither mixed up nor empty."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest

from app.errors import BadRequest, NotPermitted, SourceChanged, TokenRefused
from app.identity import Caller
from app.simulator import Simulator
from app.sources.base import DateKind, Source
from app.sources.oura.account import account
from app.sources.oura.catalog import COLLECTIONS, SCOPES
from app.sources.oura.source import OuraSource
from app.vault.connections import Connection
from tests.sources.fakes import ADA, days

NOW = datetime(2026, 11, 20, 9, tzinfo=UTC).timestamp()
LINKED = Connection(
    source="oura",
    owner="ada",
    account_id="u1",
    access_token="t" * 45,
    refresh_token="r",
    expires_at=NOW + 3600,
    obtained_at=NOW - 600,
    scopes=frozenset({"daily", "email"}),
    token_url="https://api.oura.example/oauth/token",
    timezone="America/Denver",
)


class OneConnection:
    def __init__(self, connection: Connection | None) -> None:
        self.connection = connection

    async def glance(self, owner: str, source: str = "oura") -> Connection | None:
        return self.connection if owner == "ada" else None


class OneToken:
    def __init__(self, token: str) -> None:
        self.token = token

    async def access_token(self, caller: Caller, *, refused: str | None = None) -> str:
        return self.token


@asynccontextmanager
async def source(
    simulator: Simulator, connection: Connection | None = LINKED, *, sandbox: bool = False
) -> AsyncIterator[OuraSource]:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=simulator.app)) as http:
        yield OuraSource(
            http=http,
            api_url="http://oura.test",
            tokens=OneToken(str(simulator.sign_in()["access_token"])),
            connections=OneConnection(connection),
            sandbox=sandbox,
            now=lambda: NOW,
        )


@pytest.fixture
def simulator() -> Simulator:
    return Simulator(now=lambda: NOW)


@pytest.mark.anyio
async def test_a_scope_known_to_be_missing_is_refused_without_a_call(simulator: Simulator) -> None:  # A7
    async with source(simulator) as oura:
        with pytest.raises(NotPermitted, match="`heartrate`") as caught:
            await oura.fetch(ADA, COLLECTIONS["heartrate"], days("2026-03-10", "2026-03-10"))

    assert caught.value.scope == "heartrate"
    assert simulator.log == []


@pytest.mark.anyio
@pytest.mark.parametrize("scope", ["daily", "stress"])
async def test_stress_is_asked_with_either_scope(simulator: Simulator, scope: str) -> None:
    async with source(simulator, replace(LINKED, scopes=frozenset({scope}))) as oura:
        got = await oura.fetch(ADA, COLLECTIONS["daily_stress"], days("2026-03-10", "2026-03-10"))

    assert got.complete
    assert len(simulator.log) == 1


@pytest.mark.anyio
async def test_where_oura_did_not_say_what_it_gave_it_is_asked_and_its_own_word_counts(simulator: Simulator) -> None:
    access = str(simulator.sign_in(scopes=frozenset({"daily"}))["access_token"])
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=simulator.app)) as http:
        oura = OuraSource(
            http=http,
            api_url="http://oura.test/",
            tokens=OneToken(access),
            connections=OneConnection(replace(LINKED, scopes=None)),
            sandbox=False,
            now=lambda: NOW,
        )
        assert (await oura.fetch(ADA, COLLECTIONS["sleep"], days("2026-03-10", "2026-03-10"))).complete
        with pytest.raises(NotPermitted) as caught:
            await oura.fetch(ADA, COLLECTIONS["daily_spo2"], days("2026-03-10", "2026-03-10"))

    assert caught.value.scope == "spo2"


@pytest.mark.anyio
async def test_another_owner_has_no_connection_here(simulator: Simulator) -> None:
    other = replace(ADA, owner="bob")
    async with source(simulator) as oura:
        assert await oura.granted(other) is None
        assert await oura.timezone(other) is None
        assert await oura.health(other) == {"credential": "oauth", "state": "none"}


@pytest.mark.anyio
async def test_health_tells_facts_about_the_credential_and_no_value(simulator: Simulator) -> None:
    async with source(simulator) as oura:
        health = await oura.health(ADA)

    assert health == {
        "credential": "oauth",
        "state": "live",
        "ended_why": None,
        "scopes_granted": ["daily", "email"],
        "scopes_missing": sorted(SCOPES - {"daily", "email"}),
        "access_token_age_s": 600,
        "access_token_expires_in_s": 3600,
        "access_token_length": 45,
        "last_renewed": "2026-11-20T08:50:00+00:00",
        "timezone": "America/Denver",
    }
    assert simulator.log == []


@pytest.mark.anyio
@pytest.mark.parametrize("zone", [None, "Not/AZone", "../../etc/passwd", ""])
async def test_a_zone_that_is_none_is_unknown(simulator: Simulator, zone: str | None) -> None:
    async with source(simulator, replace(LINKED, timezone=zone)) as oura:
        assert await oura.timezone(ADA) is None


@pytest.mark.anyio
async def test_it_is_a_source_as_the_tools_know_it(simulator: Simulator) -> None:
    async with source(simulator) as oura:
        known: Source = oura

        assert (known.name, known.synthetic) == ("oura", False)
        assert known.collections is COLLECTIONS
        zone = await known.timezone(ADA)
        assert zone is not None
        assert zone.key == "America/Denver"


@pytest.mark.anyio
@pytest.mark.parametrize("name", sorted(set(COLLECTIONS) - {"personal_info"}))
async def test_no_answer_from_the_sample_data_is_silently_empty(simulator: Simulator, name: str) -> None:  # D32
    collection = COLLECTIONS[name]
    undated = collection.date_kind is DateKind.UNDATED
    async with source(simulator, None, sandbox=True) as oura:
        got = await oura.fetch(
            ADA, collection, None if undated else days("2026-03-10", "2026-03-10"), fields=("score", "bpm")
        )

        assert oura.synthetic
        assert await oura.granted(ADA) == SCOPES
        assert await oura.health(ADA) == {"credential": "sandbox", "state": "live"}
    assert got.records
    assert got.complete
    assert all(seen.path.startswith("/v2/sandbox/usercollection/") for seen in simulator.log)
    margin = [r for r in got.records if r.get("day", "2026-03-10") not in ("2026-03-10", "2021-01-01")]
    assert margin == []


@pytest.mark.anyio
async def test_the_sample_data_has_no_person_and_says_so(simulator: Simulator) -> None:
    async with source(simulator, None, sandbox=True) as oura:
        with pytest.raises(BadRequest, match="sample data"):
            await oura.fetch(ADA, COLLECTIONS["personal_info"], None)
    assert simulator.log == []


@pytest.mark.anyio
async def test_the_latest_sample_of_the_sample_data_is_one(simulator: Simulator) -> None:
    async with source(simulator, None, sandbox=True) as oura:
        got = await oura.fetch(ADA, COLLECTIONS["heartrate"], None, latest=True)

    assert len(got.records) == 1


def test_without_tokens_only_the_sandbox_can_be_asked() -> None:
    settings: dict[str, Any] = {"api_url": "http://oura.test", "tokens": None, "connections": None}
    with pytest.raises(ValueError, match="needs tokens"):
        OuraSource(http=httpx2.AsyncClient(), sandbox=False, now=lambda: NOW, **settings)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("scopes", "email"), [({"email", "daily"}, "owner@example.com"), ({"daily"}, None)], ids=["with", "without"]
)
async def test_an_account_has_an_id_and_an_email_if_it_was_given(
    simulator: Simulator, scopes: set[str], email: str | None
) -> None:
    access = str(simulator.sign_in(scopes=frozenset(scopes))["access_token"])
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=simulator.app)) as http:
        got = await account(http, "http://oura.test", access)
        with pytest.raises(TokenRefused):
            await account(http, "http://oura.test", "not-a-token")

    assert (got.id, got.email) == (simulator.person.account_id, email)


@pytest.mark.anyio
@pytest.mark.parametrize("body", [{"id": ""}, {"id": 5}, {"email": "owner@example.com"}, {"data": []}])
async def test_an_account_without_an_id_is_nobody(body: dict[str, object]) -> None:
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json=body))
    async with httpx2.AsyncClient(transport=transport) as http:
        with pytest.raises(SourceChanged):
            await account(http, "http://oura.test", "t")
