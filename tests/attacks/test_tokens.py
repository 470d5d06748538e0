"""Using a code, a token or a key where it does not belong."""

from pathlib import Path

import anyio
import httpx2
import pytest

from app.identity import owner_key
from tests.app_under_test import URL, Vitals, running_app
from tests.attacks.attacker import ask, client_id, connected, handed_over, redeem, refresh, sign_in

pytestmark = pytest.mark.anyio


async def test_each_kind_of_secret_opens_only_its_own_door(vitals: Vitals) -> None:
    http = vitals.http()
    client = await client_id(http)
    code = handed_over(await sign_in(vitals, client))["code"]
    tokens = (await redeem(http, client, code)).json()

    for value in (code, tokens["refresh_token"], client, tokens["access_token"][:-1], tokens["access_token"] + "="):
        assert (await ask(vitals, value, "health_check")).status_code == 401
    for value in (code, tokens["access_token"], client):
        assert (await refresh(http, client, value)).json()["error"] == "invalid_grant"
    for value in (tokens["access_token"], tokens["refresh_token"], client):
        assert (await redeem(http, client, value)).json()["error"] == "invalid_grant"
    assert (await ask(vitals, tokens["access_token"], "health_check")).status_code == 200


async def test_another_app_can_do_nothing_with_a_stolen_code_or_refresh_token(vitals: Vitals) -> None:
    http = vitals.http()
    mine, other = await client_id(http), await client_id(http)
    code = handed_over(await sign_in(vitals, mine))["code"]

    assert (await redeem(http, other, code)).json()["error"] == "invalid_grant"
    assert (await redeem(http, mine, code, code_verifier="x" * 43)).json()["error"] == "invalid_grant"
    tokens = (await redeem(http, mine, code)).json()
    assert (await refresh(http, other, tokens["refresh_token"])).json()["error"] == "invalid_grant"
    await http.post(f"{URL}/revoke", data={"client_id": other, "token": tokens["refresh_token"]})
    assert (await ask(vitals, tokens["access_token"], "health_check")).status_code == 200  # and end nothing either


async def test_forty_refreshes_at_once_make_one_pair_of_tokens(vitals: Vitals) -> None:
    http = vitals.http()
    client, tokens = await connected(vitals)
    answers: list[httpx2.Response] = []

    async def once() -> None:
        answers.append(await refresh(http, client, tokens["refresh_token"]))

    async with anyio.create_task_group() as group:
        for _ in range(40):
            group.start_soon(once)

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["refresh_token"] for answer in answers}) == 1
    # Whoever stole it has until the app uses the successor; then it is found out, and both are out.
    fresh = answers[0].json()
    assert (await refresh(http, client, fresh["refresh_token"])).status_code == 200
    assert (await refresh(http, client, tokens["refresh_token"])).json()["error"] == "invalid_grant"
    assert (await ask(vitals, fresh["access_token"], "health_check")).status_code == 401


async def test_twenty_redemptions_of_a_code_at_once_give_tokens_once(vitals: Vitals) -> None:
    http = vitals.http()
    client = await client_id(http)
    code = handed_over(await sign_in(vitals, client))["code"]
    answers: list[httpx2.Response] = []

    async def once() -> None:
        answers.append(await redeem(http, client, code))

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(once)

    assert [answer.status_code for answer in answers].count(200) <= 1
    assert len(await vitals.parts.authserver.grants.list(owner_key("owner@example.com"))) <= 1


async def test_a_token_for_one_address_is_no_good_at_another_on_the_same_store(tmp_path: Path) -> None:
    async with running_app(tmp_path) as here:
        client, tokens = await connected(here)
    async with running_app(tmp_path, simulator=here.simulator, clock=here.clock) as back:
        assert (await ask(back, tokens["access_token"], "health_check")).status_code == 200
    other = "https://other.test"
    async with running_app(tmp_path, simulator=here.simulator, clock=here.clock, PUBLIC_URL=other) as there:
        http = httpx2.AsyncClient(transport=httpx2.ASGITransport(there.app), base_url=other, trust_env=False)
        refused = await http.post("/mcp", headers={"authorization": f"Bearer {tokens['access_token']}"})
        assert refused.status_code == 401
        form = {"grant_type": "refresh_token", "client_id": client, "refresh_token": tokens["refresh_token"]}
        assert (await http.post("/token", data=form)).json()["error"] == "invalid_grant"


async def test_under_another_secret_key_nobody_gets_data_and_nothing_is_lost(tmp_path: Path) -> None:
    first, second = "4fGh-9sKq2Lw8xZr7Tn1Vb5Yc3Md6Pj0", "Qe8u_Zt5oWi1Rp4aSd7fGh2jKl9xCv6b"
    async with running_app(tmp_path, SECRET_KEY=first) as before:
        client, tokens = await connected(before)
    clock, simulator = before.clock, before.simulator

    async with running_app(tmp_path, simulator=simulator, clock=clock, SECRET_KEY=second) as changed:
        answer = await ask(changed, tokens["access_token"], collection="personal_info")
        assert answer.status_code == 200
        assert answer.json()["result"]["isError"]
        assert "owner@example.com" not in answer.text
        again = await sign_in(changed, client)
        assert not again.stopped
        assert again.status == 503

    async with running_app(tmp_path, simulator=simulator, clock=clock, SECRET_KEY=first) as restored:
        assert "owner@example.com" in (await ask(restored, tokens["access_token"], collection="personal_info")).text


@pytest.mark.parametrize(
    "headers",
    [
        [("authorization", "Bearer {}"), ("authorization", "Bearer {}")],
        [("authorization", "Basic eDp5"), ("authorization", "Bearer {}")],
        [("authorization", "Bearer {}, Bearer {}")],
        [("authorization", "Bearer  {}\t{}")],
        [("authorization", "Token {}")],
        [("x-authorization", "Bearer {}")],
        [("cookie", "access_token={}; authorization=Bearer {}")],
    ],
)
async def test_a_live_token_in_the_wrong_place_or_twice_is_no_token(
    vitals: Vitals, headers: list[tuple[str, str]]
) -> None:
    _, tokens = await connected(vitals)
    sent = [(name, value.replace("{}", tokens["access_token"])) for name, value in headers]

    query = {"access_token": tokens["access_token"]}
    answer = await vitals.http().post(vitals.mcp_url, headers=sent, params=query, json={"jsonrpc": "2.0", "id": 1})

    assert answer.status_code == 401
    assert tokens["access_token"] not in answer.text + str(answer.headers)
