"""A source that refuses every fresh token does not cost a renewal for each call."""

import httpx2
import pytest

from app.errors import ReconnectRequired
from app.identity import Caller
from app.sources.oura.catalog import COLLECTIONS
from app.sources.oura.client import OuraClient
from app.sources.oura.refusals import PAUSES_S, Refusals
from tests.sources.fakes import ADA
from tests.sources.test_breaker import Time

pytestmark = pytest.mark.anyio
SLEEP = COLLECTIONS["daily_sleep"]
BEA = Caller(owner="bea", grant="g2", client_id="app", scopes=frozenset({"health:read"}))


class Vault:
    """Keeps a token for each owner and renews the one that was refused."""

    def __init__(self) -> None:
        self.generation: dict[str, int] = {}
        self.renewals = 0

    async def access_token(self, caller: Caller, *, refused: str | None = None) -> str:
        if refused == self.token(caller.owner):
            self.renewals += 1
            self.generation[caller.owner] = self.generation.get(caller.owner, 0) + 1
        return self.token(caller.owner)

    def token(self, owner: str) -> str:
        return f"{owner}-{self.generation.get(owner, 0)}"


class Oura:
    """Refuses the tokens of the owners named, and takes all others."""

    def __init__(self, *refused: str) -> None:
        self.refused = set(refused)
        self.asked = 0

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked += 1
        owner = request.headers["authorization"].removeprefix("Bearer ").split("-")[0]
        return httpx2.Response(401, json={}) if owner in self.refused else httpx2.Response(200, json={"data": []})


def client(http: httpx2.AsyncClient, vault: Vault, time: Time) -> OuraClient:
    return OuraClient(http=http, api_url="https://oura.test", tokens=vault, clock=time)


async def refused(oura: OuraClient, caller: Caller = ADA) -> str:
    with pytest.raises(ReconnectRequired) as caught:
        await oura.page(caller, SLEEP, {})
    return str(caught.value)


async def test_many_calls_cost_one_renewal_and_the_pause_grows_to_a_cap() -> None:
    vault, time = Vault(), Time()
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(Oura("ada"))) as http:
        oura = client(http, vault, time)
        for number, pause_s in enumerate((*PAUSES_S, PAUSES_S[-1]), start=1):
            said = [await refused(oura) for _ in range(10)]
            assert vault.renewals == number
            assert f"in {pause_s:.0f} s" in said[-1]
            time.at += pause_s - 1
            await refused(oura)
            assert vault.renewals == number
            time.at += 1


async def test_a_token_that_is_taken_ends_the_pause() -> None:
    vault, time, source = Vault(), Time(), Oura("ada")
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(source)) as http:
        oura = client(http, vault, time)
        await refused(oura)
        source.refused.clear()
        await oura.page(ADA, SLEEP, {})
        source.refused.add("ada")
        await refused(oura)

    assert vault.renewals == 2


async def test_one_collection_kept_shut_costs_no_renewal_for_each_question_about_others() -> None:
    vault, time = Vault(), Time()

    def oura(request: httpx2.Request) -> httpx2.Response:
        shut = request.url.path.rsplit("/", 1)[-1] in {"daily_sleep", "daily_spo2"}
        return httpx2.Response(401, json={}) if shut else httpx2.Response(200, json={"data": []})

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(oura)) as http:
        asking = client(http, vault, time)
        for _ in range(10):
            await refused(asking)
            await asking.page(ADA, COLLECTIONS["workout"], {})
            with pytest.raises(ReconnectRequired):
                await asking.page(ADA, COLLECTIONS["daily_spo2"], {})

    assert vault.renewals == 1


async def test_one_owners_refusals_are_no_other_owners() -> None:
    vault, time = Vault(), Time()
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(Oura("ada", "bea"))) as http:
        oura = client(http, vault, time)
        await refused(oura)
        await refused(oura, BEA)

    assert vault.renewals == 2


def test_one_token_refused_to_many_windows_is_one_refusal() -> None:
    refusals = Refusals(clock=Time())
    for _ in range(8):
        refusals.note("ada", "fresh", "sleep")

    with pytest.raises(ReconnectRequired, match=rf"in {PAUSES_S[0]:.0f} s"):
        refusals.hold("ada", "fresh")
